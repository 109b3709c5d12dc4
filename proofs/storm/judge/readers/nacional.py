"""Reads SEFIN's book: every DPS as it was signed, every note as it was sealed."""

from __future__ import annotations

import base64
import gzip
import hashlib
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from proofs.sandbox.cnpj_register import companies
from proofs.sandbox.nacional.authority import holder
from proofs.storm.judge.note import Note, Reader, bound_to, printed, punctuated
from proofs.storm.judge.signatures import DS, PARSER, signer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from proofs.sandbox.ledger import Record
    from proofs.storm.crowd import Wish
    from proofs.storm.judge.books import Book, House
    from proofs.storm.judge.confirmations import Summary

COMPETENCE: Final = "dCompet"
DUPLICATE: Final = "E0014"
CANCELLATION: Final = "101101"
SUBSTITUTION: Final = "105102"
REPLACES: Final = "subst.chSubstda"
MOTIVE: Final = "Correção de dados da nota substituída"  # what the authority must be told with one that replaces
REFERENCE: Final = 20  # characters of cIntContrib
HOMOLOGATION: Final = "NFS-e SEM VALIDADE JURÍDICA"
_NS: Final = "{http://www.sped.fazenda.gov.br/nfse}"
_REGIME: Final = {"normal": "1", "mei": "2", "simples": "3"}  # opSimpNac


def notes_of(sefin: Book, house: House) -> list[Note]:
    """Return every note, and every DPS that became none, oldest first.

    A DPS carries a digest of our reference: whose it is, the attempts that our table lists tell. One that is of none
    of them is nobody's confirmation.
    """
    ours = {_digest(reference): reference for reference, _ in house.emissions}
    made: dict[str, Note] = {}  # by key
    refused: dict[str, Note] = {}  # by reference
    for record in sefin.of("nfse.issued", "nfse.refused", "nfse.event"):
        data = record.data
        if record.kind == "nfse.event":
            if data["chave"] in made and data["tipo"] == CANCELLATION:
                made[data["chave"]] = _cancelled(made[data["chave"]], record)
            elif data["chave"] in made and data["tipo"] == SUBSTITUTION:
                made[data["chave"]] = replace(made[data["chave"]], cancelled=True, replaced=True)
        elif record.kind == "nfse.issued":
            made[data["chave"]] = _note(record, ours)
        elif DUPLICATE not in data["codes"]:
            note = _note(record, ours)
            refused.setdefault(note.reference, note)
    settled = {note.reference for note in made.values()}
    return sorted(
        (*made.values(), *(note for reference, note in refused.items() if reference not in settled)),
        key=lambda note: note.at,
    )


def due(note: Note, wish: Wish, summary: Summary, customer: str) -> dict[str, Any]:
    """Return every field of the DPS by its path."""
    issuer, sent = wish.emitente, note.content
    serie, numero = issuer.serie_rps or "", str(sent.get("nDPS"))
    row = companies()[customer]
    fields: dict[str, Any] = {
        "@versao": sent.get("@versao"),  # of the layout in force, held against its schema by SEFIN
        "@Id": f"DPS{issuer.municipio}2{issuer.cnpj}{serie:0>5}{numero:0>15}",
        "tpAmb": "2",
        "dhEmi": sent.get("dhEmi"),
        "verAplic": "prosa",
        "serie": serie,
        "nDPS": numero,
        COMPETENCE: sent.get(COMPETENCE),
        "tpEmit": "1",
        "cLocEmi": issuer.municipio,
        "prest.CNPJ": issuer.cnpj,
        "prest.regTrib.opSimpNac": _REGIME[issuer.regime],
        "prest.regTrib.regApTribSN": "1" if issuer.regime == "simples" else None,
        "prest.regTrib.regEspTrib": "0",
        "toma.CNPJ": customer,
        "toma.xNome": row["razao_social"],
        "toma.end.endNac.cMun": str(row["codigo_municipio_ibge"]),
        "toma.end.endNac.CEP": row["cep"],
        "toma.end.xLgr": f"{row['descricao_tipo_de_logradouro']} {row['logradouro']}".strip(),
        "toma.end.nro": row["numero"],
        "toma.end.xCpl": row["complemento"] or None,
        "toma.end.xBairro": row["bairro"],
        "toma.email": wish.email,
        "serv.locPrest.cLocPrestacao": issuer.municipio,
        "serv.cServ.cTribNac": issuer.codigo_servico,
        "serv.cServ.xDescServ": wish.servico,
        "serv.cServ.cIntContrib": _digest(note.reference),
        "valores.vServPrest.vServ": f"{wish.valor:.2f}",
        "valores.trib.tribMun.tribISSQN": "1",
        "valores.trib.tribMun.tpRetISSQN": "1",
        "valores.trib.totTrib.indTotTrib": "0" if issuer.regime == "mei" else None,
        "valores.trib.totTrib.pTotTribSN": f"{Decimal(issuer.tributos_sn):.2f}" if issuer.tributos_sn else None,
    }
    if issuer.regime == "normal":
        for path, percent in (("Fed", issuer.tributos_federal), ("Est", issuer.tributos_estadual)):
            fields[f"valores.trib.totTrib.pTotTrib.pTotTrib{path}"] = f"{Decimal(percent or 0):.2f}"
        fields["valores.trib.totTrib.pTotTrib.pTotTribMun"] = f"{Decimal(issuer.tributos_municipal or 0):.2f}"
    if "finNFSe" in sent:  # the layout of NT 009
        fields |= {"finNFSe": "0", "indDest": "0"}
    if note.replaces:
        fields |= {REPLACES: note.replaces, "subst.cMotivo": "99", "subst.xMotivo": MOTIVE}
    named = summary.named or wish.proposta  # by somebody else than the register, which did not answer
    if named and not any(path.startswith("toma.end.") for path in sent):
        fields = {path: value for path, value in fields.items() if not path.startswith("toma.end.")}
    return {path: value for path, value in fields.items() if value is not None}


def on_the_page(note: Note) -> dict[str, str]:
    """Return what the DANFSe shows; it is one of homologation."""
    code = note.codigo
    return {
        "número": f"NÚMERO DA NFS-e {note.numero}",
        "chave": note.chave,
        "emitente": punctuated(note.prestador),
        "cliente": punctuated(note.tomador),
        "valor": f"R$ {printed(note.valor)}",
        "código do serviço": f"{code[:2]}.{code[2:4]}.{code[4:]}",
        "serviço": note.servico,
        "aviso de homologação": HOMOLOGATION,
    }


def copies(sefin: Book) -> int:
    """Return how many DPS met their own note."""
    return sum(DUPLICATE in record.data["codes"] for record in sefin.of("nfse.refused"))


def unsound(sefin: Book, notes: Sequence[Note]) -> Iterator[str]:
    """Name copies that are none, events of no note, and documents whose signature does not hold."""
    sent: dict[str, str] = {}  # digest of the bytes that became a note, by identity
    made: set[str] = set()
    for record in sefin.of("nfse.issued", "nfse.refused", "nfse.event"):
        data = record.data
        if record.kind == "nfse.issued":
            sent[data["id_dps"]] = data["dps_sha256"]
            made.add(data["chave"])
        elif record.kind == "nfse.event" and data["chave"] not in made:
            yield f"{data['chave']}: um evento {data['tipo']} de nenhuma nota"
        elif DUPLICATE in data.get("codes", ()) and sent.get(data["id_dps"]) != data["dps_sha256"]:
            yield f"{data['id_dps']}: o número voltou com outro documento"
    for note in notes:
        yield from (f"{note.reference}: {complaint}" for complaint in _unsigned(note))


READER: Final = Reader(notes_of, due, COMPETENCE, on_the_page, copies, unsound)


def _digest(reference: str) -> str:
    """Return what a DPS says of a reference of ours, computed apart from the product."""
    return base64.b32encode(hashlib.sha256(reference.encode()).digest())[:REFERENCE].decode()


def _note(record: Record, ours: dict[str, str]) -> Note:
    """Read an issued or a refused DPS, out of the document itself."""
    data = record.data
    xml = gzip.decompress(base64.b64decode(data["packed"]))
    root = etree.fromstring(xml, PARSER)
    dps = next(root.iter(f"{_NS}DPS"))
    content = dict(_flat(dps.find(f"{_NS}infDPS"))) | {"@versao": dps.get("versao")}
    told = str(content.get("serv.cServ.cIntContrib"))
    reference = ours.get(told, told)
    issued = record.kind == "nfse.issued"
    number = next(root.iter(f"{_NS}nNFSe")).text if issued else ""
    key = str(next(root.iter(f"{_NS}infNFSe")).get("Id")).removeprefix("NFS") if issued else ""
    return Note(
        "nacional",
        key=bound_to(reference),
        id=key or reference,
        reference=reference,
        at=record.at,
        prestador=str(content.get("prest.CNPJ")),
        tomador=str(content.get("toma.CNPJ")),
        valor=Decimal(str(content.get("valores.vServPrest.vServ", "NaN"))),
        codigo=str(content.get("serv.cServ.cTribNac")),
        servico=str(content.get("serv.cServ.xDescServ")),
        competencia=str(content.get(COMPETENCE)),
        content=content,
        rps=(str(content.get("serie")), int(str(content.get("nDPS")))),
        numero=str(number),
        replaces=str(content.get(REPLACES, "")),
        chave=key,
        settled=record.at if issued else None,
        refused="" if issued else ", ".join(data["codes"]),
        xml=xml,
    )


def _cancelled(note: Note, record: Record) -> Note:
    return replace(note, cancelled=True, asked=(*note.asked, record.at))


def _flat(element: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every leaf of an element, and its attributes as ``@name``; signatures left out."""
    yield from ((f"{path}.@{name}".lstrip("."), value) for name, value in element.attrib.items())
    children: Iterable[Any] = [child for child in element if not child.tag.startswith(DS)]
    seen: dict[str, int] = {}
    for child in children:
        name = child.tag.removeprefix(_NS)
        seen[name] = seen.get(name, 0) + 1
        where = f"{path}.{name}".lstrip(".") + (f".{seen[name]}" if seen[name] > 1 else "")
        if len(child):
            yield from _flat(child, where)
        else:
            yield where, child.text or ""


def _unsigned(note: Note) -> Iterator[str]:
    """Name what of a document's signatures does not hold: the issuer's over the DPS, the authority's over the note."""
    root = etree.fromstring(note.xml, PARSER)
    dps = next(root.iter(f"{_NS}DPS"))
    who = signer(dps)
    if who is None:
        yield "a assinatura da DPS não confere"
    elif holder(who) != note.prestador:
        yield f"a DPS foi assinada por {holder(who)}"
    if dps is not root and signer(root) is None:
        yield "a assinatura da nota não confere"
