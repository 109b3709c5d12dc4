"""The life of one emission: what a gateway may answer and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class StatusEmissao(StrEnum):
    """Stored in ``nfse_emissao.status``."""

    PENDENTE = "pendente"  # intent and bytes stored, nothing sent
    ENVIANDO = "enviando"  # about to be, or being, sent: after a crash this means "unknown"
    ENVIADO = "enviado"  # the gateway holds it and is working on it
    DESCONHECIDO = "desconhecido"  # the answer was lost: ask before sending again
    CONCLUIDO = "concluido"
    REJEITADO = "rejeitado"
    CONFLITO = "conflito"  # our key names a note with other content: a human decides
    ERRO = "erro"
    DISPENSADO = "dispensado"  # accepted by nobody and never will be: an earlier attempt became it, or it is unwanted


# Every status is in one of these three.
EM_CURSO = frozenset(
    {StatusEmissao.PENDENTE, StatusEmissao.ENVIANDO, StatusEmissao.ENVIADO, StatusEmissao.DESCONHECIDO}
)
COM_PESSOAS = frozenset({StatusEmissao.CONFLITO, StatusEmissao.ERRO})  # nothing is sent by itself any more
ENCERRADAS = frozenset({StatusEmissao.CONCLUIDO, StatusEmissao.REJEITADO, StatusEmissao.DISPENSADO})
PEDEM_OLHOS = COM_PESSOAS | {StatusEmissao.DESCONHECIDO}  # staff see them in their queue


class Situacao(StrEnum):
    """What the gateway says of a note, in our words."""

    PROCESSANDO = "processando"
    AUTORIZADA = "autorizada"
    REJEITADA = "rejeitada"
    CANCELADA = "cancelada"


@dataclass(frozen=True, slots=True)
class Nota:
    """A note as the gateway describes it: ``valor`` in BRL, ``tomador`` a bare CNPJ or CPF, ``None`` where silent.

    ``id_externo`` names it among all notes of all channels. ``id_integracao`` is the text form of the natural key under
    which it stands, empty where it has none of ours. ``competencia`` is an ISO date or month. ``ja_existe``: refused
    because a note exists already; it asks for a look. ``referencia``: what it carries of our reference, on a channel
    that has a place for it (``Natureza.reference``). ``numero_rps`` is the number that its issuer gave.
    """

    id_externo: str
    id_integracao: str
    situacao: Situacao
    prestador: str | None = None
    tomador: str | None = None
    valor: Decimal | None = None
    numero: str | None = None
    chave: str | None = None
    protocolo: str | None = None
    c_stat: int | None = None
    url_pdf: str | None = None
    url_xml: str | None = None
    data_emissao: str | None = None
    mensagem: str | None = None
    codigos: tuple[str, ...] = ()
    descricao: str | None = None
    competencia: str | None = None
    codigo_servico: str | None = None
    ja_existe: bool = False
    referencia: str | None = None
    numero_rps: int | None = None


@dataclass(frozen=True, slots=True)
class Arquivo:
    """The bytes of a PDF or XML, and the media type that they really are.

    ``unmarked``: a PDF drawn as of a note that stands, as nobody said whether it was cancelled.
    """

    conteudo: bytes
    mime: str
    unmarked: bool = False


@dataclass(frozen=True, slots=True)
class Issued:
    """The answer is the note itself, with its XML if that came along; ``anulada``: number of a note that it voided."""

    nota: Nota
    xml: Arquivo | None = None
    anulada: str | None = None


@dataclass(frozen=True, slots=True)
class NotSent:
    """Certainly taken by nobody: connection refused, TLS failure, no free connection. Sending again is safe.

    ``refazer``: the form was refused and not the invoice, so that it is made anew in the one that was asked for.
    ``texto`` tells the company's people in whole pt-BR sentences why it does not leave, where they would wait in vain.
    """

    motivo: str
    refazer: bool = False
    texto: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The gateway took it and is working on it; ``id_externo`` and ``protocolo`` as far as it named them."""

    id_externo: str | None
    protocolo: str | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A well-formed business refusal of this very request; ``campos``: the gateway's field paths and complaints."""

    mensagem: str
    codigos: tuple[str, ...] = ()
    campos: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A note exists already, in whatever words: a question, not an answer. ``nota``: what is said to stand there.

    ``recusa``: the refusal itself, which is one if there is no note.
    """

    nota: Nota | None = None
    recusa: Rejected | None = None


@dataclass(frozen=True, slots=True)
class Postponed:
    """Refused before acceptance (429, 503): try again after ``retry_after`` seconds, if it said so."""

    retry_after: float | None
    motivo: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The request may have been accepted. Never final, never sent again before asking.

    ``recusada``: it was refused, and nobody here knows what the refusal says; it may say the same for ever.
    """

    motivo: str
    recusada: bool = False


@dataclass(frozen=True, slots=True)
class Misconfigured:
    """Our own credentials or permission (401, 403): nothing will work until somebody repairs it.

    ``texto`` says it in plain pt-BR to the company's people, where the repair is theirs. ``refazer``: what was refused
    is the signature inside the document, so that the same bytes stay refused after the repair.
    """

    motivo: str
    texto: str | None = None
    refazer: bool = False


Outcome = Issued | NotSent | Accepted | Rejected | Duplicate | Postponed | Unknown | Misconfigured


@dataclass(frozen=True, slots=True)
class Found:
    """The gateway knows the key; this is its note, and its XML where that was fetched to see the whole content."""

    nota: Nota
    xml: Arquivo | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The gateway says, in so many words, that it does not know the key."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """No answer to rely on (network, 5xx, 401, garbage). Ask again after ``retry_after`` seconds, if it said so.

    ``texto`` says it in plain pt-BR to the company's people, where the repair is theirs.
    """

    motivo: str
    retry_after: float | None = None
    texto: str | None = None


Finding = Found | Absent | CannotTell


@dataclass(frozen=True, slots=True)
class NotReady:
    """The note exists, its PDF or XML not yet (202), or the gateway cannot be reached now."""

    motivo: str


Download = Arquivo | NotReady
