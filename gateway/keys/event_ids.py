"""The identities of national NFS-e events: the request that we send and the event that SEFIN makes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from gateway.keys.errors import ChaveInvalida
from gateway.keys.nfse import ChaveNFSe
from gateway.keys.parts import number, split

CANCELAMENTO: Final = "101101"
CANCELAMENTO_POR_ANALISE: Final = "101103"  # asks the city's treasury, when the plain one comes too late (E0822)
CANCELAMENTO_POR_SUBSTITUICAO: Final = "105102"
CANCELAMENTO_DEFERIDO: Final = "105104"  # the treasury granted what 101103 asked for
CANCELAMENTO_POR_OFICIO: Final = "305101"

_TIPO: Final = re.compile(r"[0-9]{6}")
_PEDIDO: Final = re.compile(r"PRE(?P<chave>[0-9A-Z]{50})(?P<tipo>[0-9]{6})")
_EVENTO: Final = re.compile(r"EVT(?P<chave>[0-9A-Z]{50})(?P<tipo>[0-9]{6})(?P<sequencia>[0-9]{3})")


@dataclass(frozen=True, slots=True)
class IdPedidoEvento:
    """``PRE`` + chave 50 + tpEvento 6 = 59 characters, as in ``infPedReg/@Id``. Raises ``ChaveInvalida``."""

    chave: ChaveNFSe
    tipo: str

    def __post_init__(self) -> None:
        _event_type(self.tipo)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the 59 characters."""
        parts = split("pedido", text, _PEDIDO)
        return cls(ChaveNFSe.parse(parts["chave"]), parts["tipo"])

    def __str__(self) -> str:
        return f"PRE{self.chave}{self.tipo}"


@dataclass(frozen=True, slots=True)
class IdEvento:
    """``EVT`` + chave 50 + tpEvento 6 + nSeqEvento 3 = 62 characters. Raises ``ChaveInvalida``."""

    chave: ChaveNFSe
    tipo: str
    sequencia: int = 1

    def __post_init__(self) -> None:
        _event_type(self.tipo)
        number("nSeqEvento", self.sequencia, 3)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the 62 characters."""
        parts = split("evento", text, _EVENTO)
        return cls(ChaveNFSe.parse(parts["chave"]), parts["tipo"], int(parts["sequencia"]))

    def __str__(self) -> str:
        return f"EVT{self.chave}{self.tipo}{self.sequencia:03}"


def _event_type(tipo: str) -> None:
    if not _TIPO.fullmatch(tipo):
        raise ChaveInvalida("tpEvento", f"{tipo!r} has not 6 digits")
