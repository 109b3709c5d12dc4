"""The simulated gateway as the page's ``Switches``: four of its faults by name, and its book of notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proofs.sandbox.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.sandbox.plugnotas.model import Note
    from proofs.sandbox.plugnotas.plugnotas import PlugNotasSimulator

# What the person of the page can mend; without words of its own the city blames the company's registration.
VALUE_REFUSED: Final = '[{"Codigo": "E0427", "Descricao": "O valor do serviço informado não foi aceito."}]'
SETTINGS: Final[dict[Fault, dict[str, Any]]] = {
    Fault.SLOW: {},
    Fault.REJECT: {"times": 1, "message": VALUE_REFUSED},  # "a próxima": turns itself off
    Fault.LOSE_ANSWER: {},
    Fault.NO_WEBHOOK: {},
}


class GatewaySwitches:
    """Turns faults of ``gateway`` and reads its notes."""

    def __init__(self, gateway: PlugNotasSimulator) -> None:
        self._gateway = gateway

    def read(self) -> Mapping[str, bool]:
        """Return every switch."""
        return {fault.value: self._gateway.faults.is_on(fault) for fault in SETTINGS}

    async def set(self, name: str, on: bool) -> None:
        """Turn one switch; raises ``ValueError`` or ``KeyError`` for a name that the page does not have."""
        fault = Fault(name)
        if on:
            self._gateway.faults.set(fault, **SETTINGS[fault])
        else:
            self._gateway.faults.clear(fault)

    def ledger(self) -> Sequence[Mapping[str, Any]]:
        """Return the gateway's notes, oldest first."""
        return [_row(note) for note in self._gateway.notes.values()]


def _row(note: Note) -> dict[str, Any]:
    name = (note.payload.get("tomador") or {}).get("razaoSocial")
    return {
        "id_integracao": note.id_integracao,
        "numero": note.numero,
        "situacao": note.situacao,
        "valor": str(note.valor),
        "tomador": name or note.tomador,
    }
