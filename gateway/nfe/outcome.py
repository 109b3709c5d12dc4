"""The one place that turns an answer of SEFAZ, or its absence, into what we may believe.

A note is authorised only by a protocol of our key, over a digest that we signed. An answer speaks of its own sending:
what an earlier one became is for who asks. Numbers are recycled by SEFAZ, so a refusal keeps the authority's own text.
Sources: MOC 7.0 and its notes, by the contract's table; 217, and not 135, means absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, Literal

from lxml import etree

from gateway.http.wire import REFUSED_BY_TLS, Answer, NoAnswerError, NotSentError, retry_after, scrub
from gateway.keys import ChaveNFe
from gateway.nacional.layouts import parse
from gateway.nfe.document import CANCELAMENTO, CARTA, processed
from gateway.nfe.layouts import NS
from gateway.port import Explicacao
from gateway.refusals.plain import CERTIFICADO, DESCONHECIDO, EMPRESA, TECNICO, of_staff
from state_machine.cancellation.reconciliation import (
    AlreadyCancelled,
    CancelFinding,
    Cancelled,
    CancelOutcome,
    Stands,
)
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    Arquivo,
    CannotTell,
    Duplicate,
    Finding,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotSent,
    Outcome,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)


class Significado(StrEnum):
    """What a code says of the note, the number, the event or the call that it answers."""

    AUTORIZADA = "autorizada"
    CANCELADA = "cancelada"
    DENEGADA = "denegada"  # the number is spent, and there is no valid note
    AUSENTE = "ausente"  # believed when said twice, far enough apart
    PROCESSANDO = "processando"
    OLHAR_DENTRO = "olhar_dentro"  # of the lot; the note's or event's own code is inside
    DUPLICADA = "duplicada"  # a note of this key is there
    TOMADA = "tomada"  # the number is another key's
    ENCERRADO = "encerrado"  # the number has no note and never will
    REGISTRADO = "registrado"  # an event
    RECUSADO = "recusado"  # an event, for certain
    RECUSADA = "recusada"  # a note, for certain: by this sending
    CERTIFICADO = "certificado"  # refused until somebody brings another certificate
    EMPRESA = "empresa"  # refused until the company may issue
    REFAZER = "refazer"  # refused for its moment: the same key with a new one
    MAIS_TARDE = "mais_tarde"
    PERGUNTAR = "perguntar"  # proves nothing: the note is asked for


Repair = Literal["usuario", "empresa", "produto", "leiaute", "configuracao"]


@dataclass(frozen=True, slots=True)
class CStat:
    """A row of the table: what the code says, who repairs it, for how many seconds nobody asks again."""

    significado: Significado
    repair: Repair | None = None
    espera: float | None = None


def _rows(significado: Significado, *codes: int | range, repair: Repair | None = None) -> dict[str, CStat]:
    each = (code for found in codes for code in (found if isinstance(found, range) else (found,)))
    return {str(code): CStat(significado, repair) for code in each}


_S: Final = Significado
C_STAT: Final[Mapping[str, CStat]] = {
    **_rows(_S.AUTORIZADA, 100, 120, 150),  # 120 since 2026-10-05, with alerts; 150 out of term
    **_rows(_S.CANCELADA, 101, 151, 155, 218),
    **_rows(_S.DENEGADA, 110, 205, 301, 302, 303),
    **_rows(_S.AUSENTE, 217),
    **_rows(_S.PROCESSANDO, 103, 105),
    **_rows(_S.OLHAR_DENTRO, 104, 128),
    **_rows(_S.DUPLICADA, 204),
    **_rows(_S.TOMADA, 467, 468, 539, 561, 562, 613, 691, 692),
    **_rows(_S.ENCERRADO, 102, 206, 256, 563),
    **_rows(_S.REGISTRADO, 135, 136),
    **_rows(_S.RECUSADO, 219, 221, 501, 690),
    **_rows(_S.PERGUNTAR, 106, 107, 222, 241, 494, 526, 573, 574, range(577, 581), 594, 635, 999),
    **_rows(_S.REFAZER, 228, 703, 704),
    **_rows(_S.CERTIFICADO, range(280, 287), range(290, 297), repair="configuracao"),
    **_rows(_S.EMPRESA, 203, 230, 245, 247, repair="empresa"),
    **_rows(_S.RECUSADA, 178, 179, 180, 590, repair="empresa"),
    **_rows(_S.RECUSADA, 337, 591, 600, 782, repair="produto"),
    **_rows(_S.RECUSADA, range(705, 711), 717, 750, 785, 787, 788, 794, repair="usuario"),
    **_rows(_S.RECUSADA, 394, 395, 462, 463, 464, 672, range(972, 976), repair="configuracao"),
    **_rows(_S.RECUSADA, 226, 252, range(287, 290), 297, 298, range(401, 410), repair="configuracao"),
    **_rows(_S.RECUSADA, 214, 215, 225, 238, 239, 242, 243, 248, 450, 452, 502, 503, 516, 517, repair="leiaute"),
    **_rows(_S.RECUSADA, 565, 587, 588, 765, 775, 897, 1022, 1115, 1118, 1119, repair="leiaute"),
    "108": CStat(_S.MAIS_TARDE, espera=300.0),  # stopped for a moment
    "109": CStat(_S.MAIS_TARDE, espera=1800.0),  # without forecast
    "113": CStat(_S.MAIS_TARDE, espera=1800.0),  # of the contingency, which is not used
    "114": CStat(_S.MAIS_TARDE, espera=1800.0),
    "656": CStat(_S.MAIS_TARDE, espera=3600.0),  # blocked for an hour, which every call begins anew
}
"""What each code means; one that is not here says nothing, save inside of our own protocol."""

UNDUE: Final = "656"
_DONE_BEFORE: Final = frozenset({"218", "573", "580"})  # of an event: perhaps ours is there
WITHOUT_LINK: Final = "136"  # an event that is registered and not yet of the note
LATE_CANCELLATION: Final = "155"
SPENT: Final = frozenset({"110", "205", "206", "256", "301", "302", "303", "563"})  # another attempt has another number
# Refusals of a lot before the note in it was looked at.
_OF_THE_LOT: Final = frozenset(
    "214 215 225 226 238 239 242 243 248 252 402 404 409 450 452 502 516 517 565 587 588 765 775".split()  # noqa: SIM905
) | frozenset(str(code) for code in range(280, 299))
_DENIED_BEFORE: Final = "205"
_CLOSED_NOW: Final = "102"
_IS_A_NOTE: Final = "241"  # one of the numbers that should be closed
_ANSWERS: Final = (*("retEnviNFe", "retConsReciNFe", "retConsSitNFe", "retEnvEvento", "retInutNFe", "retConsStatServ"),)
_OK: Final = 200
_REFUSALS: Final = range(201, 2000)  # what else stands inside of our protocol
_LONGEST: Final = 1000  # characters of one text
_CODE: Final = re.compile(r"[0-9]{3,4}")
_OTHER: Final = re.compile(r"chNFe:?\s*([0-9]{6}[0-9A-Z]{12}[0-9]{26})")
_PROLOG: Final = re.compile(r"^\ufeff?\s*<\?xml[^>]*\?>")
_REFERENCE: Final = re.compile(r"Ref\. PROSA ([A-Z2-7]{20})")
_DS: Final = "{http://www.w3.org/2000/09/xmldsig#}"

UNUSABLE: Final = "no usable certificate"  # the reason of a call that never left
NO_CERTIFICATE: Final = (
    "falta o certificado digital (A1) da sua empresa, ou o guardado não serve mais. Quem cuida do cadastro envia um "
    "novo"
)
_TEXT_OF_CERTIFICATE: Final = (
    "a Secretaria da Fazenda recusou o certificado digital (A1) da sua empresa. Quem cuida do cadastro confere se ele "
    "venceu, foi revogado ou é de outro CNPJ, e envia um novo"
)
_TEXT_OF_COMPANY: Final = (
    "a Secretaria da Fazenda não aceita que sua empresa emita esta nota. Quem cuida do cadastro confere a inscrição "
    "estadual e o credenciamento"
)
_EXPLAINED: Final[Mapping[Repair, Explicacao]] = {
    "usuario": Explicacao("um dado da venda não foi aceito; confira o cliente, a entrega e o tipo de nota", None),
    "empresa": EMPRESA,
    "produto": of_staff("o CFOP ou o CSOSN de um produto não foi aceito"),
    "leiaute": TECNICO,
    "configuracao": TECNICO,
}


@dataclass(frozen=True, slots=True)
class SefazReply:
    """An answer that could be read: its root, its own code and the authority's words for it."""

    root: Any
    c_stat: str
    motivo: str

    @property
    def linha(self) -> CStat | None:
        """The row of its code; ``None``: it is not known."""
        return C_STAT.get(self.c_stat)

    @property
    def said(self) -> str:
        """Code and words, without secrets."""
        return scrub(f"{self.c_stat} {self.motivo}".strip())


@dataclass(frozen=True, slots=True)
class Registered:
    """An event is registered; ``linked``: the note shows it by now."""

    protocolo: str | None
    linked: bool


@dataclass(frozen=True, slots=True)
class Encerrado:
    """Numbers are closed for ever; ``antes``: they were so before, and somebody looks whether by us."""

    protocolo: str | None
    antes: bool = False


NoOutcome = NotSent | Rejected | Postponed | Unknown | Misconfigured


def explain(recusa: Rejected) -> Explicacao:
    """Say in plain pt-BR why a note was refused; the authority's own words go with it."""
    if not recusa.codigos:
        return DESCONHECIDO
    said = f"a Secretaria da Fazenda respondeu “{recusa.mensagem}”"
    linha = C_STAT.get(recusa.codigos[0])
    if linha is not None and linha.significado is Significado.CERTIFICADO:
        return replace(CERTIFICADO, texto=f"{CERTIFICADO.texto}; {said}")
    if linha is None or linha.repair is None:
        return Explicacao(said, None, suporte=True)
    known = _EXPLAINED[linha.repair]
    return replace(known, texto=f"{known.texto}; {said}")


def read(result: Answer | NoAnswerError, *roots: str) -> SefazReply | str:
    """Return what SEFAZ answered, or why it cannot be believed: HTML, a fault, nothing, another document.

    The answer is found by its local name, in whatever namespace, and also where it travels as text.
    """
    if not isinstance(result, Answer):
        return result.reason
    if result.status != _OK:
        return f"HTTP {result.status}"
    try:
        found = _named(parse(result.body), roots)
    except ValueError:
        return f"HTTP {result.status} without an answer of SEFAZ that can be read"
    if len(found) != 1:
        return f"HTTP {result.status} with {len(found)} answers of SEFAZ"
    inner = found[0].find("{*}infInut")
    c_stat = _text(found[0] if inner is None else inner, "cStat")
    if c_stat is None or not _CODE.fullmatch(c_stat):
        return f"HTTP {result.status} with an answer that has no code"
    return SefazReply(found[0], c_stat, _text(found[0] if inner is None else inner, "xMotivo") or "")


def undue(result: Answer | NoAnswerError) -> bool:
    """Tell whether SEFAZ stops this company (656): nothing of it is called for an hour."""
    told = read(result, *_ANSWERS)
    return isinstance(told, SefazReply) and UNDUE in {each.text for each in told.root.iter("{*}cStat")}


def digest_of(signed: bytes) -> str:
    """Return the DigestValue of a document of ours. Raises ``ValueError`` for what has none."""
    found = parse(signed).findtext(f"{_DS}Signature/{_DS}SignedInfo/{_DS}Reference/{_DS}DigestValue")
    if not found:
        raise ValueError("the document is not signed")
    return str(found)


def submit_outcome(result: Answer | NoAnswerError, sent: bytes, chave: ChaveNFe) -> Outcome:
    """Classify the answer to a note, or to the question for its lot; what is not plainly something else is unknown."""
    told = read(result, "retEnviNFe", "retConsReciNFe")
    if isinstance(told, str):
        return not_answered(result, told)
    protocols = list(told.root.iter("{*}protNFe"))
    ours = [each for each in protocols if _text(each, "infProt/chNFe") == str(chave)]
    if len(ours) == 1:
        return _of_protocol(ours[0], sent, chave)
    if protocols:
        return Unknown("answered about another key")
    receipt = next((each.text for each in told.root.iter("{*}nRec") if each.text), None)
    linha = told.linha or CStat(Significado.PERGUNTAR)
    if linha.significado is Significado.PROCESSANDO:
        return Accepted(str(chave), receipt)
    if told.c_stat in _OF_THE_LOT or linha.significado is Significado.MAIS_TARDE:
        return _refused(told.c_stat, told.said)
    return Unknown(f"answered without our key: {told.said}", recusada=told.linha is None)


def _of_protocol(protocol: Any, sent: bytes, chave: ChaveNFe) -> Outcome:
    info = protocol.find("{*}infProt")
    code = _text(info, "cStat") or ""
    said = scrub(f"{code} {_text(info, 'xMotivo') or ''}".strip())
    linha = C_STAT.get(code)
    meaning = None if linha is None else linha.significado
    match meaning:
        case Significado.AUTORIZADA:
            if _text(info, "digVal") not in {None, digest_of(sent)}:
                return Duplicate(_of_others(chave, said, f"digVal {_text(info, 'digVal')}"))
            if _text(info, "nProt") is None:  # no document that counts is made of it
                return Unknown(f"a protocol without its number: {said}")
            found = _with(sent, protocol, chave)
            return Issued(found.nota, found.xml)
        case Significado.DUPLICADA | Significado.CANCELADA:
            return Duplicate(recusa=Rejected(said, (code,)))
        case Significado.TOMADA:
            return Duplicate(_of_others(chave, said), Rejected(said, (code,)))
        case Significado.DENEGADA if code == _DENIED_BEFORE:
            return Duplicate(recusa=Rejected(said, (code,)))
        case Significado.DENEGADA | Significado.ENCERRADO if code in SPENT:
            return Rejected(said, (code,))
        case None if not _CODE.fullmatch(code) or int(code) not in _REFUSALS:
            return Unknown(f"a protocol that says {said}", recusada=True)
        case None:
            return Rejected(said, (code,))
        case _:
            return _refused(code, said)


def _refused(code: str, said: str) -> NoOutcome:
    """Return what follows from a code that is in the table and makes no note."""
    linha = C_STAT[code]
    match linha.significado:
        case Significado.RECUSADA | Significado.RECUSADO:
            return Rejected(said, (code,))
        case Significado.CERTIFICADO:
            return Misconfigured(said, _TEXT_OF_CERTIFICATE, refazer=True)
        case Significado.EMPRESA:
            return Misconfigured(said, _TEXT_OF_COMPANY)
        case Significado.MAIS_TARDE:
            return Postponed(linha.espera, said)
        case Significado.REFAZER:
            return NotSent(said, refazer=True)
        case _:
            return Unknown(said)


def not_answered(result: Answer | NoAnswerError, why: str) -> NotSent | Misconfigured | Unknown:
    """Classify that no whole answer came."""
    if not isinstance(result, NotSentError):
        return Unknown(why)
    if result.reason == REFUSED_BY_TLS:
        return Misconfigured(result.reason, _TEXT_OF_CERTIFICATE)
    if result.reason == UNUSABLE:
        return Misconfigured(result.reason, NO_CERTIFICATE)
    return NotSent(result.reason)


def finding(result: Answer | NoAnswerError, chave: ChaveNFe, versions: Sequence[bytes]) -> Finding:
    """Classify the answer to the question for a key; ``versions``: all bytes that were signed under it."""
    told = read(result, "retConsSitNFe")
    if isinstance(told, str):
        return cannot_tell(result, told)
    if _text(told.root, "chNFe") not in {None, str(chave)}:
        return CannotTell("answered about another key")
    meaning = None if told.linha is None else told.linha.significado
    match meaning:
        case Significado.AUSENTE:
            return Absent()
        case Significado.AUTORIZADA | Significado.CANCELADA:
            return _standing(told, chave, versions)
        case Significado.DENEGADA | Significado.ENCERRADO:
            nota = Nota(str(chave), str(chave), Situacao.REJEITADA, mensagem=told.said, codigos=(told.c_stat,))
            return Found(replace(nota, prestador=chave.emitente, chave=str(chave)))
        case Significado.TOMADA:
            return Found(_of_others(chave, told.said))
        case _:
            return CannotTell(told.said, None if told.linha is None else told.linha.espera)


def _standing(told: SefazReply, chave: ChaveNFe, versions: Sequence[bytes]) -> Finding:
    """Return the note of which a consultation brings the protocol, over which of our documents it is."""
    protocols = [each for each in told.root.iter("{*}protNFe") if _text(each, "infProt/chNFe") == str(chave)]
    cancelled = _cancelled(told, chave)
    if len(protocols) != 1 or _text(protocols[0], "infProt/nProt") is None:
        if not cancelled:
            return CannotTell(f"{told.said}, without its protocol or the number of it")
        return Found(replace(_of_others(chave, told.said, None), situacao=Situacao.CANCELADA))
    info = protocols[0].find("{*}infProt")
    linha = C_STAT.get(_text(info, "cStat") or "")
    if linha is None or linha.significado not in {Significado.AUTORIZADA, Significado.CANCELADA}:
        return CannotTell(f"{told.said}, and a protocol that says {_text(info, 'cStat')}")
    digest = _text(info, "digVal")
    ours = [each for each in versions if digest in {None, digest_of(each)}]
    if not ours:
        return Found(_of_others(chave, told.said, f"digVal {digest}"))
    if len(ours) > 1:
        return CannotTell(f"{told.said}, and nothing says which of {len(ours)} documents")
    found = _with(ours[0], protocols[0], chave)
    if not cancelled:
        return found
    return replace(found, nota=replace(found.nota, situacao=Situacao.CANCELADA, mensagem=told.said))


def _cancelled(told: SefazReply, chave: ChaveNFe) -> bool:
    """Tell whether a consultation says so, by its code or by a registered event."""
    if told.linha is not None and told.linha.significado is Significado.CANCELADA:
        return True
    for each in told.root.iter("{*}procEventoNFe"):
        info = each.find("{*}retEvento/{*}infEvento")
        if info is None or _text(info, "chNFe") != str(chave) or _text(info, "tpEvento") != CANCELAMENTO:
            continue
        if _registered(_text(info, "cStat")):
            return True
    return False


def _registered(code: str | None) -> bool:
    return code == LATE_CANCELLATION or C_STAT.get(code or "") == CStat(Significado.REGISTRADO)


def event_outcome(result: Answer | NoAnswerError, chave: ChaveNFe, tipo: str) -> Registered | NoOutcome:
    """Classify the answer to an event of a kind (tpEvento); that there is one already proves nothing of ours."""
    told = read(result, "retEnvEvento")
    if isinstance(told, str):
        return not_answered(result, told)
    events = list(told.root.iter("{*}infEvento"))
    ours = [each for each in events if _text(each, "chNFe") in {None, str(chave)}]
    ours = [each for each in ours if _text(each, "tpEvento") in {None, tipo}]
    if events and len(ours) != 1:
        return Unknown("answered about another event")
    code, said = told.c_stat, told.said
    if ours:
        code = _text(ours[0], "cStat") or ""
        said = scrub(f"{code} {_text(ours[0], 'xMotivo') or ''}".strip())
        named = _text(ours[0], "chNFe") is not None
        if _registered(code):
            return Registered(_text(ours[0], "nProt"), code != WITHOUT_LINK) if named else Unknown(said)
    elif code not in _OF_THE_LOT and not (told.linha and told.linha.significado is Significado.MAIS_TARDE):
        return Unknown(f"answered without our event: {said}", recusada=told.linha is None)
    outcome = _refused(code, said) if code in C_STAT else Unknown(f"a code that is not known: {said}")
    if isinstance(outcome, Unknown) and code not in _DONE_BEFORE:
        return replace(outcome, recusada=True)
    return outcome


def letters(result: Answer | NoAnswerError, chave: ChaveNFe) -> dict[int, str]:
    """Return the letters of correction that a consultation shows of a note: their words by their number."""
    told = read(result, "retConsSitNFe")
    found: dict[int, str] = {}
    for each in () if isinstance(told, str) else told.root.iter("{*}procEventoNFe"):
        info = each.find("{*}retEvento/{*}infEvento")
        if info is None or (_text(info, "chNFe"), _text(info, "tpEvento")) != (str(chave), CARTA):
            continue
        number = _text(info, "nSeqEvento") or ""
        if _registered(_text(info, "cStat")) and number.isdecimal():
            found[int(number)] = _text(each, "evento/infEvento/detEvento/xCorrecao") or ""
    return found


def cancel_outcome(result: Answer | NoAnswerError, chave: ChaveNFe) -> CancelOutcome:
    """Classify the answer to a cancellation."""
    told = event_outcome(result, chave, CANCELAMENTO)
    if not isinstance(told, Registered):
        return told
    return AlreadyCancelled() if told.linked else Accepted(str(chave), told.protocolo)


def cancel_finding(result: Answer | NoAnswerError, chave: ChaveNFe, versions: Sequence[bytes]) -> CancelFinding:
    """Classify how a note stands, by the question for its key."""
    match finding(result, chave, versions):
        case Found(nota=nota) if nota.situacao is Situacao.CANCELADA:
            return Cancelled(nota)
        case Found(xml=Arquivo()):
            return Stands()
        case CannotTell() as nothing:
            return nothing
        case _:
            return CannotTell("asked for our note, answered about none")


def closing_outcome(result: Answer | NoAnswerError, inicio: int, fim: int) -> Encerrado | NoOutcome:
    """Classify the answer to the request to close numbers; 241 says that one of them is a note, which is asked for."""
    told = read(result, "retInutNFe")
    if isinstance(told, str):
        return not_answered(result, told)
    info = told.root.find("{*}infInut")
    span = None if info is None else (_text(info, "nNFIni"), _text(info, "nNFFin"))
    if told.linha is not None and told.linha.significado is Significado.ENCERRADO:
        if span not in {(None, None), (str(inicio), str(fim))}:
            return Unknown("answered about other numbers")
        return Encerrado(None if info is None else _text(info, "nProt"), told.c_stat != _CLOSED_NOW)
    if told.linha is None:
        return Unknown(f"refused with a code that is not known: {told.said}", recusada=True)
    if told.c_stat == _IS_A_NOTE:
        return Rejected(told.said, (told.c_stat,))
    return _refused(told.c_stat, told.said)


def cannot_tell(result: Answer | NoAnswerError, why: str) -> CannotTell:
    """Return that an answer, or its absence, says nothing; with words for the company where its certificate is why."""
    if isinstance(result, Answer):
        return CannotTell(why, retry_after(result.headers))
    texts = {UNUSABLE: NO_CERTIFICATE, REFUSED_BY_TLS: _TEXT_OF_CERTIFICATE}
    return CannotTell(why, texto=texts.get(result.reason))


def note(sent: bytes, chave: ChaveNFe) -> Nota:
    """Return what a document of ours says, which is no note before its protocol. Raises ``ValueError``."""
    info = parse(sent).find(f"{{{NS}}}infNFe")
    if info is None or info.get("Id") != f"NFe{chave}":
        raise ValueError("the document is not of this key")
    emitted, reference = _text(info, "ide/dhEmi"), _REFERENCE.search(_text(info, "infAdic/infCpl") or "")
    return Nota(
        id_externo=str(chave),
        id_integracao=str(chave),
        situacao=Situacao.PROCESSANDO,
        prestador=chave.emitente,
        tomador=_text(info, "dest/CNPJ") or _text(info, "dest/CPF"),
        valor=Decimal(_text(info, "total/ICMSTot/vNF") or ""),
        numero=str(chave.numero),
        chave=str(chave),
        data_emissao=emitted,
        competencia=(emitted or "")[:10] or None,
        referencia=reference[1] if reference else None,
        numero_rps=chave.numero,
    )


def _with(sent: bytes, protocol: Any, chave: ChaveNFe) -> Found:
    """Return the authorised note, and the legal document around the very bytes that were sent."""
    info = protocol.find("{*}infProt")
    messages = [(each.text or "").strip()[:_LONGEST] for each in info.iter("{*}xMsg")]
    nota = replace(
        note(sent, chave),
        situacao=Situacao.AUTORIZADA,
        protocolo=_text(info, "nProt"),
        c_stat=int(_text(info, "cStat") or 0),
        mensagem="; ".join(messages) or None,
    )
    return Found(nota, Arquivo(processed(sent, etree.tostring(_alone(protocol), encoding="UTF-8")), "application/xml"))


def _of_others(chave: ChaveNFe, said: str, mark: str | None = "another key") -> Nota:
    """Return the note that stands in our number's place and was not made of our bytes, as far as it is named."""
    other = _OTHER.search(said)
    name = other[1] if other else str(chave)
    return Nota(
        id_externo=name,
        id_integracao=str(chave),
        situacao=Situacao.AUTORIZADA,
        prestador=chave.emitente,
        numero=str(chave.numero),
        chave=name,
        mensagem=said[:_LONGEST],
        referencia=mark,
        numero_rps=chave.numero,
    )


def _named(root: Any, roots: Sequence[str]) -> list[Any]:
    """Return the elements of these local names; where there is none, those of a text that is XML itself."""
    found = [each for each in root.iter() if each.tag.rpartition("}")[2] in roots]
    if found:
        return found
    texts = [(each.text or "").strip() for each in root.iter()]
    inner = [text for text in texts if _PROLOG.sub("", text).lstrip().startswith("<")]
    if len(inner) != 1:
        return []
    within = parse(_PROLOG.sub("", inner[0]).strip().encode())
    return [each for each in within.iter() if each.tag.rpartition("}")[2] in roots]


def _alone(element: Any) -> Any:
    """Copy an element of an answer without the envelope's namespaces, into the one that it should have."""
    name = element.tag.rpartition("}")[2]
    space = _DS if element.tag.startswith(_DS) else f"{{{NS}}}"
    made = etree.Element(space + name, dict(element.attrib), nsmap={None: space[1:-1]})
    made.text = element.text
    made.extend(_alone(child) for child in element)
    return made


def _text(element: Any, path: str) -> str | None:
    found = element.findall("/".join(f"{{*}}{name}" for name in path.split("/")))
    if len(found) != 1 or len(found[0]):
        return None
    return (found[0].text or "").strip()[:_LONGEST] or None
