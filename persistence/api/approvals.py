"""Keeps what becomes of submitted proposals: who waits for whom, the session made of each, how that one stands.

What becomes of a proposal by what becomes of the session that was made of it.

Knows who approves a company's proposals and lists, and in which conversation they are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on, insert

from persistence.api import hooks
from persistence.conversations.conversations import APAGADO
from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.tables import (
    cancelamento,
    clientes,
    conversas,
    empresa_aprovador,
    empresa_canal,
    inbox,
    propostas,
    session_snapshot,
    usuario,
)
from persistence.tables.staff import SESSAO
from state_machine.cancellation.machine import CONVERSANDO
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import ESPERAM_USUARIO, Estado, Sessao
from state_machine.machine.events import Evento, EventoEmissao, EventoEquipe, PrazoVencido
from state_machine.proposal import EstadoProposta
from state_machine.protocol.channel import TipoDocumento

OUTCOME: Final[Mapping[Estado, EstadoProposta]] = {
    Estado.COLETA: EstadoProposta.ENVIADA,
    Estado.DADOS_INCOMPLETOS: EstadoProposta.ENVIADA,
    Estado.AGUARDANDO_CONFIRMACAO: EstadoProposta.ENVIADA,
    Estado.PROCESSANDO: EstadoProposta.ACEITA,
    Estado.APROVADO: EstadoProposta.EMITIDA,
    Estado.REJEITADO: EstadoProposta.REJEITADA,
    Estado.ERRO: EstadoProposta.ERRO,
    Estado.CANCELADO_USUARIO: EstadoProposta.RECUSADA,
    Estado.EXPIRADO: EstadoProposta.EXPIRADA,
}

APPROVER: Final = "aprovador"


def author(evento: Evento) -> str:
    """Return who made the version that follows from an event, as callers read it."""
    if isinstance(evento, EventoEmissao):
        return "autoridade"
    if isinstance(evento, EventoEquipe):
        return "equipe"
    return "prazo" if isinstance(evento, PrazoVencido) else APPROVER


_A, _ASKING, _PEOPLE = empresa_aprovador.c, conversas.c, usuario.c
LANE: Final = (  # of the person ``usuario``: where they wrote last
    sa.select(_ASKING.conversa)
    .where(_ASKING.usuario_id == _PEOPLE.id, _ASKING.endereco != APAGADO)
    .order_by(_ASKING.ultima_entrada_em.desc())
    .limit(sa.literal_column("1"))
    .scalar_subquery()
)
# Who was chosen and issues for another company by now counts no longer.
_ASKED = (
    sa.select(_PEOPLE.id, _PEOPLE.telefone, LANE.label("conversa"), _A.usuario_id.is_not(None).label("escolhido"))
    .outerjoin(empresa_aprovador, sa.and_(_A.usuario_id == _PEOPLE.id, _A.empresa_id == _PEOPLE.empresa_id))
    .where(_PEOPLE.empresa_id == sa.bindparam("b_empresa"))
    .order_by(_A.usuario_id.is_(None), _PEOPLE.id)
    .limit(sa.literal_column("1"))
)
_PERSON = sa.select(_PEOPLE.id).where(
    _PEOPLE.empresa_id == sa.bindparam("b_empresa"), _PEOPLE.telefone == sa.bindparam("b_telefone")
)

MOST_ASKED: Final = 10  # people of a company at once


async def approver_of(connection: Connection, empresa_id: int) -> Found | None:
    """Return (id, telefone, conversa, escolhido) of who is asked; ``None``: nobody issues for the company.

    ``conversa`` is ``None`` for somebody who never wrote.
    """
    return (await connection.execute(_ASKED, {"b_empresa": empresa_id})).one_or_none()


async def choose_approver(connection: Connection, empresa_id: int, telefone: str) -> bool:
    """Have the person with this phone (canonical) asked from now on; false: they do not issue for the company."""
    person = await connection.scalar(_PERSON, {"b_empresa": empresa_id, "b_telefone": telefone})
    if person is None:
        return False
    row = insert(empresa_aprovador).values(empresa_id=empresa_id, usuario_id=person)
    changed = {"usuario_id": person, "definido_em": sa.func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=[_A.empresa_id], set_=changed))
    return True


WAIT: Final = timedelta(days=7)  # for an approver who is busy or away; then the caller is told
WINDOW: Final = sa.text("interval '23 hours'")  # Meta takes what we begin for 24 hours after a person's last message
_ASKABLE = (
    sa.select(_PEOPLE.id, _ASKING.conversa)
    .select_from(usuario)
    .join(conversas, _ASKING.conversa == LANE.correlate(usuario))
    .where(_PEOPLE.empresa_id == sa.bindparam("b_empresa"), _ASKING.ultima_entrada_em > sa.func.now() - WINDOW)
    .order_by(_PEOPLE.id)
    .limit(MOST_ASKED)
)


async def askable(connection: Connection, empresa_id: int) -> Sequence[Found]:
    """Return (id, conversa) of those who issue for a company and can be written to now."""
    return (await connection.execute(_ASKABLE, {"b_empresa": empresa_id})).all()


_P, _C, _U, _S, _I, _K = propostas.c, conversas.c, usuario.c, session_snapshot.c, inbox.c, cancelamento.c
_WAITS = sa.and_(_P.estado == sa.literal_column(f"'{EstadoProposta.ENVIADA}'"), _P.sessao_id.is_(None))
# Nothing is begun there (a greeting is no beginning), nobody of the staff speaks, Meta still takes what we begin.
_FREE = sa.and_(
    ~sa.exists().where(_S.conversa == _C.conversa, _S.estado.in_(ESPERAM_USUARIO - {Estado.COLETA})),
    ~sa.exists().where(_K.conversa == _C.conversa, _K.estado.in_(CONVERSANDO)),
    _C.atendente_id.is_(None),
    _C.ultima_entrada_em > sa.func.now() - WINDOW,
)
_QUEUED = ~sa.exists().where(_I.lane == _C.conversa, _I.tipo == "proposta", _I.estado == sa.literal_column("0"))
_MOMENT = sa.cast(sa.func.extract("epoch", sa.func.now()), sa.BigInteger).label("momento")
_WAITING = (
    sa.select(_P.id, _C.conversa, _MOMENT)
    .ext(distinct_on(_C.conversa))
    .join(usuario, _U.id == _P.aprovador_id)
    .join(conversas, _C.conversa == LANE.correlate(usuario))
    .where(_WAITS, _FREE, _QUEUED)
    .order_by(_C.conversa, _P.enviada_em, _P.id)
    .limit(sa.bindparam("b_limit"))
)
_READ = (
    sa.select(
        *(
            _P[name]
            for name in ("id", "empresa_id", "valor", "descricao", "competencia", "prestacao", "versao", "ambiente")
        ),
        *(_P.sessao_prevista, _P.documento_fiscal, _P.itens),
        *(clientes.c[name] for name in ("nome", "email", "documento")),
        _U.telefone,
        _FREE.label("livre"),
        sa.func.coalesce(sa.and_(_U.empresa_id == _P.empresa_id, _C.usuario_id == _U.id), sa.false()).label("pode"),
    )
    .select_from(propostas)
    .join(clientes, clientes.c.id == _P.cliente_id)
    .join(conversas, _C.conversa == sa.bindparam("b_conversa"))
    .outerjoin(usuario, _U.id == _P.aprovador_id)
    .where(_P.id == sa.bindparam("b_id"), _WAITS)
)
_LOCK = _READ.with_for_update(of=propostas)
_BIND = propostas.update().where(_P.id == sa.bindparam("b_id")).values(sessao_id=sa.bindparam("b_sessao"))
_ENDED: dict[Any, Any] = {"versao": _P.versao + 1, "atualizada_em": sa.func.now(), "alterada_por": "prazo"}
_GIVE_UP = (
    propostas.update()
    .where(_P.id == sa.bindparam("b_id"), _WAITS)
    .values(estado=EstadoProposta.CANCELADA.value, motivo=sa.bindparam("b_motivo"), **_ENDED)
)
GONE: Final = "Quem aprovaria não emite mais por esta empresa. Crie outra proposta."
_LATE: Final = "Ninguém respondeu no prazo."
MOVED: Final = "A empresa agora emite em outro ambiente. Crie outra proposta, com uma chave de lá."
ISSUED: Final = EstadoProposta.EMITIDA.value
_ORPHAN = _P.aprovador_id.is_(None)
_KIND = sa.case(
    {modelo: TipoDocumento.of(modelo).value for modelo in ("nfse", "nfe", "nfce")}, value=_P.documento_fiscal
)
_ELSEWHERE = sa.exists().where(
    empresa_canal.c.empresa_id == _P.empresa_id,
    empresa_canal.c.tipo == _KIND,
    empresa_canal.c.ambiente != _P.ambiente,
)
_END = (
    propostas.update()
    .where(_WAITS, sa.or_(_ORPHAN, _ELSEWHERE, _P.enviada_em < sa.func.now() - WAIT))
    .values(
        estado=sa.case(
            (sa.or_(_ORPHAN, _ELSEWHERE), EstadoProposta.CANCELADA.value), else_=EstadoProposta.EXPIRADA.value
        ),
        motivo=sa.case((_ORPHAN, GONE), (_ELSEWHERE, MOVED), else_=_LATE),
        **_ENDED,
    )
    .returning(_P.id)
)


async def waiting(connection: Connection, limit: int) -> Sequence[tuple[Any, str, int]]:
    """Return of each approver who is free the proposal that waits longest: its id, their lane, and this moment."""
    return [(row.id, row.conversa, row.momento) for row in await connection.execute(_WAITING, {"b_limit": limit})]


async def read(connection: Connection, conversa: str, proposta_id: int, *, lock: bool = False) -> Found | None:
    """Return a proposal that waits, with its client; ``None``: it waits no longer.

    ``pode``: this is the conversation of its approver, who issues for its company; ``livre``: nothing else is open.
    """
    statement = _LOCK if lock else _READ
    return (await connection.execute(statement, {"b_conversa": conversa, "b_id": proposta_id})).one_or_none()


async def bind(connection: Connection, proposta_id: int, sessao_id: str) -> None:
    """Note the session that is made of a proposal; from then on it stands as that one does."""
    await connection.execute(_BIND, {"b_id": proposta_id, "b_sessao": sessao_id})


async def give_up(connection: Connection, proposta_id: int, motivo: str) -> None:
    """End a proposal that nobody can approve any more."""
    await connection.execute(_GIVE_UP, {"b_id": proposta_id, "b_motivo": motivo})


async def end_overdue(connection: Connection) -> int:
    """End what waited for a week, and what waits for somebody or an environment that is gone; return how many."""
    ended = (await connection.execute(_END)).scalars()
    await hooks.tell_proposals(connection, ended)
    return len(ended)


def _changed(column: sa.ColumnElement[Any], value: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return column.is_distinct_from(value)


# It waits to be shown again, in a session of another id: the one before has become another customer's, or was given up.
_AGAIN: dict[str, Any] = {"estado": EstadoProposta.ENVIADA.value, "motivo": None, "sessao_id": None}
_RELEASE = (
    propostas.update()
    .where(_P.sessao_id == sa.bindparam("b_sessao"))
    .values(
        **_AGAIN,
        sessao_prevista=SESSAO,
        versao=_P.versao + 1,
        alterada_por=APPROVER,
        atualizada_em=sa.func.now(),
    )
)


def _follow() -> Any:
    told = {name: sa.bindparam(f"b_{name}", type_=_P[name].type) for name in ("valor", "descricao", "competencia")}
    session, before = sa.bindparam("b_sessao", type_=sa.Text), sa.bindparam("b_origem", type_=sa.Text)
    client = sa.select(clientes.c.documento).where(clientes.c.id == _P.cliente_id).scalar_subquery()
    another = sa.func.coalesce(client != sa.bindparam("b_documento", type_=sa.Text), sa.false())
    # Sessions that repair this one have its place by now, but its own note came after all. An array can use the index.
    issued = sa.bindparam("b_estado", type_=sa.Text) == ISSUED
    repairs = sa.select(_S.sessao_id).where(_S.origem == session, issued).cte("repairs", recursive=True)
    repairs = repairs.union(sa.select(_S.sessao_id).join(repairs, _S.origem == repairs.c.sessao_id))
    late = sa.and_(_P.sessao_id == sa.any_(sa.func.array(sa.select(repairs.c.sessao_id).scalar_subquery())), ~another)
    as_it_was = {name: sa.case((another, _P[name]), else_=value) for name, value in told.items()}
    now = {
        "estado": sa.case((another, _AGAIN["estado"]), else_=sa.bindparam("b_estado", type_=sa.Text)),
        "valor": sa.func.coalesce(as_it_was["valor"], _P.valor),
        "descricao": sa.func.coalesce(as_it_was["descricao"], _P.descricao),
        "competencia": as_it_was["competencia"],
        "sessao_id": sa.case((another, sa.null()), else_=session),
    }
    return (
        propostas.update()
        .where(sa.or_(_P.sessao_id == session, sa.and_(_P.sessao_id == before, ~another, _P.estado != ISSUED), late))
        .where(sa.or_(*(_changed(_P[name], value) for name, value in now.items())))
        .values(
            **now,
            sessao_prevista=sa.case((another, SESSAO), else_=_P.sessao_prevista),
            motivo=sa.bindparam("b_motivo", type_=sa.Text),
            versao=_P.versao + 1,
            alterada_por=sa.bindparam("b_quem", type_=sa.Text),
            atualizada_em=sa.func.now(),
        )
    )


_FOLLOW = _follow()


def follow(connection: Connection, sessao: Sessao, evento: Evento, motivo: str | None) -> None:
    """Have the proposal of this session, or of the one it takes over from, stand as it stands, when the turn commits.

    ``motivo``: why the authority refused it. A session that is no proposal's changes nothing. A proposal is its
    customer: a session that came to invoice another one is the proposal's no more, which goes on waiting.
    """
    rascunho = sessao.rascunho
    dia = rascunho.validado(Campo.DATA)
    values = {
        "b_sessao": sessao.sessao_id,
        "b_origem": sessao.origem,
        "b_estado": OUTCOME[sessao.estado].value,
        "b_documento": rascunho.validado(Campo.DOCUMENTO),
        "b_valor": rascunho.valor_servico if rascunho.validado(Campo.VALOR) else None,
        "b_descricao": rascunho.validado(Campo.DESCRICAO),
        "b_competencia": rascunho.validado(Campo.COMPETENCIA) or (dia[:7] if dia else None),
        "b_motivo": motivo if sessao.estado is Estado.REJEITADO else None,
        "b_quem": author(evento),
    }
    connection.later(_FOLLOW, values)
    if OUTCOME[sessao.estado] in hooks.TOLD:
        hooks.tell_proposal(connection, sessao.sessao_id)


def release(connection: Connection, sessao_id: str) -> None:
    """Have the proposal of a session that its approver left for an order of their own wait again, when it commits."""
    connection.later(_RELEASE, {"b_sessao": sessao_id})
