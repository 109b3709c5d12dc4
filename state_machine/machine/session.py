"""A session: one invoice's way from the first word to its end; a value, changed only by ``transition``."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - the session is validated from JSON at run time

from state_machine.invoice.draft import Rascunho
from state_machine.invoice.equal_invoice import NotaIgual  # noqa: TC001 - likewise
from state_machine.invoice.fields import Campo  # noqa: TC001 - likewise
from state_machine.machine.states import ESPERAM_USUARIO, FINAIS, Estado, SnapshotReason
from state_machine.services.own import Servico  # noqa: TC001 - likewise


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
    nothing stores them.
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

    @property
    def espera_usuario(self) -> bool:
        """True while the next word is the user's."""
        return self.estado in ESPERAM_USUARIO

    @property
    def final(self) -> bool:
        """True when nothing but the authority's late word can change it."""
        return self.estado in FINAIS
