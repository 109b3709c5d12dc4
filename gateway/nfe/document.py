"""Owns the messages to SEFAZ: the NF-e (55) and NFC-e (65) of a sale, events, closed numbers, questions, the envelope.

Layout 4.00 (MOC 7.0 and its notes). Each signed document is one line, and bytes are put around it, never made anew.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from html import escape
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from lxml import etree

from gateway.keys import NFCE, NFE, ChaveNFe
from gateway.nacional.dps import TP_AMB, VER_APLIC, short_reference
from gateway.nacional.layouts import parse
from gateway.nacional.signature import sign
from gateway.nfe.layouts import NS, VERSAO, VERSAO_EVENTO, Document, check, conditions_of_use
from gateway.nfe.sale import (
    CRT,
    DELIVERED,
    FAR,
    OTHER_PAYMENT,
    PAID,
    WITH_CARD,
    Destinatario,
    Emitente,
    ItemProduto,
    Maker,
    NotaInvalida,
    NotaProduto,
    Rules,
    refuse,
    state_of,
    text,
)
from state_machine.documents import Endereco
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CPF, parse_documento
from state_machine.values.local_time import zone_of
from state_machine.values.text import as_latin

CANCELAMENTO: Final = "110111"  # tpEvento
CARTA: Final = "110110"  # likewise: carta de correção
OPERATIONS: Final = {
    "NFeStatusServico4": "nfeStatusServicoNF",
    "NFeAutorizacao4": "nfeAutorizacaoLote",
    "NFeRetAutorizacao4": "nfeRetAutorizacaoLote",
    "NFeConsultaProtocolo4": "nfeConsultaNF",
    "NFeInutilizacao4": "nfeInutilizacaoNF",
    "NFeRecepcaoEvento4": "nfeRecepcaoEvento",
}
_SOAP: Final = "http://www.w3.org/2003/05/soap-envelope"
_DECLARATION: Final = b'<?xml version="1.0" encoding="UTF-8"?>'
_MOST_BYTES: Final = 490_000  # SEFAZ takes messages of 500 kB
_REASON: Final = (15, 255)  # characters of xJust
_LETTERS: Final = range(1, 21)
_SAMPLE: Final = "EMITIDA EM AMBIENTE DE HOMOLOGACAO - SEM VALOR FISCAL"
_SUMS: Final = (
    *("vBC", "vICMS", "vICMSDeson", "vFCP", "vBCST", "vST", "vFCPST", "vFCPSTRet", "vProd", "vFrete", "vSeg", "vDesc"),
    *("vII", "vIPI", "vIPIDevol", "vPIS", "vCOFINS", "vOutro", "vNF"),
)
_SIGNATURE: Final = b"<Signature "
# The XSD asks for a signature: this one has its shape, so that a document is held against the XSD without a key.
_SHAPE: Final = (
    '<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"><SignedInfo><CanonicalizationMethod Algorithm="{c14n}"/>'
    '<SignatureMethod Algorithm="{ds}rsa-sha1"/><Reference URI="#{id}"><Transforms><Transform '
    'Algorithm="{ds}enveloped-signature"/><Transform Algorithm="{c14n}"/></Transforms><DigestMethod '
    'Algorithm="{ds}sha1"/><DigestValue>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</DigestValue></Reference></SignedInfo>'
    "<SignatureValue>AA==</SignatureValue><KeyInfo><X509Data><X509Certificate>AA==</X509Certificate></X509Data>"
    "</KeyInfo></Signature>"
)


def build(nota: NotaProduto, rules: Rules | None = None) -> bytes:
    """Return the unsigned document, which the official XSD accepts with a signature: same arguments, same bytes.

    Raises ``NotaInvalida``, and ``ValueError`` with what the XSD says.
    """
    rules = rules or Rules()
    refuse(nota, rules)
    root = etree.Element(f"{{{NS}}}NFe", nsmap={None: NS})
    info = etree.SubElement(root, f"{{{NS}}}infNFe", versao=VERSAO, Id=f"NFe{nota.chave}")
    _put(info, "ide", _ide(nota))
    _put(info, "emit", _emit(nota.emitente))
    if nota.destinatario is not None:
        _put(info, "dest", _dest(nota, nota.destinatario))
    for number, item in enumerate(nota.itens, 1):
        _put(info, "det", _det(nota, item, number)).set("nItem", str(number))
    total = _money(nota.total)
    sums = {name: total if name in {"vProd", "vNF"} else "0.00" for name in _SUMS}
    _put(info, "total", {"ICMSTot": sums})
    _put(info, "transp", _transport(nota))
    payment = _put(info, "pag", {})
    for each in nota.pagamentos:
        card = {"tpIntegra": "2"} if each.meio in WITH_CARD else None
        other = "Outros" if each.meio == OTHER_PAYMENT else None
        _put(payment, "detPag", {"tPag": each.meio, "xPag": other, "vPag": _money(each.valor), "card": card})
    _put(info, "infAdic", {"infCpl": f"Ref. PROSA {short_reference(nota.referencia)}"})
    if nota.maker is not None:
        _put(info, "infRespTec", _responsible(nota.maker, nota.chave))
    xml = _bytes(root)
    if len(xml) > _MOST_BYTES:
        raise NotaInvalida("itens", "a venda ficou grande demais para uma nota; divida em mais de uma")
    shape = _SHAPE.format(
        ds="http://www.w3.org/2000/09/xmldsig#",
        c14n="http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
        id=info.get("Id"),
    )
    _held(xml.replace(b"</NFe>", _beside(nota, rules) + shape.encode() + b"</NFe>"), "NFe")
    return xml


def signed(
    nota: NotaProduto, key: rsa.RSAPrivateKey, certificate: x509.Certificate, rules: Rules | None = None
) -> bytes:
    """Return the document to send, on one line, an NFC-e with its QR code. Raises as ``build`` does."""
    rules = rules or Rules()
    xml = sign(build(nota, rules), f"NFe{nota.chave}", key, certificate, "sha1", compact=True)
    return xml.replace(_SIGNATURE, _beside(nota, rules) + _SIGNATURE, 1)


def qr_code(chave: ChaveNFe, ambiente: Ambiente, url: str, csc: tuple[str, str] | None = None) -> str:
    """Return the text of an NFC-e's QR code: version 3, or 2 with the id and secret of the state (``csc``)."""
    if csc is None:
        return f"{url}?p={chave}|3|{TP_AMB[ambiente]}"
    said = f"{chave}|2|{TP_AMB[ambiente]}|{int(csc[0])}"
    digest = hashlib.sha1(f"{said}{csc[1]}".encode(), usedforsecurity=False).hexdigest().upper()
    return f"{url}?p={said}|{digest}"


def csrt_hash(secret: str, chave: ChaveNFe | str) -> str:
    """Return the proof that a state's secret of the program's maker is ours (hashCSRT), for one key."""
    return base64.b64encode(hashlib.sha1(f"{secret}{chave}".encode(), usedforsecurity=False).digest()).decode()


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs, of which city (its time stands in an event), and in which environment."""

    key: rsa.RSAPrivateKey
    certificate: x509.Certificate
    municipio: str
    ambiente: Ambiente


def lot(nota: bytes, numero: int) -> bytes:
    """Return a lot of one signed note, to be answered at once; its number (15 digits) plays no part in anything."""
    return (
        f'<enviNFe xmlns="{NS}" versao="{VERSAO}"><idLote>{numero}</idLote><indSinc>1</indSinc>'.encode()
        + nota
        + b"</enviNFe>"
    )


def consulta(chave: ChaveNFe, ambiente: Ambiente) -> bytes:
    """Return the question for the note of a key."""
    return _question("consSitNFe", {"tpAmb": TP_AMB[ambiente], "xServ": "CONSULTAR", "chNFe": str(chave)})


def receipt(number: str, ambiente: Ambiente) -> bytes:
    """Return the question for a lot that was taken and not answered."""
    return _question("consReciNFe", {"tpAmb": TP_AMB[ambiente], "nRec": number})


def service_status(uf: str, ambiente: Ambiente) -> bytes:
    """Return the question whether a state's service (IBGE code) is up; that it is proves nothing of a sending."""
    return _question("consStatServ", {"tpAmb": TP_AMB[ambiente], "cUF": uf, "xServ": "STATUS"})


def cancelamento(chave: ChaveNFe, protocolo: str, motivo: str, quando: datetime, with_: Signer) -> bytes:
    """Return the signed request to cancel an authorised note (nProt), for a reason of 15 to 255 characters.

    Raises ``NotaInvalida``, and ``ValueError`` with what the XSD says.
    """
    said = text("motivo", "o motivo do cancelamento", motivo, *_REASON)
    told = {"descEvento": "Cancelamento", "nProt": protocolo, "xJust": said}
    return _event("cancelamento", CANCELAMENTO, chave, 1, told, quando, with_)


def correcao(chave: ChaveNFe, texto: str, sequencia: int, quando: datetime, with_: Signer) -> bytes:
    """Return the signed letter of correction number ``sequencia`` (1 to 20) of an NF-e; the last one holds.

    Raises ``NotaInvalida``, and ``ValueError`` with what the XSD says.
    """
    if chave.modelo != NFE:
        raise NotaInvalida("chave.modelo", "NFC-e não aceita carta de correção; cancele a nota e faça outra")
    if sequencia not in _LETTERS:
        raise NotaInvalida("sequencia", f"uma nota aceita até {_LETTERS[-1]} cartas de correção; fale com seu contador")
    said = text("texto", "a correção", texto, 15, 1000)
    told = {"descEvento": "Carta de Correcao", "xCorrecao": said, "xCondUso": conditions_of_use()}
    return _event("correcao", CARTA, chave, sequencia, told, quando, with_)


def inutilizacao(cnpj: str, modelo: str, serie: int, numeros: range, motivo: str, ano: int, with_: Signer) -> bytes:
    """Return the signed request to close numbers that have no note and never will; ``ano`` is the year of today.

    Raises ``NotaInvalida``, and ``ValueError`` with what the XSD says.
    """
    if not numeros:
        raise NotaInvalida("numeros", "diga que números ficam sem nota, como 5 ou 5-6")
    uf, first, last = with_.municipio[:2], numeros[0], numeros[-1]
    year = f"{ano % 100:02}"
    identity = f"ID{uf}{year}{cnpj}{modelo}{serie:03}{first:09}{last:09}"
    root = etree.Element(f"{{{NS}}}inutNFe", nsmap={None: NS}, versao=VERSAO)
    told = {
        "tpAmb": TP_AMB[with_.ambiente],
        "xServ": "INUTILIZAR",
        "cUF": uf,
        "ano": year,
        "CNPJ": cnpj,
        "mod": modelo,
        "serie": str(serie),
        "nNFIni": str(first),
        "nNFFin": str(last),
        "xJust": text("motivo", "o motivo da inutilização", motivo, *_REASON),
    }
    _put(root, "infInut", told).set("Id", identity)
    xml = sign(_bytes(root), identity, with_.key, with_.certificate, "sha1", compact=True)
    return _held(xml, "inutNFe")


def processed(nota: bytes, protocolo: bytes) -> bytes:
    """Return the legal document (nfeProc): the very bytes that were sent, and what SEFAZ said of them."""
    return _DECLARATION + f'<nfeProc xmlns="{NS}" versao="{VERSAO}">'.encode() + nota + protocolo + b"</nfeProc>"


def wrapped(servico: str, mensagem: bytes) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of one call to a service of ``OPERATIONS``; the message travels as XML, untouched."""
    space = f"{NS}/wsdl/{servico}"
    body = (
        _DECLARATION
        + f'<soap12:Envelope xmlns:soap12="{_SOAP}"><soap12:Body><nfeDadosMsg xmlns="{space}">'.encode()
        + mensagem
        + b"</nfeDadosMsg></soap12:Body></soap12:Envelope>"
    )
    return body, {"content-type": f'application/soap+xml; charset=utf-8; action="{space}/{OPERATIONS[servico]}"'}


def _question(name: Document, told: Mapping[str, str]) -> bytes:
    root = etree.Element(f"{{{NS}}}{name}", nsmap={None: NS}, versao=VERSAO)
    for tag, value in told.items():
        etree.SubElement(root, f"{{{NS}}}{tag}").text = value
    return _held(_bytes(root), name)


def _event(
    name: Document,
    kind: str,
    chave: ChaveNFe,
    sequence: int,
    told: Mapping[str, str],
    quando: datetime,
    with_: Signer,
) -> bytes:
    """Return a lot of one signed event; its number is that of the event, for it plays no part."""
    identity = f"ID{kind}{chave}{sequence:02}"
    root = etree.Element(f"{{{NS}}}evento", nsmap={None: NS}, versao=VERSAO_EVENTO)
    info = {
        "cOrgao": chave.uf,
        "tpAmb": TP_AMB[with_.ambiente],
        "CNPJ": chave.emitente,
        "chNFe": str(chave),
        "dhEvento": moment(quando, with_.municipio),
        "tpEvento": kind,
        "nSeqEvento": str(sequence),
        "verEvento": VERSAO_EVENTO,
        "detEvento": told,
    }
    made = _put(root, "infEvento", info)
    made.set("Id", identity)
    made[-1].set("versao", VERSAO_EVENTO)
    event = sign(_bytes(root), identity, with_.key, with_.certificate, "sha1", compact=True)
    head = f'<envEvento xmlns="{NS}" versao="{VERSAO_EVENTO}"><idLote>{sequence}</idLote>'
    return _held(head.encode() + event + b"</envEvento>", name)


def _bytes(root: Any) -> bytes:
    xml: bytes = etree.tostring(root, encoding="UTF-8", xml_declaration=False)
    return xml


def _held(xml: bytes, document: Document) -> bytes:
    check(parse(xml), document)
    return xml


def moment(at: datetime, municipio: str) -> str:
    """Return an aware moment as the layout writes it: whole seconds, with the offset of a city."""
    local = at.astimezone(zone_of(municipio)).replace(microsecond=0)
    if local.utcoffset() not in {timedelta(hours=-hours) for hours in (2, 3, 4, 5)}:
        raise ValueError(f"emissao: {local} is not of this century")
    return local.isoformat()


def _ide(nota: NotaProduto) -> dict[str, Any]:
    chave, consumer = nota.chave, nota.chave.modelo == NFCE
    return {
        "cUF": chave.uf,
        "cNF": f"{chave.codigo:08}",
        "natOp": text("natureza", "a natureza da venda", nota.natureza, 1, 60),
        "mod": chave.modelo,
        "serie": str(chave.serie),
        "nNF": str(chave.numero),
        "dhEmi": moment(nota.emissao, nota.emitente.endereco.codigo_cidade),
        "tpNF": "1",
        "idDest": "1",
        "cMunFG": nota.emitente.endereco.codigo_cidade,
        "tpImp": "4" if consumer else "1",
        "tpEmis": str(chave.emissao),
        "cDV": chave.digito,
        "tpAmb": TP_AMB[nota.ambiente],
        "finNFe": "1",
        "indFinal": "1",
        "indPres": nota.presenca,
        "indIntermed": "0" if nota.presenca in FAR else None,
        "procEmi": "0",
        "verProc": VER_APLIC,
    }


def _emit(emitente: Emitente) -> dict[str, Any]:
    return {
        "CNPJ": emitente.cnpj,
        "xNome": as_latin(emitente.razao_social),
        "enderEmit": {**_address(emitente.endereco), "fone": emitente.fone},
        "IE": emitente.inscricao_estadual,
        "CRT": CRT[emitente.regime],
    }


def _dest(nota: NotaProduto, who: Destinatario) -> dict[str, Any]:
    sample = nota.ambiente is Ambiente.HOMOLOGACAO
    kind = "CPF" if isinstance(parse_documento(who.documento), CPF) else "CNPJ"
    return {
        kind: parse_documento(who.documento).numero,
        "xNome": f"NF-E {_SAMPLE}" if sample and nota.chave.modelo == NFE else as_latin(who.nome),
        "enderDest": None if who.endereco is None or not _sent(nota) else _address(who.endereco),
        "indIEDest": "1" if who.inscricao_estadual else "9",
        "IE": who.inscricao_estadual,
        "email": who.email,
    }


def _sent(nota: NotaProduto) -> bool:
    return nota.chave.modelo == NFE or nota.presenca == DELIVERED


def _address(endereco: Endereco) -> dict[str, Any]:
    return {
        "xLgr": as_latin(endereco.logradouro),
        "nro": as_latin(endereco.numero),
        "xCpl": as_latin(endereco.complemento or ""),
        "xBairro": as_latin(endereco.bairro),
        "cMun": endereco.codigo_cidade,
        "xMun": as_latin(endereco.cidade),
        "UF": endereco.estado,
        "CEP": endereco.cep,
        "cPais": "1058",
        "xPais": "BRASIL",
    }


def _det(nota: NotaProduto, item: ItemProduto, number: int) -> dict[str, Any]:
    sample = nota.ambiente is Ambiente.HOMOLOGACAO and nota.chave.modelo == NFCE and number == 1
    group = "ICMSSN500" if item.csosn == PAID else "ICMSSN102"
    unit, quantity, price = as_latin(item.unidade), _number(item.quantidade), _number(item.preco)
    return {
        "prod": {
            "cProd": as_latin(item.codigo),
            "cEAN": "SEM GTIN",
            "xProd": f"NOTA FISCAL {_SAMPLE}" if sample else as_latin(item.texto),
            "NCM": item.ncm,
            "CEST": item.cest,
            "CFOP": item.cfop,
            "uCom": unit,
            "qCom": quantity,
            "vUnCom": price,
            "vProd": _money(item.total),
            "cEANTrib": "SEM GTIN",
            "uTrib": unit,
            "qTrib": quantity,
            "vUnTrib": price,
            "indTot": "1",
        },
        "imposto": {
            "ICMS": {group: {"orig": item.origem, "CSOSN": item.csosn}},
            "PIS": {"PISOutr": {"CST": "49", "vBC": "0.00", "pPIS": "0.00", "vPIS": "0.00"}},
            "COFINS": {"COFINSOutr": {"CST": "49", "vBC": "0.00", "pCOFINS": "0.00", "vCOFINS": "0.00"}},
        },
    }


def _responsible(who: Maker, chave: ChaveNFe) -> dict[str, Any]:
    told = {"CNPJ": who.cnpj, "xContato": as_latin(who.contato), "email": who.email, "fone": who.fone}
    if who.csrt is None:
        return told
    return {**told, "idCSRT": f"{int(who.csrt[0]):02}", "hashCSRT": csrt_hash(who.csrt[1], chave)}


def _transport(nota: NotaProduto) -> dict[str, Any]:
    """Nobody, or the shop itself: an NFC-e's delivery named who carries (786), and 3 is the shop's own (847)."""
    if nota.presenca != DELIVERED:
        return {"modFrete": "9"}
    carrier = {"CNPJ": nota.emitente.cnpj, "xNome": as_latin(nota.emitente.razao_social)}
    return {"modFrete": "3", "transporta": carrier}


def _beside(nota: NotaProduto, rules: Rules) -> bytes:
    """Return what stands beside the signed part of an NFC-e; nothing for an NF-e."""
    if nota.chave.modelo == NFE:
        return b""
    estado = state_of(nota.emitente)
    url = estado.qrcode.get(nota.ambiente)
    if url is None:
        raise NotaInvalida("emitente.endereco", f"ainda não faço NFC-e em {estado.code}; faça uma NF-e")
    code = qr_code(nota.chave, nota.ambiente, url, rules.csc)
    return (
        f"<infNFeSupl><qrCode>{escape(code, quote=False)}</qrCode>"
        f"<urlChave>{escape(estado.consulta[nota.ambiente], quote=False)}</urlChave></infNFeSupl>"
    ).encode()


def _put(parent: Any, name: str, value: Mapping[str, Any]) -> Any:
    """Append an element with its children in their order; what is ``None`` or empty is left out."""
    made = etree.SubElement(parent, f"{{{NS}}}{name}")
    for tag, inner in value.items():
        if isinstance(inner, Mapping):
            _put(made, tag, inner)
        elif inner:
            etree.SubElement(made, f"{{{NS}}}{tag}").text = inner
    return made


def _money(value: Decimal) -> str:
    return f"{value:.2f}"


def _number(value: Decimal) -> str:
    """Return a decimal without an exponent and without zeros that say nothing."""
    said = f"{value:f}"
    return said.rstrip("0").rstrip(".") if "." in said else said
