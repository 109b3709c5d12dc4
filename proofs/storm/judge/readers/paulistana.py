"""Reads the book of São Paulo: every RPS as it came, every note, and how each of them ended."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from proofs.sandbox.cnpj_register import companies
from proofs.storm.judge.note import Note, Reader, bound_to, quoted
from proofs.storm.judge.signatures import PARSER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.sandbox.ledger import Record
    from proofs.storm.crowd import Wish
    from proofs.storm.judge.books import Book, House
    from proofs.storm.judge.confirmations import Summary

COMPETENCE: Final = "DataEmissao"
SENDING: Final = "EnvioRPS"
SUPERSEDED: Final = "substituicao"  # who cancelled a note: another RPS of its number
ASKED: Final = "ws"
REFERENCE: Final = 20  # characters of ours, in the last line of a note
_KEPT: Final = frozenset({"216", "218", "223", "323", "324", "338", "372", "373", "386"})  # an RPS that had its note
_NO_TAX: Final = ("ValorPIS", "ValorCOFINS", "ValorINSS", "ValorIR", "ValorCSLL", "ValorIPI")
_NAME, _STREET, _NUMBER, _MORE = 75, 50, 10, 30  # characters that the city has for each


def notes_of(city: Book, house: House) -> list[Note]:
    """Return every note, and every RPS of which none was made, oldest first; whose it is, its last line tells."""
    ours = {_digest(reference): reference for reference, _ in house.emissions}
    made: dict[tuple[str, int], Note] = {}  # by CCM and number
    refused: dict[str, Note] = {}  # by reference
    for record in city.of("nfe.issued", "nfe.cancelled", "refused"):
        data = record.data
        if record.kind == "nfe.issued":
            made[data["ccm"], data["numero"]] = _note(record, ours)
        elif record.kind == "nfe.cancelled":
            found = made[data["ccm"], data["numero"]]
            asked = (*found.asked, record.at) if data["by"] == ASKED else found.asked
            made[data["ccm"], data["numero"]] = replace(found, cancelled=True, asked=asked)
        elif data["operation"] == SENDING and not _KEPT.intersection(data["codes"]) and "packed" in data:
            note = _note(record, ours)
            refused.setdefault(note.reference, note)
    settled = {note.reference for note in made.values()}
    left = (note for reference, note in refused.items() if reference not in settled)
    return sorted((*made.values(), *left), key=lambda note: note.at)


def due(note: Note, wish: Wish, _summary: Summary, customer: str) -> dict[str, Any]:
    """Return every field of the RPS by its path."""
    issuer, sent, row = wish.emitente, note.content, companies()[customer]
    fields: dict[str, Any] = {
        "Assinatura": sent.get("Assinatura"),  # held against its string by the city
        "ChaveRPS.InscricaoPrestador": issuer.inscricao_municipal,
        "ChaveRPS.SerieRPS": issuer.serie_rps,
        "ChaveRPS.NumeroRPS": sent.get("ChaveRPS.NumeroRPS"),
        "TipoRPS": "RPS",
        COMPETENCE: sent.get(COMPETENCE),
        "StatusRPS": "N",
        "TributacaoRPS": "T",
        "ValorDeducoes": "0",
        **dict.fromkeys(_NO_TAX, "0"),
        "CodigoServico": f"{int(issuer.codigo_servico):04}",
        "AliquotaServicos": _rate(issuer.aliquota or "0"),
        "ISSRetido": "false",
        "CPFCNPJTomador.CNPJ": customer,
        "RazaoSocialTomador": row["razao_social"][:_NAME].rstrip(),
        "EnderecoTomador.Logradouro": f"{row['descricao_tipo_de_logradouro']} {row['logradouro']}".strip()[:_STREET],
        "EnderecoTomador.NumeroEndereco": row["numero"][:_NUMBER],
        "EnderecoTomador.ComplementoEndereco": row["complemento"][:_MORE].rstrip() or None,
        "EnderecoTomador.Bairro": row["bairro"][:_MORE].rstrip(),
        "EnderecoTomador.Cidade": str(row["codigo_municipio_ibge"]),
        "EnderecoTomador.UF": row["uf"],
        "EnderecoTomador.CEP": row["cep"],
        "EmailTomador": wish.email,
        "Discriminacao": f"{wish.servico}|Ref. PROSA {_digest(note.reference)}",
        "ValorFinalCobrado": f"{wish.valor:.2f}",
        "ExigibilidadeSuspensa": "0",
        "NBS": issuer.nbs,
        "cLocPrestacao": issuer.municipio,
        "IBSCBS.finNFSe": "0",
        "IBSCBS.indFinal": "0",
        "IBSCBS.cIndOp": issuer.ind_op,
        "IBSCBS.indDest": "0",
        "IBSCBS.valores.trib.gIBSCBS.cClassTrib": issuer.class_trib,
    }
    return {path: value for path, value in fields.items() if value is not None}


def copies(city: Book) -> int:
    """Return how many RPS met the note of their own number."""
    return sum(
        record.data["operation"] == SENDING and bool(_KEPT.intersection(record.data["codes"]))
        for record in city.of("refused")
    )


def unsound(city: Book, _notes: Sequence[Note]) -> Iterator[str]:
    """Name notes that cost another one of the same RPS, and numbers that came with other bytes."""
    sent: dict[tuple[str, str, int], str] = {}
    for record in city.of("nfe.issued", "nfe.cancelled"):
        data = record.data
        if record.kind == "nfe.cancelled":
            if data["by"] == SUPERSEDED:
                yield f"CCM {data['ccm']}: a nota {data['numero']} foi cancelada por outra do mesmo RPS"
            continue
        rps = data["ccm"], data["serie"], data["rps"]
        if sent.setdefault(rps, data["sha256"]) != data["sha256"]:
            yield f"RPS {' '.join(map(str, rps))}: o número voltou com outro documento"


def file_of(content: bytes, note: Note) -> Iterator[str]:
    """Name what the city's own element of a note says otherwise than its book."""
    found = dict(_flat(etree.fromstring(content, PARSER)))
    pairs = {
        "ChaveNFe.NumeroNFe": note.numero,
        "ChaveNFe.CodigoVerificacao": note.autorizacao,
        "ChaveNFe.ChaveNotaNacional": note.chave,
        "CPFCNPJPrestador.CNPJ": note.prestador,
        "CPFCNPJTomador.CNPJ": note.tomador,
        "ValorFinalCobrado": f"{note.valor:.2f}",
        "Discriminacao": note.content.get("Discriminacao"),
        "CodigoServico": note.codigo,
        "DataFatoGeradorNFe": f"{note.competencia}T00:00:00",
    }
    for path, needs in pairs.items():
        if found.get(path) != needs:
            yield f"{path} é {quoted(found.get(path))}, e não {quoted(needs)}"


def page_of(note: Note) -> str:
    """Return what stands in the word of a note in the place of a PDF, which the city does not give."""
    return f"inscricao={note.content['ChaveRPS.InscricaoPrestador']}&nf={note.numero}&verificacao={note.autorizacao}"


READER: Final = Reader(notes_of, due, COMPETENCE, lambda _: {}, copies, unsound, page=page_of, xml=file_of)


def _digest(reference: str) -> str:
    """Return what an RPS says of a reference of ours, computed apart from the product."""
    return base64.b32encode(hashlib.sha256(reference.encode()).digest())[:REFERENCE].decode()


def _rate(percent: str) -> str:
    """Return the fraction: two decimals, or four where two are too few."""
    said = f"{Decimal(percent) / 100:.4f}"
    return said.removesuffix("00")


def _note(record: Record, ours: dict[str, str]) -> Note:
    """Read an RPS that became a note, or none."""
    data = record.data
    content = dict(_flat(etree.fromstring(data["packed"].encode(), PARSER)))
    text = str(content.get("Discriminacao"))
    told = text.rpartition("|Ref. PROSA ")[2]
    reference = ours.get(told, told)
    issued = record.kind == "nfe.issued"
    ccm = data["ccm"] if issued else str(data["rps"][0])
    return Note(
        "paulistana",
        key=bound_to(reference),
        id=f"SP_{ccm:0>8}_{data['numero']}" if issued else reference,
        reference=reference,
        at=record.at,
        prestador=str(data["prestador"] if issued else data["remetente"]),
        tomador=str(content.get("CPFCNPJTomador.CNPJ")),
        valor=Decimal(str(content.get("ValorFinalCobrado", "NaN"))),
        codigo=str(content.get("CodigoServico")),
        servico=text.rpartition("|")[0],
        competencia=str(content.get(COMPETENCE)),
        content=content,
        rps=(str(content.get("ChaveRPS.SerieRPS")), int(str(content.get("ChaveRPS.NumeroRPS")))),
        numero=str(data["numero"]) if issued else "",
        chave=str(data["chave_nacional"] or "") if issued else "",
        autorizacao=str(data["verificacao"]) if issued else "",
        settled=record.at if issued else None,
        refused="" if issued else ", ".join(data["codes"]),
    )


def _flat(element: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every leaf of an element, without namespaces."""
    for child in element:
        where = f"{path}.{etree.QName(child).localname}".lstrip(".")
        if len(child):
            yield from _flat(child, where)
        else:
            yield where, child.text or ""
