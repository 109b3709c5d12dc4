"""Judges a storm by the books of the simulated Meta and gateway; asks our own tables only what they still hold open."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields
from datetime import datetime  # noqa: TC003 - part of records that are built at run time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sandbox.ledger import Record
    from storm.plan import Wish

Key = tuple[str, int]  # (sessao_id, revisao): what a confirmation is bound to
APPROVED = ("aprovado", "webhook_success")  # how a session with its note ends
OUTBOUND_LIMIT = 0.001  # of all messages that Meta accepted


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is left after a storm. ``sessions`` are (sessao_id, estado, snapshot_reason); ``inbox`` all its keys.

    ``open_rows`` counts per table what is still to be done, and what was quarantined.
    """

    wishes: Mapping[str, Wish]
    meta: Sequence[Record]
    gateway: Sequence[Record]
    sessions: Sequence[tuple[str, str, str]]
    inbox: frozenset[str]
    open_rows: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Every list names what is wrong; empty lists are what was promised. ``sent`` counts accepted messages."""

    confirmed: int
    notes: int
    sent: int
    duplicates: list[str] = field(default_factory=list)  # more than one authorised note for one confirmation
    lost: list[str] = field(default_factory=list)  # confirmed, and no note
    unconfirmed: list[str] = field(default_factory=list)  # a note without the tap on that very revision before it
    wrong: list[str] = field(default_factory=list)  # another amount or customer than the person said
    stuck: list[str] = field(default_factory=list)  # not ended, or ended otherwise than with its note
    untold: list[str] = field(default_factory=list)  # PDF or XML never reached the phone
    unstored: list[str] = field(default_factory=list)  # a webhook was answered 2xx and is not in the inbox
    outbound_duplicates: list[str] = field(default_factory=list)  # one message of ours on the phone twice

    @property
    def faults(self) -> dict[str, list[str]]:
        """The lists, by name."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, list)}

    @property
    def kept(self) -> bool:
        """Whether the promise was kept: nothing wrong, and outbound duplicates within their limit."""
        grave = [name for name, found in self.faults.items() if found and name != "outbound_duplicates"]
        return not grave and len(self.outbound_duplicates) <= self.sent * OUTBOUND_LIMIT


@dataclass(frozen=True, slots=True)
class Tap:
    """A tap on Confirmar; ``current``: on the newest revision that the phone had shown by then."""

    who: str
    key: Key
    at: datetime
    current: bool


@dataclass(frozen=True, slots=True)
class Issued:
    """A note that the gateway took; ``settled`` when the authority gave it a number."""

    key: Key
    id: str
    at: datetime
    valor: Decimal
    tomador: str
    settled: datetime | None


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict; pure, so that it can be shown to fail."""
    taps, notes = taps_of(evidence.meta), notes_of(evidence.gateway)
    confirmed: dict[Key, Tap] = {}
    for tap in taps:
        if tap.current:
            confirmed.setdefault(tap.key, tap)
    issued = [note for note in notes if note.settled is not None]
    count = Counter(note.key for note in issued)
    sent = [record for record in evidence.meta if record.kind == "outbound"]
    return Verdict(
        confirmed=len(confirmed),
        notes=len(issued),
        sent=len(sent),
        duplicates=[f"{_name(key)}: {times} notes" for key, times in count.items() if times > 1],
        lost=[_name(key) for key in confirmed if not count[key]],
        unconfirmed=[
            f"{_name(note.key)}: {note.id}"
            for note in notes
            if note.key not in confirmed or confirmed[note.key].at > note.at
        ],
        wrong=list(_wrong(notes, confirmed, evidence.wishes)),
        stuck=list(_stuck(evidence, confirmed)),
        untold=list(_untold(sent, confirmed, count)),
        unstored=list(_unstored(evidence)),
        outbound_duplicates=list(_twice(evidence.meta)),
    )


def taps_of(meta: Iterable[Record]) -> list[Tap]:
    """Return all taps on Confirmar in Meta's book, in order."""
    shown: dict[str, tuple[str, int]] = {}  # the newest revision on each phone
    taps: list[Tap] = []
    for record in meta:
        data = record.data
        if record.kind == "outbound" and (key := _shown(data["payload"])):
            who = data["user"]["key"]
            if who not in shown or shown[who][0] != key[0] or shown[who][1] <= key[1]:
                shown[who] = key
        elif record.kind == "inbound":
            reply = (data["message"].get("interactive") or {}).get("button_reply") or {}
            pressed = _confirmation(str(reply.get("id", "")))
            who = data["user"]["key"]
            if pressed:
                taps.append(Tap(who, pressed, record.at, current=shown.get(who) == pressed))
    return taps


def notes_of(gateway: Iterable[Record]) -> list[Issued]:
    """Return all notes in the gateway's book, oldest first; the key is read from our reference."""
    gateway = list(gateway)
    settled = {r.data["id"]: r.at for r in gateway if r.kind == "note.settled" and r.data.get("numero")}
    return [
        Issued(
            key=_reference(str(payload.get("idIntegracao"))),
            id=r.data["id"],
            at=r.at,
            valor=Decimal(str(payload["servico"][0]["valor"]["servico"])),
            tomador=str((payload.get("tomador") or {}).get("cpfCnpj", "")),
            settled=settled.get(r.data["id"]),
        )
        for r in gateway
        if r.kind == "note.created" and (payload := r.data["payload"])
    ]


def _wrong(notes: Iterable[Issued], confirmed: Mapping[Key, Tap], wishes: Mapping[str, Wish]) -> Iterable[str]:
    for note in notes:
        wish = wishes.get(confirmed[note.key].who) if note.key in confirmed else None
        if wish and (note.valor != wish.valor or note.tomador != wish.tomador):
            yield f"{_name(note.key)}: {note.valor} to {note.tomador} instead of {wish.valor} to {wish.tomador}"


def _stuck(evidence: Evidence, confirmed: Mapping[Key, Tap]) -> Iterable[str]:
    served = {tap.who for tap in confirmed.values()}
    yield from (f"{who}: never came to a confirmation" for who in evidence.wishes if who not in served)
    for sessao_id, estado, reason in evidence.sessions:
        if (estado, reason) != APPROVED:
            yield f"{sessao_id}: {estado} ({reason})"
    yield from (f"{count} open in {name}" for name, count in evidence.open_rows.items() if count)


def _untold(sent: Iterable[Record], confirmed: Mapping[Key, Tap], count: Mapping[Key, int]) -> Iterable[str]:
    files: defaultdict[str, set[str]] = defaultdict(set)
    for record in sent:
        document = record.data["payload"].get("document") or {}
        files[record.data["user"]["key"]].add(str(document.get("filename", "")).rpartition(".")[2])
    for key, tap in confirmed.items():
        missing = {"pdf", "xml"} - files[tap.who]
        if missing and count[key]:
            yield f"{_name(key)}: no {' and '.join(sorted(missing))} on the phone"


def _unstored(evidence: Evidence) -> Iterable[str]:
    """Every message and tick that was answered 2xx; a tick's reference names its message, so one row of it will do."""
    ticks = {key.split(":")[1] for key in evidence.inbox if key.startswith("status:")}
    for record in evidence.meta:
        if record.kind == "webhook.delivered":
            missing = [ref for ref in record.data["refs"] if ref not in evidence.inbox and ref not in ticks]
            yield from (f"{ref}: answered {record.data['status']}" for ref in missing)


def _twice(meta: Iterable[Record]) -> Iterable[str]:
    """One of our messages accepted twice, or the same summary again although its reader did nothing in between."""
    seen: set[tuple[str, str]] = set()
    summary: dict[str, Key] = {}  # the last one on the phone, while its reader does nothing
    for record in meta:
        who = record.data["user"]["key"] if record.kind in {"inbound", "outbound"} else ""
        if record.kind == "inbound":
            summary.pop(who, None)
        elif record.kind == "outbound":
            payload = record.data["payload"]
            mark = (who, str(payload.get("biz_opaque_callback_data")))
            key = _shown(payload)
            if mark in seen:
                yield f"{who}: message {mark[1]} again"
            elif key and summary.get(who) == key:
                yield f"{who}: the summary of {_name(key)} again"
            seen.add(mark)
            if key:
                summary[who] = key


def _shown(payload: dict[str, Any]) -> Key | None:
    buttons = ((payload.get("interactive") or {}).get("action") or {}).get("buttons") or []
    found = (_confirmation(str(button["reply"]["id"])) for button in buttons)
    return next((key for key in found if key), None)


def _confirmation(button_id: str) -> Key | None:
    action, _, target = button_id.partition(":")
    sessao_id, _, revisao = target.rpartition(":")
    return (sessao_id, int(revisao)) if action == "confirmar" and revisao.isdigit() else None


def _reference(id_integracao: str) -> Key:
    """Read ``{sessao_id}-r{revisao}-{tentativa}``; what has another shape is nobody's confirmation."""
    base, _, _tentativa = id_integracao.rpartition("-")
    sessao_id, _, revisao = base.rpartition("-r")
    return (sessao_id, int(revisao)) if revisao.isdigit() else (id_integracao, -1)


def _name(key: Key) -> str:
    return f"{key[0]} r{key[1]}"
