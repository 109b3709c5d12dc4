"""The books of a good storm, written by hand and open to sabotage: twenty people, one note each."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from proofs.sandbox.cnpj_register import companies
from proofs.sandbox.ledger import Record
from proofs.sandbox.plugnotas.danfse import render_pdf
from proofs.sandbox.plugnotas.model import Note
from proofs.sandbox.plugnotas.nfse_xml import render_xml
from proofs.storm.judge.books import Evidence, House, RecordedNote, Session, read_book
from proofs.storm.judge.verdict import Verdict, judge
from proofs.storm.judge.webhooks import canonical
from proofs.storm.plan import Kind, Plan
from tests.proofs.storm.storm_wishes import CLOSED, PEOPLE, payload, wish

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from proofs.storm.crowd import Wish
    from proofs.storm.machines.oblivion import Loss

ENGLISH = re.compile(
    r"\b(again|and|begun|came|has|is|its|never|none|not|nothing|of|on|only|our|the|told|was|with(out)?)\b"
)
START = datetime(2026, 1, 2, 12, tzinfo=UTC)
Fact = tuple[datetime, str, dict[str, Any]]


@dataclass
class Stage:
    """Everything that the judge looks at, as lists to change; ``evidence`` closes the books."""

    wishes: dict[str, Wish] = field(default_factory=dict)
    meta: list[Fact] = field(default_factory=list)
    gateway: list[Fact] = field(default_factory=list)
    contents: dict[str, tuple[str, str] | bytes] = field(default_factory=dict)  # media id: (note id, kind), or bytes
    sessions: list[list[str]] = field(default_factory=list)
    inbox: set[str] = field(default_factory=set)
    hints: list[str] = field(default_factory=list)
    kept: list[list[str]] = field(default_factory=list)
    emissions: list[list[str]] = field(default_factory=list)
    open_rows: dict[str, int] = field(default_factory=dict)
    gaps: set[tuple[str, str, int]] = field(default_factory=set)
    blows: Counter[Kind] = field(default_factory=lambda: Counter({Kind.KILL_WORKER: 1, Kind.KILL_WEB: 1}))
    losses: list[Loss] = field(default_factory=list)
    plan: Plan = field(default_factory=lambda: Plan(PEOPLE, 1))
    at: datetime = START
    marks: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    series: Counter[str] = field(default_factory=Counter)

    channel: ClassVar[str] = "plugnotas"

    # writing

    def wants(self, number: int) -> Wish:
        """Return what person ``number`` wants."""
        return wish(number)

    def tell(self, book: list[Fact], kind: str, **data: Any) -> dict[str, Any]:
        """Enter a fact, a second after the last one of either book; returns its data."""
        self.at += timedelta(seconds=1)
        book.append((self.at, kind, data))
        return data

    def hook(self, book: list[Fact], refs: list[str], body: str, *, status: int = 200) -> str:
        """Enter a webhook that was answered at once; returns its id."""
        name = f"h{len(book)}"
        self.tell(book, "webhook.queued", id=name, lane="l", refs=refs, body=body)
        self.tell(book, "webhook.delivered", id=name, refs=refs, attempt=1, status=status)
        return name

    def says(self, who: str, message: dict[str, Any]) -> None:
        """Somebody writes or taps; the webhook is stored."""
        wamid = f"in{len(self.meta)}"
        self.tell(self.meta, "inbound", user={"key": who}, message={"id": wamid, **message})
        self.hook(self.meta, [wamid], "")
        self.inbox.add(wamid)

    def writes(self, who: str, text: str) -> None:
        """Somebody writes."""
        self.says(who, {"type": "text", "text": {"body": text}})

    def taps(self, who: str, button: str) -> None:
        """Somebody taps a button."""
        self.says(who, {"type": "interactive", "interactive": {"button_reply": {"id": button, "title": "Confirmar"}}})

    def sends(self, who: str, payload: dict[str, Any], *, mark: str | None = None) -> dict[str, Any]:
        """The house sends a message; its tick is stored. Returns the payload."""
        self.marks += 1
        payload["biz_opaque_callback_data"] = mark or str(self.marks)
        wamid = f"out{len(self.meta)}"
        self.tell(self.meta, "outbound", wamid=wamid, user={"key": who}, payload=payload)
        self.hook(self.meta, [wamid], "")
        self.inbox.add(f"status:{wamid}:read")
        return payload

    def shows(self, wish: Wish, sessao: str, revisao: int, **changes: Any) -> dict[str, Any]:
        """The house shows a summary of this wish with these ``changes``."""
        w = replace(wish, **changes)
        amount = f"{w.valor:,.2f}".translate(str.maketrans(",.", ".,"))
        lines = [
            "*Confere?*",
            "",
            f"Cliente: {companies()[w.tomador]['razao_social']}",
            f"CNPJ: {w.tomador[:2]}.{w.tomador[2:5]}.{w.tomador[5:8]}/{w.tomador[8:12]}-{w.tomador[12:]}",
            f"Valor: *R$ {amount}* (por extenso)",
            f"Serviço: {w.servico}",
            *([f"E-mail: {w.email}"] if w.email else []),
            *([f"Competência: {w.competencia}"] if w.competencia else []),
            *([f"Data do serviço: {w.data}"] if w.data else []),
            f"Emitente: {w.emitente.razao_social}",
        ]
        button = {"type": "reply", "reply": {"id": f"confirmar:{sessao}:{revisao}", "title": "Confirmar"}}
        interactive = {"body": {"text": "\n".join(lines)}, "action": {"buttons": [button]}}
        return self.sends(w.who, {"type": "interactive", "interactive": interactive})

    def order(self, wish: Wish, key: str, **changes: Any) -> str:
        """The gateway takes a note; returns its id."""
        w = replace(wish, **changes)
        note_id = f"{len(self.gateway):024x}"
        self.tell(
            self.gateway,
            "note.created",
            id=note_id,
            protocol="p",
            payload=payload(w, key, self._next_number(w)),
            rejection=None,
        )
        return note_id

    def settles(self, note_id: str, *, refused: bool = False) -> str:
        """The authority gives the note its number, and says so; returns the number."""
        made = next(data for _, kind, data in self.gateway if kind == "note.created" and data["id"] == note_id)
        issuer, reference = made["payload"]["prestador"]["cpfCnpj"], made["payload"]["idIntegracao"]
        self.numbers[issuer] += not refused
        numero = None if refused else str(self.numbers[issuer])
        word = {"situacao": "REJEITADO", "mensagem": "E0190"} if refused else {"situacao": "CONCLUIDO"}
        issued = {"numero": numero, "chave": f"{issuer}{numero:0>36}", "autorizacao": "42"} if numero else {}
        self.tell(self.gateway, "note.settled", id=note_id, **word, **issued)
        self.announces(note_id, reference, word["situacao"])
        if numero:
            self.kept.append([note_id, numero, issued["chave"], "autorizado"])
        self.emissions.append([reference, "rejeitado" if refused else "concluido"])
        return numero or ""

    def announces(self, note_id: str, reference: str, status: str) -> None:
        """The gateway's webhook, stored whole."""
        body = json.dumps({"id": note_id, "idIntegracao": reference, "status": status})
        self.hook(self.gateway, [note_id, reference], body)
        self.hints.append(body)

    def cancels(self, note_id: str, reference: str) -> None:
        """The authority cancels a note, once it was asked."""
        self.tell(self.gateway, "cancel.asked", id=note_id, protocol="c", motivo="m", codigo="1", refused=False)
        self.tell(self.gateway, "cancel.settled", id=note_id, refused=False, mensagem=None)
        self.announces(note_id, reference, "CANCELADO")
        self.records_cancelled(note_id)

    def records_cancelled(self, id_externo: str) -> None:
        """Our own table has it too."""
        next(row for row in self.kept if row[0] == id_externo)[3] = "cancelado"

    def delivers(self, who: str, note_id: str, numero: str, valor: Decimal) -> None:
        """PDF and XML go to a phone."""
        amount = f"{valor:,.2f}".translate(str.maketrans(",.", ".,"))
        for kind, mime in (("pdf", "application/pdf"), ("xml", "text/plain")):
            caption = {"caption": f"NFS-e {numero} autorizada · R$ {amount} · CLIENTE"} if kind == "pdf" else {}
            self.file(who, mime, f"NFSe-{numero}.{kind}", (note_id, kind), caption)

    def file(self, who: str, mime: str, name: str, what: tuple[str, str], more: dict[str, str]) -> None:
        """One document goes up to Meta and out."""
        media = f"m{len(self.meta)}"
        self.contents[media] = what
        self.tell(self.meta, "media", id=media, mime=mime, filename=name, origin="bot")
        self.sends(who, {"type": "document", "document": {"id": media, "filename": name, **more}})

    # finding

    def created(self, who: str) -> dict[str, Any]:
        """The fact of the last note taken for this person."""
        sessions = set(self.sessions_of(who))
        found = [d for _, kind, d in self.gateway if kind == "note.created"]
        return [d for d in found if d["payload"]["idIntegracao"].split("-r")[0] in sessions][-1]

    def note(self, who: str) -> Note:
        """The last note of this person, as the simulator has it."""
        return self._notes()[self.created(who)["id"]]

    def sessions_of(self, who: str) -> list[str]:
        """The sessions that this person's phone showed, oldest first."""
        return [button.split(":")[1] for button in self.confirms(who)]

    def confirms(self, who: str) -> list[str]:
        """The ids of the Confirmar buttons on this phone, oldest first."""
        shown = [d["payload"] for _, kind, d in self.meta if kind == "outbound" and d["user"]["key"] == who]
        return [p["interactive"]["action"]["buttons"][0]["reply"]["id"] for p in shown if "interactive" in p]

    def documents(self, who: str, kind: str) -> list[dict[str, Any]]:
        """The documents of this kind on a phone."""
        sent = [d["payload"] for _, k, d in self.meta if k == "outbound" and d["user"]["key"] == who]
        return [p["document"] for p in sent if "document" in p and p["document"]["filename"].endswith(kind)]

    def media(self, media_id: str) -> dict[str, Any]:
        """The fact of an upload."""
        return next(d for _, kind, d in self.meta if kind == "media" and d["id"] == media_id)

    def summary(self, who: str) -> dict[str, Any]:
        """The body of the last summary on a phone."""
        sent = [d["payload"] for _, k, d in self.meta if k == "outbound" and d["user"]["key"] == who]
        bodies: list[dict[str, Any]] = [
            p["interactive"]["body"] for p in sent if "Confere" in str(p.get("interactive"))
        ]
        return bodies[-1]

    def without(self, book: list[Fact], unwanted: Callable[[str, dict[str, Any]], bool]) -> None:
        """Take facts out of a book, as if they had never been."""
        book[:] = [fact for fact in book if not unwanted(fact[1], fact[2])]

    # judging

    def evidence(self) -> Evidence:
        """Render the files from the notes as they stand now, number the facts, and close the books."""
        notes = self._notes()
        files = {
            name: what if isinstance(what, bytes) else rendered(what[1], notes.get(what[0]))
            for name, what in self.contents.items()
        }
        meta = copy.deepcopy(self.meta)
        for _, kind, data in meta:
            if kind == "media" and "sha256" not in data:
                data["sha256"] = hashlib.sha256(files[data["id"]]).hexdigest()
        return Evidence(
            plan=self.plan,
            wishes=self.wishes,
            meta=read_book(records(meta), len(meta), bodies=False),
            books={self.channel: read_book(records(self.gateway), len(self.gateway))},
            register=read_book(records([(START, "lookup", {"cnpj": CLOSED, "found": True})]), 1),
            media=files.get,
            house=House(
                sessions=[Session(*row) for row in self.sessions],
                inbox=frozenset(self.inbox),
                hints=frozenset(map(canonical, self.hints)),
                notes=[RecordedNote(*row) for row in self.kept],
                emissions=[(row[0], row[1]) for row in self.emissions],
                open_rows=self.open_rows,
                gaps=frozenset(self.gaps),
            ),
            blows=self.blows,
            losses=self.losses,
        )

    def verdict(self) -> Verdict:
        """Judge it; whatever was found, its lines are in Portuguese."""
        found = judge(self.evidence())
        lines = [*found.unusable, *found.lacking, *(line for lines in found.faults.values() for line in lines)]
        assert not [line for line in lines if ENGLISH.search(line)]
        return found

    def _next_number(self, wish: Wish) -> int:
        """Return the next number of the issuer's series; 0 where the gateway numbers."""
        issuer = wish.emitente
        if not issuer.serie_rps:
            return 0
        self.series[issuer.cnpj] += 1
        return (issuer.primeiro_rps or 1) + self.series[issuer.cnpj] - 1

    def _notes(self) -> dict[str, Note]:
        found: dict[str, Note] = {}
        for at, kind, data in self.gateway:
            if kind == "note.created":
                found[data["id"]] = Note(data["id"], "p", at, data["payload"])
            elif kind == "note.settled" and data.get("numero"):
                news = {name: data[name] for name in ("situacao", "numero", "chave", "autorizacao")}
                found[data["id"]] = replace(found[data["id"]], settled_at=at, **news)
        return found


def records(facts: list[Fact]) -> list[Record]:
    """Number the facts of a book."""
    return [Record(number, at, kind, data) for number, (at, kind, data) in enumerate(facts, start=1)]


def rendered(kind: str, note: Note | None) -> bytes:
    """Return the file of a note; a page takes longer than a whole verdict, so each is made once.

    What cannot be printed, or was never issued, leaves an empty file.
    """
    if note is None or note.numero is None or isinstance(note.payload["servico"][0]["valor"]["servico"], str):
        return b""
    issued = (note.numero, note.chave, note.autorizacao)
    return _rendered(kind, note.id, note.created_at, json.dumps(note.payload), note.settled_at, issued)


@cache
def _rendered(kind: str, note_id: str, at: datetime, raw: str, settled: Any, issued: tuple[Any, Any, Any]) -> bytes:
    note = Note(note_id, "p", at, json.loads(raw), "CONCLUIDO", settled, *issued)
    return render_pdf(note) if kind == "pdf" else render_xml(note)


def talk(stage: Stage, number: int) -> None:
    """One whole conversation as it should go."""
    w = stage.wants(number)
    who, sessao = w.who, f"S{number}"
    stage.wishes[who] = w
    stage.writes(who, "faz uma nota")
    revisao = 1
    if w.antes:
        stage.shows(w, sessao, 1, valor=w.antes)
        stage.writes(who, "na verdade é menos")
        revisao = 2
    if w.recusado:
        stage.shows(w, sessao, 1, tomador=w.recusado)
        stage.taps(who, f"confirmar:{sessao}:1")
        stage.settles(stage.order(w, f"{sessao}-r1-1", tomador=w.recusado), refused=True)
        stage.sessions.append([sessao, "rejeitado", "webhook_rejected"])
        stage.writes(who, "o cliente é outro")
        sessao = f"S{number}b"
    w = replace(w, valor=w.trocado or w.valor)  # a note that another one will replace
    stage.shows(w, sessao, revisao)
    if w.palavra:
        stage.writes(who, w.palavra)
    else:
        stage.taps(who, f"confirmar:{sessao}:{revisao}")
    note_id = stage.order(w, f"{sessao}-r{revisao}-1")
    numero = stage.settles(note_id)
    stage.delivers(who, note_id, numero, w.valor)
    stage.sessions.append([sessao, "aprovado", "webhook_success"])
    if w.cancela:
        cancel(stage, who, note_id, numero, f"{sessao}-r{revisao}-1")


def cancel(stage: Stage, who: str, note_id: str, numero: str, reference: str) -> None:
    """A person has a note cancelled."""
    button = {"type": "reply", "reply": {"id": "cancelar_sim:1:1", "title": "Cancelar a nota"}}
    text = {"text": f"*Cancelo esta nota?* NFS-e {numero} · R$ 1,00"}
    stage.writes(who, f"cancela a nota {numero}")
    stage.sends(who, {"type": "interactive", "interactive": {"body": text, "action": {"buttons": [button]}}})
    stage.taps(who, "cancelar_sim:1:1")
    stage.cancels(note_id, reference)
    stage.sends(who, {"type": "text", "text": {"body": f"*Nota {numero} cancelada*"}})


@cache
def _good() -> Stage:
    stage = Stage()
    for number in range(PEOPLE):
        talk(stage, number)
    return stage


def good() -> Stage:
    """Return a storm in which all is as it should be, free to be changed."""
    return copy.deepcopy(_good())


def another_note(*, sessao: str = "S0", revisao: int = 1, tentativa: int = 1) -> Callable[[Stage], None]:
    """The gateway issues one more note for Ana, under this key."""

    def change(stage: Stage) -> None:
        stage.settles(stage.order(wish(0), f"{sessao}-r{revisao}-{tentativa}"))

    return change


def never_made(stage: Stage) -> None:
    """The gateway announces nothing at all."""
    stage.without(stage.gateway, lambda kind, _: kind.startswith("webhook."))
