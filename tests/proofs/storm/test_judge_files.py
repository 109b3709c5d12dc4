"""Files, cancellations and records that are not those of the authority's note: the judge says which."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from proofs.storm.judge.verdict import BROKEN
from tests.proofs.storm.storm_books import Stage, good, rendered
from tests.proofs.storm.storm_wishes import ANA, BIA, CAIO, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable


def swapped(stage: Stage) -> None:
    """Ana gets Caio's PDF under her own name, and he hers."""
    ana, caio = stage.documents(ANA, "pdf")[0], stage.documents(CAIO, "pdf")[0]
    ana["id"], caio["id"] = caio["id"], ana["id"]


def everybodys(stage: Stage) -> None:
    """Everybody gets the PDF of the first invoice, each under its own name."""
    first = stage.contents[stage.documents(ANA, "pdf")[0]["id"]]
    for name, what in stage.contents.items():
        if what[1] == "pdf":
            stage.contents[name] = first


def to_another(stage: Stage) -> None:
    """Ana's two files go to Bia as well."""
    for kind in ("pdf", "xml"):
        stage.sends(BIA, {"type": "document", "document": dict(stage.documents(ANA, kind)[0])})


def again(kind: str, times: int) -> Callable[[Stage], None]:
    """Send Ana's file again, each time as a message of its own."""

    def change(stage: Stage) -> None:
        for _ in range(times):
            stage.sends(ANA, {"type": "document", "document": dict(stage.documents(ANA, kind)[0])})

    return change


def without_file(kind: str) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        name = stage.documents(ANA, kind)[0]["filename"]
        stage.without(stage.meta, lambda _, data: data.get("payload", {}).get("document", {}).get("filename") == name)

    return change


def content(kind: str, new: Callable[[bytes], bytes]) -> Callable[[Stage], None]:
    """Change the bytes of one of Ana's files."""

    def change(stage: Stage) -> None:
        media = stage.documents(ANA, kind)[0]["id"]
        stage.contents[media] = new(stage.evidence().media(media) or b"")

    return change


def of_the_upload(kind: str, name: str, value: str) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        stage.media(stage.documents(ANA, kind)[0]["id"])[name] = value

    return change


def of_the_document(kind: str, name: str, value: str) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        stage.documents(ANA, kind)[0][name] = value

    return change


def printed(*path: Any, to: Any) -> Callable[[Stage], None]:
    """Print Ana's PDF from a note in which one fact is another one; the authority's book stays as it is."""

    def change(stage: Stage) -> None:
        note = copy.deepcopy(stage.note(ANA))
        if len(path) == 1:
            note = replace(note, **{path[0]: to})
        else:
            place: Any = note.payload
            for name in path[:-1]:
                place = place[name]
            place[path[-1]] = to
        stage.contents[stage.documents(ANA, "pdf")[0]["id"]] = rendered("pdf", note)

    return change


def renamed(stage: Stage) -> None:
    """Ana's PDF has the name of another note, at Meta and on the phone alike."""
    document = stage.documents(ANA, "pdf")[0]
    stage.media(document["id"])["filename"] = document["filename"] = "NFSe-2.pdf"


def of_nobody(stage: Stage) -> None:
    """Bia's note never got its number, and files reach her all the same."""
    note = stage.created(BIA)["id"]
    stage.without(stage.gateway, lambda kind, data: kind == "note.settled" and data["id"] == note)


def xml(old: str, new: str) -> Callable[[Stage], None]:
    def replaced(data: bytes) -> bytes:
        assert old.encode() in data
        return data.replace(old.encode(), new.encode())

    return content("xml", replaced)


FILES = {
    "two people get each other's PDF": ("misfiled", swapped),
    "everybody gets the PDF of the first invoice": ("misfiled", everybodys),
    "the files go to somebody else too": ("misfiled", to_another),
    "the PDF five times": ("misfiled", again("pdf", 4)),
    "the XML twice": ("misfiled", again("xml", 1)),
    "no XML": ("untold", without_file("xml")),
    "no PDF": ("untold", without_file("pdf")),
    "half of the PDF": ("misfiled", content("pdf", lambda data: data[: len(data) // 2])),
    "an empty PDF": ("misfiled", content("pdf", lambda _: b"")),
    "the XML in the place of the PDF": ("misfiled", content("pdf", lambda _: b"<NFSe/>")),
    "half of the XML": ("misfiled", content("xml", lambda data: data[: len(data) // 2])),
    "another number on the PDF": ("misfiled", printed("numero", to="77")),
    "another key on the PDF": ("misfiled", printed("chave", to="9" * 50)),
    "another protocol on the PDF": ("misfiled", printed("autorizacao", to="43")),
    "another id on the PDF": ("misfiled", printed("id", to="e" * 24)),
    "another issuer on the PDF": ("misfiled", printed("prestador", "cpfCnpj", to=OTHER)),
    "another customer on the PDF": ("misfiled", printed("tomador", "cpfCnpj", to=OTHER)),
    "another amount on the PDF": ("misfiled", printed("servico", 0, "valor", "servico", to=1000.01)),
    "another service code on the PDF": ("misfiled", printed("servico", 0, "codigo", to="170102")),
    "another text on the PDF": ("misfiled", printed("servico", 0, "discriminacao", to="aulas de francês")),
    "the name of another note": ("misfiled", renamed),
    "another name at Meta": ("misfiled", of_the_upload("pdf", "filename", "NFSe-2.pdf")),
    "files of a note that was never issued": ("misfiled", of_nobody),
    "another number in the XML": ("misfiled", xml("<nNFSe>1<", "<nNFSe>2<")),
    "another key in the XML": ("misfiled", xml('Id="NFS1', 'Id="NFS2')),
    "another amount in the XML": ("misfiled", xml("<vServ>1000.00", "<vServ>1000.01")),
    "another customer in the XML": ("misfiled", xml("12345678000195", OTHER)),
    "another issuer in the XML": ("misfiled", xml("<CNPJ>11222333000181", f"<CNPJ>{OTHER}")),
    "another text in the XML": ("misfiled", xml("aulas de ingl", "aulas de fran")),
    "another competence in the XML": ("misfiled", xml("2026-01-02</dCompet", "1999-01-01</dCompet")),
    "another service code in the XML": ("misfiled", xml("<cTribNac>170101", "<cTribNac>170102")),
    "another day in the XML": ("misfiled", xml("<dhEmi>2026-01-02", "<dhEmi>2026-01-03")),
    "another media type": ("misfiled", of_the_upload("pdf", "mime", "text/plain")),
    "the digest of other bytes": ("misfiled", of_the_upload("pdf", "sha256", "0" * 64)),
    "another name of the file": ("misfiled", of_the_document("pdf", "filename", "NFSe-2.pdf")),
    "a file of another kind": ("misfiled", of_the_document("pdf", "filename", "NFSe-1.exe")),
    "an upload that Meta never took": ("misfiled", of_the_document("pdf", "id", "nowhere")),
    "a caption of another number": ("untold", of_the_document("pdf", "caption", "NFS-e 2 autorizada · R$ 1.000,00")),
    "a caption of another amount": ("misfiled", of_the_document("pdf", "caption", "NFS-e 1 autorizada · R$ 1,00")),
}


@pytest.mark.parametrize(("kind", "change"), FILES.values(), ids=FILES.keys())
def test_each_file_is_that_of_its_own_note(kind: str, change: Callable[[Stage], None]) -> None:
    """Content, media type, name and caption, to the right phone, once: the judge says which phone has another."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(ANA in line or BIA in line for line in found.faults[kind]), found.faults
    assert found.word == BROKEN


def unasked(stage: Stage) -> None:
    """The house cancels Ana's note and tells her nothing."""
    note = stage.created(ANA)
    stage.tell(stage.gateway, "cancel.asked", id=note["id"], protocol="c", motivo="m", codigo="1", refused=False)
    stage.tell(stage.gateway, "cancel.settled", id=note["id"], refused=False, mensagem=None)
    stage.announces(note["id"], note["payload"]["idIntegracao"], "CANCELADO")
    next(row for row in stage.kept if row[0] == note["id"])[3] = "cancelado"


def asked_twice(stage: Stage) -> None:
    stage.tell(
        stage.gateway, "cancel.asked", id=stage.created(BIA)["id"], protocol="c", motivo="m", codigo="1", refused=False
    )


def still_standing(stage: Stage) -> None:
    note = stage.created(BIA)["id"]
    stage.without(stage.gateway, lambda kind, data: kind.startswith("cancel.") and data["id"] == note)


def reported_as_valid(stage: Stage) -> None:
    next(row for row in stage.kept if row[0] == stage.created(BIA)["id"])[3] = "autorizado"


def not_told(stage: Stage) -> None:
    stage.without(stage.meta, lambda _, data: "cancelada*" in str(data.get("payload")))


def falsely_told(stage: Stage) -> None:
    stage.sends(ANA, {"type": "text", "text": {"body": "*Nota 1 cancelada*"}})


def told_of_another(stage: Stage) -> None:
    stage.sends(ANA, {"type": "text", "text": {"body": "NFS-e 9 autorizada · R$ 1.000,00 · CLIENTE"}})


def other_record(column: int, value: str) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        next(row for row in stage.kept if row[0] == stage.created(ANA)["id"])[column] = value

    return change


RECORDS = {
    "a note cancelled unasked": ("uncancelled", ANA, unasked),
    "a cancellation nobody is told of": ("untold", ANA, unasked),
    "a cancellation asked for twice": ("uncancelled", BIA, asked_twice),
    "a cancellation that never came about": ("uncancelled", BIA, still_standing),
    "a cancelled note reported as valid": ("misrecorded", "S1 r1", reported_as_valid),
    "a cancellation that its person never heard of": ("untold", BIA, not_told),
    "a person told of a cancellation that is none": ("untrue", ANA, falsely_told),
    "a person told of somebody else's note": ("untrue", ANA, told_of_another),
    "another number in our table": ("misrecorded", "S0 r1", other_record(1, "99")),
    "another key in our table": ("misrecorded", "S0 r1", other_record(2, "x")),
    "a note that our table lacks": (
        "misrecorded",
        "S0 r1: a nota 1 não está na nossa tabela",
        lambda stage: stage.kept.pop(0),
    ),
    "a note twice in our table": (
        "misrecorded",
        "S0 r1: na nossa tabela 2 vezes",
        lambda s: s.kept.append(list(s.kept[0])),
    ),
    "another note in our table": ("misrecorded", "só está na nossa tabela", other_record(0, "f" * 24)),
}


@pytest.mark.parametrize(("kind", "whose", "change"), RECORDS.values(), ids=RECORDS.keys())
def test_what_is_said_of_a_note_is_so(kind: str, whose: str, change: Callable[[Stage], Any]) -> None:
    """The authority's book, our own table and the words on the phone agree, cancellations too."""
    stage = good()
    change(stage)
    found = stage.verdict()
    assert any(whose in line for line in found.faults[kind]), found.faults
    assert found.word == BROKEN
