"""What the simulated authority reads of a DPS and remembers of a note, and the keys that it makes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self

from gateway.nacional.layouts import NS
from proofs.sandbox.plugnotas.model import BRASILIA, access_check_digit

if TYPE_CHECKING:
    from proofs.sandbox.ledger import Record

CANCELAMENTO: Final = "101101"
SUBSTITUICAO: Final = "105102"
_CANCELLING: Final = {CANCELAMENTO, SUBSTITUICAO, "105104", "305101"}  # granted by the treasury; of its own accord
NORMAL, MEI, SIMPLES = "1", "2", "3"  # opSimpNac
_ROOT: Final = 8  # characters of a CNPJ that all establishments of a company share


@cache
def path(steps: str) -> str:
    """Return a path of the layout as lxml asks for it: ``serv/cServ/cTribNac``."""
    return "/".join(f"{{{NS}}}{name}" for name in steps.split("/"))


def text(element: Any, steps: str) -> str | None:
    """Return the text at a path, ``None`` where there is none."""
    found = element.find(path(steps))
    return None if found is None else str(found.text or "")


def same_company(left: str | None, right: str | None) -> bool:
    """Say whether two CNPJs are of one company: the first eight characters count. CPFs are compared whole."""
    if not left or not right:
        return False
    return left[:_ROOT] == right[:_ROOT] if len(left) == len(right) == 14 else left == right  # noqa: PLR2004 - CNPJ


@dataclass(frozen=True, slots=True)
class Dps:
    """A DPS that the schema accepts."""

    id: str
    municipio: str
    prestador: str  # CNPJ or CPF, bare
    serie: str
    numero: int
    tomador: str | None
    tomador_nome: str | None
    valor: Decimal  # BRL
    descricao: str
    competencia: date
    emissao: datetime
    codigo: str  # cTribNac
    c_int_contrib: str | None
    regime: str  # opSimpNac
    substituida: str | None  # key of the note that this one takes the place of

    @classmethod
    def of(cls, info: Any) -> Self:
        """Read ``infDPS``."""

        def must(steps: str) -> str:
            return text(info, steps) or ""

        return cls(
            id=str(info.get("Id")),
            municipio=must("cLocEmi"),
            prestador=text(info, "prest/CNPJ") or must("prest/CPF"),
            serie=must("serie"),
            numero=int(must("nDPS")),
            tomador=text(info, "toma/CNPJ") or text(info, "toma/CPF"),
            tomador_nome=text(info, "toma/xNome"),
            valor=Decimal(must("valores/vServPrest/vServ")),
            descricao=must("serv/cServ/xDescServ"),
            competencia=date.fromisoformat(must("dCompet")),
            emissao=datetime.fromisoformat(must("dhEmi")),
            codigo=must("serv/cServ/cTribNac"),
            c_int_contrib=text(info, "serv/cServ/cIntContrib"),
            regime=must("prest/regTrib/opSimpNac"),
            substituida=text(info, "subst/chSubstda"),
        )

    @property
    def kind(self) -> str:
        """Kind of the issuer's document as keys have it: 1 CPF, 2 CNPJ."""
        return "2" if len(self.prestador) == 14 else "1"  # noqa: PLR2004 - the length of a CNPJ

    @property
    def identity(self) -> str:
        """The 45 characters that ``Id`` must be: E0004."""
        return f"DPS{self.municipio}{self.kind}{self.prestador:0>14}{self.serie:0>5}{self.numero:015d}"

    def access_key(self, numero: int) -> str:
        """Return the 50 characters of the note with this number: Anexo I, check digit modulo 11."""
        random = int(hashlib.sha256(self.id.encode()).hexdigest(), 16) % 10**9
        month = self.emissao.astimezone(BRASILIA).strftime("%y%m")
        base = f"{self.municipio}2{self.kind}{self.prestador:0>14}{numero:013d}{month}{random:09d}"
        return base + access_check_digit(base)


@dataclass(frozen=True, slots=True)
class Event:
    """Something registered against a note; ``nsu`` is its place in the distribution."""

    nsu: int
    at: datetime
    tipo: str
    packed: str  # the event's XML as it travels
    request_sha256: str | None
    by: str  # "api" or "portal"


@dataclass(frozen=True, slots=True)
class Note:
    """One NFS-e. ``events`` oldest first; a note is never taken away."""

    nsu: int
    at: datetime
    id_dps: str
    chave: str
    numero: int
    municipio: str
    prestador: str
    tomador: str | None
    valor: Decimal
    descricao: str
    competencia: str
    codigo: str
    c_int_contrib: str | None
    dps_sha256: str
    by: str  # "api" or "portal"
    packed: str  # the NFS-e's XML as it travels
    events: tuple[Event, ...] = ()

    @property
    def cancelled(self) -> bool:
        """Say whether it counts no more: cancelled, or another one took its place."""
        return any(event.tipo in _CANCELLING for event in self.events)

    @classmethod
    def of(cls, record: Record) -> Self:
        """Read it from the ledger."""
        data = {**record.data, "valor": Decimal(record.data["valor"])}
        return cls(nsu=record.seq, at=record.at, **data)
