"""Says what a channel to an authority is: its name and environment, the key it is unique on, how it behaves.

What a city agreed to with the national environment, and what follows for who would issue there.

Says whose a note is that stands under a number of ours: this attempt's, a sibling's, or another confirmation's.

Where an order to the authority comes from: a conversation, or whatever else may order one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, Literal, Protocol

from state_machine.documents import divergencia
from state_machine.goods import ENTREGA
from state_machine.protocol.emission import Nota, Rejected
from state_machine.protocol.standing import Andamento


@dataclass(frozen=True, slots=True)
class Convenio:
    """A city's agreement: ``aderente`` to the national environment, ``emissor``: its companies may issue there."""

    aderente: bool
    emissor: bool

    @property
    def recusa(self) -> Rejected | None:
        """Return what the authority says of a note from there (E0037, E0039 of Anexo I); ``None``: nothing."""
        if self.aderente and self.emissor:
            return None
        codigo = "E0039" if self.aderente else "E0037"
        return Rejected(codigo, (codigo,))


ATTEMPTS = 10  # at one confirmation that are looked for, and that a taken number makes


def sibling(andamento: Andamento, nota: Nota, natureza: Natureza) -> str | None:
    """Return the reference of the other attempt at the same confirmation that the note carries; ``None`` otherwise.

    A new attempt keeps the refused one's number, so both are asked about under one key.
    """
    if natureza.reference is None or nota.referencia is None or _is_ours(andamento, nota, natureza):
        return None
    base, _, tentativa = andamento.id_integracao.rpartition("-")
    others = (f"{base}-{each}" for each in range(1, int(tentativa) + ATTEMPTS))
    return next((other for other in others if natureza.reference(other) == nota.referencia), None)


def is_anothers(andamento: Andamento, nota: Nota, natureza: Natureza) -> bool:
    """Tell whether a note under our very key is certainly another confirmation's, or another program's.

    One without any reference is, where its content differs too: an equal one may be ours.
    """
    if natureza.reference is None or nota.id_integracao != andamento.texto_da_chave:
        return False
    if nota.referencia is None:
        return divergencia(andamento.conteudo, andamento.impressao, nota) is not None
    return not _is_ours(andamento, nota, natureza) and sibling(andamento, nota, natureza) is None


def _is_ours(andamento: Andamento, nota: Nota, natureza: Natureza) -> bool:
    return natureza.reference is not None and nota.referencia == natureza.reference(andamento.id_integracao)


CONVERSA: Final = "conversa"  # a person on WhatsApp


@dataclass(frozen=True, slots=True)
class Origin:
    """Who ordered an invoice, and what was confirmed there.

    ``tipo`` is a row of ``bot.orders.origins``: it says where news go. ``id`` names this origin among all others, of
    any kind: up to 40 characters of ``[A-Za-z0-9-]``, for the reference at the gateway is made of it; of a
    conversation it is the session's. ``revisao`` is what was confirmed of it, from 1. ``snapshot`` is the row of the
    session, ``None`` elsewhere.
    """

    tipo: str
    id: str
    revisao: int
    snapshot: int | None = None


def conversation(sessao_id: str, revisao: int, snapshot: int | None) -> Origin:
    """Return the origin that a session is."""
    return Origin(CONVERSA, sessao_id, revisao, snapshot)


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
    PRODUTO = "produto"  # NF-e
    CONSUMIDOR = "consumidor"  # NFC-e

    @classmethod
    def of(cls, modelo: str | None) -> TipoDocumento:
        """Return the kind of a draft's model ("nfe", "nfce", ``ENTREGA``); ``None`` is a service."""
        return {"nfe": cls.PRODUTO, "nfce": cls.CONSUMIDOR, ENTREGA: cls.CONSUMIDOR}.get(modelo or "", cls.SERVICO)


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
    ``absences`` certain absences, ``absence_spacing`` apart, or where certainly nothing left us. ``absence_age``: so
    old the last sending is before one counts. ``lag``: for so long a search may not show what was accepted.
    ``synchronous``: the answer to a submission is the note; any other acceptance is an unknown outcome.
    ``lists_by``: how it lists a company's notes, each of some ``days``, or all ``documents`` in their order, which are
    read as they come; ``None`` where it does not. ``numbers``: who numbers, ``company`` where each company decides.
    ``environments``: whether its address and credentials are of the installation's environment alone, or an adapter is
    opened for each. ``webhook``: it tells of changes by itself. ``prepares``: the worker has it make the bytes to send
    (``FiscalGateway.prepare``) of those that the turn stored. ``substitutes``: one submission makes a note and ends the
    one that it names. ``page``: a note has a public page (``Nota.url_pdf``), and no PDF.
    ``holds_certificate``: a company's certificate is kept there, and none here. ``draws``: a PDF is drawn here, of the
    note and its events at that moment, so a kept one is old. ``reference``: what a note of ours carries for a reference
    (``Nota.referencia``); under our key, one that carries another, or none, is not ours. ``None`` where a note has no
    place for it.
    """

    absences: int = 2
    absence_spacing: timedelta = timedelta(seconds=30)  # a gateway may accept late: one "absent" proves nothing
    absence_age: timedelta = timedelta(0)
    lag: timedelta = timedelta(minutes=10)
    resend_is_destructive: bool = False
    synchronous: bool = False
    lists_by: Literal["days", "documents"] | None = None
    numbers: Literal["channel", "company", "we"] = "channel"
    environments: Literal["installation", "each"] = "installation"
    webhook: bool = False
    prepares: bool = False
    substitutes: bool = False
    page: bool = False
    holds_certificate: bool = False
    draws: bool = False
    documento: TipoDocumento = TipoDocumento.SERVICO
    ladder: tuple[float, ...] = ()
    spent: frozenset[str] = frozenset()
    reference: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of the documents under a key: all that was signed, and the legal one (XML), cancelled or not.

    ``consultas`` questions for it were asked within the hour; for ``parada`` seconds nothing of its company is called.
    """

    versoes: tuple[bytes, ...] = ()
    xml: bytes | None = None
    cancelada: bool = False
    consultas: int = 0
    parada: float = 0.0
