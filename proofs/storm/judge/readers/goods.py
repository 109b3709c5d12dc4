"""Reads SEFAZ's book: every authorised NF-e or NFC-e with its items, and what cancelled it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509
from cryptography.x509.oid import NameOID
from lxml import etree

from proofs.sandbox.cnpj_register import companies
from proofs.storm.crowd import CONSUMERS, GOODS, name_of
from proofs.storm.judge.note import Note, Reader, bound_to, quoted
from proofs.storm.judge.signatures import PARSER, signer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.sandbox.ledger import Record
    from proofs.storm.crowd import Wish
    from proofs.storm.judge.books import Book, House
    from proofs.storm.judge.confirmations import Summary

NS: Final = "{http://www.portalfiscal.inf.br/nfe}"
ISSUED_AT: Final = "ide.dhEmi"
DAY: Final = "@dia"
REFERENCE: Final = 20  # characters of ours, in the words to the customer
CANCELLATION: Final = "110111"
_SAMPLE: Final = "EMITIDA EM AMBIENTE DE HOMOLOGACAO - SEM VALOR FISCAL"
_CRT: Final = {"simples": "1", "mei": "4"}
_PARTS: Final = {"modelo": slice(20, 22), "serie": slice(22, 25), "numero": slice(25, 34)}  # of a key of 44
_NATURAL: Final = slice(0, 34)  # of a key: what may be there once, beside its month
_NONE: Final = "0.00"
_SUMS: Final = (
    *("vBC", "vICMS", "vICMSDeson", "vFCP", "vBCST", "vST", "vFCPST", "vFCPSTRet", "vFrete", "vSeg", "vDesc"),
    *("vII", "vIPI", "vIPIDevol", "vPIS", "vCOFINS", "vOutro"),
)


def notes_of(sefaz: Book, house: House, *, canal: str, modelo: str) -> list[Note]:
    """Return every note of one model, oldest first; whose it is, its words to the customer tell."""
    ours = {_digest(reference): reference for reference, _ in house.emissions}
    made: dict[str, Note] = {}
    for record in sefaz.of("nfe.authorised", "nfe.event"):
        chave = record.data["chave"]
        if chave[_PARTS["modelo"]] != modelo:
            continue
        if record.kind == "nfe.authorised":
            made[chave] = _note(record, ours, canal)
        elif record.data["tipo"] == CANCELLATION:
            found = made[chave]
            made[chave] = replace(found, cancelled=True, asked=(*found.asked, record.at))
    return sorted(made.values(), key=lambda note: note.at)


def due(note: Note, wish: Wish, _summary: Summary, customer: str) -> dict[str, Any]:
    """Return every field of the document by its path; of what the moment decides, the document's own."""
    issuer, sent = wish.emitente, note.content
    consumer, sample = note.channel == "nfce", sent.get("ide.tpAmb") == "2"
    at, key = issuer.endereco, note.chave
    assert at is not None  # noqa: S101 - a shop has an address
    total = f"{wish.valor:.2f}"
    fields: dict[str, Any] = {
        "@versao": "4.00",
        "@Id": f"NFe{key}",
        DAY: sent.get(DAY),
        "ide.cUF": at.codigo_cidade[:2],
        "ide.cNF": key[35:43],
        "ide.natOp": sent.get("ide.natOp"),
        "ide.mod": "65" if consumer else "55",
        "ide.serie": str(issuer.serie_nfce if consumer else issuer.serie_nfe),
        "ide.nNF": str(int(key[_PARTS["numero"]])),
        ISSUED_AT: sent.get(ISSUED_AT),
        "ide.tpNF": "1",
        "ide.idDest": "1",
        "ide.cMunFG": at.codigo_cidade,
        "ide.tpImp": "4" if consumer else "1",
        "ide.tpEmis": "1",
        "ide.cDV": key[-1],
        "ide.tpAmb": "2" if sample else "1",
        "ide.finNFe": "1",
        "ide.indFinal": "1",
        "ide.indPres": "1" if consumer else "2",
        "ide.indIntermed": None if consumer else "0",
        "ide.procEmi": "0",
        "ide.verProc": "prosa",
        "emit.CNPJ": issuer.cnpj,
        "emit.xNome": issuer.razao_social,
        "emit.IE": issuer.inscricao_estadual,
        "emit.CRT": _CRT[issuer.regime],
        **_place("emit.enderEmit", at.logradouro, at.numero, at.complemento, at.bairro, at.cidade, at.estado, at.cep),
        "emit.enderEmit.cMun": at.codigo_cidade,
        "dest.CPF" if customer in CONSUMERS else "dest.CNPJ": customer,
        "dest.xNome": f"NF-E {_SAMPLE}" if sample and not consumer else sent.get("dest.xNome"),
        "dest.indIEDest": "9",
        "dest.email": wish.email,
        **{f"total.ICMSTot.{name}": _NONE for name in _SUMS},
        "total.ICMSTot.vProd": total,
        "total.ICMSTot.vNF": total,
        "transp.modFrete": "9",
        "pag.detPag.tPag": sent.get("pag.detPag.tPag"),
        "pag.detPag.vPag": total,
        "pag.detPag.xPag": sent.get("pag.detPag.xPag"),
        "infAdic.infCpl": f"Ref. PROSA {_digest(note.reference)}",
    }
    if not (sample and not consumer):
        fields["dest.xNome"] = _as_said(sent.get("dest.xNome"), name_of(customer))
    if not consumer:
        row = companies()[customer]
        street = f"{row['descricao_tipo_de_logradouro']} {row['logradouro']}".strip()
        city = _as_said(sent.get("dest.enderDest.xMun"), row["municipio"])
        where = street, row["numero"], row["complemento"], row["bairro"], city, row["uf"], row["cep"]
        fields |= _place("dest.enderDest", *where)
        fields["dest.enderDest.cMun"] = str(row["codigo_municipio_ibge"])
    for number, (quantity, good) in enumerate(zip(wish.itens, GOODS, strict=True), 1):
        fields |= _item(number, quantity, good, f"NOTA FISCAL {_SAMPLE}" if sample and consumer else "")
    return {path: value for path, value in fields.items() if value not in {None, ""}}


def _item(number: int, quantity: int, good: Any, sample: str) -> dict[str, str]:
    price = f"{good.preco:f}".removesuffix(".00")
    prod, tax = f"det{number}.prod", f"det{number}.imposto"
    return {
        f"{prod}.cProd": good.codigo,
        f"{prod}.cEAN": "SEM GTIN",
        f"{prod}.xProd": sample if sample and number == 1 else good.texto,
        f"{prod}.NCM": good.ncm,
        f"{prod}.CFOP": "5102",
        f"{prod}.uCom": "UN",
        f"{prod}.qCom": str(quantity),
        f"{prod}.vUnCom": price,
        f"{prod}.vProd": f"{quantity * good.preco:.2f}",
        f"{prod}.cEANTrib": "SEM GTIN",
        f"{prod}.uTrib": "UN",
        f"{prod}.qTrib": str(quantity),
        f"{prod}.vUnTrib": price,
        f"{prod}.indTot": "1",
        f"{tax}.ICMS.ICMSSN102.orig": "0",
        f"{tax}.ICMS.ICMSSN102.CSOSN": "102",
        f"{tax}.PIS.PISOutr.CST": "49",
        **{f"{tax}.PIS.PISOutr.{name}": _NONE for name in ("vBC", "pPIS", "vPIS")},
        f"{tax}.COFINS.COFINSOutr.CST": "49",
        **{f"{tax}.COFINS.COFINSOutr.{name}": _NONE for name in ("vBC", "pCOFINS", "vCOFINS")},
    }


def _place(path: str, *parts: str | None) -> dict[str, Any]:
    names = ("xLgr", "nro", "xCpl", "xBairro", "xMun", "UF", "CEP")
    found = {f"{path}.{name}": part for name, part in zip(names, parts, strict=True)}
    return {**found, f"{path}.cPais": "1058", f"{path}.xPais": "BRASIL"}


def _as_said(sent: Any, known: str) -> str:
    """Return what was sent where it is the known name but for its case."""
    return str(sent) if str(sent).casefold() == known.casefold() else known


def copies(_sefaz: Book) -> int:
    """Return 0: a sending that met its own note (204) stands in no book of documents."""
    return 0


def unsound(sefaz: Book, notes: Sequence[Note], *, modelo: str) -> Iterator[str]:
    """Name numbers of two notes, closed numbers that have one, and signatures that are not the issuer's."""
    taken: dict[str, str] = {}
    for record in sefaz.of("nfe.authorised"):
        chave = record.data["chave"]
        natural = chave[:2] + chave[6:34]
        if chave[_PARTS["modelo"]] == modelo and taken.setdefault(natural, chave) != chave:
            yield f"o número de {taken[natural]} é também o de {chave}"
    for note in notes:
        who = signer(etree.fromstring(note.xml, PARSER), sha1=True)
        if who is None or not _holder(who).endswith(note.prestador):
            yield f"{note.chave}: a assinatura não é da empresa"
    for record in sefaz.of("nfe.closed"):
        told = record.data
        for note in notes:
            if note.rps is None or (told["cnpj"], told["modelo"]) != (note.prestador, modelo):
                continue
            if str(told["serie"]) == note.rps[0] and told["first"] <= note.rps[1] <= told["last"]:
                yield f"{note.chave}: o número foi inutilizado, e tem nota"


def file_of(content: bytes, note: Note) -> Iterator[str]:
    """Name what is wrong with the XML on a phone: the nfeProc around the very bytes that SEFAZ took."""
    root = etree.fromstring(content, PARSER)
    if root.tag != f"{NS}nfeProc" or root.get("versao") != "4.00":
        yield f"a raiz é {root.tag}"
    head, found, tail = content.partition(note.xml)
    if not found or not head.endswith(b'versao="4.00">') or not tail.startswith(b"<protNFe"):
        yield "não tem os bytes que a autoridade recebeu"
    said = {path: value for path, value in _flat(root.find(f"{NS}protNFe")) if path.startswith("infProt.")}
    for path, needs in (("chNFe", note.chave), ("nProt", note.autorizacao)):
        if said.get(f"infProt.{path}") != needs:
            yield f"{path} é {quoted(said.get(f'infProt.{path}'))}, e não {quoted(needs)}"
    if said.get("infProt.cStat") not in {"100", "150"}:
        yield f"cStat é {quoted(said.get('infProt.cStat'))}"


def reader(canal: str, modelo: str) -> Reader:
    """Return how one model's notes are read in the book of both."""
    return Reader(
        partial(notes_of, canal=canal, modelo=modelo),
        due,
        DAY,
        lambda _: {},
        copies,
        partial(unsound, modelo=modelo),
        xml=file_of,
    )


def _digest(reference: str) -> str:
    """Return what a document says of a reference of ours, computed apart from the product."""
    return base64.b32encode(hashlib.sha256(reference.encode()).digest())[:REFERENCE].decode()


def _holder(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _note(record: Record, ours: dict[str, str], canal: str) -> Note:
    data = record.data
    chave, xml = data["chave"], data["xml"].encode()
    info = etree.fromstring(xml, PARSER)[0]
    content = {**{f"@{name}": value for name, value in info.attrib.items()}, **dict(_flat(info))}
    content[DAY] = content.get(ISSUED_AT, "")[:10]
    told = content.get("infAdic.infCpl", "").removeprefix("Ref. PROSA ")
    reference = ours.get(told, told)
    return Note(
        canal,
        key=bound_to(reference),
        id=chave,
        reference=reference,
        at=record.at,
        prestador=chave[6:20],
        tomador=content.get("dest.CNPJ") or content.get("dest.CPF", ""),
        valor=Decimal(content.get("total.ICMSTot.vNF", "NaN")),
        codigo="",
        servico="",
        competencia=content[DAY],
        content=content,
        rps=(str(int(chave[_PARTS["serie"]])), int(chave[_PARTS["numero"]])),
        numero=str(int(chave[_PARTS["numero"]])),
        chave=chave,
        autorizacao=data["nprot"],
        settled=record.at,
        xml=xml,
    )


def _flat(element: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every leaf of an element, without namespaces; items by their number."""
    for child in element:
        where = f"{path}.{etree.QName(child).localname}{child.get('nItem', '')}".lstrip(".")
        if len(child):
            yield from _flat(child, where)
        else:
            yield where, child.text or ""
