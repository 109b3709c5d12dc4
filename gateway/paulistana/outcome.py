"""The one place that turns an answer of the city of São Paulo, or its absence, into what we may believe.

A note in the answer is one, whatever else stands there. A refusal counts where every code of it is known for one; a
code that nobody knows leaves doubt, for this service writes facts as messages. Source: the city's manual 3.3.5, and
answers recorded in production in 2026 (223, 640, 641, 1651).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from lxml import etree

from gateway.http.wire import REFUSED_BY_TLS, Answer, NoAnswerError, NotSentError, retry_after, scrub
from gateway.keys import ChaveInvalida, ChaveRPS
from gateway.nacional.layouts import parse
from gateway.paulistana.rps import unmarked
from gateway.port import Explicacao
from gateway.refusals.plain import ALIQUOTA, CERTIFICADO, DESCONHECIDO, EMPRESA, RECUSADOS, SERVICO, TECNICO
from state_machine.cancellation.reconciliation import (
    AlreadyCancelled,
    CancelFinding,
    Cancelled,
    CancelOutcome,
    Stands,
)
from state_machine.invoice.fields import Campo
from state_machine.protocol.audit import Listagem, Pagina
from state_machine.protocol.emission import (
    Absent,
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
    Rejected,
    Situacao,
    Unknown,
)

_OK: Final = 200
_PAGE: Final = 50  # notes of a page; a shorter one is the last
_MOST: Final = 100  # messages of one answer
_LONGEST: Final = 1000  # characters of one text
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,11}")
_AMOUNT: Final = re.compile(r"[0-9]{1,13}(\.[0-9]{1,2})?")
_VERIFICATION: Final = re.compile(r"[0-9A-Za-z]{8}")
_NATIONAL_KEY: Final = re.compile(r"[0-9A-Z]{50}")
_ID: Final = re.compile(r"SP_(?P<inscricao>[0-9]{8,12})_(?P<numero>[1-9][0-9]{0,11})")
_VOIDED: Final = re.compile(r"NFS?-?e[^0-9(]{0,10}\(?\s*(?:n[º°o.]*\s*)?([0-9]{1,12})", re.IGNORECASE)
PAGE: Final = "https://nfe.prefeitura.sp.gov.br/contribuinte/notaprint.aspx"

SUPERSEDED: Final = "217"  # Alerta: the RPS was there, its note is cancelled and this one made instead
ABSENT: Final = "1106"
CANCELLED_BEFORE: Final = "1301"
WRONG_STRING: Final = "1305"  # of a cancellation
OTHER_LAYOUT: Final = {"641": 1, "631": 2}  # the layout that the city asks for instead
DUPLICATE: Final = frozenset({"216", "218", "223", "323", "324", "338", "372", "373", "386"})  # on sending
CERTIFICATE: Final = frozenset({*map(str, range(1050, 1058)), "1100", "1107"})
COMPANY: Final = frozenset({"1202", "1207", "1208"})  # the inscription is unknown, not authorised, or cancelled
ELSEWHERE: Final = frozenset({"359", "394"})  # MEI, Simples: the national issuer
NOT_CANCELLED: Final = frozenset({"218", "323", "324", "386", "1302", "1303", "1306"})


def _codes(*spans: int | tuple[int, int]) -> frozenset[str]:
    pairs = (span if isinstance(span, tuple) else (span, span) for span in spans)
    return frozenset(str(code) for first, last in pairs for code in range(first, last + 1))


REFUSALS: Final = (
    _codes((104, 108), 206, 207, 209, 215, 219, 220, 222, 225, (240, 299), (301, 322), 335, 342, 343, 359, 361, 367)
    | _codes((374, 385), (387, 391), 394, (505, 519), (601, 641), (1000, 1002), (1101, 1102), 1108, 1109)
    | _codes((1201, 1208), (1212, 1259), (1417, 1422), (1613, 1633))
    | CERTIFICATE
    | COMPANY
)
"""Codes after which nothing was issued, for certain, of the sending that they answer."""

_TEXT_OF_CERTIFICATE: Final = (
    "a prefeitura de São Paulo recusou o certificado digital (A1) da sua empresa. Quem cuida do cadastro confere se "
    "ele venceu, foi revogado ou é de outro CNPJ, e envia um novo"
)
_TEXT_OF_COMPANY: Final = (
    "a prefeitura de São Paulo não aceita a inscrição municipal da sua empresa para emitir. Quem cuida do cadastro "
    "confere a inscrição e a autorização no site da Nota Fiscal Paulistana"
)
NO_CERTIFICATE: Final = (
    "falta o certificado digital (A1) da sua empresa, ou o guardado não serve mais. Quem cuida do cadastro envia um "
    "novo"
)
UNUSABLE: Final = "no usable certificate"  # the reason of a call that never left
_NACIONAL: Final = Explicacao(
    "por este canal a prefeitura não emite para MEI nem para o Simples; a nota sai pelo emissor nacional",
    None,
    suporte=True,
)
ADDRESS: Final = Explicacao("a nota para um CNPJ pede o endereço do cliente", Campo.ENDERECO)
_EXPLAINED: Final[Mapping[str, Explicacao]] = {
    **dict.fromkeys(CERTIFICATE, CERTIFICADO),
    **dict.fromkeys(COMPANY, EMPRESA),
    **dict.fromkeys(ELSEWHERE, _NACIONAL),
    **dict.fromkeys(("306", "361", "367"), SERVICO),
    "303": Explicacao("o valor do serviço precisa ser maior que zero", Campo.VALOR),
    **dict.fromkeys(("302", "343", "1109"), RECUSADOS[Campo.DOCUMENTO]),
    **dict.fromkeys(("317", "318"), ADDRESS),
    "322": Explicacao("falta o texto do serviço", Campo.DESCRICAO),
    **dict.fromkeys(("205", "206"), ALIQUOTA),
    **dict.fromkeys(("1000", "1001", "1002", "1101", "1102", "1206", "215"), TECNICO),
}


@dataclass(frozen=True, slots=True)
class CityMessage:
    """An ``Erro`` or ``Alerta`` in the city's own words."""

    codigo: str
    descricao: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that could be read: ``root`` is its root, ``agreed`` what its header says."""

    root: Any
    agreed: bool
    errors: tuple[CityMessage, ...]
    alerts: tuple[CityMessage, ...]

    @property
    def codigos(self) -> frozenset[str]:
        """The codes of its errors."""
        return frozenset(erro.codigo for erro in self.errors)


def explain(recusa: Rejected) -> Explicacao:
    """Say in plain pt-BR why a note was refused, and which field repairs it; the city's own words go with it."""
    known = next((_EXPLAINED[code] for code in recusa.codigos if code in _EXPLAINED), None)
    said = f"a prefeitura de São Paulo respondeu “{recusa.mensagem}”"
    if known is None:
        return Explicacao(said, None, suporte=True) if recusa.codigos else DESCONHECIDO
    return replace(known, texto=f"{known.texto}; {said}")


def read(result: Answer | NoAnswerError, *roots: str) -> Reply | str:
    """Return what the city answered, or why it cannot be believed: HTML, a fault, nothing, another document."""
    if not isinstance(result, Answer):
        return result.reason
    if result.status != _OK:
        return f"HTTP {result.status}"
    try:
        [inner] = parse(result.body).iter("{*}RetornoXML")
        root = parse(re.sub(r"^\ufeff?\s*<\?xml[^>]*\?>", "", (inner.text or "").strip()).encode())
    except ValueError:
        return f"HTTP {result.status} without an answer of the city that can be read"
    if root.tag.rpartition("}")[2] not in roots:
        return f"HTTP {result.status} with another document"
    said = root.findtext("{*}Cabecalho/{*}Sucesso")
    if said not in {"true", "false"}:
        return f"HTTP {result.status} that says neither yes nor no"
    return Reply(root, said == "true", _messages(root, "Erro"), _messages(root, "Alerta"))


def submit_outcome(result: Answer | NoAnswerError, chave: ChaveRPS, cnpj: str, leiaute: int) -> Outcome:
    """Classify the answer to an RPS, in the order of the contract; what is not plainly something else is unknown."""
    told = read(result, "RetornoEnvioRPS", "RetornoEnvioLoteRPS")
    if isinstance(told, str):
        return not_answered(result, told)
    if (nota := _made(told, chave, cnpj)) is not None:
        voided = [each for each in told.alerts if each.codigo == SUPERSEDED]
        return Issued(nota, anulada=_number_in(voided, nota) if voided else None)
    if told.agreed:
        return Unknown("taken without a note")
    if told.codigos & DUPLICATE:
        return Duplicate(recusa=_rejection(told.errors))
    if not told.errors or not told.codigos <= REFUSALS:
        return Unknown(f"refused with codes that are not known: {' '.join(sorted(told.codigos))}", recusada=True)
    if (stopped := _stopped(told)) is not None:
        return stopped
    if any(OTHER_LAYOUT.get(code) == 3 - leiaute for code in told.codigos):
        return NotSent(f"the city asks for layout {3 - leiaute}", refazer=True)
    return _rejection(told.errors)


def not_answered(result: Answer | NoAnswerError, why: str) -> NotSent | Misconfigured | Unknown:
    """Classify that no whole answer came."""
    if not isinstance(result, NotSentError):
        return Unknown(why)
    if result.reason == REFUSED_BY_TLS:
        return Misconfigured(result.reason, _TEXT_OF_CERTIFICATE)
    if result.reason == UNUSABLE:
        return Misconfigured(result.reason, NO_CERTIFICATE)
    return NotSent(result.reason)


def finding(result: Answer | NoAnswerError, chave: ChaveRPS, cnpj: str) -> Finding:
    """Classify ``ConsultaNFe`` by the RPS's key; absent is only what the city says in its one code for it."""
    told = read(result, "RetornoConsulta")
    if isinstance(told, str):
        return cannot_tell(result, told)
    if found := [each for each in notes(told, cnpj) if each.nota.id_integracao == str(chave)]:
        return standing(found)
    if not told.agreed and told.codigos == {ABSENT}:
        return Absent()
    return cannot_tell(result, f"asked for a note, answered {' '.join(sorted(told.codigos)) or 'nothing'}")


def listing(result: Answer | NoAnswerError, cnpj: str, pagina: int) -> Listagem:
    """Classify one page of ``ConsultaNFeEmitidas``; a note that cannot be read makes the whole page unreadable."""
    told = read(result, "RetornoConsulta")
    if isinstance(told, str):
        return cannot_tell(result, told)
    listed = told.root.findall("{*}NFe")
    found = notes(told, cnpj)
    nothing = not told.agreed and told.codigos == {ABSENT}
    if len(found) != len(listed) or not (told.agreed or nothing):
        return cannot_tell(result, f"listed, answered {' '.join(sorted(told.codigos)) or 'notes that cannot be read'}")
    return Pagina(tuple(each.nota for each in found), str(pagina + 1) if len(listed) >= _PAGE else None)


def standing(found: Sequence[Found]) -> Found:
    """Return the note that stands, of several under one key; the last where none does."""
    alive = [each for each in found if each.nota.situacao is Situacao.AUTORIZADA]
    return max(alive or found, key=lambda each: int(each.nota.numero or 0))


def asks_for_layout(result: Answer | NoAnswerError, leiaute: int) -> bool:
    """Tell whether a question was refused for its layout, so that it is asked again in the other one."""
    told = read(result, "RetornoConsulta", "RetornoCancelamentoNFe", "RetornoEnvioLoteRPS")
    return isinstance(told, Reply) and any(OTHER_LAYOUT.get(code) == 3 - leiaute for code in told.codigos)


def trial(result: Answer | NoAnswerError) -> Rejected | CannotTell | None:
    """Classify the answer to ``TesteEnvioLoteRPS``; ``None``: the city would make a note."""
    told = read(result, "RetornoEnvioLoteRPS")
    if isinstance(told, str):
        return cannot_tell(result, told)
    return None if told.agreed else _rejection(told.errors)


def speaks(result: Answer | NoAnswerError) -> bool:
    """Tell whether an answer to ``ConsultaCNPJ`` is one, whatever it says: the binding is one that the host takes."""
    return isinstance(read(result, "RetornoConsultaCNPJ"), Reply)


def cancel_outcome(result: Answer | NoAnswerError) -> CancelOutcome | None:
    """Classify the answer to a cancellation; ``None``: its string was refused, so another one may be tried once."""
    told = read(result, "RetornoCancelamentoNFe")
    if isinstance(told, str):
        return not_answered(result, told)
    messages = {each.codigo for each in (*told.alerts, *told.errors)}
    if told.agreed or CANCELLED_BEFORE in messages:
        return AlreadyCancelled()
    if told.codigos == {WRONG_STRING}:
        return None
    if (stopped := _stopped(told)) is not None:
        return stopped
    if told.codigos and told.codigos <= NOT_CANCELLED | REFUSALS:
        return _rejection(told.errors)
    return Unknown(f"refused with codes that are not known: {' '.join(sorted(told.codigos))}", recusada=True)


def cancel_finding(result: Answer | NoAnswerError, id_externo: str, cnpj: str) -> CancelFinding:
    """Classify how a note stands, by the question for its number."""
    told = read(result, "RetornoConsulta")
    if isinstance(told, str):
        return cannot_tell(result, told)
    found = [each.nota for each in notes(told, cnpj) if each.nota.id_externo == id_externo]
    if len(found) != 1:
        return cannot_tell(result, f"asked for a note, answered {' '.join(sorted(told.codigos)) or 'another'}")
    match found[0].situacao:
        case Situacao.CANCELADA:
            return Cancelled(found[0])
        case Situacao.AUTORIZADA:
            return Stands()
        case _:
            return CannotTell("the note is in a state that is not known")


def cannot_tell(result: Answer | NoAnswerError, why: str) -> CannotTell:
    """Return that an answer, or its absence, says nothing; with words for the company where its certificate is why."""
    if isinstance(result, Answer):
        return CannotTell(why, retry_after(result.headers))
    texts = {UNUSABLE: NO_CERTIFICATE, REFUSED_BY_TLS: _TEXT_OF_CERTIFICATE}
    return CannotTell(why, texto=texts.get(result.reason))


def id_of(inscricao: str, numero: int | str) -> str:
    """Return the name of a note among all notes: the company's inscription and the city's number."""
    return f"SP_{inscricao.zfill(8)}_{numero}"


def read_id(id_externo: str) -> tuple[str, int]:
    """Return inscription and number of ``id_of``. Raises ``ValueError``."""
    found = _ID.fullmatch(id_externo)
    if found is None:
        raise ValueError(f"{id_externo!r} names no note of the city")
    return found["inscricao"], int(found["numero"])


def page_of(inscricao: str, numero: str, verification: str) -> str:
    """Return where anybody sees a note."""
    return f"{PAGE}?inscricao={inscricao}&nf={numero}&verificacao={verification}"


def _stopped(told: Reply) -> Misconfigured | None:
    for error in told.errors:
        if error.codigo in CERTIFICATE:
            return Misconfigured(error.codigo, _TEXT_OF_CERTIFICATE, refazer=True)
        if error.codigo in COMPANY:
            return Misconfigured(error.codigo, _TEXT_OF_COMPANY)
    return None


def _rejection(errors: Iterable[CityMessage]) -> Rejected:
    """Return the refusal in the city's words, without secrets."""
    errors = tuple(errors)
    words = "; ".join(f"{error.codigo} {error.descricao}".strip() for error in errors)
    return Rejected(scrub(words), tuple(dict.fromkeys(error.codigo for error in errors)))


def _messages(root: Any, name: str) -> tuple[CityMessage, ...]:
    found = root.findall(f"{{*}}{name}")[:_MOST]
    return tuple(
        CityMessage(_text(each, "Codigo") or "?", (_text(each, "Descricao") or "")[:_LONGEST]) for each in found
    )


def _number_in(alerts: Sequence[CityMessage], nota: Nota) -> str:
    """Return the number of the note that was voided, as far as the alert names it."""
    numbers = [found for each in alerts for found in _VOIDED.findall(each.descricao) if found != nota.numero]
    return numbers[0] if numbers else "?"


def _made(told: Reply, chave: ChaveRPS, cnpj: str) -> Nota | None:
    """Return the note that an answer names under our key."""
    for each in told.root.findall("{*}ChaveNFeRPS"):
        ours = _key(each.find("{*}ChaveRPS"))
        note = each.find("{*}ChaveNFe")
        if ours == chave and note is not None and (nota := _of_key(note, chave)) is not None:
            return replace(nota, prestador=cnpj)
    return None


def _of_key(note: Any, chave: ChaveRPS | None) -> Nota | None:
    inscricao, numero = _text(note, "InscricaoPrestador"), _text(note, "NumeroNFe", _NUMBER)
    if inscricao is None or not inscricao.isdecimal() or numero is None:
        return None
    if chave is not None and int(inscricao) != int(chave.inscricao):
        return None
    verification = _text(note, "CodigoVerificacao", _VERIFICATION)
    return Nota(
        id_externo=id_of(str(int(inscricao)), numero),
        id_integracao="" if chave is None else str(chave),
        situacao=Situacao.AUTORIZADA,
        numero=numero,
        chave=_text(note, "ChaveNotaNacional", _NATIONAL_KEY),
        protocolo=verification,
        url_pdf=page_of(str(int(inscricao)).zfill(8), numero, verification) if verification else None,
        numero_rps=None if chave is None else chave.numero,
    )


_STATES: Final = {"N": Situacao.AUTORIZADA, "C": Situacao.CANCELADA}


def notes(told: Reply, cnpj: str) -> list[Found]:
    """Return the notes of an answer that can be read and are of this company, each with its element as XML."""
    read_ = (_note(each, cnpj) for each in told.root.findall("{*}NFe"))
    return [each for each in read_ if each is not None]


def _note(element: Any, cnpj: str) -> Found | None:
    note, issuer = element.find("{*}ChaveNFe"), _text(element, "CPFCNPJPrestador/{*}CNPJ")
    nota = _of_key(note, _key(element.find("{*}ChaveRPS"))) if note is not None else None
    if nota is None or issuer != cnpj:
        return None
    value = _text(element, "ValorFinalCobrado", _AMOUNT) or _text(element, "ValorInicialCobrado", _AMOUNT)
    value = value or _text(element, "ValorServicos", _AMOUNT)
    said, reference = unmarked(_text(element, "Discriminacao") or "")
    told = replace(
        nota,
        situacao=_STATES.get(_text(element, "StatusNFe") or "", Situacao.PROCESSANDO),
        prestador=issuer,
        tomador=_text(element, "CPFCNPJTomador/{*}CPF") or _text(element, "CPFCNPJTomador/{*}CNPJ"),
        valor=Decimal(value).quantize(Decimal("0.01")) if value else None,
        data_emissao=_text(element, "DataEmissaoNFe"),
        descricao=said or None,
        competencia=(_text(element, "DataFatoGeradorNFe") or "")[:10] or None,
        codigo_servico=_text(element, "CodigoServico"),
        referencia=reference,
    )
    return Found(told, Arquivo(_alone(element), "application/xml"))


def _alone(element: Any) -> bytes:
    made: bytes = etree.tostring(element, encoding="UTF-8", with_tail=False)
    return made


def _key(element: Any) -> ChaveRPS | None:
    if element is None:
        return None
    inscricao, serie, numero = (_text(element, name) for name in ("InscricaoPrestador", "SerieRPS", "NumeroRPS"))
    if None in {inscricao, numero} or not str(inscricao).isdecimal() or not str(numero).isdecimal():
        return None
    try:
        return ChaveRPS(str(int(str(inscricao))).zfill(8), serie or "", int(str(numero)))
    except ChaveInvalida:
        return None


def _text(element: Any, path: str, shape: re.Pattern[str] | None = None) -> str | None:
    found = element.findall(f"{{*}}{path}")
    if len(found) != 1 or len(found[0]):
        return None
    said = (found[0].text or "").strip()
    return said if said and (shape is None or shape.fullmatch(said)) else None
