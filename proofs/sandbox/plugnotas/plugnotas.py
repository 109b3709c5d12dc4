"""The simulated PlugNotas: takes notes, answers for the city, keeps the ledger that judges duplicates."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from proofs.sandbox.courier import PLUGNOTAS, Courier, Patience
from proofs.sandbox.faults import Fault
from proofs.sandbox.plugnotas import http as plugnotas_http
from proofs.sandbox.plugnotas.model import CANCELLED, ISSUED, PROCESSING, REJECTED, Note, access_key
from proofs.sandbox.plugnotas.rules import rejection
from proofs.sandbox.server import Simulator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aiohttp import web

    from proofs.sandbox.ledger import Record

TOO_LATE = "E0822: o prazo para cancelamento definido pelo município foi ultrapassado"


@dataclass(frozen=True, slots=True)
class PlugNotasConfig:
    """How this gateway behaves."""

    api_key: str = "sandbox-plugnotas-api-key"
    webhook_header: str = "X-Prosa-Secret"  # PlugNotas signs nothing: a static header of the customer's choice
    webhook_secret: str = "sandbox-gateway-secret"  # noqa: S105 - a default of the simulator
    processing: float = 0.3  # seconds from acceptance to the city's word
    rendering: float = 0.1  # seconds until PDF and XML exist, 202 before
    cancel_within: float | None = None  # seconds from authorisation: the city's time limit (None: none)
    nameless: bool = False  # takes a customer with a CPF and no name
    first_number: int = 1
    page: int = 50  # notes per page of /consultar/periodo
    closed: frozenset[str] = frozenset()  # CNPJs that are BAIXADA: their notes are rejected
    names: Mapping[str, str] = field(default_factory=dict)  # registered companies: CNPJ to razao social
    patience: Patience = PLUGNOTAS


class PlugNotasSimulator(Simulator):
    """NFS-e API of PlugNotas with a city behind it.

    The ledger has ``note.created``, ``note.settled``, ``cancel.asked``, ``cancel.settled``, ``call`` (every API call
    with its status) and ``webhook.*``. A key stays bound to its note after a rejection, as at the real one.
    """

    name = "plugnotas"

    def __init__(self, config: PlugNotasConfig | None = None, *, webhook_url: str | None = None, **server: Any) -> None:
        super().__init__(**server)
        self.config = config or PlugNotasConfig()
        self.notes: dict[str, Note] = {}  # by id, oldest first
        self.refused: set[str] = set()  # CNPJs for which submissions are forbidden (403)
        self._keys: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._numbers: defaultdict[str, int] = defaultdict(lambda: self.config.first_number - 1)
        self._verdicts: dict[str, str | None] = {}  # rejection message decided on acceptance, by id
        self.courier = Courier(
            self.ledger,
            self.faults,
            headers=lambda _: {self.config.webhook_header: self.config.webhook_secret},
            patience=self.config.patience,
        )
        self.courier.url = webhook_url
        for record in self.ledger.replay():
            self._learn(record)
        self.ledger.listen(self._learn)

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the API's routes."""
        return plugnotas_http.routes(self)

    def error_body(self, status: int) -> dict[str, Any]:
        """Return PlugNotas' error shape."""
        text = "Limite de requisições excedido" if status == 429 else "Erro interno do servidor"  # noqa: PLR2004 - HTTP
        return {"error": {"message": text}}

    async def open(self) -> Self:
        """Listen, and go on with the notes that were being processed."""
        await super().open()
        await self.courier.open()
        for note in tuple(self.notes.values()):
            if note.situacao == PROCESSING:
                self.spawn(self._settle(note.id))
            if note.cancel_protocol and note.cancel_answer is None:
                self.spawn(self._settle_cancel(note.id))
        return self

    async def close(self) -> None:
        """Stop; notes in process go on when opened again."""
        await self.courier.close()
        await super().close()

    # what the API asks

    def under(self, prestador: str, id_integracao: str) -> list[Note]:
        """Return the notes under a natural key: one, or more where uniqueness was switched off."""
        return [self.notes[note_id] for note_id in self._keys.get((prestador, id_integracao), ())]

    def by_id_or_protocol(self, wanted: str) -> list[Note]:
        """Return the note with this id, or those of this protocol."""
        if wanted in self.notes:
            return [self.notes[wanted]]
        return [note for note in self.notes.values() if note.protocol == wanted]

    def issued(self) -> list[Note]:
        """Return the notes that the authority issued, cancelled ones too: the judge of duplicates."""
        return [note for note in self.notes.values() if note.numero is not None]

    def unique(self, prestador: str, id_integracao: str) -> bool:
        """Say whether the key is protected (the switch ``sem_unicidade`` lifts it)."""
        return self.faults.strike(Fault.NO_UNIQUENESS, f"{prestador} {id_integracao}") is None

    def accept(self, payloads: list[dict[str, Any]]) -> tuple[str, list[Note]]:
        """Take notes that passed validation: from here on they exist. Returns the protocol and the notes."""
        protocol = str(uuid.uuid4())
        taken = []
        for payload in payloads:
            note_id = os.urandom(12).hex()
            key = f"{payload['prestador']['cpfCnpj']} {payload.get('idIntegracao')}"
            switch = self.faults.strike(Fault.REJECT, key)
            words = switch.message if switch else None
            verdict = rejection(payload, closed=self.config.closed, forced=switch is not None, words=words)
            self.ledger.append("note.created", id=note_id, protocol=protocol, payload=payload, rejection=verdict)
            self.spawn(self._settle(note_id))
            taken.append(self.notes[note_id])
        return protocol, taken

    def ask_cancel(self, note: Note, motivo: str, codigo: str) -> str:
        """Start a cancellation; returns its protocol."""
        protocol = str(uuid.uuid4())
        refused = self.faults.strike(Fault.REJECT_CANCEL, note.id) is not None or self._too_late(note)
        self.ledger.append("cancel.asked", id=note.id, protocol=protocol, motivo=motivo, codigo=codigo, refused=refused)
        self.spawn(self._settle_cancel(note.id))
        return protocol

    def _too_late(self, note: Note) -> bool:
        limit = self.config.cancel_within
        return limit is not None and self.ledger.now() - note.created_at > timedelta(seconds=limit)

    def rendered(self, note: Note) -> bool:
        """Say whether PDF and XML are there yet."""
        ready = timedelta(seconds=self.config.rendering)
        return note.has_files and note.settled_at is not None and self.ledger.now() - note.settled_at >= ready

    # what the city does

    async def _settle(self, note_id: str) -> None:
        slow = self.faults.setting(Fault.SLOW)
        always = slow is not None and slow.chance == 1 and slow.about is None
        await asyncio.sleep(self.config.processing + (slow.seconds if slow and always else 0))
        note = self.notes[note_id]
        message = self._verdicts[note_id]
        if message is not None:
            self.ledger.append("note.settled", id=note_id, situacao=REJECTED, mensagem=message)
        else:
            numero = self._numbers[note.prestador] + 1
            self.ledger.append(
                "note.settled",
                id=note_id,
                situacao=ISSUED,
                numero=str(numero),
                chave=access_key(note, numero, self.ledger.now()),
                autorizacao=str(uuid.uuid4().int)[:15],
                mensagem="Nota autorizada (documento de demonstração, sem valor fiscal).",
            )
        self._announce(note_id)

    async def _settle_cancel(self, note_id: str) -> None:
        await asyncio.sleep(self.config.processing)
        refused = self._cancel_refused(note_id)
        said = TOO_LATE if refused and self._too_late(self.notes[note_id]) else None
        self.ledger.append("cancel.settled", id=note_id, refused=refused, mensagem=said)
        self._announce(note_id)

    def _cancel_refused(self, note_id: str) -> bool:
        asked = [record for record in self.ledger.of("cancel.asked") if record.data["id"] == note_id]
        return bool(asked[-1].data["refused"])

    def _announce(self, note_id: str) -> None:
        note = self.notes[note_id]
        body = json.dumps(note.hook(self.url), ensure_ascii=False).encode()
        # each event in its own lane: this sender promises no order
        self.courier.send(body, lane=f"{note_id} {note.situacao}", refs=[note_id, note.id_integracao])

    def _learn(self, record: Record) -> None:
        data = record.data
        match record.kind:
            case "note.created":
                note = Note(data["id"], data["protocol"], record.at, data["payload"])
                note = replace(note, emissor=self.config.names.get(note.prestador))
                self.notes[note.id] = note
                self._verdicts[note.id] = data["rejection"]
                self._keys[note.prestador, note.id_integracao].append(note.id)
            case "note.settled":
                news = {name: value for name, value in data.items() if name != "id"}
                note = replace(self.notes[data["id"]], settled_at=record.at, **news)
                self.notes[note.id] = note
                if note.numero is not None:
                    self._numbers[note.prestador] = max(self._numbers[note.prestador], int(note.numero))
            case "cancel.asked":
                note = self.notes[data["id"]]
                news = {"cancel_protocol": data["protocol"], "motivo": data["motivo"], "cancel_answer": None}
                self.notes[note.id] = replace(note, **news)
            case "cancel.settled":
                note = self.notes[data["id"]]
                refusal = data.get("mensagem") or "O município não autorizou o cancelamento"
                said = refusal if data["refused"] else "Nota cancelada"
                situacao = note.situacao if data["refused"] else CANCELLED
                self.notes[note.id] = replace(note, situacao=situacao, cancel_answer=said)
