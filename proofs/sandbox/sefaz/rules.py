"""How the simulated SEFAZ behaves, whom it knows, and the rules that it holds a note against, in its order.

Codes are those of the contract for NF-e; beside it stand 207, 208, 237, 373, 391, 564, 598, 610, 629, 719 and 865, of
MOC 7.0. SEFAZ answers the first code that it finds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from stdnum.br import cnpj, cpf

from gateway.nacional.layouts import parse
from gateway.nacional.signature import verify
from proofs.sandbox.nacional.authority import holder
from proofs.sandbox.sefaz.wire import CONSULTA, EVENTO, INUTILIZACAO, RECIBO, Chave, RefusedError, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NFE, NFCE = "55", "65"
CANCEL, LETTER = "110111", "110110"
_CENT: Final = Decimal("0.01")
_EASY: Final = frozenset(
    {
        *(str(digit) * 8 for digit in range(10)),
        *("".join(str((start + i) % 10) for i in range(8)) for start in range(10)),
    }
)  # cNF that everybody would guess: rule B03-10
_NO_CARD_LESS: Final = frozenset({"03", "04", "17"})
_MEI_CSOSN: Final = {NFE: frozenset({"102", "300", "400", "900"}), NFCE: frozenset({"102", "300"})}
_MEI_CFOP: Final = {NFE: frozenset({"5102", "6102"}), NFCE: frozenset({"5102"})}
_SAMPLE: Final = "EMITIDA EM AMBIENTE DE HOMOLOGACAO - SEM VALOR FISCAL"
_REFERENCE: Final = "Ref. PROSA "
_FUTURE: Final = timedelta(minutes=5)
_QUIET: Final = timedelta(days=7)
_LAST_SERIES: Final = 909

REASONS: Final = {
    "100": "Autorizado o uso da NF-e",
    "101": "Cancelamento de NF-e homologado",
    "102": "Inutilizacao de numero homologado",
    "103": "Lote recebido com sucesso",
    "104": "Lote processado",
    "105": "Lote em processamento",
    "106": "Lote nao localizado",
    "107": "Servico em Operacao",
    "108": "Servico Paralisado Momentaneamente (curto prazo)",
    "109": "Servico Paralisado sem Previsao",
    "120": "Autorizado o uso da NF-e, com alerta",
    "126": "Lote de NFC-e com mais de uma nota",
    "128": "Lote de Evento Processado",
    "135": "Evento registrado e vinculado a NF-e",
    "136": "Evento registrado, mas nao vinculado a NF-e",
    "150": "Autorizado o uso da NF-e, autorizacao fora de prazo",
    "151": "Cancelamento de NF-e homologado fora de prazo",
    "155": "Cancelamento homologado fora de prazo",
    "178": "CNPJ do emitente nao consta no cadastro da RFB",
    "179": "CNPJ do emitente nao esta ativo no cadastro da RFB",
    "180": "CRT do emitente difere do cadastro da RFB",
    "203": "Emissor nao habilitado para emissao de NF-e",
    "204": "Duplicidade de NF-e",
    "206": "NF-e ja esta inutilizada na Base de dados da SEFAZ",
    "207": "CNPJ do emitente invalido",
    "208": "CNPJ do destinatario invalido",
    "213": "CNPJ-Base do Emitente difere do CNPJ-Base do Certificado Digital",
    "214": "Tamanho da mensagem excedeu o limite estabelecido",
    "215": "Falha no schema XML",
    "217": "NF-e nao consta na base de dados da SEFAZ",
    "218": "NF-e ja esta cancelada na base de dados da SEFAZ",
    "222": "Protocolo de Autorizacao de Uso difere do cadastrado",
    "224": "A faixa inicial e maior que a faixa final",
    "225": "Falha no Schema XML do lote de NFe",
    "226": "Codigo da UF do Emitente diverge da UF autorizadora",
    "228": "Data de Emissao muito atrasada",
    "236": "Chave de Acesso com digito verificador invalido",
    "237": "CPF do destinatario invalido",
    "241": "Um numero da faixa ja foi utilizado",
    "243": "XML Mal Formado",
    "245": "CNPJ Emitente nao cadastrado",
    "252": "Ambiente informado diverge do Ambiente de recebimento",
    "253": "Digito Verificador da chave de acesso composta invalida",
    "256": "Uma NF-e da faixa ja esta inutilizada na Base de dados da SEFAZ",
    "280": "Certificado Transmissor invalido",
    "282": "Certificado Transmissor sem CNPJ",
    "290": "Certificado Assinatura invalido",
    "291": "Certificado Assinatura Data Validade",
    "292": "Certificado Assinatura sem CNPJ",
    "293": "Certificado Assinatura - erro Cadeia de Certificacao",
    "294": "Certificado Assinatura revogado",
    "295": "Certificado Assinatura difere ICP-Brasil",
    "297": "Assinatura difere do calculado",
    "298": "Assinatura difere do padrao do Sistema",
    "337": "CFOP nao permitido para MEI",
    "373": "Descricao do primeiro item diferente de NOTA FISCAL EMITIDA EM AMBIENTE DE HOMOLOGACAO - SEM VALOR FISCAL",
    "391": "Nao informados os dados do cartao de credito/debito nas Formas de Pagamento da Nota Fiscal",
    "394": "Nota Fiscal sem a informacao do QR-Code",
    "395": "Endereco do site da UF da Consulta via QR-Code diverge do previsto",
    "404": "Uso de prefixo de namespace nao permitido",
    "452": "Lote com somente 1 NF-e deve ser sincrono",
    "491": "O tpEvento informado invalido",
    "494": "Chave de Acesso inexistente para o tpEvento que exige a existencia da NF-e",
    "501": "Prazo de Cancelamento Superior ao Previsto na Legislacao",
    "502": "Erro na Chave de Acesso - Campo Id nao corresponde a concatenacao dos campos correspondentes",
    "503": "Serie utilizada fora da faixa permitida",
    "516": "Falha no schema XML - inexiste a tag raiz esperada para a mensagem",
    "517": "Falha no schema XML - inexiste atributo versao na tag raiz da mensagem",
    "526": "Consulta a uma Chave de Acesso muito antiga",
    "539": "Duplicidade de NF-e com diferenca na Chave de Acesso",
    "561": "Mes de Emissao informado na Chave de Acesso difere do Mes de Emissao da NF-e",
    "562": "Codigo Numerico informado na Chave de Acesso difere do Codigo Numerico da NF-e",
    "563": "Ja existe pedido de Inutilizacao com a mesma faixa de inutilizacao",
    "564": "Total do Produto / Servico difere do somatorio dos itens",
    "573": "Duplicidade de Evento",
    "574": "O autor do evento diverge do emissor da NF-e",
    "577": "A data do evento nao pode ser menor que a data de emissao da NF-e",
    "578": "A data do evento nao pode ser maior que a data do processamento",
    "579": "A data do evento nao pode ser menor que a data de autorizacao para NF-e nao emitida em contingencia",
    "580": "O evento exige uma NF-e autorizada",
    "588": "Nao e permitida a presenca de caracteres de edicao no inicio/fim da mensagem ou entre as tags da mensagem",
    "590": "Informado CST para emissor do Simples Nacional",
    "591": "Informado CSOSN para emissor que nao e do Simples Nacional",
    "594": "O numero de sequencia do evento informado e maior que o permitido",
    "598": "NF-e emitida em ambiente de homologacao com Razao Social do destinatario diferente de "
    "NF-E EMITIDA EM AMBIENTE DE HOMOLOGACAO - SEM VALOR FISCAL",
    "610": "Total da NF difere do somatorio dos Valores que compoe o valor Total da NF",
    "613": "Chave de Acesso difere da existente em BD",
    "614": "Chave de Acesso invalida (Codigo UF invalido)",
    "616": "Chave de Acesso invalida (Mes = 0 ou Mes maior que 12)",
    "618": "Chave de Acesso invalida (modelo diferente de 55 e 65)",
    "619": "Chave de Acesso invalida (numero NF = 0)",
    "629": "Valor do Produto difere do produto Valor Unitario de Comercializacao e Quantidade Comercial",
    "635": "NF-e com mesmo numero e serie ja transmitida e aguardando processamento",
    "656": "Consumo Indevido",
    "672": "Versao do QR-Code invalida",
    "703": "Data-Hora de Emissao posterior ao horario de recebimento",
    "704": "NFC-e com Data-Hora de emissao atrasada",
    "705": "NFC-e com data de entrada/saida",
    "706": "NFC-e para operacao de entrada",
    "707": "NFC-e para operacao interestadual ou com o exterior",
    "708": "NFC-e nao pode referenciar documento fiscal",
    "709": "NFC-e com formato de DANFE invalido",
    "710": "NF-e com formato de DANFE invalido",
    "717": "NFC-e com indicador de presenca invalido",
    "719": "NF-e sem a identificacao do destinatario",
    "750": "NFC-e sem a identificacao do destinatario, exigida pelo valor ou pela entrega",
    "778": "Informado NCM inexistente",
    "782": "CSOSN nao permitido para MEI",
    "785": "NFC-e com entrega a domicilio nao permitida pela UF",
    "794": "NF-e com indicativo de NFC-e com entrega a domicilio",
    "865": "Total dos pagamentos menor que o total da nota",
    "897": "Codigo numerico em formato invalido",
    "972": "Obrigatoria as informacoes do responsavel tecnico",
    "999": "Erro nao catalogado",
}
_NO_REFUSAL: Final = frozenset(
    "100 101 102 103 104 105 106 107 108 109 120 128 135 136 150 151 155".split()  # noqa: SIM905 - seventeen numbers
)


def reason(code: str, more: str = "") -> str:
    """Return xMotivo of a code: at most 255 characters."""
    told = REASONS.get(code, "Regra de validacao")
    return f"{told if code in _NO_REFUSAL else f'Rejeicao: {told}'}{more}"[:255]


@dataclass(frozen=True, slots=True)
class Seller:
    """Who stands in the registers: its CRT, and the code with which it may not issue: 178, 179, 203, 230, 245."""

    crt: str | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class SefazConfig:
    """How SEFAZ behaves. What nobody outside knows, or what differs from state to state, is marked: unsure."""

    tp_amb: str | None = None  # 1 production, 2 homologation, another is 252; None takes both
    ufs: frozenset[str] | None = None  # IBGE codes that it answers for, another is 226; None: every one
    sellers: Mapping[str, Seller] = field(default_factory=dict)  # by CNPJ; who is not there is good as it is
    repeat: Literal["204", "100"] = "204"  # what the same bytes again are answered; by state, unsure
    digest: bool = True  # whether a protocol says digVal
    digest_in_consult: bool = True  # whether it does when asked for; unsure
    at_the_door: frozenset[str] = frozenset({"225", "452", "126", "280", "282"})  # refusals without a protocol; unsure
    nfce_life: float = 300.0  # seconds from dhEmi: 704 afterwards
    late_days: int | None = None  # days from dhEmi of an NF-e: 228 afterwards; None: 150 for ever. By state
    cancel_within: Mapping[str, float] = field(default_factory=lambda: {NFE: 24 * 3600.0, NFCE: 1800.0})  # by model
    cancel_late: bool = False  # whether a late cancellation is 155 and not 501
    cancelled: Literal["101", "100"] = "101"  # how a cancelled note is found; the event stands there anyway
    cancelled_again: Literal["573", "218", "580"] = "573"
    closed_again: Literal["563", "256", "206"] = "563"  # for the same range once more
    delivery: bool = True  # whether an NFC-e may be delivered: 785 otherwise
    anonymous_up_to: Decimal = Decimal(10000)  # value of an NFC-e: 750 above it without a consumer
    maker: bool = False  # whether infRespTec is asked for: 972
    ncms: frozenset[str] | None = None  # another one is 778; None: any
    revoked: frozenset[str] = frozenset()  # CNPJs of certificates
    limits: Mapping[str, int] = field(
        default_factory=lambda: {CONSULTA: 10, EVENTO: 20, INUTILIZACAO: 20, RECIBO: 40, "refusal": 30}
    )  # of the same thing in an hour, by service: 656 beyond
    blocked_for: float = 3600.0  # seconds of 656 for every call of that CNPJ
    page: bool = False  # whether trouble of the server is a page in HTML and not a SOAP fault
    processing: float = 0.0  # seconds from a call to its answer, before anything is accepted


@dataclass(frozen=True, slots=True)
class Event:
    """A registered event of a note; ``xml`` are the bytes that were sent, ``answer`` is the retEvento."""

    tipo: str
    sequence: int
    code: str
    nprot: str
    at: datetime
    xml: bytes
    answer: str


@dataclass(frozen=True, slots=True)
class Note:
    """An authorised note; ``xml`` are the bytes that were sent, empty for one that another system made."""

    chave: Chave
    code: str  # 100, 120 or 150
    nprot: str
    at: datetime
    digest: str
    tp_amb: str
    xml: bytes
    reference: str
    total: str
    alert: str | None = None
    events: tuple[Event, ...] = ()

    @property
    def cancelled(self) -> Event | None:
        """The event that cancelled it."""
        return next((event for event in self.events if event.tipo == CANCEL), None)


class Closed(NamedTuple):
    """A range of numbers that will never be notes."""

    cnpj: str
    modelo: str
    serie: int
    first: int
    last: int
    nprot: str
    uf: str

    def has(self, chave: Chave) -> bool:
        """Say whether the number of a key is among them."""
        told = chave.cnpj, chave.modelo, int(chave.serie), chave.uf
        return told == (self.cnpj, self.modelo, self.serie, self.uf) and self.first <= int(chave.numero) <= self.last


class Waiting(NamedTuple):
    """A note that SEFAZ has and has not looked at."""

    chave: Chave
    xml: bytes
    who: str
    at: datetime
    due: datetime
    receipt: str | None


class Nota:
    """A note that was sent: its bytes, and what it says."""

    def __init__(self, xml: bytes) -> None:
        self.xml = xml
        self.root = parse(xml)
        self.info = self.root[0]
        self.id = str(self.info.get("Id"))
        self.chave = Chave.of(self.id.removeprefix("NFe"))

    def said(self, way: str) -> str:
        """Return the text at a path below infNFe."""
        return text(self.info, way)

    @cached_property
    def emissao(self) -> datetime:
        """When it was made, by itself."""
        return datetime.fromisoformat(self.said("ide/dhEmi"))

    @property
    def digest(self) -> str:
        """The digest of its signature."""
        return str(self.root.findtext(".//{*}DigestValue"))

    @property
    def total(self) -> Decimal:
        """What it is worth (vNF)."""
        return Decimal(self.said("total/ICMSTot/vNF"))

    @property
    def reference(self) -> str:
        """What follows ``Ref. PROSA`` in its words to the customer, empty where nothing does."""
        _, _, after = self.said("infAdic/infCpl").partition(_REFERENCE)
        return after.split()[0] if after.strip() else ""

    @property
    def items(self) -> list[Any]:
        """Its det elements."""
        return list(self.info.findall("{*}det"))


def signer(xml: bytes, identity: str, authority: x509.Certificate, revoked: frozenset[str]) -> str:
    """Return the CNPJ of the certificate that signed a document. Raises ``RefusedError``: 290 to 298."""
    try:
        certificate = verify(xml, identity)
    except ValueError as error:
        broken = "changed after" in str(error) or isinstance(error.__cause__, InvalidSignature)
        raise RefusedError("297" if broken else "298") from error
    named, now = holder(certificate), datetime.now(UTC)
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise RefusedError("291")
    if named is None:
        raise RefusedError("292")
    if certificate.issuer != authority.subject:
        raise RefusedError("295")
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise RefusedError("293") from error
    if named in revoked:
        raise RefusedError("294")
    return named


def base(document: str) -> str:
    """Return what head office and branches of a company share."""
    return document[:8]


def broken(nota: Nota, config: SefazConfig, now: datetime) -> Iterator[str]:
    """Yield the codes of the rules that a note breaks, in the order in which SEFAZ looks; duplicates come after."""
    ide = {child.tag.rpartition("}")[2]: child.text or "" for child in nota.info[0]}
    yield from _key(nota, ide, config)
    yield from _moment(nota, config, now)
    yield from _issuer(nota, config)
    yield from _model(nota, ide, config)
    for item in nota.items:
        yield from _item(item, nota.said("emit/CRT"), nota.chave.modelo, config)
    yield from _sums(nota)
    if config.maker and nota.info.find("{*}infRespTec") is None:
        yield "972"
    if nota.chave.modelo == NFCE:
        yield from _qr_code(nota, ide["tpAmb"])


def _key(nota: Nota, ide: dict[str, str], config: SefazConfig) -> Iterator[str]:
    chave = nota.chave
    if config.tp_amb is not None and ide["tpAmb"] != config.tp_amb:
        yield "252"
    if config.ufs is not None and chave.uf not in config.ufs:
        yield "226"
    fields = (
        ide["cUF"],
        f"{nota.emissao:%y%m}",
        nota.said("emit/CNPJ") or nota.said("emit/CPF").zfill(14),
        ide["mod"],
        ide["serie"].zfill(3),
        ide["nNF"].zfill(9),
        ide["tpEmis"],
        ide["cNF"],
    )
    if chave[:-1] != fields:
        yield "502"
    if chave.dv != chave.digit:
        yield "253"
    if ide["cDV"] != chave.dv:
        yield "502"
    if ide["cNF"] in _EASY or int(ide["cNF"]) == int(ide["nNF"]):
        yield "897"
    if int(ide["serie"]) > _LAST_SERIES:
        yield "503"


def _moment(nota: Nota, config: SefazConfig, now: datetime) -> Iterator[str]:
    age = now - nota.emissao
    if age < -_FUTURE:
        yield "703"
    if nota.chave.modelo == NFCE and nota.chave.emissao == "1" and age.total_seconds() > config.nfce_life:
        yield "704"
    if nota.chave.modelo == NFE and config.late_days is not None and age > timedelta(days=config.late_days):
        yield "228"


def is_late(nota: Nota, now: datetime) -> bool:
    """Say whether an NF-e is authorised as late: 150."""
    return nota.chave.modelo == NFE and now - nota.emissao > _QUIET


def _issuer(nota: Nota, config: SefazConfig) -> Iterator[str]:
    number = nota.said("emit/CNPJ")
    known = config.sellers.get(number, Seller())
    if number and not cnpj.is_valid(number):
        yield "207"
    if known.refused is not None:
        yield known.refused
    if known.crt is not None and known.crt != nota.said("emit/CRT"):
        yield "180"


def _model(nota: Nota, ide: dict[str, str], config: SefazConfig) -> Iterator[str]:
    named = any(nota.said(f"dest/{name}") for name in ("CNPJ", "CPF", "idEstrangeiro"))
    sample = ide["tpAmb"] == "2"
    presence = ide.get("indPres", "")
    if nota.chave.modelo == NFCE:
        yield from (
            code
            for code, wrong in {
                "705": "dhSaiEnt" in ide,
                "706": ide["tpNF"] != "1",
                "707": ide["idDest"] != "1",
                "708": "NFref" in ide,
                "709": ide["tpImp"] not in {"4", "5"},
                "717": presence not in {"1", "4"},
                "785": presence == "4" and not config.delivery,
                "750": not named and (presence == "4" or nota.total > config.anonymous_up_to),
                "373": sample and text(nota.items[0], "prod/xProd") != f"NOTA FISCAL {_SAMPLE}",
            }.items()
            if wrong
        )
    else:
        yield from (
            code
            for code, wrong in {
                "710": ide["tpImp"] in {"4", "5"},
                "794": presence == "4",
                "719": not named,
                "598": sample and named and nota.said("dest/xNome") != f"NF-E {_SAMPLE}",
            }.items()
            if wrong
        )
    if (number := nota.said("dest/CNPJ")) and not cnpj.is_valid(number):
        yield "208"
    if (number := nota.said("dest/CPF")) and not cpf.is_valid(number):
        yield "237"


def _item(item: Any, crt: str, modelo: str, config: SefazConfig) -> Iterator[str]:
    csosn, cst = (
        next((e.text or "" for e in item.iterfind(f"{{*}}imposto/{{*}}ICMS/*/{{*}}{n}")), "") for n in ("CSOSN", "CST")
    )
    simples = crt in {"1", "4"}
    if cst and simples:
        yield "590"
    if csosn and not simples:
        yield "591"
    if crt == "4":
        if csosn and csosn not in _MEI_CSOSN[modelo]:
            yield "782"
        if text(item, "prod/CFOP") not in _MEI_CFOP[modelo] and (csosn == "102" or modelo == NFCE):
            yield "337"
    if config.ncms is not None and text(item, "prod/NCM") not in config.ncms:
        yield "778"
    count, price, worth = (Decimal(text(item, f"prod/{name}")) for name in ("qCom", "vUnCom", "vProd"))
    if abs(count * price - worth) > _CENT:
        yield "629"


def _sums(nota: Nota) -> Iterator[str]:
    worth = {n: sum((Decimal(text(i, f"prod/{n}") or 0) for i in nota.items), Decimal(0)) for n in ("vProd", "vDesc")}
    totals = {
        name: Decimal(nota.said(f"total/ICMSTot/{name}") or 0)
        for name in ("vProd", "vDesc", "vST", "vFrete", "vSeg", "vOutro", "vII", "vIPI")
    }
    if totals["vProd"] != worth["vProd"]:
        yield "564"
    discount = totals.pop("vDesc")
    if discount != worth["vDesc"] or nota.total != sum(totals.values()) - discount:
        yield "610"
    payments = nota.info.findall("{*}pag/{*}detPag")
    paid = sum((Decimal(text(one, "vPag")) for one in payments), Decimal(0))
    if paid < nota.total and all(text(one, "tPag") != "90" for one in payments):
        yield "865"
    if any(text(one, "tPag") in _NO_CARD_LESS and one.find("{*}card") is None for one in payments):
        yield "391"


def _qr_code(nota: Nota, tp_amb: str) -> Iterator[str]:
    said = text(nota.root, "infNFeSupl/qrCode")
    if not said:
        yield "394"
        return
    _, _, behind = said.partition("?p=")
    words = behind.split("|")
    if len(words) < 3 or words[1] not in {"2", "3"}:  # noqa: PLR2004 - key, version, environment
        yield "672"
    elif [words[0], words[2]] != [str(nota.chave), tp_amb]:
        yield "395"
