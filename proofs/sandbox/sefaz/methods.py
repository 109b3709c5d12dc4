"""What each service of the simulated SEFAZ does with a message: authorising, telling, registering events, closing."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

from proofs.sandbox.faults import Fault, Setting
from proofs.sandbox.plugnotas.model import BRASILIA
from proofs.sandbox.sefaz import wire
from proofs.sandbox.sefaz.rules import CANCEL, LETTER, NFE, Closed, Nota, base, broken, is_late, reason, signer
from proofs.sandbox.sefaz.wire import Chave, RefusedError, leaf, leaves, local, text

if TYPE_CHECKING:
    from proofs.sandbox.sefaz.rules import Event, Note
    from proofs.sandbox.sefaz.sefaz import SefazSimulator
    from proofs.sandbox.sefaz.wire import Service

_NAMES: Final = {CANCEL: "Cancelamento registrado", LETTER: "Carta de Correcao registrada"}
_LAST: Final = {CANCEL: 1, LETTER: 20}  # nSeqEvento
_FUTURE: Final = timedelta(minutes=5)
_OLD: Final = 6  # months
_SUBJECT: Final = re.compile(rb'Id="(?:NFe)?([^"]+)"|<(?:chNFe|nRec|cUF)>([^<]*)<')
_TP_AMB: Final = re.compile(rb"<tpAmb>([12])<")
_WAIT: Final = "1"  # tMed: seconds


def authorise(sefaz: SefazSimulator, xml: bytes, who: str, at: datetime, said: str = "") -> Note:
    """Return the note that is made of a document received ``at``. Raises ``RefusedError``."""
    nota, config = Nota(xml), sefaz.config
    signed_by = signer(xml, nota.id, sefaz.authority.root.certificate, config.revoked)
    issuer = nota.said("emit/CNPJ")
    if {base(signed_by), base(who)} != {base(issuer)}:
        raise RefusedError("213")
    for code in broken(nota, config, at):
        raise RefusedError(code)
    key = str(nota.chave)
    if setting := sefaz.faults.strike(Fault.REJECT, key, text=said):
        _forced(setting, "999")
    known = _unique(sefaz, nota)
    if known is not None:
        return known
    alert = sefaz.faults.strike(Fault.ALERT, key, text=said)
    return sefaz.write(
        nota.chave,
        "120" if alert else "150" if is_late(nota, at) else "100",
        nota.digest,
        tp_amb=nota.said("ide/tpAmb"),
        xml=xml,
        reference=nota.reference,
        total=str(nota.total),
        alert=(alert.message or "Regra que passa a rejeitar em breve") if alert else None,
    )


def _unique(sefaz: SefazSimulator, nota: Nota) -> Note | None:
    """Return the note that these very bytes made, where the state tells it again. Raises ``RefusedError``."""
    natural = nota.chave.natural
    if natural in sefaz.waiting:
        raise RefusedError("635")
    taken = sefaz.by_natural.get(natural)
    if taken is None:
        if any(one.has(nota.chave) for one in sefaz.closed):
            raise RefusedError("206")
        return None
    note = sefaz.notes[taken]
    if taken != str(nota.chave):
        if sefaz.faults.strike(Fault.NO_UNIQUENESS, natural):
            return None
        raise RefusedError("539", f" [chNFe:{taken}]")
    if note.cancelled is not None:
        raise RefusedError("218", f" [nProt:{note.cancelled.nprot}]")
    if sefaz.config.repeat == "100" and note.digest == nota.digest:
        return note
    raise RefusedError("204", f" [nProt:{note.nprot}]")


def _forced(setting: Setting, usual: str) -> NoReturn:
    """Refuse with the code that a switch names, and its words where it has some. Raises ``RefusedError``."""
    code, _, more = (setting.message or usual).partition(" ")
    raise RefusedError(code, f" {more}" if more else "")


class Call:
    """One call of a service: ``key`` is what it is about, ``code`` the most telling cStat that it was answered."""

    def __init__(self, sefaz: SefazSimulator, service: Service, who: str | None, said: str) -> None:
        self.sefaz, self.config, self.service, self.who, self.said = sefaz, sefaz.config, service, who or "", said
        self.now = sefaz.ledger.now()
        self.key, self.code = "", ""
        self.uf, self.tp_amb = "35", sefaz.config.tp_amb or "2"
        self.root: Any = None

    def run(self, content_type: str, body: bytes) -> str | None:
        """Return the answer, ``None`` where nothing is answered. Raises ``NotTakenError``."""
        does = {
            wire.AUTORIZACAO: self._send,
            wire.RECIBO: self._receipt,
            wire.CONSULTA: self._consult,
            wire.EVENTO: self._events,
            wire.INUTILIZACAO: self._close,
            wire.STATUS: self._status,
        }[self.service.name]
        try:
            inside = wire.opened(self.service, content_type, body)
            self._about(inside)
            self._door()
            self.root = wire.message(self.service, inside)
            self._budget()
            told = does(inside)
        except RefusedError as no:
            return self._answer(no.code, no.more)
        return self._answer("999") if self._strike(Fault.UNCATALOGUED_ACCEPTED) else told

    def _strike(self, fault: Fault, key: str = "") -> Setting | None:
        return self.sefaz.faults.strike(fault, key or self.service.name, method="POST", text=self.said)

    def _door(self) -> None:
        """Refuse what is refused before the message is read."""
        if not self.who:
            raise RefusedError("282")
        if self.sefaz.is_blocked(self.who):
            raise RefusedError("656")
        if self.who in self.config.revoked:
            raise RefusedError("280")
        if setting := self._strike(Fault.MAINTENANCE):
            _forced(setting, "108")
        if self._strike(Fault.UNCATALOGUED):
            raise RefusedError("999")
        if setting := self._strike(Fault.REFUSE):
            _forced(setting, "999")

    def _about(self, inside: bytes) -> None:
        """Read what the message is about: a note, an event, a range, a receipt, a state."""
        found = _SUBJECT.search(inside)
        if found is not None:
            self.key = (found[1] or found[2]).decode()
            place = {wire.EVENTO: 8, wire.INUTILIZACAO: 2}.get(self.service.name, 0)
            self.uf = self.key[place : place + 2] if self.service.name != wire.RECIBO else self.uf
        if (told := _TP_AMB.search(inside)) is not None:
            self.tp_amb = told[1].decode()

    def _budget(self) -> None:
        """Refuse another environment, and a question too many: then every call for an hour."""
        if self.config.tp_amb not in {None, self.tp_amb} and self.service.name != wire.AUTORIZACAO:
            raise RefusedError("252")
        if self.sefaz.too_often(self.service.name, self.key):
            self.sefaz.block(self.who)
            raise RefusedError("656")

    def _answer(self, code: str, more: str = "", inside: str = "", *, telling: str | None = None) -> str:
        """Return the root of an answer: its head, then ``inside``; ``telling`` is the code of what is inside."""
        self.code = telling or code
        told = {"cStat": code, "xMotivo": reason(code, more)}
        head = {"tpAmb": self.tp_amb, "verAplic": wire.VERSION}
        at = local(self.sefaz.ledger.now())
        match self.service.name:
            case wire.AUTORIZACAO:
                made = leaves(**head, **told, cUF=self.uf, dhRecbto=at)
            case wire.RECIBO:
                made = leaves(**head, nRec=self.key or "0" * 15, **told, cUF=self.uf, dhRecbto=at)
            case wire.CONSULTA:
                made = leaves(**head, **told, cUF=self.uf, dhRecbto=at, chNFe=self.key or "0" * 44)
            case wire.EVENTO:
                lot = text(self.root, "idLote") if self.root is not None else "0"
                made = leaves(idLote=lot, **head, cOrgao=self.uf, **told)
            case wire.INUTILIZACAO:
                made = f"<infInut>{leaves(**head, **told, cUF=self.uf)}{inside or leaf('dhRecbto', at)}</infInut>"
                inside = ""
            case _:
                made = leaves(**head, **told, cUF=self.uf, dhRecbto=at, tMed=_WAIT)
        return wire.answer(self.service, made + inside)

    def _status(self, _: bytes) -> str:
        return self._answer("107")

    # notes

    def _send(self, lot: bytes) -> str | None:
        """Take a lot of one note."""
        notes = wire.parts(lot, self.root, "NFe")
        if len(notes) > 1:
            raise RefusedError("126")  # this SEFAZ takes lots of one, of both models
        if text(self.root, "indSinc") != "1":
            raise RefusedError("452")
        (xml,) = notes
        for fault in (Fault.QUEUED, Fault.RECEIPT):
            natural = Chave.of(self.key).natural
            if natural not in self.sefaz.waiting and (setting := self._strike(fault)):
                return self._queued(xml, setting, receipt=fault is Fault.RECEIPT)
        try:
            note = authorise(self.sefaz, xml, self.who, self.now, self.said)
        except RefusedError as no:
            if self.sefaz.too_often("refusal", f"{self.key} {no.code}"):
                self.sefaz.block(self.who)
                raise RefusedError("656") from no
            if no.code in self.config.at_the_door:
                raise
            return self._answer("104", inside=self._refusal(self.key, no.code, no.more), telling=no.code)
        return self._answer("104", inside=self._protocol(note, digest=self.config.digest), telling=note.code)

    def _queued(self, xml: bytes, setting: Setting, *, receipt: bool) -> str | None:
        number = f"{self.uf}{self.sefaz.ledger.written:013}" if receipt else None
        self.sefaz.ledger.append(
            "nfe.queued", chave=self.key, xml=xml.decode(), who=self.who, seconds=setting.seconds, receipt=number
        )
        if number is None:
            return None
        return self._answer("103", inside=f"<infRec>{leaves(nRec=number, tMed=_WAIT)}</infRec>")

    def _receipt(self, _: bytes) -> str:
        """Tell what became of a lot that was taken and not answered."""
        if any(one.receipt == self.key for one in self.sefaz.waiting.values()):
            return self._answer("105")
        chave, code, more = self.sefaz.receipts.get(self.key, ("", "", ""))
        if not chave:
            return self._answer("106")
        note = self.sefaz.notes.get(chave)
        if note is not None and code == note.code:
            inside = self._protocol(note, digest=self.config.digest)
        else:
            inside = self._refusal(chave, code, more)
        return self._answer("104", inside=inside, telling=code)

    def _protocol(self, note: Note, *, digest: bool) -> str:
        """Return the protNFe of a note, spoilt where a switch says so."""
        key = str(note.chave)
        said = key
        if self._strike(Fault.OTHER_REFERENCE, key):
            other = note.chave._replace(numero=f"{int(note.chave.numero) + 1:09}")
            said = str(other._replace(dv=other.digit))
        told = leaves(
            tpAmb=note.tp_amb,
            verAplic=wire.VERSION,
            chNFe=said,
            dhRecbto=local(note.at),
            nProt=None if self._strike(Fault.NO_NUMBER, key) else note.nprot,
            digVal=note.digest if digest else None,
            cStat=note.code,
            xMotivo=reason(note.code),
            cMsg="1" if note.alert else None,
            xMsg=note.alert,
        )
        return f'<protNFe versao="4.00"><infProt Id="ID{note.nprot}">{told}</infProt></protNFe>'

    def _refusal(self, chave: str, code: str, more: str) -> str:
        """Return the protNFe of a note that is not authorised."""
        told = leaves(
            tpAmb=self.tp_amb,
            verAplic=wire.VERSION,
            chNFe=chave,
            dhRecbto=local(self.now),
            cStat=code,
            xMotivo=reason(code, more),
        )
        return f'<protNFe versao="4.00"><infProt>{told}</infProt></protNFe>'

    # the consult

    def _consult(self, _: bytes) -> str:
        """Tell what is known of a key: a note or an event younger than the lag is not there yet."""
        chave = Chave.of(self.key)
        _well_formed(chave, self.now)
        if self.config.ufs is not None and chave.uf not in self.config.ufs:
            raise RefusedError("226")
        taken = self.sefaz.by_natural.get(chave.natural)
        if taken is None or not self._seen(self.sefaz.notes[taken].at, taken):
            raise RefusedError("217")
        if taken != self.key:
            other = Chave.of(taken)
            code = "562" if other.codigo != chave.codigo else "561" if other.aamm != chave.aamm else "613"
            raise RefusedError(code, f" [chNFe:{taken}]")
        note = self.sefaz.notes[taken]
        events = [one for one in note.events if self._seen(one.at, f"{taken} {one.tipo} {one.sequence}")]
        code = note.code
        if self.config.cancelled == "101" and any(one.tipo == CANCEL for one in events):
            code = "151" if note.cancelled is not None and note.cancelled.code == "155" else "101"
        inside = self._protocol(note, digest=self.config.digest_in_consult) + "".join(map(_proc_event, events))
        return self._answer(code, inside=inside)

    def _seen(self, at: datetime, key: str) -> bool:
        lag = self.sefaz.faults.setting(Fault.READ_LAG)
        young = lag is not None and at > self.now - timedelta(seconds=lag.seconds)
        return not (young and self._strike(Fault.READ_LAG, key))

    # events

    def _events(self, lot: bytes) -> str:
        """Register the events of a lot, each by itself."""
        told, last = [], ""
        for xml, element in zip(wire.parts(lot, self.root, "evento"), self.root.findall("{*}evento"), strict=True):
            info = element[0]
            chave, tipo = Chave.of(text(info, "chNFe")), text(info, "tpEvento")
            sequence = int(text(info, "nSeqEvento"))
            try:
                event = self._event(xml, info, chave, tipo, sequence)
                told.append(event.answer)
                last = event.code
            except RefusedError as no:
                told.append(ret_evento(chave, self.tp_amb, tipo, sequence, no.code, self.now, more=no.more))
                last = no.code
        return self._answer("128", inside="".join(told), telling=last)

    def _event(self, xml: bytes, info: Any, chave: Chave, tipo: str, sequence: int) -> Event:
        sefaz, author = self.sefaz, text(info, "CNPJ")
        signed_by = signer(xml, info.get("Id"), sefaz.authority.root.certificate, self.config.revoked)
        if {base(signed_by), base(self.who)} != {base(author)}:
            raise RefusedError("213")
        if tipo not in _NAMES or (tipo == LETTER and chave.modelo != NFE):
            raise RefusedError("491")  # that a letter of an NFC-e is refused is official, its code is not known here
        if sequence > _LAST[tipo]:
            raise RefusedError("594")
        note = sefaz.notes.get(str(chave))
        if note is None:
            raise RefusedError("494")
        if any((one.tipo, one.sequence) == (tipo, sequence) for one in note.events):
            again = self.config.cancelled_again if tipo == CANCEL else "573"
            raise RefusedError(again, f" [nProt:{note.events[-1].nprot}]" if again == "218" else "")
        if author != chave.cnpj:
            raise RefusedError("574")
        self._moment(datetime.fromisoformat(text(info, "dhEvento")), note)
        if note.cancelled is not None:
            raise RefusedError("580")
        code = self._cancellation(note, text(info, "detEvento/nProt")) if tipo == CANCEL else "135"
        if self._strike(Fault.UNLINKED, str(chave)):
            code = "136"
        return sefaz.register(note, tipo, sequence, code, xml)

    def _moment(self, at: datetime, note: Note) -> None:
        if note.xml and at < Nota(note.xml).emissao:
            raise RefusedError("577")
        if at < note.at.replace(microsecond=0):
            raise RefusedError("579")
        if at > self.now + _FUTURE:
            raise RefusedError("578")

    def _cancellation(self, note: Note, nprot: str) -> str:
        """Return the code under which a note is cancelled. Raises ``RefusedError``: 222, 501."""
        if nprot != note.nprot:
            raise RefusedError("222")
        if setting := self._strike(Fault.REJECT_CANCEL, str(note.chave)):
            _forced(setting, "501")
        late = self.now - note.at > timedelta(seconds=self.config.cancel_within[note.chave.modelo])
        if late and not self.config.cancel_late:
            raise RefusedError("501")
        return "155" if late else "135"

    # closed numbers

    def _close(self, xml: bytes) -> str:
        """Close a range of numbers for ever."""
        info = self.root[0]
        said = {name: text(info, name) for name in ("ano", "CNPJ", "mod", "serie", "nNFIni", "nNFFin")}
        signed_by = signer(xml, self.key, self.sefaz.authority.root.certificate, self.config.revoked)
        if {base(signed_by), base(self.who)} != {base(said["CNPJ"])}:
            raise RefusedError("213")
        cnpj, modelo, uf = said["CNPJ"], said["mod"], text(info, "cUF")
        serie, first, last = (int(said[name]) for name in ("serie", "nNFIni", "nNFFin"))
        if self.key != f"ID{uf}{said['ano']}{cnpj}{modelo}{serie:03}{first:09}{last:09}":
            raise RefusedError("215")
        if first > last:
            raise RefusedError("224")
        for one in self.sefaz.closed:
            if (one.cnpj, one.modelo, one.serie, one.uf) != (cnpj, modelo, serie, uf):
                continue
            if (one.first, one.last) == (first, last):
                raise RefusedError(self.config.closed_again, f" [nProt:{one.nprot}]")
            if one.first <= last and first <= one.last:
                raise RefusedError("256")
        closed = Closed(cnpj, modelo, serie, first, last, self.sefaz.protocol(uf), uf)
        if any(closed.has(note.chave) for note in self.sefaz.notes.values()):
            raise RefusedError("241")
        nprot = closed.nprot
        self.sefaz.ledger.append("nfe.closed", **closed._asdict())
        return self._answer("102", inside=leaves(**said, dhRecbto=local(self.now), nProt=nprot))


def ret_evento(
    chave: Chave,
    tp_amb: str,
    tipo: str,
    sequence: int,
    code: str,
    at: datetime,
    *,
    nprot: str | None = None,
    more: str = "",
) -> str:
    """Return the retEvento of an event, registered where it has a protocol."""
    told = leaves(
        tpAmb=tp_amb,
        verAplic=wire.VERSION,
        cOrgao=chave.uf,
        cStat=code,
        xMotivo=reason(code, more),
        chNFe=str(chave),
        tpEvento=tipo,
        xEvento=_NAMES.get(tipo),
        nSeqEvento=str(sequence),
        dhRegEvento=local(at),
        nProt=nprot,
    )
    return f'<retEvento versao="1.00"><infEvento>{told}</infEvento></retEvento>'


def _proc_event(event: Event) -> str:
    """Return an event as the consult shows it: what was sent, then what was answered."""
    return f'<procEventoNFe versao="1.00">{event.xml.decode()}{event.answer}</procEventoNFe>'


def _well_formed(chave: Chave, now: datetime) -> None:
    """Refuse a key that no note can have, or one too old: 236, 526, 614, 616, 618, 619. Raises ``RefusedError``."""
    month, today = int(chave.aamm[2:]), now.astimezone(BRASILIA)
    wrong = {
        "236": chave.dv != chave.digit,
        "614": not 11 <= int(chave.uf) <= 53,  # noqa: PLR2004 - IBGE's codes of states
        "616": not 1 <= month <= 12,  # noqa: PLR2004 - months
        "618": chave.modelo not in {"55", "65"},
        "619": int(chave.numero) == 0,
        "526": (today.year - 2000 - int(chave.aamm[:2])) * 12 + today.month - month > _OLD,
    }
    for code, is_so in wrong.items():
        if is_so:
            raise RefusedError(code)
