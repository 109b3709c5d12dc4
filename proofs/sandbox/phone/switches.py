"""The simulated gateway and SEFIN as the page's ``Switches``: four faults by name, and their books of notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proofs.sandbox.faults import Fault
from proofs.sandbox.plugnotas.model import CANCELLED, ISSUED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.sandbox.faults import Faults
    from proofs.sandbox.ledger import Record
    from proofs.sandbox.nacional.model import Note as NationalNote
    from proofs.sandbox.nacional.sefin import SefinSimulator
    from proofs.sandbox.plugnotas.model import Note
    from proofs.sandbox.plugnotas.plugnotas import PlugNotasSimulator

# What the person of the page can mend; without words of its own the city blames the company's registration.
VALUE_REFUSED: Final = '[{"Codigo": "E0427", "Descricao": "O valor do serviço informado não foi aceito."}]'
VALUE_REFUSED_BY_SEFIN: Final = "E0427: O valor do serviço informado não foi aceito."
SETTINGS: Final[dict[Fault, dict[str, Any]]] = {
    Fault.SLOW: {},
    Fault.REJECT: {"times": 1, "message": VALUE_REFUSED},  # "a próxima": turns itself off
    Fault.LOSE_ANSWER: {},
    Fault.NO_WEBHOOK: {},
}


class GatewaySwitches:
    """Turns faults of ``gateway``, and of ``sefin`` where there is one, together; reads the notes of both.

    What turns itself off at one is turned off at the other: to the person it is one switch.
    """

    def __init__(self, gateway: PlugNotasSimulator, sefin: SefinSimulator | None = None) -> None:
        self._gateway = gateway
        self._sefin = sefin
        for simulator in (gateway, sefin):
            if simulator is not None:
                simulator.ledger.listen(self._struck)

    def read(self) -> Mapping[str, bool]:
        """Return every switch."""
        return {fault.value: self._gateway.faults.is_on(fault) for fault in SETTINGS}

    async def set(self, name: str, on: bool) -> None:
        """Turn one switch; raises ``ValueError`` or ``KeyError`` for a name that the page does not have."""
        fault = Fault(name)
        for faults in self._faults:
            if on:
                words = {"message": VALUE_REFUSED_BY_SEFIN} if faults is not self._gateway.faults else {}
                faults.set(fault, **{**SETTINGS[fault], **(words if fault is Fault.REJECT else {})})
            else:
                faults.clear(fault)

    def ledger(self) -> Sequence[Mapping[str, Any]]:
        """Return the notes of both, oldest first."""
        rows = [(note.created_at, _row(note)) for note in self._gateway.notes.values()]
        rows += [(note.at, _national_row(note)) for note in self._sefin.notes.values()] if self._sefin else []
        return [row for _, row in sorted(rows, key=lambda pair: pair[0])]

    @property
    def _faults(self) -> tuple[Faults, ...]:
        return (self._gateway.faults, self._sefin.faults) if self._sefin else (self._gateway.faults,)

    def _struck(self, record: Record) -> None:
        if record.kind == "fault" and record.data["fault"] == Fault.REJECT:
            for faults in self._faults:
                faults.clear(Fault.REJECT)


def _row(note: Note) -> dict[str, Any]:
    name = (note.payload.get("tomador") or {}).get("razaoSocial")
    return {
        "id_integracao": note.id_integracao,
        "numero": note.numero,
        "situacao": note.situacao,
        "valor": str(note.valor),
        "tomador": name or note.tomador,
    }


def _national_row(note: NationalNote) -> dict[str, Any]:
    """A note made on the portal carries no reference of ours; its DPS names it."""
    return {
        "id_integracao": note.c_int_contrib or note.id_dps,
        "numero": str(note.numero),
        "situacao": CANCELLED if note.cancelled else ISSUED,
        "valor": str(note.valor),
        "tomador": note.tomador or "",
    }
