"""The states of a session and the reasons why a snapshot of it was taken; names are the specification's.

What a decision wants done, as data; the turn carries it out in its one commit.

A session: one invoice's way from the first word to its end; a value, changed only by ``transition``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from state_machine.invoice.choices import NotaIgual
from state_machine.invoice.draft import Rascunho
from state_machine.invoice.fields import Campo
from state_machine.services.codes import Servico


class Estado(StrEnum):
    """Where a session stands."""

    COLETA = "coleta"
    DADOS_INCOMPLETOS = "dados_incompletos"
    AGUARDANDO_CONFIRMACAO = "aguardando_confirmacao"
    PROCESSANDO = "processando"
    APROVADO = "aprovado"
    REJEITADO = "rejeitado"
    ERRO = "erro"
    CANCELADO_USUARIO = "cancelado_usuario"
    EXPIRADO = "expirado"


# Every state is in one of these three.
ESPERAM_USUARIO = frozenset({Estado.COLETA, Estado.DADOS_INCOMPLETOS, Estado.AGUARDANDO_CONFIRMACAO})
COM_AUTORIDADE = frozenset({Estado.PROCESSANDO})  # confirmed, and not decided yet
FINAIS = frozenset(
    {Estado.APROVADO, Estado.REJEITADO, Estado.ERRO, Estado.CANCELADO_USUARIO, Estado.EXPIRADO},
)


class SnapshotReason(StrEnum):
    """Why the snapshot was last written on entering a state."""

    MANUAL = "manual"
    DATA_COMPLETE = "data_complete"
    CONFIRMED = "confirmed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    ERROR = "error"
    WEBHOOK_SUCCESS = "webhook_success"
    WEBHOOK_REJECTED = "webhook_rejected"


# dados_incompletos has none of its own: the reason stays what it was.
REASON_ON_ENTRY: dict[Estado, SnapshotReason | None] = {
    Estado.COLETA: SnapshotReason.MANUAL,
    Estado.DADOS_INCOMPLETOS: None,
    Estado.AGUARDANDO_CONFIRMACAO: SnapshotReason.DATA_COMPLETE,
    Estado.PROCESSANDO: SnapshotReason.CONFIRMED,
    Estado.APROVADO: SnapshotReason.WEBHOOK_SUCCESS,
    Estado.REJEITADO: SnapshotReason.WEBHOOK_REJECTED,
    Estado.ERRO: SnapshotReason.ERROR,
    Estado.CANCELADO_USUARIO: SnapshotReason.CANCELLED,
    Estado.EXPIRADO: SnapshotReason.EXPIRED,
}


DIZER = "dizer:"  # begins the id of a button that stands for words: pressed, it says them


@dataclass(frozen=True, slots=True)
class Botao:
    """A reply button: ``id`` comes back when pressed (at most 256 characters), ``titulo`` is shown (at most 20)."""

    id: str
    titulo: str


@dataclass(frozen=True, slots=True)
class Opcao:
    """A row of a list: ``id`` comes back when chosen (at most 200 characters), ``titulo`` at most 24 characters.

    ``descricao``, at most 72, says what the title could not hold.
    """

    id: str
    titulo: str
    descricao: str | None = None


@dataclass(frozen=True, slots=True)
class Mensagem:
    """One message to the user: WhatsApp-formatted text, and up to three buttons or a list of up to ten rows.

    ``outras`` say the same in other, shorter words, for when the text would be what the person read last.
    """

    texto: str
    botoes: tuple[Botao, ...] = ()
    lista: tuple[Opcao, ...] = ()
    outras: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """What comes back when one of its buttons is pressed or one of its rows is chosen."""
        return (*(botao.id for botao in self.botoes), *(linha.id for linha in self.lista))


@dataclass(frozen=True, slots=True)
class Responder:
    """Send one message; with ``unica`` at most one message of that key ever leaves.

    ``depois``: it leaves behind the files that were decided before it, and keeps nothing back itself.
    """

    mensagem: Mensagem
    unica: str | None = None
    depois: bool = False


@dataclass(frozen=True, slots=True)
class Emitir:
    """Issue the invoice of this session's ``revisao``, which the user confirmed; again as another ``tentativa``."""

    revisao: int
    tentativa: int = 1


@dataclass(frozen=True, slots=True)
class RetomarEnvio:
    """Let the stored bytes of this ``revisao`` go again: certainly nobody accepted them, and they are wanted."""

    revisao: int


@dataclass(frozen=True, slots=True)
class Dispensar:
    """Never send the stored bytes of this ``revisao``: certainly nobody accepted them, and they are not wanted."""

    revisao: int


@dataclass(frozen=True, slots=True)
class EnviarArquivo:
    """Send the invoice's PDF or XML as a document."""

    emissao_id: int
    formato: Literal["pdf", "xml"]
    nome: str
    legenda: str | None = None


@dataclass(frozen=True, slots=True)
class EnviarMes:
    """Send a company's month ("2026-11") as a workbook with a link to its ZIP, or as a picture; made as it leaves."""

    empresa_id: int
    mes: str
    formato: Literal["xlsx", "png"] = "xlsx"


def file_name(numero: str, formato: str, tipo: str = "NFS-e") -> str:
    """Return what the file of a note is called; numbers of some cities have a slash."""
    return f"{tipo.replace('-', '')}-{numero.replace('/', '-')}.{formato}"


@dataclass(frozen=True, slots=True)
class EnviarLink:
    """Send a text with an address below it that only who reads it may know: its token is opened as it leaves.

    ``link`` is the id of the link's row, ``selado`` the token, sealed.
    """

    texto: str
    link: str
    selado: str


Efeito = Responder | Emitir | RetomarEnvio | Dispensar | EnviarArquivo


@dataclass(frozen=True, slots=True)
class Decision:
    """The session after an event, and what is to be done; ``aplicado`` is false for a deliberate no-op."""

    sessao: Sessao
    efeitos: tuple[Efeito, ...] = ()
    aplicado: bool = True


@dataclass(frozen=True, slots=True)
class Emissor:
    """A company that may issue, as a summary names it; ``versao`` grows with every change of its data.

    ``canal`` is the channel and environment where it issues now.
    """

    id: int
    cnpj: str
    nome: str
    versao: int
    canal: str | None = None


@dataclass(frozen=True, slots=True)
class Sessao:
    """One invoice in the making.

    ``revisao`` grows with every change of the data and is what a confirmation is bound to; ``versao`` is the stored
    row's optimistic lock (0: not stored yet); ``expira_em`` is the deadline while the session waits for the user.
    ``pendente`` is the field asked for or, once rejected, the field to mend. ``mostrado_em`` is when the summary of
    ``revisao`` was shown, ``None`` when our last word was no summary; ``resumos`` how many different ones have been.
    ``igual`` is the invoice of the same content that this summary tells of: a yes to it means a second one.
    ``empresa_versao`` is the version of the company whose data ``revisao`` would be issued with, ``None`` in what
    older versions of us stored, and ``canal`` the channel and environment (``nacional/producao``) where ``revisao``
    would be issued, ``None`` likewise. ``insistencias`` is how often the open question has been asked again; the live
    copy has it, and the journal. ``sem`` is what was asked of the invoice and it will lack, kept likewise.
    ``servicos`` are the company's codes of the national list as of now, the main one first: each turn sets them, and
    nothing stores them; likewise ``cidade``, the IBGE code of the company's city, and ``mercado``, its channels for
    goods.
    """

    sessao_id: str
    conversa: str
    empresa_id: int
    emitente: str  # razão social, as the summary shows it
    estado: Estado = Estado.COLETA
    snapshot_reason: SnapshotReason = SnapshotReason.MANUAL
    rascunho: Rascunho = field(default_factory=Rascunho)
    pendente: Campo | None = None
    revisao: int = 0
    mostrado_em: datetime | None = None
    resumos: int = 0
    igual: NotaIgual | None = None
    expira_em: datetime | None = None
    expired_at: datetime | None = None
    origem: str | None = None
    empresa_versao: int | None = None
    canal: str | None = None
    versao: int = 0
    insistencias: int = 0
    sem: str | None = None
    servicos: tuple[Servico, ...] = ()
    cidade: str | None = None
    mercado: tuple[str, ...] = ()

    @property
    def espera_usuario(self) -> bool:
        """True while the next word is the user's."""
        return self.estado in ESPERAM_USUARIO

    @property
    def final(self) -> bool:
        """True when nothing but the authority's late word can change it."""
        return self.estado in FINAIS
