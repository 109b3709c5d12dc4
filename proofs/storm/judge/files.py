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

from proofs.storm.judge.note import BRASILIA, printed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from proofs.sandbox.ledger import Record
    from proofs.storm.judge.books import Book
    from proofs.storm.judge.note import Note, Reader

MIMES = {"pdf": "application/pdf", "xml": "text/plain"}  # WhatsApp takes no application/xml
STREAM = re.compile(rb"<<([^>]*/FlateDecode[^>]*)>>\s*stream\r?\n")
LENGTH = re.compile(rb"/Length (\d+)")
SHOWN = re.compile(rb"\(((?:\\.|[^\\()])*)\)\s*Tj")
ESCAPE = re.compile(rb"\\(.)")
PRACTICE = "Homologação: nota sem valor fiscal"  # stands in every message of a company that issues for practice
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


def shared(
    files: Iterable[File], note: Note | None, replaced: Sequence[Note]
) -> Iterator[tuple[Note | None, list[File]]]:
    """Yield each note of a person with its files: those whose place another took by their names, then the one left."""
    left = list(files)
    for old in replaced:
        theirs = [file for file in left if file.name.startswith(f"{_kind(old)}-{old.numero}.")]
        left = [file for file in left if file not in theirs]
        yield old, theirs
    yield note, left


def missing_files(
    files: Mapping[str, list[File]], note: Note, who: str, readers: Mapping[str, Reader]
) -> Iterator[str]:
    """Name what of a note never reached its person's phone; a page is read, and no file."""
    due = {"xml"} if readers[note.channel].page else MIMES.keys()
    absent = sorted(due - {file.kind for file in files.get(who, ())})
    if absent:
        yield f"{who} {note.key}: sem {' e '.join(absent).upper()} no telefone"


def wrong_files(files: Iterable[File], note: Note | None, readers: Mapping[str, Reader], who: str) -> Iterator[str]:
    """Name what is wrong with the files on one phone, whose person has this one note."""
    marks: dict[str, str] = {}
    for file in files:
        where = f"{who}: {file.name or 'arquivo sem nome'}"
        if note is None:
            yield f"{where}: a pessoa não tem nota"
            continue
        if file.kind not in MIMES:
            yield f"{where}: nem PDF nem XML"
            continue
        if marks.setdefault(file.kind, file.mark) != file.mark:
            yield f"{where}: outro {file.kind.upper()} além do primeiro"
        yield from (f"{where}: {complaint}" for complaint in _outside(file, note))
        reader = readers[note.channel]
        if file.kind == "pdf":
            inside = _pdf(file, reader.printed(note))
        else:
            inside = reader.xml(file.content, note) if reader.xml else _xml(file, note)
        yield from (f"{where}: {complaint}" for complaint in inside)


def _kind(note: Note) -> str:
    return {"nfe": "NFe", "nfce": "NFCe"}.get(note.channel, "NFSe")


def _outside(file: File, note: Note) -> Iterator[str]:
    """Media type, name, caption, and the bytes that Meta took."""
    if file.media.get("mime") != MIMES[file.kind]:
        yield f"o tipo é {quoted(file.media.get('mime'))}"
    if file.name != f"{_kind(note)}-{note.numero}.{file.kind}":
        yield f"a nota tem o número {note.numero}"
    if file.media.get("filename") != file.name:
        yield f"enviado à Meta com o nome {quoted(file.media.get('filename'))}"
    if hashlib.sha256(file.content).hexdigest() != file.media.get("sha256"):
        yield "o conteúdo não é o que foi enviado à Meta"
    caption = file.caption.replace(PRACTICE, "").strip("_. \n")
    words = re.findall(r"[\w.,/-]+", caption)
    if file.kind == "pdf" and caption and not {note.numero, printed(note.valor)} <= set(words):
        yield f"a legenda fala de outra nota: {file.caption}"


def _pdf(file: File, due: Mapping[str, str]) -> Iterator[str]:
    if not file.content.startswith(b"%PDF-") or not file.content.rstrip().endswith(b"%%EOF"):
        yield "PDF incompleto"
        return
    cells = pdf_cells(file.content)
    yield from (f"{name} não é {value!r}" for name, value in due.items() if value not in cells)


def _xml(file: File, note: Note) -> Iterator[str]:
    if note.xml and file.content != note.xml:
        yield "não é o documento que a autoridade guarda"
    try:
        root = ET.fromstring(file.content)  # noqa: S314 - our own simulator's, and a judge has no network
    except ET.ParseError as error:
        line, column = error.position
        yield f"não é um XML inteiro: linha {line}, coluna {column}"
        return
    found = {element.tag.removeprefix(NAMESPACE): element for element in root.iter() if isinstance(element.tag, str)}
    issuer, customer = root.find(f".//{NAMESPACE}emit"), root.find(f".//{NAMESPACE}toma")
    due = {
        "número": (_text(found.get("nNFSe")), note.numero),
        "chave": (found["infNFSe"].get("Id") if "infNFSe" in found else None, f"NFS{note.chave}"),
        "emitente": (_document(issuer), note.prestador),
        "cliente": (_document(customer), note.tomador),
        "valor": (_text(found.get("vServ")), f"{note.valor:.2f}"),
        "serviço": (_text(found.get("xDescServ")), note.servico),
        "código do serviço": (_text(found.get("cTribNac")), note.codigo),
        "competência": (_text(found.get("dCompet")), note.competencia),
        "dia da emissão": ((_text(found.get("dhEmi")) or "")[:10], note.at.astimezone(BRASILIA).date().isoformat()),
    }
    yield from (f"{name} é {quoted(has)}, e não {quoted(needs)}" for name, (has, needs) in due.items() if has != needs)


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


def _text(element: ET.Element | None) -> str | None:
    return element.text if element is not None else None


def _document(party: ET.Element | None) -> str | None:
    if party is None:
        return None
    return _text(party.find(f"{NAMESPACE}CNPJ")) or _text(party.find(f"{NAMESPACE}CPF"))
