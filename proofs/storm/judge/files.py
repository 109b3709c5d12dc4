"""Compares every file on a phone with the note of its person: content, media type, name, caption, once each."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from proofs.storm.judge.notes import BRASILIA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from proofs.sandbox.ledger import Record
    from proofs.storm.judge.books import Book
    from proofs.storm.judge.notes import Note

MIMES = {"pdf": "application/pdf", "xml": "text/plain"}  # WhatsApp takes no application/xml
STREAM = re.compile(rb"<<([^>]*/FlateDecode[^>]*)>>\s*stream\r?\n")
LENGTH = re.compile(rb"/Length (\d+)")
SHOWN = re.compile(rb"\(((?:\\.|[^\\()])*)\)\s*Tj")
ESCAPE = re.compile(rb"\\(.)")
NAMESPACE = "{http://www.sped.fazenda.gov.br/nfse}"


@dataclass(frozen=True, slots=True)
class File:
    """A document on a phone; ``mark`` tells copies of one message of ours apart from two messages."""

    who: str
    kind: str
    name: str
    caption: str
    mark: str
    media: dict[str, Any]
    content: bytes


def delivered(meta: Book, read: Callable[[str], bytes | None]) -> dict[str, list[File]]:
    """Return all files that Meta delivered, by person, oldest first."""
    media: dict[str, Record] = {record.data["id"]: record for record in meta.of("media")}
    found: defaultdict[str, list[File]] = defaultdict(list)
    for record in meta.of("outbound"):
        payload, who = record.data["payload"], record.data["user"]["key"]
        document = payload.get("document")
        if document is None:
            continue
        name, media_id = str(document.get("filename", "")), str(document.get("id", ""))
        fact = media[media_id].data if media_id in media else {}
        mark = str(payload.get("biz_opaque_callback_data"))
        kind = name.rpartition(".")[2].lower()
        content = read(media_id) or b""
        found[who].append(File(who, kind, name, str(document.get("caption", "")), mark, fact, content))
    return found


def missing_files(files: Mapping[str, list[File]], note: Note, who: str) -> Iterator[str]:
    """Name what of a note never reached its person's phone."""
    absent = sorted(MIMES.keys() - {file.kind for file in files.get(who, ())})
    if absent:
        yield f"{who} {note.key}: no {' and '.join(absent)} on the phone"


def wrong_files(files: Iterable[File], note: Note | None, who: str) -> Iterator[str]:
    """Name what is wrong with the files on one phone, whose person has this one note."""
    marks: dict[str, str] = {}
    for file in files:
        where = f"{who}: {file.name or 'a file without a name'}"
        if note is None:
            yield f"{where}: its person has no note"
            continue
        if file.kind not in MIMES:
            yield f"{where}: neither PDF nor XML"
            continue
        if marks.setdefault(file.kind, file.mark) != file.mark:
            yield f"{where}: another {file.kind.upper()} besides the first"
        yield from (f"{where}: {complaint}" for complaint in _outside(file, note))
        yield from (f"{where}: {complaint}" for complaint in (_pdf if file.kind == "pdf" else _xml)(file, note))


def _outside(file: File, note: Note) -> Iterator[str]:
    """Media type, name, caption, and the bytes that Meta took."""
    if file.media.get("mime") != MIMES[file.kind]:
        yield f"of type {file.media.get('mime')!r}"
    if file.name != f"NFSe-{note.numero}.{file.kind}":
        yield f"the note is number {note.numero}"
    if file.media.get("filename") != file.name:
        yield f"uploaded as {file.media.get('filename')!r}"
    if hashlib.sha256(file.content).hexdigest() != file.media.get("sha256"):
        yield "not the bytes that were uploaded"
    words = re.findall(r"[\w.,/-]+", file.caption)
    if file.kind == "pdf" and file.caption and not {note.numero, printed(note.valor)} <= set(words):
        yield f"its caption speaks of another note: {file.caption}"


def _pdf(file: File, note: Note) -> Iterator[str]:
    if not file.content.startswith(b"%PDF-") or not file.content.rstrip().endswith(b"%%EOF"):
        yield "no whole PDF"
        return
    cells = pdf_cells(file.content)
    service = note.payload["servico"][0]
    due = {
        "number": note.numero,
        "key": note.chave,
        "protocol": note.autorizacao,
        "id": note.id,
        "issuer": punctuated(note.prestador),
        "customer": punctuated(note.tomador),
        "amount": f"R$ {printed(note.valor)}",
        "service code": str(service["codigo"]),
        "service": str(service["discriminacao"]),
    }
    yield from (f"its {name} is not {value!r}" for name, value in due.items() if value not in cells)


def _xml(file: File, note: Note) -> Iterator[str]:
    try:
        root = ET.fromstring(file.content)  # noqa: S314 - our own simulator's, and a judge has no network
    except ET.ParseError as error:
        yield f"no XML: {error}"
        return
    found = {element.tag.removeprefix(NAMESPACE): element for element in root.iter() if isinstance(element.tag, str)}
    issuer, customer = root.find(f".//{NAMESPACE}emit"), root.find(f".//{NAMESPACE}toma")
    service = note.payload["servico"][0]
    due = {
        "number": (_text(found.get("nNFSe")), note.numero),
        "key": (found["infNFSe"].get("Id") if "infNFSe" in found else None, f"NFS{note.chave}"),
        "issuer": (_document(issuer), note.prestador),
        "customer": (_document(customer), note.tomador),
        "amount": (_text(found.get("vServ")), f"{note.valor:.2f}"),
        "service": (_text(found.get("xDescServ")), service["discriminacao"]),
        "service code": (_text(found.get("cTribNac")), service["codigo"]),
        "competence": (_text(found.get("dCompet")), (note.payload.get("rps") or {}).get("competencia")),
        "day": ((_text(found.get("dhEmi")) or "")[:10], note.at.astimezone(BRASILIA).date().isoformat()),
    }
    yield from (f"its {name} is {has!r}, not {needs!r}" for name, (has, needs) in due.items() if has != needs)


def pdf_cells(content: bytes) -> set[str]:
    """Return the texts that a simulated page shows, cell by cell; a paragraph's lines also joined by a space."""
    texts: list[str] = []
    for stream in STREAM.finditer(content):
        length = LENGTH.search(stream[1])
        try:  # by its length: compressed bytes may end in a line break of their own
            plain = zlib.decompress(content[stream.end() : stream.end() + int(length[1])] if length else b"")
        except zlib.error:
            continue
        texts += [ESCAPE.sub(rb"\1", raw).decode("windows-1252", "replace").strip() for raw in SHOWN.findall(plain)]
    pairs = {f"{first} {second}" for first, second in pairwise(texts)}
    return set(texts) | pairs


def printed(valor: Any) -> str:
    """Return an amount as Brazilians print it: 1.234,56."""
    return f"{valor:,.2f}".translate(str.maketrans(",.", ".,"))


def punctuated(document: str) -> str:
    """Return a CNPJ with its usual punctuation."""
    return f"{document[:2]}.{document[2:5]}.{document[5:8]}/{document[8:12]}-{document[12:]}"


def _text(element: ET.Element | None) -> str | None:
    return element.text if element is not None else None


def _document(party: ET.Element | None) -> str | None:
    if party is None:
        return None
    return _text(party.find(f"{NAMESPACE}CNPJ")) or _text(party.find(f"{NAMESPACE}CPF"))
