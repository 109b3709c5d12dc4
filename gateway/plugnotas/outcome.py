"""The one place that turns an HTTP answer, or its absence, into what we may believe of an emission.

Owns the translation of the gateway's rejection into a plain reason and the field that repairs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Literal

from gateway.http.wire import (
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
from gateway.plugnotas.note import codes, parse_nota, says_duplicate
from gateway.plugnotas.payload import IntegrationKey
from gateway.port import Explicacao
from gateway.refusals import national_codes
from gateway.refusals.plain import ALIQUOTA, CERTIFICADO, EMPRESA, RECUSADOS, SERVICO, TECNICO
from state_machine.invoice.fields import Campo
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    Arquivo,
    CannotTell,
    Download,
    Duplicate,
    Finding,
    Found,
    Misconfigured,
    Nota,
    NotReady,
    NotSent,
    Outcome,
    Postponed,
    Rejected,
    Unknown,
)

_OK, _ACCEPTED_LATER, _REDIRECT, _NOT_FOUND, _CONFLICT = 200, 202, 300, 404, 409
_REFUSALS = (400, 404, 422)  # definite where the gateway's own JSON says so; a proxy's page never is
_OURS = (401, 403)
_LATER = (429, 503)


def submit_outcome(result: Answer | NoAnswerError, key: IntegrationKey) -> Outcome:
    """Classify the answer to a submission of the note under ``key``; what is not plainly something else is unknown.

    A refusal is definite for this call only: whether it ends the emission, ``state_machine.protocol.reconciliation``
    decides.
    """
    if not isinstance(result, Answer):
        kind = NotSent if isinstance(result, NotSentError) else Unknown
        return kind(result.reason)
    if result.status in _OURS:
        return Misconfigured(says(result))
    if (later := postponed(result)) is not None:
        return later
    body = json_object(result.body)
    if not body:
        return Unknown(f"{says(result)} without a JSON object", recusada=result.status in _REFUSALS)
    outcome: Outcome | None = None
    if _OK <= result.status < _REDIRECT:
        outcome = _accepted(body, key)
    elif result.status in _REFUSALS:
        outcome = _accepted_despite_refusal(body, key) or _duplicate(body, key) or _rejected(body, key)
    elif result.status == _CONFLICT:
        outcome = _duplicate(body, key, plainly=True)
    refused = result.status in _REFUSALS or result.status == _CONFLICT
    return outcome or Unknown(f"{says(result)} that does not speak of our note", recusada=refused)


def postponed(answer: Answer) -> Postponed | None:
    """Return that the gateway itself says "not now" before it took anything.

    A proxy's 429 or 503 may come after the gateway has got the request, so it is unknown like any other answer.
    """
    if answer.status in _LATER and text(as_dict(json_object(answer.body).get("error")).get("message")) is not None:
        return Postponed(retry_after(answer.headers), says(answer))
    return None


def finding(result: Answer | NoAnswerError, key: IntegrationKey) -> Finding:
    """Classify the answer to "what stands under ``key``?"; absence is only believed when said in so many words."""
    if not isinstance(result, Answer):
        return CannotTell(result.reason)
    if result.status == _NOT_FOUND and says_absent(json_object(result.body)):
        return Absent()
    if result.status != _OK:
        return CannotTell(says(result), retry_after(result.headers))
    nota = _only_ours(_json(result), key)
    return Found(nota) if nota else CannotTell("the answer does not describe our note")


def download_of(result: Answer | NoAnswerError, formato: Literal["pdf", "xml"]) -> Download:
    """Classify the answer to a download: only bytes that look like what they should be are a document."""
    if not isinstance(result, Answer):
        return NotReady(result.reason)
    if result.status != _OK:
        return NotReady("not rendered yet" if result.status == _ACCEPTED_LATER else says(result))
    if formato == "pdf" and result.body.startswith(b"%PDF-"):
        return Arquivo(result.body, "application/pdf")
    if formato == "xml" and _looks_like_xml(result.body):
        return Arquivo(result.body, "application/xml")
    return NotReady(f"the answer is no {formato.upper()}")


def says(answer: Answer) -> str:
    """Name an answer without repeating any of it."""
    return f"HTTP {answer.status}"


def _json(answer: Answer) -> Any:
    try:
        return parse_json(answer.body)
    except ValueError:
        return None


def _accepted(body: dict[str, Any], key: IntegrationKey) -> Accepted | None:
    documents = body.get("documents")
    for document in documents if isinstance(documents, list) else []:
        if isinstance(document, dict) and document.get("idIntegracao") == key.id_integracao:
            return Accepted(text(document.get("id")), text(body.get("protocol")))
    return None


def _accepted_despite_refusal(body: dict[str, Any], key: IntegrationKey) -> Outcome | None:
    """PlugNotas sometimes answers 400 and works on the note all the same: a protocol gives it away."""
    inner = {**as_dict(as_dict(body.get("error")).get("data")), **body}
    protocolo = text(inner.get("protocol"))
    if protocolo is None and not inner.get("documents"):
        return None
    named = _accepted(inner, key)
    if named:
        return named
    return Unknown("a refusal that names another note") if inner.get("documents") else Accepted(None, protocolo)


def _rejected(body: dict[str, Any], key: IntegrationKey) -> Rejected | None:
    """A refusal in the gateway's own shape, about our note or about none by name: its validation names no key."""
    error = as_dict(body.get("error"))
    message = text(error.get("message"))
    if message is None or _names_another(error, key):
        return None
    fields = as_dict(as_dict(error.get("data")).get("fields"))
    campos = tuple((str(path), scrub(_complaint(value))) for path, value in fields.items())
    return Rejected(scrub(message), codes(_all_of(message, campos)), campos)


def _names_another(error: dict[str, Any], key: IntegrationKey) -> bool:
    data = as_dict(error.get("data"))
    named = [text(part.get("idIntegracao")) for part in (data, as_dict(data.get("new")), as_dict(data.get("current")))]
    return any(name is not None and name != key.id_integracao for name in named)


def _all_of(message: str, campos: Iterable[tuple[str, str]]) -> str:
    return " ".join([message, *(complaint for _, complaint in campos)])


def _complaint(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _duplicate(body: dict[str, Any], key: IntegrationKey, *, plainly: bool = False) -> Duplicate | None:
    """A refusal because there is a note already: in its words or codes, or ``plainly`` by its status."""
    error = as_dict(body.get("error"))
    current = parse_nota(as_dict(error.get("data")).get("current"))
    if current is not None:
        return Duplicate(current) if _is_ours(current, key) else None
    refusal = _rejected(body, key)
    if refusal is None:
        return None
    of_the_key = any("idIntegracao" in path for path, _ in refusal.campos)
    says = plainly or of_the_key or says_duplicate(_all_of(refusal.mensagem, refusal.campos), refusal.codigos)
    return Duplicate(recusa=refusal) if says else None


def _is_ours(nota: Nota, key: IntegrationKey) -> bool:
    return nota.id_integracao == key.id_integracao and nota.prestador in {None, key.prestador}


def _only_ours(answer: Any, key: IntegrationKey) -> Nota | None:
    candidates = answer if isinstance(answer, list) else [answer]
    ours = [nota for nota in map(parse_nota, candidates) if nota and _is_ours(nota, key)]
    return ours[0] if len(ours) == 1 else None


def says_absent(body: dict[str, Any]) -> bool:
    """Tell PlugNotas' own "not found" from that of a proxy, a wrong path or an empty host."""
    error = as_dict(body.get("error"))
    message, data = text(error.get("message")), as_dict(error.get("data"))
    names_what_was_asked = not data.keys().isdisjoint({"id", "idOrProtocol", "idIntegracao"})
    return message is not None and (names_what_was_asked or message.casefold().startswith("não localizamos"))


def _looks_like_xml(body: bytes) -> bool:
    start = body[:256].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return start.startswith(b"<") and not start.startswith((b"<!doctype", b"<html")) and body.rstrip().endswith(b">")


# Paths of the gateway's validation answer, array indices removed; the first that is a prefix decides.
CAMPOS: Final[tuple[tuple[str, Explicacao], ...]] = (
    ("tomador.endereco", RECUSADOS[Campo.ENDERECO]),
    ("tomador.razaoSocial", RECUSADOS[Campo.NOME]),
    ("tomador.email", RECUSADOS[Campo.EMAIL]),
    ("tomador", RECUSADOS[Campo.DOCUMENTO]),
    ("servico.discriminacao", RECUSADOS[Campo.DESCRICAO]),
    ("servico.valor", RECUSADOS[Campo.VALOR]),
    ("servico.iss", ALIQUOTA),
    ("servico", SERVICO),
    ("rps.competencia", RECUSADOS[Campo.COMPETENCIA]),
    ("rps", TECNICO),
    ("prestador.certificado", CERTIFICADO),
    ("prestador", EMPRESA),
    ("emitente", EMPRESA),
)


def explain(rejection: Rejected | Nota) -> Explicacao:
    """Return the plain reason of ``rejection``: by the paths that it names, then by the codes of the authority."""
    campos = rejection.campos if isinstance(rejection, Rejected) else ()
    reasons = (reason for path, _ in campos if (reason := _by_path(path)))
    return national_codes.first(reasons, rejection.codigos, rejection.mensagem)


def _by_path(path: str) -> Explicacao | None:
    plain = re.sub(r"\[\d*\]|(?<=\.)\d+\.|^\d+\.", "", path).replace("..", ".").lstrip(".")
    return next((e for prefix, e in CAMPOS if plain == prefix or plain.startswith(prefix + ".")), None)
