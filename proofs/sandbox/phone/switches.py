"""The simulated gateway, SEFIN and SEFAZ as the page's ``Switches``: five faults by name, and their books of notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from proofs.sandbox.cnpj_register import companies
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
    from proofs.sandbox.sefaz.rules import Note as GoodsNote
    from proofs.sandbox.sefaz.sefaz import SefazSimulator


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch of the page: its fault, and its words at the gateway and at SEFIN where it refuses."""

    fault: Fault
    gateway: str | None = None
    sefin: str | None = None

    def changes(self, words: str | None) -> dict[str, Any]:
        """Return the fault's setting; a refusal is for the next note, and turns itself off."""
        return {"times": 1, "message": words} if words else {}


VALUE_REFUSED: Final = '[{"Codigo": "E0427", "Descricao": "O valor do serviço informado não foi aceito."}]'
SWITCHES: Final[Mapping[str, Switch]] = {
    "lento": Switch(Fault.SLOW),
    "rejeitar": Switch(  # what the person of the page can mend
        Fault.REJECT,
        VALUE_REFUSED,
        "E0427: O valor do serviço informado não foi aceito.",
    ),
    "culpa_nossa": Switch(  # what only staff can mend
        Fault.REJECT,
        '[{"Codigo": "E0314", "Descricao": "O código de tributação municipal não é administrado pelo município."}]',
        "E0314: O código de tributação municipal não é administrado pelo município.",
    ),
    "perder_resposta": Switch(Fault.LOSE_ANSWER),
    "sem_webhook": Switch(Fault.NO_WEBHOOK),
}


class GatewaySwitches:
    """Turns faults of ``gateway``, and of ``sefin`` and ``sefaz`` where there are any, together; reads their notes.

    What turns itself off at one is turned off at the other: to the person it is one switch. SEFAZ refuses nothing here:
    no word of it is in ``SWITCHES``.
    """

    def __init__(
        self, gateway: PlugNotasSimulator, sefin: SefinSimulator | None = None, sefaz: SefazSimulator | None = None
    ) -> None:
        self._gateway = gateway
        self._sefin = sefin
        self._sefaz = sefaz
        for simulator in (gateway, sefin):
            if simulator is not None:
                simulator.ledger.listen(self._struck)

    def read(self) -> Mapping[str, bool]:
        """Return every switch."""
        return {name: self._is_on(switch) for name, switch in SWITCHES.items()}

    async def set(self, name: str, on: bool) -> None:
        """Turn one switch; of two that refuse, the last counts. Raises ``KeyError`` for one that the page has not."""
        switch = SWITCHES[name]
        if on:
            self._gateway.faults.set(switch.fault, **switch.changes(switch.gateway))
            if self._sefin is not None:
                self._sefin.faults.set(switch.fault, **switch.changes(switch.sefin))
            if self._sefaz is not None and switch.gateway is None:
                self._sefaz.faults.set(switch.fault)
        elif self._is_on(switch):
            for faults in self._faults:
                faults.clear(switch.fault)

    def _is_on(self, switch: Switch) -> bool:
        setting = self._gateway.faults.setting(switch.fault)
        return setting is not None and switch.gateway in {None, setting.message}

    def ledger(self) -> Sequence[Mapping[str, Any]]:
        """Return the notes of all, oldest first."""
        rows = [(note.created_at, _row(note)) for note in self._gateway.notes.values()]
        rows += [(note.at, _national_row(note)) for note in self._sefin.notes.values()] if self._sefin else []
        rows += [(note.at, _goods_row(note)) for note in self._sefaz.authorised()] if self._sefaz else []
        return [row for _, row in sorted(rows, key=lambda pair: pair[0])]

    @property
    def _faults(self) -> tuple[Faults, ...]:
        return tuple(each.faults for each in (self._gateway, self._sefin, self._sefaz) if each is not None)

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
        "emitente": note.prestador_nome or _named(note.prestador),
        "canal": "PlugNotas",
    }


def _national_row(note: NationalNote) -> dict[str, Any]:
    """A note made on the portal carries no reference of ours; its DPS names it."""
    return {
        "id_integracao": note.c_int_contrib or note.id_dps,
        "numero": str(note.numero),
        "situacao": CANCELLED if note.cancelled else ISSUED,
        "valor": str(note.valor),
        "tomador": _named(note.tomador) if note.tomador else "",
        "emitente": _named(note.prestador),
        "canal": "SEFIN Nacional",
    }


def _goods_row(note: GoodsNote) -> dict[str, Any]:
    return {
        "id_integracao": note.reference or str(note.chave),
        "numero": str(int(note.chave.numero)),
        "situacao": CANCELLED if note.cancelled else ISSUED,
        "valor": note.total,
        "tomador": "",
        "emitente": _named(note.chave.cnpj),
        "canal": "SEFAZ",
    }


def _named(document: str) -> str:
    """Return a company's name where the invented register has it, else its number."""
    company = companies().get(document)
    return str(company["razao_social"]) if company else document
