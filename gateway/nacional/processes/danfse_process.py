"""Draws the DANFSe of one note after the other in a process of its own: bounded, without network, writing no file."""

from __future__ import annotations

import math
import os
import resource
import struct
import sys
import time
from datetime import datetime
from typing import Any, Final

from lxml import etree

from gateway.nacional.layouts import NS, parse
from gateway.nacional.note import read
from state_machine.values.text import latin1

LIMITS: Final = {
    resource.RLIMIT_AS: 512 * 1024 * 1024,  # bytes; a page takes 110 million of them
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 0,
}
NICENESS: Final = 10  # behind who answers people: a page may wait, an event loop may not
CPU_SECONDS: Final = 5  # of one page, which takes a twentieth of a second
HEADER: Final = struct.Struct(">BI")  # of question and answer: a code, and the length of what follows
WATERMARKS: Final = (None, "cancelada", "substituida")  # the code of a question is the place here
DRAWN, REFUSED = range(2)  # codes of an answer
_FORBIDDEN: Final = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn")
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def draw(xml: bytes, watermark: str | None) -> bytes:
    """Return the PDF of a note: the same XML and watermark give the same bytes. Raises ``ValueError`` for no note.

    The library reads with a plain parser, so it gets what ours has read, and of its text what the font has: printable
    Latin-1 on one line. The properties of the file are the note's: who issued it, its number, its key and its date.
    """
    from brazilfiscalreport.danfse import Danfse, DanfseConfig  # noqa: PLC0415 - half a second, for this process only

    if etree.QName(parse(xml)).localname == "nfeProc":
        return _goods(xml, watermark)
    found = read(xml)
    if found is None or found.nota.data_emissao is None:
        raise ValueError("it is no NFS-e")
    root = parse(xml)
    _as_before_nt009(root)
    for element in root.iter(etree.Element):
        element.text = latin1(element.text or "")
    page: Any = Danfse(
        etree.tostring(root),
        DanfseConfig(watermark_cancelled=watermark == "cancelada", watermark_replaced=watermark == "substituida"),
    )
    page.set_creation_date(datetime.fromisoformat(found.nota.data_emissao))
    issuer = page.data["issuer"]["name"]
    page.set_title(f"NFS-e {found.nota.numero} · {issuer}")
    page.set_author(issuer)
    page.set_subject(f"DANFSe da NFS-e {found.nota.chave}")
    page.set_lang("pt-BR")
    return bytes(page.output())


def _goods(xml: bytes, watermark: str | None) -> bytes:
    """Return the DANFE of an NF-e, or the DANFCE of an NFC-e."""
    root = parse(xml)
    for element in root.iter(etree.Element):
        element.text = latin1(element.text or "")
    consumer = root.findtext(".//{*}ide/{*}mod") == "65"
    cancelled, text = watermark == "cancelada", etree.tostring(root)
    if consumer:
        from brazilfiscalreport.danfce import Danfce, DanfceConfig  # noqa: PLC0415 - likewise

        page: Any = Danfce(text, DanfceConfig(watermark_cancelled=cancelled))
    else:
        from brazilfiscalreport.danfe import Danfe, DanfeConfig  # noqa: PLC0415 - likewise

        page = Danfe(text, DanfeConfig(watermark_cancelled=cancelled))
    page.set_creation_date(datetime.fromisoformat(root.findtext(".//{*}ide/{*}dhEmi") or ""))
    page.set_lang("pt-BR")
    return bytes(page.output())


def _as_before_nt009(root: Any) -> None:
    """Put what NT 009 moved, and the amounts of the Simples, where the library (1.3.1) looks: it would print "-"."""
    ns = f"{{{NS}}}"
    info = root.find(f"{ns}infNFSe/{ns}DPS/{ns}infDPS")
    moved = [each for name in ("finNFSe", "dest") if (each := info.find(f"{ns}{name}")) is not None]
    if moved:
        group = info.find(f"{ns}IBSCBS")
        if group is None:
            group = etree.SubElement(info, f"{ns}IBSCBS")
        group.extend(moved)
    totals = root.find(f"{ns}infNFSe/{ns}IBSCBS/{ns}totCIBS")
    for amount, simples in (("vIBSTot", "vIBSSN"), ("vCBS", "vCBSSN")) if totals is not None else ():
        said = totals.findtext(f"{ns}gTribSN/{ns}{simples}")
        if said and totals.find(f".//{ns}{amount}") is None:
            etree.SubElement(totals, f"{ns}{amount}").text = said


def restrict() -> None:
    """Bind this process to ``LIMITS``, and Python in it to reading, for the rest of its life."""
    for what, most in LIMITS.items():
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))
    os.nice(NICENESS)
    sys.addaudithook(_only_read)


def allow(cpu: int) -> None:
    """Let this process compute for ``cpu`` seconds more; the kernel ends one that goes on."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + cpu, hard))


def _only_read(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN) or (event == "open" and arguments[2] & _WRITING):
        raise PermissionError(f"{event} is not for who draws a page")


def main() -> None:
    """Answer question after question on standard input; the end of it is the end of the process."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    restrict()
    while len(header := questions.read(HEADER.size)) == HEADER.size:
        watermark, length = HEADER.unpack(header)
        allow(CPU_SECONDS)
        try:
            code, answer = DRAWN, draw(questions.read(length), WATERMARKS[watermark])
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the library says of this note; the next one is another
            code, answer = REFUSED, type(error).__name__.encode()  # its text may quote the note
        answers.write(HEADER.pack(code, len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    main()
