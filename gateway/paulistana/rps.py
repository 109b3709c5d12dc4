"""Owns the messages to the city of São Paulo: the RPS in both layouts, its signature string, queries, the envelope.

Sources: the city's manual of the web service 3.3.5, its XSD v01 and v02 (02-5), its WSDL. String and XML are made of
one typed object, never one of the other. Only the root of a message has a namespace, and it is one line.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from html import escape
from typing import Any, Final, Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from lxml import etree

from gateway.keys import ChaveRPS
from gateway.nacional.dps import short_reference, text
from gateway.nacional.signature import sign
from state_machine.documents import Documento, DocumentoServico, Endereco, Tomador, service
from state_machine.services.codes import IbsCbs
from state_machine.values.documents import CNPJ, DocumentoInvalido, parse_documento

NS: Final = "http://www.prefeitura.sp.gov.br/nfe"
MUNICIPIO: Final = "3550308"  # São Paulo, IBGE
Leiaute = Literal[1, 2]
Soap = Literal["soap11", "soap12-header", "soap12-action"]

_ACTIONS: Final = f"{NS}/ws/"
_ENVELOPES: Final = {
    "soap11": "http://schemas.xmlsoap.org/soap/envelope/",
    "soap12-header": "http://www.w3.org/2003/05/soap-envelope",
    "soap12-action": "http://www.w3.org/2003/05/soap-envelope",
}
_CCM: Final[dict[Leiaute, int]] = {1: 8, 2: 12}  # digits in the string
_LENGTHS: Final[dict[Leiaute, int]] = {1: 86, 2: 90}  # of the string, before intermediary and NIF
_INTERMEDIARY: Final = 16  # its characters
_CODE: Final = re.compile(r"[0-9]{4,5}")
_CEP: Final = re.compile(r"[0-9]{8}")
_MAX_RATE: Final = Decimal(5)  # percent: the ceiling of the ISS
_MAX_CENTS: Final = 10**15
_MAX_TEXT: Final = 2000
_TRIBUTADA: Final = "T"  # TributacaoRPS: the ISS is due in São Paulo
_BREAK: Final = "|"  # a line break of Discriminacao
_MARK: Final = f"{_BREAK}Ref. PROSA "


@dataclass(frozen=True, slots=True, kw_only=True)
class Recibo:
    """An RPS: money in centavos, ``aliquota`` in percent, ``tomador`` a bare CPF or CNPJ, or empty.

    ``foreign`` is a foreign customer's number, or the digit that says why there is none (layout 2). ``texto`` is
    all of ``Discriminacao`` as it is signed, with our reference in its last line.
    """

    chave: ChaveRPS
    cnpj: str
    data: date
    valor: int
    codigo: str
    aliquota: Decimal
    texto: str
    retido: bool = False
    deductions: int = 0
    tomador: str = ""
    nome: str | None = None
    email: str | None = None
    endereco: Endereco | None = None
    foreign: str | None = None
    broker: str = ""
    broker_retains: bool = False
    nbs: str | None = None
    ibs_cbs: IbsCbs | None = None

    def signing_text(self, leiaute: Leiaute) -> str:
        """Return the text that ``Assinatura`` signs: 86 or 90 characters, 16 more with an intermediary, and the NIF.

        Raises ``ValueError`` for parts that do not fit their places.
        """
        chave = self.chave
        said = (
            chave.inscricao.zfill(_CCM[leiaute])
            + f"{chave.serie:<5}{chave.numero:012}{self.data:%Y%m%d}{_TRIBUTADA}N{_sn(self.retido)}"
            + f"{self.valor:015}{self.deductions:015}{int(self.codigo):05}"
            + f"{self._indicator(leiaute)}{self.tomador.zfill(14)}"
        )
        length = _LENGTHS[leiaute]
        if self.broker:
            kind = "1" if len(self.broker) == _CPF else "2"
            said += f"{kind}{self.broker.zfill(14)}{_sn(self.broker_retains)}"
            length += _INTERMEDIARY
        if len(said) != length or not said.isascii():
            raise ValueError(f"chave: the signature string of layout {leiaute} has {len(said)} characters")
        return said + (self.foreign or "")

    def _indicator(self, leiaute: Leiaute) -> str:
        if self.foreign is not None:
            if leiaute == 1:
                raise ValueError("tomador.documento: layout 1 knows no foreign customer")
            return "4"
        if not self.tomador:
            return "3"
        return "1" if len(self.tomador) == _CPF else "2"


_CPF: Final = 11  # digits


def _sn(said: bool) -> str:
    return "S" if said else "N"


def chave_de(intent: Documento) -> ChaveRPS:
    """Return the key of an invoice's RPS. Raises ``ValueError`` where its parts make none."""
    if intent.rps is None:
        raise ValueError("rps: the invoice has no number of ours")
    return ChaveRPS(intent.prestador.inscricao_municipal.strip().zfill(8), intent.rps.serie, intent.rps.numero)


def recibo_of(intent: Documento, hoje: date) -> Recibo:
    """Return the RPS of an invoice signed on ``hoje`` (São Paulo). Raises ``ValueError`` that begins with a field.

    It is dated today, or on the day of its competence where that lies in an earlier month: the city takes the day of
    the RPS for that of the service.
    """
    what, who = service(intent), intent.prestador
    _refuse_what_is_not_made(what)
    codigo = re.sub(r"\W", "", who.codigo_servico)
    if not _CODE.fullmatch(codigo):
        raise ValueError(f"codigo_servico: {codigo!r} is none of the city's own, of 4 or 5 digits")
    if who.aliquota is None or not Decimal(0) <= who.aliquota <= _MAX_RATE:
        raise ValueError("aliquota: the city asks for the rate, of 0 to 5 per cent")
    if (intent.competencia.year, intent.competencia.month) > (hoje.year, hoje.month):
        raise ValueError("competencia: its month has not begun")
    same_month = (intent.competencia.year, intent.competencia.month) == (hoje.year, hoje.month)
    valor = int(intent.valor * 100)
    if not 0 < valor < _MAX_CENTS:
        raise ValueError("valor: above zero, and thirteen digits before the cents at most")
    return Recibo(
        chave=chave_de(intent),
        cnpj=who.cnpj,
        data=hoje if same_month else intent.competencia,
        valor=valor,
        codigo=codigo,
        aliquota=who.aliquota,
        texto=_text(what.descricao, intent.id_integracao),
        retido=what.iss_retido,
        tomador=_document(intent.tomador, who.cnpj),
        nome=_name(intent.tomador),
        email=_email(intent.tomador.email),
        endereco=_address(intent.tomador),
        nbs=who.codigo_nbs,
        ibs_cbs=who.ibs_cbs,
    )


def _refuse_what_is_not_made(what: DocumentoServico) -> None:
    if what.prestador.municipio_ibge != MUNICIPIO:
        raise ValueError("municipio_ibge: only companies of São Paulo issue here")
    if what.local not in {None, MUNICIPIO} or what.obra is not None or what.evento is not None:
        raise ValueError("local: work outside of São Paulo, at a building site or an event is not issued here")
    if what.substitui is not None:
        raise ValueError("substitui: no note takes another's place here")


def _document(tomador: Tomador, cnpj: str) -> str:
    try:
        documento = parse_documento(tomador.documento)
    except DocumentoInvalido as error:
        raise ValueError(f"tomador.documento: {error}") from error
    if documento.numero == cnpj:
        raise ValueError("tomador.documento: it is the prestador's own")
    return documento.numero


def _name(tomador: Tomador) -> str:
    said = text("tomador.razao_social", _line(tomador.razao_social or ""), 300)
    return said[:75].rstrip()  # the city has no more places; the document says whose it is


def _email(email: str | None) -> str | None:
    if email is not None and len(email) > 75:  # noqa: PLR2004 - tpEmail
        raise ValueError("tomador.email: 75 characters at most")
    return email


def _address(tomador: Tomador) -> Endereco | None:
    """A company's address must be there (317, 318)."""
    endereco = tomador.endereco
    if endereco is None:
        if isinstance(parse_documento(tomador.documento), CNPJ):
            raise ValueError("tomador.endereco: the city asks for a company's address")
        return None
    if not _CEP.fullmatch(endereco.cep):
        raise ValueError(f"tomador.endereco.cep: {endereco.cep!r} is not eight digits")
    return endereco


def _line(said: str) -> str:
    """Return a text as one line; what the city reads as a line break is a blank."""
    return " ".join("".join(char if char.isprintable() and char != _BREAK else " " for char in said).split())


def _text(descricao: str, id_integracao: str) -> str:
    mark = _MARK + short_reference(id_integracao)
    return text("descricao", _line(descricao), _MAX_TEXT - len(mark)) + mark


def unmarked(texto: str) -> tuple[str, str | None]:
    """Return the text of a note as its person wrote it, and the reference of ours that it carries."""
    said, found, reference = texto.rpartition(_MARK)
    return (said.strip(), reference.strip() or None) if found else (texto, None)


def envio(rps: Recibo, leiaute: Leiaute, key: rsa.RSAPrivateKey, certificate: x509.Certificate) -> bytes:
    """Return the signed ``PedidoEnvioRPS``. Raises ``ValueError`` that begins with the field which is wrong."""
    root, _ = _message("PedidoEnvioRPS", leiaute, rps.cnpj)
    _fill(_child(root, "RPS"), rps, leiaute, signed(rps.signing_text(leiaute), key))
    return _sealed(root, key, certificate)


def lot_for_test(rps: Recibo, leiaute: Leiaute, key: rsa.RSAPrivateKey, certificate: x509.Certificate) -> bytes:
    """Return the signed lot of this one RPS, for ``TesteEnvioLoteRPS``, which makes no note of it."""
    root, header = _message("PedidoEnvioLoteRPS", leiaute, rps.cnpj)
    _fields(header, transacao="true", dtInicio=rps.data.isoformat(), dtFim=rps.data.isoformat(), QtdRPS="1")
    if leiaute == 1:
        _fields(header, ValorTotalServicos=_money(rps.valor), ValorTotalDeducoes=_money(rps.deductions))
    _fill(_child(root, "RPS"), rps, leiaute, signed(rps.signing_text(leiaute), key))
    return _sealed(root, key, certificate)


def consulta(
    chave: ChaveRPS, cnpj: str, leiaute: Leiaute, key: rsa.RSAPrivateKey, certificate: x509.Certificate
) -> bytes:
    """Return the signed question for the notes of an RPS."""
    root, _ = _message("PedidoConsultaNFe", leiaute, cnpj)
    _key(_child(root, "Detalhe"), chave)
    return _sealed(root, key, certificate)


def consulta_nota(
    inscricao: str, numero: int, cnpj: str, leiaute: Leiaute, key: rsa.RSAPrivateKey, certificate: x509.Certificate
) -> bytes:
    """Return the signed question for the note of a number."""
    root, _ = _message("PedidoConsultaNFe", leiaute, cnpj)
    _fields(_child(_child(root, "Detalhe"), "ChaveNFe"), InscricaoPrestador=inscricao, NumeroNFe=str(numero))
    return _sealed(root, key, certificate)


def periodo(
    cnpj: str,
    inicio: date,
    fim: date,
    pagina: int,
    leiaute: Leiaute,
    key: rsa.RSAPrivateKey,
    certificate: x509.Certificate,
) -> bytes:
    """Return the signed question for a page of the notes that a company issued in some days, 31 at most."""
    root, header = _message("PedidoConsultaNFePeriodo", leiaute, cnpj)
    _taxpayer(_child(header, "CPFCNPJ"), cnpj)
    _fields(header, dtInicio=inicio.isoformat(), dtFim=fim.isoformat(), NumeroPagina=str(pagina))
    return _sealed(root, key, certificate)


def consulta_cnpj(cnpj: str, leiaute: Leiaute, key: rsa.RSAPrivateKey, certificate: x509.Certificate) -> bytes:
    """Return the signed question for the inscriptions of a company, which changes nothing: to try a binding."""
    root, _ = _message("PedidoConsultaCNPJ", leiaute, cnpj)
    _taxpayer(_child(root, "CNPJContribuinte"), cnpj)
    return _sealed(root, key, certificate)


def cancelamento(
    inscricao: str,
    numero: int,
    cnpj: str,
    leiaute: Leiaute,
    key: rsa.RSAPrivateKey,
    certificate: x509.Certificate,
    *,
    digitos: int = 8,
) -> bytes:
    """Return the signed request to cancel a note; ``digitos`` of the inscription stand in its string, 8 or 12."""
    root, header = _message("PedidoCancelamentoNFe", leiaute, cnpj)
    _fields(header, transacao="true")
    detail = _child(root, "Detalhe")
    _fields(_child(detail, "ChaveNFe"), InscricaoPrestador=inscricao, NumeroNFe=str(numero))
    _fields(detail, AssinaturaCancelamento=signed(cancellation_text(inscricao, numero, digitos), key))
    return _sealed(root, key, certificate)


def cancellation_text(inscricao: str, numero: int, digitos: int = 8) -> str:
    """Return the text that ``AssinaturaCancelamento`` signs."""
    return f"{inscricao.zfill(digitos)}{numero:012}"


def signed(said: str, key: rsa.RSAPrivateKey) -> str:
    """Return base64 of RSA-SHA1 over a string's ASCII: the string itself, not its hash."""
    return base64.b64encode(key.sign(said.encode("ascii"), padding.PKCS1v15(), hashes.SHA1())).decode()  # noqa: S303 - the city asks for it


def wrapped(operacao: str, mensagem: bytes, soap: Soap) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of one call; the message travels as text, its bytes untouched."""
    versao = leiaute_de(mensagem)
    inner = escape(mensagem.decode(), quote=False)
    body = (
        f'<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="{_ENVELOPES[soap]}"><soap:Body>'
        f'<{operacao}Request xmlns="{NS}"><VersaoSchema>{versao}</VersaoSchema><MensagemXML>{inner}</MensagemXML>'
        f"</{operacao}Request></soap:Body></soap:Envelope>"
    )
    suffix = "testeenvio" if operacao == "TesteEnvioLoteRPS" else operacao[0].lower() + operacao[1:]
    action = _ACTIONS + suffix
    kind = "text/xml" if soap == "soap11" else "application/soap+xml"
    headers = {"content-type": f"{kind}; charset=utf-8"}
    if soap == "soap12-action":
        headers["content-type"] += f'; action="{action}"'
    else:
        headers["SOAPAction"] = f'"{action}"' if soap == "soap11" else action
    return body.encode(), headers


def leiaute_de(mensagem: bytes) -> Leiaute:
    """Return the layout of a message of ours. Raises ``ValueError``."""
    found = re.search(rb'<Cabecalho xmlns="" Versao="([12])"', mensagem)
    if found is None:
        raise ValueError("the bytes are no message to the city")
    return 1 if found[1] == b"1" else 2


def _message(name: str, leiaute: Leiaute, cnpj: str) -> tuple[Any, Any]:
    root = etree.Element(name)
    header = _child(root, "Cabecalho")
    header.set("Versao", str(leiaute))
    _taxpayer(_child(header, "CPFCNPJRemetente"), cnpj)
    return root, header


def _sealed(root: Any, key: rsa.RSAPrivateKey, certificate: x509.Certificate) -> bytes:
    """Sign a message; its root alone stands in the city's namespace, so each child says that it has none."""
    inner = "".join(
        f'<{child.tag} xmlns=""' + etree.tostring(child, encoding="unicode").removeprefix(f"<{child.tag}")
        for child in root
    )
    xml = f'<{root.tag} xmlns="{NS}">{inner}</{root.tag}>'
    return sign(xml.encode(), None, key, certificate, "sha1")


def _child(parent: Any, name: str) -> Any:
    return etree.SubElement(parent, name)


def _fields(parent: Any, **values: str | None) -> None:
    for name, value in values.items():
        if value:
            _child(parent, name).text = value


def _taxpayer(parent: Any, documento: str) -> None:
    _fields(parent, **{"CPF" if len(documento) == _CPF else "CNPJ": documento})


def _key(parent: Any, chave: ChaveRPS) -> None:
    values = {"InscricaoPrestador": chave.inscricao, "SerieRPS": chave.serie, "NumeroRPS": str(chave.numero)}
    _fields(_child(parent, "ChaveRPS"), **values)


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}" if cents else "0"


def _rate(percent: Decimal) -> str:
    """Return a fraction of two or four decimals."""
    said = f"{percent / 100:.4f}"
    return said.removesuffix("00") if percent else "0"


def _fill(parent: Any, rps: Recibo, leiaute: Leiaute, assinatura: str) -> None:
    _fields(parent, Assinatura=assinatura)
    _key(parent, rps.chave)
    _fields(parent, TipoRPS="RPS", DataEmissao=rps.data.isoformat(), StatusRPS="N", TributacaoRPS=_TRIBUTADA)
    if leiaute == 1:
        _fields(parent, ValorServicos=_money(rps.valor))
    _fields(parent, ValorDeducoes=_money(rps.deductions))
    if leiaute == 2:  # noqa: PLR2004 - the layout's number
        _fields(parent, ValorPIS="0", ValorCOFINS="0", ValorINSS="0", ValorIR="0", ValorCSLL="0")
    _fields(
        parent,
        CodigoServico=str(int(rps.codigo)).zfill(4),
        AliquotaServicos=_rate(rps.aliquota),
        ISSRetido=str(rps.retido).lower(),
    )
    _customer(parent, rps)
    _fields(parent, Discriminacao=rps.texto)
    if leiaute == 2:  # noqa: PLR2004 - the layout's number
        _of_layout_2(parent, rps)


def _customer(parent: Any, rps: Recibo) -> None:
    if rps.tomador:
        _taxpayer(_child(parent, "CPFCNPJTomador"), rps.tomador)
    _fields(parent, RazaoSocialTomador=rps.nome)
    if (where := rps.endereco) is not None:
        _fields(
            _child(parent, "EnderecoTomador"),
            Logradouro=_line(where.logradouro)[:50].rstrip(),
            NumeroEndereco=_line(where.numero)[:10].rstrip(),
            ComplementoEndereco=_line(where.complemento or "")[:30].rstrip(),
            Bairro=_line(where.bairro)[:30].rstrip(),
            Cidade=where.codigo_cidade,
            UF=where.estado,
            CEP=where.cep,
        )
    _fields(parent, EmailTomador=rps.email)


def _of_layout_2(parent: Any, rps: Recibo) -> None:
    if rps.nbs is None or rps.ibs_cbs is None:
        raise ValueError("ibs_cbs: layout 2 asks for NBS, cIndOp and cClassTrib")
    _fields(parent, ValorFinalCobrado=_money(rps.valor), ValorIPI="0", ExigibilidadeSuspensa="0")
    _fields(parent, NBS=rps.nbs, cLocPrestacao=MUNICIPIO)
    group = _child(parent, "IBSCBS")
    _fields(group, finNFSe="0", indFinal="0", cIndOp=rps.ibs_cbs.ind_op, indDest="0")
    tax = _child(_child(_child(group, "valores"), "trib"), "gIBSCBS")
    _fields(tax, cClassTrib=rps.ibs_cbs.class_trib)
