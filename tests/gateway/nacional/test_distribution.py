"""What is read of ADN's list of documents, and what is no word of ADN."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gateway.http.wire import Answer
from gateway.nacional.adn import read_lot
from gateway.nacional.dps import Circunstancias, build, short_reference
from gateway.nacional.signature import pack
from state_machine.protocol.audit import Distributed
from state_machine.protocol.emission import CannotTell
from tests.gateway.nacional.made_documents import CHAVE, event_of, note_of

if TYPE_CHECKING:
    from state_machine.documents import DocumentoServico


def said(status: int, *rows: dict[str, Any], word: str = "DOCUMENTOS_LOCALIZADOS") -> Answer:
    """An answer of ADN."""
    body = {"StatusProcessamento": word, "LoteDFe": list(rows), "Alertas": [], "Erros": []}
    return Answer(status, {"retry-after": "7"}, json.dumps(body).encode())


def row(nsu: int, xml: bytes | None) -> dict[str, Any]:
    """One of its documents."""
    return {"NSU": nsu, "ChaveAcesso": CHAVE, "ArquivoXml": pack(xml) if xml is not None else "x"}


def test_notes_and_what_ended_them_are_read_in_order(intent: DocumentoServico, facts: Circunstancias) -> None:
    """Each document itself says what it is; one that nobody can read keeps its place, and ends nothing."""
    documents = {
        9: event_of(tipo="105102"),
        4: note_of(build(intent, facts)),
        6: event_of(),
        7: event_of(tipo="202201"),
        8: None,
    }
    lot = read_lot(said(200, *(row(nsu, xml) for nsu, xml in documents.items())), 3)
    assert isinstance(lot, tuple)
    first, *others = lot
    assert others == [
        Distributed(6, CHAVE, ended="cancelada"),
        Distributed(7, CHAVE),
        Distributed(8, CHAVE),
        Distributed(9, CHAVE, ended="substituida"),
    ]
    assert first.nsu == 4
    assert first.nota is not None
    assert (first.nota.id_externo, first.nota.referencia) == (CHAVE, short_reference(intent.id_integracao))


def test_only_adn_says_that_there_is_no_more() -> None:
    """A proxy's 404, a lot that goes back, one without places and a refusal tell nothing; 429 says until when."""
    assert read_lot(said(404, word="NENHUM_DOCUMENTO_LOCALIZADO"), 3) == ()
    odd = (
        Answer(404, {}, b"<html>"),
        said(404),
        said(200),
        said(200, row(3, event_of())),
        said(200, {"ChaveAcesso": CHAVE}),
        said(400, word="REJEICAO"),
        said(429, word="NENHUM_DOCUMENTO_LOCALIZADO"),
    )
    found = [read_lot(each, 3) for each in odd]
    assert all(isinstance(each, CannotTell) for each in found)
    assert isinstance(found[-1], CannotTell)
    assert found[-1].retry_after == 7
