"""The one place that turns SEFIN's HTTP answer, or its absence, into what we may believe of an emission.

A refusal counts only where its status is 4xx and its body names a code of the authority: a proxy writes HTML, and a
status of 5xx says that the program behind it failed at a point that nobody knows.

Owns the reading of SEFIN's complaints, in the four shapes in which they come, and their plain words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.http.wire import (
    REFUSED_BY_TLS,
    Answer,
    NoAnswerError,
    NotSentError,
    as_dict,
    json_object,
    parse_json,
    retry_after,
    scrub,
    text,
)
from gateway.nacional import note
from gateway.nacional.layouts import MAX_BYTES
from gateway.nacional.signature import unpack
from gateway.port import Explicacao
from gateway.refusals import national_codes
from state_machine.protocol.emission import (
    Absent,
    Arquivo,
    CannotTell,
    Download,
    Duplicate,
    Finding,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotReady,
    NotSent,
    Outcome,
    Postponed,
    Rejected,
    Unknown,
)

_LIKE_A_CODE: Final = re.compile(r"[A-Z]{1,3}[0-9]{3,5}")
_MOST: Final = 50  # complaints of one answer
_LONGEST: Final = 1000  # characters of one text


@dataclass(frozen=True, slots=True)
class ErroSefin:
    """One complaint of the authority: ``codigo`` as "E0014", the rest in its own words."""

    codigo: str
    descricao: str
    complemento: str | None = None


def errors_of(body: bytes) -> tuple[ErroSefin, ...]:
    """Return the complaints of an answer; empty for HTML, garbage and an answer without any."""
    try:
        answer = parse_json(body)
    except ValueError:
        return ()
    found = [_error(each) for each in _listed(answer)[:_MOST]]
    return tuple(error for error in found if error is not None)


def says_only(body: bytes, codigo: str) -> bool:
    """Tell whether an answer complains, and of nothing but this; a complaint that cannot be read is another."""
    try:
        listed = _listed(parse_json(body))
    except ValueError:
        return False
    return bool(listed) and all(error is not None and error.codigo == codigo for error in map(_error, listed))


def explain(recusa: Rejected) -> Explicacao:
    """Say in plain pt-BR why a note was refused, and which field repairs it."""
    return national_codes.first((), recusa.codigos, recusa.mensagem)


def _listed(answer: Any) -> list[Any]:
    """``{"erros": […]}``, ``{"erro": … or […]}``, a bare list, or one complaint by itself."""
    if isinstance(answer, list):
        return answer
    told = {str(name).casefold(): value for name, value in as_dict(answer).items()}
    inner = told.get("erros", told.get("erro", answer))
    return inner if isinstance(inner, list) else [inner]


def _error(each: Any) -> ErroSefin | None:
    told = {str(name).casefold(): value for name, value in as_dict(each).items()}
    codigo = text(told.get("codigo"))
    if codigo is None or not _LIKE_A_CODE.fullmatch(codigo):
        return None
    descricao = text(told.get("descricao")) or text(told.get("mensagem")) or ""
    complemento = text(told.get("complemento"))
    return ErroSefin(codigo, descricao[:_LONGEST], complemento[:_LONGEST] if complemento else None)


OK, _REDIRECT, NOT_FOUND, _TOO_MANY, SERVER_ERROR, _UNAVAILABLE = 200, 300, 404, 429, 500, 503
_NO_REFUSALS: Final = frozenset({408, 425, 499})  # of time and connection: what was asked, nobody judged
_REFUSALS: Final = frozenset(range(400, SERVER_ERROR)) - _NO_REFUSALS
_FORBIDDEN: Final = (401, 403)
_XML: Final = "application/xml"
_ENVELOPE: Final = frozenset({"tipoAmbiente", "versaoAplicativo", "dataHoraProcessamento"})  # of every answer of SEFIN

DUPLICATE: Final = "E0014"
NO_NOTE: Final = "E2404"  # of ``GET /dps/{id}`` alone: no note was made of that DPS
LATER: Final = frozenset({"E1206", "E1217", "E0001"})  # revoked certificates, service, our layout: not now
SIGNATURE: Final = frozenset({"E0715", "E0716", "E0718"})  # also said while the list of revoked ones cannot be read
CERTIFICATE: Final = SIGNATURE | {"E1200", "E1201", "E1202", "E1203", "E1204", "E1205", "E1207", "E1208", "E1209"}
SCHEMA: Final = "RNG6110"  # what we sent does not follow the authority's schema: the same bytes never will
_CODE: Final = re.compile(rf"E[0-9]{{4}}|{SCHEMA}")  # of Anexo I, and the schema's
FAILURES: Final = frozenset({"E999", "RNG9999"})  # the authority's own: another try may do
# A document that SEFIN cannot read or verify is a fault of ours: ``explain`` gives it to staff, and nobody else waits.

NO_CERTIFICATE: Final = (
    "falta o certificado digital (A1) da sua empresa, ou o guardado não serve mais. Quem cuida do cadastro envia um "
    "novo"
)
CERTIFICATE_REFUSED: Final = (
    "o emissor nacional recusou o certificado digital (A1) da sua empresa. Quem cuida do cadastro confere se ele "
    "venceu ou foi revogado, e envia um novo"
)
NO_ACCESS: Final = (
    "o emissor nacional recusou o acesso da sua empresa. Quem cuida do cadastro confere o certificado digital (A1) e "
    "se a empresa está habilitada no emissor nacional"
)
UNUSABLE: Final = "no usable certificate"  # the reason of a call that never left
_REPAIRS: Final = {UNUSABLE: NO_CERTIFICATE, REFUSED_BY_TLS: CERTIFICATE_REFUSED}


def submit_outcome(result: Answer | NoAnswerError, id_dps: str) -> Outcome:
    """Classify the answer to the DPS of this identity; what is not plainly something else is unknown.

    A note that came with it is believed only where it can be read, is of this DPS and has the key that the answer says.
    """
    if not isinstance(result, Answer):
        return not_answered(result)
    if OK <= result.status < _REDIRECT:
        return _issued(result, id_dps)
    if (held := held_back(result)) is not None:
        return held
    errors = refused(result)
    if not errors:
        return unknown(result)
    if DUPLICATE in {error.codigo for error in errors}:
        return Duplicate()
    return stopped(errors) or rejection(errors)


def not_answered(error: NoAnswerError) -> NotSent | Misconfigured | Unknown:
    """Classify that no whole answer came."""
    if isinstance(error, NotSentError):
        if error.reason == REFUSED_BY_TLS:
            return Misconfigured(error.reason, CERTIFICATE_REFUSED)
        return NotSent(error.reason)
    return Unknown(error.reason)


def held_back(answer: Answer) -> Misconfigured | Postponed | None:
    """Return what a status says, whatever was asked: no access, or not now, where the authority itself says that.

    A proxy's 429 or 503 may come after the authority has got the request.
    """
    if answer.status in _FORBIDDEN:
        return stopped(refused(answer)) or Misconfigured(says(answer), NO_ACCESS)
    if answer.status in {_TOO_MANY, _UNAVAILABLE} and is_of_authority(answer.body):
        return Postponed(retry_after(answer.headers), says(answer))
    return None


def refused(answer: Answer) -> tuple[ErroSefin, ...]:
    """Return the authority's own complaints of a definite refusal; empty for anything else.

    Where one of them is no code of the manual, something failed that is not the document.
    """
    errors = errors_of(answer.body) if answer.status in _REFUSALS else ()
    return errors if all(_CODE.fullmatch(error.codigo) for error in errors) else ()


def unknown(answer: Answer) -> Unknown:
    """Return an answer that no table here knows; a refusal, unless the authority says that it failed itself."""
    codes = [error.codigo for error in errors_of(answer.body)]
    told = f"{says(answer)} without a code of the authority" + (f" that is known: {' '.join(codes)}" if codes else "")
    return Unknown(told, recusada=answer.status in _REFUSALS and FAILURES.isdisjoint(codes))


def stopped(errors: Sequence[ErroSefin]) -> Misconfigured | Postponed | None:
    """Return what codes say that speak of no document: of the certificate, or of the service's own troubles."""
    refazer = any(error.codigo in SIGNATURE for error in errors)
    for error in errors:
        if error.codigo in CERTIFICATE:
            return Misconfigured(error.codigo, CERTIFICATE_REFUSED, refazer)
    for error in errors:
        if error.codigo in LATER:
            return Postponed(None, error.codigo)
    return None


def rejection(errors: Sequence[ErroSefin]) -> Rejected:
    """Return the refusal in the authority's words, without secrets."""
    words = "; ".join(
        " ".join(part for part in (error.codigo, error.descricao, error.complemento) if part) for error in errors
    )
    return Rejected(scrub(words), tuple(dict.fromkeys(error.codigo for error in errors)))


def cannot_tell(result: Answer | NoAnswerError, why: str | None = None) -> CannotTell:
    """Return that an answer, or its absence, says nothing; with words for the company where its certificate is why."""
    if not isinstance(result, Answer):
        return CannotTell(result.reason, texto=_REPAIRS.get(result.reason))
    held = held_back(result) or stopped(refused(result))
    texto = held.texto if isinstance(held, Misconfigured) else None
    return CannotTell(why or says(result), retry_after(result.headers), texto)


def finding(
    exists: Answer | NoAnswerError, told: Answer | NoAnswerError | None, id_dps: str, tp_amb: str
) -> Finding | str:
    """Classify ``HEAD /dps/{id}`` and the ``GET`` that follows it; a text is the key of the note to fetch.

    A ``HEAD`` has no body, so a proxy's 404 looks like the authority's: absence is believed only where the ``GET`` is
    answered with 404 too, in the authority's own words, and about no other DPS. ``told`` is ``None`` before it was
    asked.
    """
    if not isinstance(exists, Answer) or exists.status not in {OK, NOT_FOUND}:
        return cannot_tell(exists)
    if told is None:
        return CannotTell("not asked")
    if not isinstance(told, Answer):
        return cannot_tell(told)
    if told.status == NOT_FOUND:
        if exists.status == NOT_FOUND and _says_no_note(told.body, tp_amb) and _is_about(told, id_dps):
            return Absent()
        return CannotTell(f"{says(told)} that is not the authority's word")
    body = json_object(told.body)
    chave = text(body.get("chaveAcesso"))
    if told.status != OK or chave is None or not _is_about(told, id_dps):
        return cannot_tell(told)
    return chave


def fetched(result: Answer | NoAnswerError, chave: str) -> Found | CannotTell:
    """Classify ``GET /nfse/{chave}``: the note, if it can be read and is the one that was asked for."""
    if not isinstance(result, Answer) or result.status != OK:
        return cannot_tell(result)
    opened = _note(result)
    if opened is None or opened[0].chave != chave:
        return CannotTell("the answer holds no note, or another")
    return Found(opened[0], Arquivo(opened[1], _XML))


def xml_of(result: Answer | NoAnswerError, chave: str) -> Download:
    """Classify the same answer where the document itself is wanted."""
    found = fetched(result, chave)
    if isinstance(found, CannotTell):
        return NotReady(found.motivo)
    return found.xml or NotReady("no document")


def says(answer: Answer) -> str:
    """Name an answer without repeating any of it."""
    return f"HTTP {answer.status}"


def is_of_authority(body: bytes) -> bool:
    """Tell SEFIN's own JSON from what a proxy or a wrong path writes."""
    return bool(errors_of(body)) or not _ENVELOPE.isdisjoint(json_object(body))


def says_absent(body: bytes, tp_amb: str) -> bool:
    """Tell the authority's own "there is none", of our environment, from a complaint and from anybody else's words."""
    told = json_object(body)
    return not errors_of(body) and told.keys() >= _ENVELOPE and str(told["tipoAmbiente"]) == tp_amb


def _says_no_note(body: bytes, tp_amb: str) -> bool:
    """Tell the authority's word on a DPS of which no note was made: ``NO_NOTE`` alone, or an envelope without a code.

    The envelope of the code often lacks the version, and may name no environment (0); never the other one.
    """
    told = json_object(body)
    here = "dataHoraProcessamento" in told and str(told.get("tipoAmbiente", 0)) in {"0", tp_amb}
    return (here and says_only(body, NO_NOTE)) or says_absent(body, tp_amb)


def _is_about(answer: Answer, id_dps: str) -> bool:
    return text(json_object(answer.body).get("idDps")) in {None, id_dps}


def _issued(answer: Answer, id_dps: str) -> Issued | Unknown:
    opened = _note(answer)
    if opened is None:
        return Unknown(f"{says(answer)} without a note that can be read")
    nota, xml = opened
    if nota.id_integracao != id_dps:
        return Unknown(f"{says(answer)} with the note of another DPS")
    if nota.chave is None or text(json_object(answer.body).get("chaveAcesso")) != nota.chave:
        return Unknown(f"{says(answer)} with another key than its note's")
    return Issued(nota, Arquivo(xml, _XML))


def _note(answer: Answer) -> tuple[Nota, bytes] | None:
    packed = text(json_object(answer.body).get("nfseXmlGZipB64"), 2 * MAX_BYTES)
    if packed is None:
        return None
    try:
        xml = unpack(packed)
    except ValueError:
        return None
    read = note.read(xml)
    return (read.nota, xml) if read is not None else None
