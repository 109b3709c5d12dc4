"""The simulated SEFAZ: authorises each number once, cancels, closes numbers, keeps the ledger that judges."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections import Counter, defaultdict, deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from gateway.nfe.layouts import NS
from proofs.sandbox.faults import Fault
from proofs.sandbox.nacional.mutual import MutualTls, company
from proofs.sandbox.sefaz import wire
from proofs.sandbox.sefaz.methods import Call, authorise, ret_evento
from proofs.sandbox.sefaz.rules import CANCEL, Closed, Event, Note, SefazConfig, Waiting
from proofs.sandbox.sefaz.wire import Chave, RefusedError
from proofs.sandbox.server import ADMIN, answer, cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.sandbox.ledger import Record
    from proofs.sandbox.nacional.authority import Authority
    from proofs.sandbox.sefaz.wire import Service

BASE: Final = "/ws"
_HOUR: Final = timedelta(hours=1)
_DOWN: Final = "<html><body><h2>403 - Forbidden: Access is denied.</h2></body></html>"


class SefazSimulator(MutualTls):
    """The six web services with their books.

    The ledger has ``nfe.authorised`` (with the bytes), ``nfe.event``, ``nfe.closed``, ``nfe.queued`` and
    ``nfe.settled`` (a note that waited), ``blocked`` (656 from then on) and ``call``: every call with its service, the
    key it is about, the most telling cStat, its status and the CNPJ of its certificate. It is the storage too: opened
    again on it, the simulator goes on. Time is the ledger's clock.
    """

    name = "sefaz"

    def __init__(self, authority: Authority, config: SefazConfig | None = None, **server: Any) -> None:
        super().__init__(authority, **server)
        self.config = config or SefazConfig()
        self.notes: dict[str, Note] = {}  # by key, oldest first
        self.closed: list[Closed] = []
        self.by_natural: dict[str, str] = {}
        self.waiting: dict[str, Waiting] = {}  # by natural key
        self.receipts: dict[str, tuple[str, str, str]] = {}  # key, code and more words, by receipt
        self._blocked: dict[str, datetime] = {}
        self._recent: defaultdict[tuple[str, str], deque[datetime]] = defaultdict(deque)
        self._protocols = 0
        for record in self.ledger.replay():
            self._learn(record)
        self.ledger.listen(self._learn)

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the routes of the services and those of another system of the same company."""
        return [
            *(web.post(f"{BASE}/{name}", self._call) for name in wire.SERVICES),
            web.post(ADMIN + "outro/nfe", self._elsewhere),
            web.post(ADMIN + "outro/cancelar", self._cancelled_elsewhere),
        ]

    def error_body(self, status: int) -> dict[str, Any]:
        """Return what a fault says; it travels as ``error`` writes it."""
        return {"faultstring": "Too Many Requests" if status == 429 else "Server was unable to process request."}  # noqa: PLR2004 - HTTP

    def error(self, status: int, **headers: str) -> web.Response:
        """Answer with a SOAP fault, or with the page of the server before it."""
        if self.config.page:
            page = f"<html><body><h1>{status}</h1></body></html>"
            return web.Response(status=status, text=page, content_type="text/html", headers=headers)
        told = wire.fault(self.error_body(status)["faultstring"])
        return web.Response(status=status, body=told, content_type="application/soap+xml", headers=headers)

    def uncertified(self, request: web.Request) -> web.Response:  # noqa: ARG002 - the same for everybody
        """Answer 403 with the web server's page."""
        return web.Response(status=403, text=_DOWN, content_type="text/html")

    # who judges asks here

    def authorised(self) -> list[Note]:
        """Return every note that was authorised, cancelled ones too, oldest first."""
        self.settle()
        return list(self.notes.values())

    def of_reference(self, reference: str) -> list[Note]:
        """Return the notes that say ``Ref. PROSA`` and this."""
        return [note for note in self.authorised() if note.reference == reference]

    def duplicates(self) -> dict[str, list[Note]]:
        """Return, by reference, the notes of one sale that count more than once."""
        alive: defaultdict[str, list[Note]] = defaultdict(list)
        for note in self.authorised():
            if note.reference and note.cancelled is None:
                alive[note.reference].append(note)
        return {reference: notes for reference, notes in alive.items() if len(notes) > 1}

    def unexplained(self, cnpj: str, modelo: str, serie: int, first: int = 1) -> list[int]:
        """Return the numbers from ``first`` to the last one known that are neither a note nor closed."""
        explained = {
            int(note.chave.numero)
            for note in self.authorised()
            if (note.chave.cnpj, note.chave.modelo, int(note.chave.serie)) == (cnpj, modelo, serie)
        }
        for one in self.closed:
            if one[:3] == (cnpj, modelo, serie):
                explained.update(range(one.first, one.last + 1))
        return [number for number in range(first, max(explained, default=first)) if number not in explained]

    def calls(self) -> Counter[tuple[str, str]]:
        """Count every call that came through, by service and by the key that it was about."""
        return Counter((one.data["operation"], one.data["key"]) for one in self.ledger.of("call") if one.data["status"])

    # another system of the same company

    def issue_elsewhere(self, chave: str, *, tp_amb: str = "2", reference: str = "") -> Note:
        """Authorise a note of another system under a key. Raises ``ValueError`` for a number that is taken."""
        self.settle()
        key = Chave.of(chave)
        if len(chave) != len(str(key)) or key.digit != key.dv or key.natural in self.by_natural:
            raise ValueError(chave)
        digest = base64.b64encode(hashlib.sha1(chave.encode(), usedforsecurity=False).digest()).decode()
        return self.write(key, "100", digest, tp_amb=tp_amb, xml=b"", reference=reference, total="1.00")

    def cancel_elsewhere(self, chave: str) -> None:
        """Cancel a note by hand. Raises ``KeyError``, and ``ValueError`` for one that is cancelled."""
        note = self.notes[chave]
        if note.cancelled is not None:
            raise ValueError(chave)
        self.register(note, CANCEL, 1, "135", b"")

    async def _elsewhere(self, request: web.Request) -> web.Response:
        """``POST /_sandbox/outro/nfe`` with ``chave`` and what else ``issue_elsewhere`` takes."""
        return await self._switched(request, self.issue_elsewhere)

    async def _cancelled_elsewhere(self, request: web.Request) -> web.Response:
        """``POST /_sandbox/outro/cancelar`` with ``chave``."""
        return await self._switched(request, self.cancel_elsewhere)

    async def _switched(self, request: web.Request, does: Any) -> web.Response:
        try:
            does(**await request.json())
        except (ValueError, TypeError, KeyError) as error:
            return answer({"error": str(error)}, 400)
        return answer({}, 201)

    # the books

    def write(self, chave: Chave, code: str, digest: str, **told: Any) -> Note:
        """Authorise a note, with what else ``Note`` has."""
        told["xml"] = told["xml"].decode()
        nprot = self.protocol(chave.uf)
        self.ledger.append(
            "nfe.authorised",
            chave=str(chave),
            code=code,
            nprot=nprot,
            digest=digest,
            sha256=hashlib.sha256(told["xml"].encode()).hexdigest(),
            **told,
        )
        return self.notes[str(chave)]

    def register(self, note: Note, tipo: str, sequence: int, code: str, xml: bytes) -> Event:
        """Register an event of a note."""
        at, nprot = self.ledger.now(), self.protocol(note.chave.uf)
        told = ret_evento(note.chave, note.tp_amb, tipo, sequence, code, at, nprot=nprot)
        self.ledger.append(
            "nfe.event",
            chave=str(note.chave),
            tipo=tipo,
            sequence=sequence,
            code=code,
            nprot=nprot,
            xml=xml.decode(),
            answer=told,
        )
        return self.notes[str(note.chave)].events[-1]

    def protocol(self, uf: str) -> str:
        """Return the number of the next protocol."""
        return f"1{uf}{self.ledger.now():%y}{self._protocols + 1:010}"

    def _learn(self, record: Record) -> None:
        told, at = record.data, record.at
        match record.kind:
            case "nfe.authorised":
                chave = Chave.of(told["chave"])
                self._protocols += 1
                self.by_natural[chave.natural] = told["chave"]
                self.notes[told["chave"]] = Note(
                    chave,
                    told["code"],
                    told["nprot"],
                    at,
                    told["digest"],
                    told["tp_amb"],
                    told["xml"].encode(),
                    told["reference"],
                    told["total"],
                    told.get("alert"),
                )
            case "nfe.event":
                self._protocols += 1
                note, sent = self.notes[told["chave"]], told["xml"].encode()
                event = Event(told["tipo"], told["sequence"], told["code"], told["nprot"], at, sent, told["answer"])
                self.notes[told["chave"]] = replace(note, events=(*note.events, event))
            case "nfe.closed":
                self._protocols += 1
                self.closed.append(Closed(*(told[name] for name in Closed._fields)))
            case "nfe.queued":
                chave, due = Chave.of(told["chave"]), at + timedelta(seconds=told["seconds"])
                self.waiting[chave.natural] = Waiting(
                    chave, told["xml"].encode(), told["who"], at, due, told["receipt"]
                )
            case "nfe.settled":
                self.waiting.pop(Chave.of(told["chave"]).natural, None)
                if told["receipt"] is not None:
                    self.receipts[told["receipt"]] = told["chave"], told["code"], told["more"]
            case "blocked":
                self._blocked[told["company"]] = at + timedelta(seconds=self.config.blocked_for)
            case "call" if told.get("operation"):
                self._recent[told["operation"], told["key"]].append(at)
                self._recent["refusal", f"{told['key']} {told['cstat']}"].append(at)

    def settle(self) -> None:
        """Decide about the notes that waited long enough."""
        due = [one for one in self.waiting.values() if one.due <= self.ledger.now()]
        for one in due:
            del self.waiting[one.chave.natural]  # its own number is not in its way
            try:
                code, more = authorise(self, one.xml, one.who, one.at).code, ""
            except RefusedError as no:
                code, more = no.code, no.more
            self.ledger.append("nfe.settled", chave=str(one.chave), receipt=one.receipt, code=code, more=more)

    def block(self, who: str) -> None:
        """Refuse every call of a CNPJ for an hour: 656."""
        self.ledger.append("blocked", company=who)

    def is_blocked(self, who: str) -> bool:
        """Say whether a CNPJ has to wait."""
        return self.ledger.now() < self._blocked.get(who, datetime.min.replace(tzinfo=UTC))

    def too_often(self, kind: str, key: str) -> bool:
        """Say whether the same thing was done as often as an hour allows."""
        done, since = self._recent[kind, key], self.ledger.now() - _HOUR
        while done and done[0] <= since:
            done.popleft()
        return len(done) >= self.config.limits.get(kind, 1_000_000)

    def hour_passes(self, key: str) -> None:
        """Count from now on what is done about a key."""
        for about in [each for each in self._recent if each[1].startswith(key)]:
            del self._recent[about]

    # the wire

    async def _call(self, request: web.Request) -> web.Response:
        body, who = await request.read(), company(request)
        service = wire.SERVICES[request.path.rpartition("/")[2]]
        call = Call(self, service, who, f"{request.path} {body.decode(errors='replace')}")
        try:
            await asyncio.sleep(self.config.processing)
            self.settle()
            ret = call.run(request.headers.get("Content-Type", ""), body)
            response = cut(request) if ret is None else self._told(service, ret, call.said)
        except wire.NotTakenError as error:
            page = wire.fault(str(error))
            response = web.Response(status=error.status, body=page, content_type="application/soap+xml")
        self.ledger.append(
            "call",
            method=request.method,
            path=request.path,
            status=response.status,
            company=who,
            operation=service.name,
            key=call.key,
            cstat=call.code,
        )
        return response

    def _told(self, service: Service, ret: str, said: str) -> web.Response:
        """Return an answer, spoilt where a switch says so."""

        def strikes(fault: Fault) -> bool:
            return self.faults.strike(fault, service.name, method="POST", text=said) is not None

        if strikes(Fault.WRONG_ROOT):
            ret = ret.replace(service.told, "retSefaz")
        if strikes(Fault.NO_NAMESPACE):
            ret = ret.replace(f' xmlns="{NS}"', ' xmlns=""', 1)
        if strikes(Fault.ESCAPED):
            ret = escape(ret, quote=False)
        return web.Response(body=wire.wrapped(service, ret), content_type="application/soap+xml", charset="utf-8")
