"""What inbox rows and outbox messages say: each kind is one typed value, written and read in one place.

The kinds of inbox rows: a closed union that producers and handlers share; ``RowKind.of`` reads all of them.

What a release before stored is read: fields are added with defaults, never renamed. A row without what its kind needs,
or with a word that is none, raises ``MisshapenRowError`` (it fails, and is quarantined in the end).

The kinds of messages in the outbox: a text, with buttons, a list, a secret link or none, or a document; one parser.

To add a kind of inbox row: a frozen dataclass that extends ``RowKind``, a member of ``Row``, and an example in
``STORED`` of ``tests/persistence/rows/test_inbox_rows.py``. Who makes it puts ``Arrival.of`` with a ``chave`` that is
unique for ever, by ``Inbox.put_in``, in the transaction that decides it. Its one handler is in ``handlers()`` of its
subject, else in ``bot/wiring/handlers.py``; it marks its rows done in its own transaction and rings after.
``tests/repository/test_house.py`` fails without a handler. Test in ``tests/road`` that it is handled, and that the
same ``chave`` put again returns 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import TypeAdapter, ValidationError

from state_machine.cancellation.reconciliation import Aviso as AvisoDaAutoridade
from state_machine.invoice.session import Botao, EnviarArquivo, EnviarLink, EnviarMes, Mensagem, Opcao
from state_machine.protocol.standing import Aviso as AvisoEmissao
from state_machine.values.errors import ProsaError


class MisshapenRowError(ProsaError, ValueError):
    """A row lacks what its kind needs, or has something else in that place."""

    code = "misshapen_row"


AvisoCancelamento = AvisoDaAutoridade | Literal["por_fora"]
"""News of a cancellation; ``por_fora``: somebody else had the note cancelled."""
Ordem = Literal["reprocessar", "enviar"]
"""What staff order for an invoice at the authority: a new attempt, or the stored bytes once more."""
AvisoCertificado = Literal["guardado", "trocado", "vence"]
"""News of a company's certificate: one was accepted by its link; the one that is kept ends soon."""
Comando = Literal["assumir", "devolver", "escrever", "encerrar", "consultar", "reenviar", "reenviar_nota"]
"""What staff ask of a conversation from the console."""


class RowKind:
    """A kind of inbox row: ``tipo`` is its word in ``inbox.tipo``, in logs and in metrics; its fields are its JSON."""

    __slots__: tuple[str, ...] = ()
    tipo: ClassVar[str]

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self:
        """Read a stored row; unknown fields are left alone. Raises ``MisshapenRowError``."""
        kind: Any = cls
        try:
            row: Self = _adapter(kind).validate_python(payload)
        except ValidationError as error:
            found = error.errors(include_input=False, include_url=False)
            where = ", ".join(".".join(map(str, each["loc"])) for each in found)
            raise MisshapenRowError(f"{cls.tipo}: {where}") from None
        return row

    def to_payload(self) -> Mapping[str, Any]:
        """Return the JSON to store."""
        return {name: getattr(self, name) for name in self.__slots__}


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@dataclass(frozen=True, slots=True)
class MessageRow(RowKind):
    """A person's WhatsApp message, as Meta sent it."""

    tipo: ClassVar[str] = "mensagem"
    phone_number_id: str
    mensagem: dict[str, Any]
    contato: dict[str, Any] | None = None
    display_phone_number: str | None = None


@dataclass(frozen=True, slots=True)
class MovedRow(RowKind):
    """Meta's word that a person's id ``de``, in whose conversation this is, became ``para``, with that conversation."""

    tipo: ClassVar[str] = "mudou_de_id"
    conversa: str
    de: str
    para: str


@dataclass(frozen=True, slots=True)
class LeftNumberRow(RowKind):
    """Meta's word that a person gave this telephone up, and nothing by which they could be followed to another."""

    tipo: ClassVar[str] = "deixou_numero"
    telefone: str


@dataclass(frozen=True, slots=True)
class StatusRow(RowKind):
    """Meta's word on a message of ours: sent, delivered, read, failed."""

    tipo: ClassVar[str] = "status"
    status: dict[str, Any]
    phone_number_id: str | None = None
    display_phone_number: str | None = None


@dataclass(frozen=True, slots=True)
class MetaNoticeRow(RowKind):
    """An account notice of Meta's, kept whole for people to read."""

    tipo: ClassVar[str] = "aviso_meta"
    aviso: Mapping[str, Any]

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self:
        """Read a stored row: all of it is the notice."""
        return cls(payload)

    def to_payload(self) -> Mapping[str, Any]:
        """Return the JSON to store."""
        return self.aviso


@dataclass(frozen=True, slots=True)
class UnreadableRow(RowKind):
    """Something authentic that could not be read: where it came from, why, and the whole of it."""

    tipo: ClassVar[str] = "ilegivel"
    origem: str
    motivo: str
    bruto: Any


@dataclass(frozen=True, slots=True)
class HintedNote:
    """How a gateway's webhook names one note."""

    id_externo: str | None = None
    id_integracao: str | None = None
    protocolo: str | None = None


@dataclass(frozen=True, slots=True)
class GatewayRow(RowKind):
    """A gateway's webhook: its body, and the notes that it names. It is a hint to ask, and believed in nothing."""

    tipo: ClassVar[str] = "gateway"
    corpo: Any = None
    hints: tuple[HintedNote, ...] = ()

    def to_payload(self) -> Mapping[str, Any]:
        """Return the JSON to store."""
        hints = [{name: getattr(hint, name) for name in HintedNote.__slots__} for hint in self.hints]
        return {"corpo": self.corpo, "hints": hints}


@dataclass(frozen=True, slots=True)
class EmissionRow(RowKind):
    """What became of an emission, told to its session.

    ``campo`` is the field that a refusal blames, ``outras`` the numbers of other notes of the same content.
    ``incerta``: it takes long, and the note may exist. ``troca``: what was refused is that it takes another's place.
    ``anulada`` is the number of a note that the authority voided for this one.
    """

    tipo: ClassVar[str] = "emissao"
    sessao_id: str
    emissao_id: int
    aviso: AvisoEmissao
    numero: str | None = None
    motivo: str | None = None
    outras: tuple[str, ...] = ()
    campo: str | None = None
    incerta: bool = False
    troca: bool = False
    anulada: str | None = None

    def to_payload(self) -> Mapping[str, Any]:
        """Return the JSON to store; that it takes long has a reason where the company must repair something."""
        about = {"sessao_id": self.sessao_id, "emissao_id": self.emissao_id, "aviso": self.aviso}
        if self.aviso == "demorou":
            return (
                about | ({"motivo": self.motivo} if self.motivo else {}) | ({"incerta": True} if self.incerta else {})
            )
        details = {"numero": self.numero, "motivo": self.motivo, "outras": list(self.outras)}
        details |= {"anulada": self.anulada} if self.anulada else {}
        return about | details | ({"campo": self.campo} if self.campo else {}) | ({"troca": True} if self.troca else {})


@dataclass(frozen=True, slots=True)
class DeadlineRow(RowKind):
    """A session's deadline passed."""

    tipo: ClassVar[str] = "prazo"
    sessao_id: str


@dataclass(frozen=True, slots=True)
class ResumeRow(RowKind):
    """Another subject has ended: the session that lies open is shown again."""

    tipo: ClassVar[str] = "retomar"
    sessao_id: str


@dataclass(frozen=True, slots=True)
class OrderRow(RowKind):
    """Staff order something for the newest attempt of a session's invoice, named by its reference at the gateway."""

    tipo: ClassVar[str] = "ordem"
    ordem: Ordem
    sessao_id: str
    id_integracao: str


@dataclass(frozen=True, slots=True)
class CancellationRow(RowKind):
    """What became of the cancellation of an issued note."""

    tipo: ClassVar[str] = "cancelamento"
    emissao_id: int
    aviso: AvisoCancelamento
    motivo: str | None = None


@dataclass(frozen=True, slots=True)
class CancellationDeadlineRow(RowKind):
    """A cancellation waited too long for its person's next word."""

    tipo: ClassVar[str] = "prazo_cancelamento"
    cancelamento_id: int


@dataclass(frozen=True, slots=True)
class StaffRow(RowKind):
    """A command of the staff for a conversation, with what that command needs (``texto``, ``outbox_id`` …).

    ``quem`` is the login, ``exibicao`` the name that people see; rows of an older release have the login only.
    """

    tipo: ClassVar[str] = "equipe"
    comando: Comando
    staff_id: int
    quem: str
    exibicao: str | None = None
    sessao_id: str | None = None
    motivo: str | None = None
    texto: str | None = None
    outbox_id: int | None = None
    emissao_id: int | None = None

    def to_payload(self) -> Mapping[str, Any]:
        """Return the JSON to store; what a command does not need is left out."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class CertificateRow(RowKind):
    """News of a company's certificate, told to one of its people; ``vence`` is its last day, ``AAAA-MM-DD``."""

    tipo: ClassVar[str] = "certificado"
    aviso: AvisoCertificado
    empresa: str
    vence: str


@dataclass(frozen=True, slots=True)
class ProposalRow(RowKind):
    """Another system's proposal waits for its approver, whose conversation this is."""

    tipo: ClassVar[str] = "proposta"
    proposta_id: int


Row = (
    MessageRow
    | MovedRow
    | LeftNumberRow
    | StatusRow
    | MetaNoticeRow
    | UnreadableRow
    | GatewayRow
    | EmissionRow
    | DeadlineRow
    | ResumeRow
    | OrderRow
    | CancellationRow
    | CancellationDeadlineRow
    | StaffRow
    | CertificateRow
    | ProposalRow
)
KINDS: dict[str, type[Row]] = {kind.tipo: kind for kind in get_args(Row)}
TIPOS = frozenset(KINDS)


OutboxMessage = Mensagem | EnviarArquivo | EnviarMes | EnviarLink
TIPO_DA_MENSAGEM: dict[type[OutboxMessage], str] = {
    Mensagem: "texto",
    EnviarArquivo: "arquivo",
    EnviarMes: "mes",
    EnviarLink: "link",
}


class MisshapenMessageError(ProsaError, ValueError):
    """An outbox row lacks what its kind needs, or has something else in that place."""

    code = "misshapen_message"


def to_payload(mensagem: OutboxMessage, de: str | None = None) -> dict[str, Any]:
    """Return the JSON to store; ``de`` is the name of the member of staff who wrote a text."""
    stored: dict[str, Any] = {"tipo": TIPO_DA_MENSAGEM[type(mensagem)]}
    if isinstance(mensagem, EnviarArquivo | EnviarMes | EnviarLink):
        return stored | {name: getattr(mensagem, name) for name in mensagem.__slots__}
    buttons = [{"id": botao.id, "titulo": botao.titulo} for botao in mensagem.botoes]
    rows = [{"id": linha.id, "titulo": linha.titulo, "descricao": linha.descricao} for linha in mensagem.lista]
    stored |= {"texto": mensagem.texto, "botoes": buttons} | ({"de": de} if de else {})
    return stored | ({"lista": rows} if rows else {})


def parse(payload: Mapping[str, Any]) -> OutboxMessage:
    """Return a stored message; unknown fields are left alone. Raises ``MisshapenMessageError``."""
    match payload:
        case {"tipo": "texto", "texto": str(texto), "botoes": list(botoes)}:
            return Mensagem(texto, tuple(_button(botao) for botao in botoes), _rows(payload.get("lista", [])))
        case {"tipo": "arquivo", "emissao_id": int(emissao_id), "formato": "pdf" | "xml" as formato, "nome": str(nome)}:
            return EnviarArquivo(emissao_id, formato, nome, payload.get("legenda"))
        case {"tipo": "mes", "empresa_id": int(empresa_id), "mes": str(mes)}:
            return EnviarMes(empresa_id, mes, "png" if payload.get("formato") == "png" else "xlsx")
        case {"tipo": "link", "texto": str(texto), "link": str(link), "selado": str(selado)}:
            return EnviarLink(texto, link, selado)
        case _:
            raise MisshapenMessageError(f"an outbox row of kind {payload.get('tipo')} that cannot be read")


def _button(stored: Any) -> Botao:
    match stored:
        case {"id": str(key), "titulo": str(titulo)}:
            return Botao(key, titulo)
        case _:
            raise MisshapenMessageError("a button without its id or title")


def _rows(stored: Any) -> tuple[Opcao, ...]:
    rows = []
    for row in stored if isinstance(stored, list) else [stored]:
        match row:
            case {"id": str(key), "titulo": str(titulo), "descricao": str() | None as descricao}:
                rows.append(Opcao(key, titulo, descricao))
            case _:
                raise MisshapenMessageError("a row of a list without its id or title")
    return tuple(rows)
