"""The cancellation of an issued note, and the rules by which it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from state_machine.catalogue.texts import cancellation as textos
from state_machine.invoice.session import Mensagem
from state_machine.values.text import apara

MOTIVO_MIN, MOTIVO_MAX = 15, 255  # characters of xMotivo (national NFS-e, event e101101)
PRAZO = timedelta(hours=1)  # where a channel sets no other: as long as a session waits for the user


class EstadoCancelamento(StrEnum):
    """Where a cancellation stands."""

    AGUARDANDO_MOTIVO = "aguardando_motivo"
    AGUARDANDO_CONFIRMACAO = "aguardando_confirmacao"
    PENDENTE = "pendente"  # confirmed and stored, before anything is sent: the note is ``cancelamento_pendente``
    CANCELADO = "cancelado"
    NEGADO = "negado"  # the authority refused, and says that the note stands
    DESISTIDO = "desistido"
    EXPIRADO = "expirado"


class StatusNota(StrEnum):
    """What we know of an issued note (``nfse_processada.status``)."""

    AUTORIZADO = "autorizado"
    CANCELAMENTO_PENDENTE = "cancelamento_pendente"
    CANCELADO = "cancelado"


class SituacaoNota(StrEnum):
    """How an issued note stands, in the words that callers and accountants read."""

    AUTORIZADA = "autorizada"
    CANCELAMENTO_PEDIDO = "cancelamento pedido"
    CANCELADA = "cancelada"
    SUBSTITUIDA = "substituída"

    @property
    def vale(self) -> bool:
        """Whether it counts in a total."""
        return self in {SituacaoNota.AUTORIZADA, SituacaoNota.CANCELAMENTO_PEDIDO}


def situacao_of(status: str, substituta: str | None) -> SituacaoNota:
    """Return how a note stands; ``substituta`` is the number of the one that took its place."""
    if status == StatusNota.CANCELADO:
        return SituacaoNota.SUBSTITUIDA if substituta else SituacaoNota.CANCELADA
    asked = status == StatusNota.CANCELAMENTO_PENDENTE
    return SituacaoNota.CANCELAMENTO_PEDIDO if asked else SituacaoNota.AUTORIZADA


class Codigo(StrEnum):
    """Why, in the authority's code (``cMotivo`` of e101101)."""

    ERRO_NA_EMISSAO = "1"
    NAO_PRESTADO = "2"
    OUTROS = "9"


E = EstadoCancelamento
CONVERSANDO = frozenset({E.AGUARDANDO_MOTIVO, E.AGUARDANDO_CONFIRMACAO})
VIVOS = CONVERSANDO | {E.PENDENTE}


@dataclass(frozen=True, slots=True)
class NotaEmitida:
    """An issued note as the user knows it; ``valor`` in BRL, ``documento`` a bare CNPJ or CPF, ``emitida_em`` UTC.

    ``feita_por`` is who made it, where that was another conversation than the one that it is told to; ``sessao_id`` is
    the session that it was made in, ``None`` where that was another conversation's. ``substituta`` is the number of the
    note that took its place, ``tipo`` what people call such a note.
    """

    emissao_id: int
    numero: str
    valor: Decimal
    tomador: str | None
    documento: str
    emitida_em: datetime
    status: StatusNota
    feita_por: str | None = None
    sessao_id: str | None = None
    substituta: str | None = None
    tipo: str = "NFS-e"


@dataclass(frozen=True, slots=True)
class MotivoCancelamento:
    """Why the note is to be cancelled: a code, and 15 to 255 characters of text."""

    codigo: Codigo
    texto: str


@dataclass(frozen=True, slots=True)
class Cancelamento:
    """One attempt to cancel ``nota``. ``versao`` grows with every change and is what a button is bound to.

    ``prazo`` is how long it waits for the user's next word, as its channel is set.
    """

    id: int
    nota: NotaEmitida
    estado: EstadoCancelamento
    versao: int
    motivo: MotivoCancelamento | None = None
    expira_em: datetime | None = None
    prazo: timedelta = PRAZO


@dataclass(frozen=True, slots=True)
class Motivou:
    """The user said why, by a button (bound to ``versao``) or in words (``None``)."""

    codigo: Codigo
    texto: str
    versao: int | None = None


@dataclass(frozen=True, slots=True)
class ConfirmouCancelamento:
    """The user pressed the button that cancels, shown at ``versao``; there is no other way to confirm."""

    versao: int


@dataclass(frozen=True, slots=True)
class Manteve:
    """The user lets the note stand."""


@dataclass(frozen=True, slots=True)
class ConversouNoCancelamento:
    """Anything else, a yes in words included: nothing that decides about a tax document.

    ``saudacao``: it only greets.
    """

    saudacao: bool = False


@dataclass(frozen=True, slots=True)
class Substituiu:
    """Another cancellation of this note, or another subject of this conversation, takes its place."""


@dataclass(frozen=True, slots=True)
class PrazoCancelamentoVencido:
    """The user did not answer in time."""


@dataclass(frozen=True, slots=True)
class AutoridadeCancelou:
    """The authority says that the note is cancelled."""


@dataclass(frozen=True, slots=True)
class AutoridadeManteve:
    """The authority refused, and the note stands."""

    porque: str


Evento = (
    Motivou
    | ConfirmouCancelamento
    | Manteve
    | ConversouNoCancelamento
    | Substituiu
    | PrazoCancelamentoVencido
    | AutoridadeCancelou
    | AutoridadeManteve
)
EVENTOS: tuple[type[Evento], ...] = (
    Motivou,
    ConfirmouCancelamento,
    Manteve,
    ConversouNoCancelamento,
    Substituiu,
    PrazoCancelamentoVencido,
    AutoridadeCancelou,
    AutoridadeManteve,
)


@dataclass(frozen=True, slots=True)
class Decisao:
    """The cancellation after an event, and what to say; ``aplicado`` is false for a deliberate no-op."""

    cancelamento: Cancelamento
    mensagem: Mensagem | None = None
    aplicado: bool = True


Regra = Callable[[Cancelamento, Evento, datetime], Decisao]


def abre(cancelamento_id: int, nota: NotaEmitida, agora: datetime, prazo: timedelta = PRAZO) -> Decisao:
    """Begin with a note that the authority issued and that stands; asks why. Raises ``ValueError`` for another."""
    if nota.status is not StatusNota.AUTORIZADO:
        raise ValueError(f"a note that is {nota.status} is not cancelled")
    novo = Cancelamento(cancelamento_id, nota, E.AGUARDANDO_MOTIVO, 1, expira_em=agora + prazo, prazo=prazo)
    return Decisao(novo, textos.pergunta_motivo(novo))


def decide(cancelamento: Cancelamento, evento: Evento, agora: datetime) -> Decisao:
    """Return what follows from ``evento``; an unlisted pair is a deliberate no-op."""
    regra = REGRAS.get((cancelamento.estado, type(evento)))
    return regra(cancelamento, evento, agora) if regra else Decisao(cancelamento, aplicado=False)


def motivo_de(codigo: Codigo, texto: str) -> MotivoCancelamento | None:
    """Return the reason as the authority takes it, or ``None`` when it is too short."""
    texto = apara(texto, MOTIVO_MAX)
    return MotivoCancelamento(codigo, texto) if len(texto) >= MOTIVO_MIN else None


def _vai(c: Cancelamento, estado: EstadoCancelamento, expira_em: datetime | None = None) -> Cancelamento:
    return replace(c, estado=estado, versao=c.versao + 1, expira_em=expira_em)


def _motiva(c: Cancelamento, evento: Evento, agora: datetime) -> Decisao:
    assert isinstance(evento, Motivou)  # noqa: S101 - REGRAS
    if evento.versao not in {None, c.versao}:
        return _lembra(c, evento, agora)
    texto = textos.nao_prestado(c.nota)[1] if evento.codigo is Codigo.NAO_PRESTADO else evento.texto
    motivo = motivo_de(evento.codigo, texto)
    if motivo is None and c.motivo is not None:  # a few words beside the summary are no other reason
        return _lembra(c, evento, agora)
    if motivo is None:
        return Decisao(replace(c, expira_em=agora + c.prazo), textos.motivo_curto(c))
    novo = replace(_vai(c, E.AGUARDANDO_CONFIRMACAO, agora + c.prazo), motivo=motivo)
    return Decisao(novo, textos.resumo(novo))


def _confirma(c: Cancelamento, evento: Evento, agora: datetime) -> Decisao:
    assert isinstance(evento, ConfirmouCancelamento)  # noqa: S101 - REGRAS
    if evento.versao != c.versao:
        return Decisao(replace(c, expira_em=agora + c.prazo), textos.resumo(c, textos.BOTAO_ANTIGO))
    if c.expira_em is not None and agora >= c.expira_em:  # the sweep has not come by yet
        return Decisao(_vai(c, E.EXPIRADO), textos.expirado(c))
    return Decisao(_vai(c, E.PENDENTE), textos.pedido(c))


def _lembra(c: Cancelamento, evento: Evento, agora: datetime) -> Decisao:
    c = replace(c, expira_em=agora + c.prazo)
    if isinstance(evento, ConversouNoCancelamento) and evento.saudacao:
        return Decisao(c, textos.pergunta_de_novo(c, "Oi! "))
    return Decisao(c, textos.pergunta_motivo(c) if c.motivo is None else textos.resumo(c, textos.LEMBRETE))


def _mantem(c: Cancelamento, _evento: Evento, _agora: datetime) -> Decisao:
    return Decisao(_vai(c, E.DESISTIDO), textos.mantida(c))


def _substitui(c: Cancelamento, _evento: Evento, _agora: datetime) -> Decisao:
    return Decisao(_vai(c, E.DESISTIDO))


def _expira(c: Cancelamento, _evento: Evento, agora: datetime) -> Decisao:
    if c.expira_em is None or agora < c.expira_em:
        return Decisao(c, aplicado=False)  # the user spoke after the sweep looked
    return Decisao(_vai(c, E.EXPIRADO))


def _autoridade_cancelou(c: Cancelamento, _evento: Evento, _agora: datetime) -> Decisao:
    return Decisao(_vai(c, E.CANCELADO), textos.cancelada(c.nota))


def _autoridade_manteve(c: Cancelamento, evento: Evento, _agora: datetime) -> Decisao:
    assert isinstance(evento, AutoridadeManteve)  # noqa: S101 - REGRAS
    return Decisao(_vai(c, E.NEGADO), textos.negada(c.nota, evento.porque))


def _em_curso(c: Cancelamento, _evento: Evento, _agora: datetime) -> Decisao:
    return Decisao(c, textos.em_curso(c.nota))


def _botao_de_encerrado(c: Cancelamento, _evento: Evento, _agora: datetime) -> Decisao:
    return Decisao(c, textos.encerrado(c))


_ENCERRADOS = frozenset(E) - VIVOS
REGRAS: dict[tuple[EstadoCancelamento, type[Evento]], Regra] = {
    **{(estado, Motivou): _motiva for estado in CONVERSANDO},
    **{(estado, Manteve): _mantem for estado in CONVERSANDO},
    **{(estado, ConversouNoCancelamento): _lembra for estado in CONVERSANDO},
    **{(estado, Substituiu): _substitui for estado in CONVERSANDO},
    **{(estado, PrazoCancelamentoVencido): _expira for estado in CONVERSANDO},
    (E.AGUARDANDO_MOTIVO, ConfirmouCancelamento): _lembra,  # a button that this cancellation has not shown yet: forged
    (E.AGUARDANDO_CONFIRMACAO, ConfirmouCancelamento): _confirma,
    # at the authority
    **{(E.PENDENTE, evento): _em_curso for evento in (ConfirmouCancelamento, Manteve, Motivou)},
    (E.PENDENTE, AutoridadeCancelou): _autoridade_cancelou,
    (E.PENDENTE, AutoridadeManteve): _autoridade_manteve,
    # an old button
    **{
        (estado, evento): _botao_de_encerrado
        for estado in _ENCERRADOS
        for evento in (ConfirmouCancelamento, Manteve, Motivou)
    },
}
# Pairs that do nothing on purpose. Together with REGRAS they cover every state and event (a test).
IGNORADOS: frozenset[tuple[EstadoCancelamento, type[Evento]]] = frozenset(
    {
        *((estado, evento) for estado in CONVERSANDO for evento in (AutoridadeCancelou, AutoridadeManteve)),
        *(
            (E.PENDENTE, evento) for evento in (ConversouNoCancelamento, Substituiu, PrazoCancelamentoVencido)
        ),  # no longer the user's to change
        *(
            (estado, evento)
            for estado in _ENCERRADOS
            for evento in (
                ConversouNoCancelamento,
                Substituiu,
                PrazoCancelamentoVencido,
                AutoridadeCancelou,
                AutoridadeManteve,
            )
        ),
    }
)
