"""Says what a channel to an authority is: its name and environment, the key it is unique on, how it behaves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

PRIMEIRO: Final = "plugnotas"  # the channel of whatever was stored before channels had names
NATIONAL_LIST: Final = frozenset({"nacional"})  # channels whose service codes are those of the national list

Leiaute = Literal["1.01", "nt009"]  # of the national channel


class Ambiente(StrEnum):
    """Where the authority counts: its tests have numbers of their own."""

    PRODUCAO = "producao"
    HOMOLOGACAO = "homologacao"


class TipoDocumento(StrEnum):
    """Kinds of document; a company may use another channel for each."""

    SERVICO = "servico"
    PRODUTO = "produto"


@dataclass(frozen=True, slots=True)
class Canal:
    """A choice of channel, as it is stored; ``ambiente`` is ``None`` where the installation's own holds."""

    nome: str = PRIMEIRO
    ambiente: Ambiente | None = None


class NaturalKey(Protocol):
    """The key on which an authority itself is unique: a frozen value of its channel, with the channel's own equality.

    ``str(key)`` is its text form, which is stored. The channel reads it again (``FiscalGateway.key``), and writes the
    same text into ``Nota.id_integracao`` of a note that stands under it.
    """

    @property
    def prestador(self) -> str:
        """The issuer's CNPJ."""
        ...


@dataclass(frozen=True, slots=True)
class Natureza:
    """How a channel behaves, declared by its adapter; the engine asks here, never by the adapter's name or type.

    ``resend_is_destructive``: a second submission under a key voids the note of the first, so bytes go again only after
    ``absences`` certain absences, ``absence_spacing`` apart, or where certainly nothing left us. ``lag``: for so long a
    search may not show what was accepted.
    ``synchronous``: the answer to a submission is the note; any other acceptance is an unknown outcome.
    ``lists_by``: how it lists a company's notes, each of some ``days``, or all ``documents`` in their order, which are
    read as they come; ``None`` where it does not. ``numbers``: who numbers, ``company`` where each company decides.
    ``environments``: whether its address and credentials are of the installation's environment alone, or an adapter is
    opened for each. ``webhook``: it tells of changes by itself. ``prepares``: the worker has it make the bytes to send
    (``FiscalGateway.prepare``) of those that the turn stored. ``substitutes``: one submission makes a note and ends the
    one that it names. ``draws``: a PDF is drawn here, of the note and its
    events at that moment, so a kept one is old. ``reference``: what a note of ours carries for a reference
    (``Nota.referencia``); under our key, one that carries another, or none, is not ours. ``None`` where a note has no
    place for it.
    """

    absences: int = 2
    absence_spacing: timedelta = timedelta(seconds=30)  # a gateway may accept late: one "absent" proves nothing
    lag: timedelta = timedelta(minutes=10)
    resend_is_destructive: bool = False
    synchronous: bool = False
    lists_by: Literal["days", "documents"] | None = None
    numbers: Literal["channel", "company", "we"] = "channel"
    environments: Literal["installation", "each"] = "installation"
    webhook: bool = False
    prepares: bool = False
    substitutes: bool = False
    draws: bool = False
    reference: Callable[[str], str] | None = None
