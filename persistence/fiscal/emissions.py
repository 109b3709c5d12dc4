"""Keeps emissions under way: who is at work on which, what may be sent, every attempt, and what followed from it.

Writes and reads the columns of ``nfse_emissao`` that hold what was confirmed, with its fingerprint.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence import claims
from persistence.claims import Leases, OrderLeaseLostError, Taken, taken
from persistence.db.clock import DatabaseClock
from persistence.db.connection import Connection
from persistence.idempotency import gateway_operations
from persistence.idempotency.records import Operation
from persistence.people.channels import canal_of
from persistence.tables import gateway_tentativas, nfse_emissao, nfse_processada
from state_machine.cancellation.machine import StatusNota
from state_machine.documents import Conteudo, ConteudoServico
from state_machine.protocol.emission import EM_CURSO, Rejected, StatusEmissao
from state_machine.protocol.reconciliation import ASK_AFTER, ASSENTADOS, Anterior
from state_machine.protocol.standing import Andamento, Passo


def columns(conteudo: Conteudo) -> dict[str, Any]:
    """Return the columns by name."""
    return {
        "prestador_cnpj": conteudo.prestador,
        "tomador_documento": conteudo.tomador,
        "codigo_servico": conteudo.codigo_servico,
        "valor_servico": conteudo.valor,
        "competencia": conteudo.competencia,
        "descricao_servico": conteudo.descricao,
        "impressao": conteudo.impressao,
    }


def confirmed(row: Any) -> Conteudo:
    """Return what a row was confirmed to say; it need not be what its fingerprint says."""
    return ConteudoServico(
        row.prestador_cnpj,
        row.tomador_documento,
        row.codigo_servico,
        row.valor_servico,
        row.competencia,
        row.descricao_servico,
    )


# What the gateway may have: an older release that moved the row to one of these did not keep that it is in doubt.
_HELD = EM_CURSO - {StatusEmissao.PENDENTE}


@dataclass(frozen=True, slots=True)
class Tarefa(Taken):
    """An emission under our lease. ``era`` is its status before we took it: only ``pendente`` may be sent.

    ``pronta``: it is stored as ``enviando`` under its idempotency record, so that the bytes may leave now.
    """

    versao: int
    era: StatusEmissao
    pronta: bool
    revisao: int
    primeira: bool  # no earlier attempt at this revision, and no session that this one repairs: nothing to ask before
    payload: bytes
    a_preparar: bool  # the channel has yet to make the bytes to send
    id_externo: str | None
    andamento: Andamento
    suspenso: str | None  # why the company's submissions are stopped
    sonda_em: float  # seconds until one of them may try again
    clock: DatabaseClock
    numerada: bool = False  # under a number of ours
    restored: bool = False  # the database was put back: other revisions may have been confirmed, and be notes
    late: timedelta = timedelta(0)  # since it was due
    antes: tuple[bytes, ...] = ()  # where the bytes are made anew: those made before, oldest first

    @property
    def operation(self) -> Operation:
        """The record under which its bytes are sent."""
        atual = self.andamento
        return gateway_operations.issuing(self.sessao_id, atual.prestador, atual.id_integracao, self.payload)


@dataclass(frozen=True, slots=True)
class Chamada:
    """One gateway call for the record: ``pedido`` and ``resposta`` masked and cut, ``None`` where there was none."""

    operacao: str
    resultado: str
    detalhe: str | None
    latencia_ms: int
    http_status: int | None = None
    pedido: str | None = None
    resposta: str | None = None


@dataclass(frozen=True, slots=True)
class Ouvido:
    """What an answer tells for the record, ``None`` where it tells nothing.

    ``resposta`` is the JSON received, as storable text; ``leitura`` what we read in it; ``protocolo`` that of the
    gateway's acceptance.
    """

    resposta: str | None = None
    leitura: dict[str, Any] | None = None
    protocolo: str | None = None


NADA_OUVIDO = Ouvido()

_START = sa.text(f"""
UPDATE nfse_emissao SET status = '{StatusEmissao.ENVIANDO}', enviado_em = coalesce(enviado_em, now()),
    ultimo_envio_em = now(), lease_until = now() + make_interval(secs => :lease)
WHERE id = :id AND epoch = :epoch AND status = '{StatusEmissao.PENDENTE}'
""")  # noqa: S608 - our own constants


async def claim(
    connection: Connection,
    livres: int,
    lease_seconds: float,
    *,
    ocupadas: Mapping[int, int] = MappingProxyType({}),
    quietas: Collection[str] = (),
) -> list[Tarefa]:
    """Take due emissions, each company its share of the ``livres`` slots: ``ocupadas`` says how many it holds (by id).

    One that may be sent is stored as ``enviando``, under its record, before anybody sends it; none of the companies
    ``quietas`` (CNPJ): for them the gateway is left alone, but for a probe.
    """
    tomada_em = time.monotonic()
    values = {
        **claims.shares(livres, ocupadas),
        "lease": lease_seconds,
        "quietas": list(quietas),
        "recente": ASK_AFTER.total_seconds(),  # an older one is looked at first: its person may have to be asked
    }
    rows = await connection.execute(claims.CLAIM_EMISSIONS, values)
    tarefas = [_tarefa(row, tomada_em) for row in rows]
    operations = [tarefa.operation for tarefa in tarefas if tarefa.pronta]
    taken = await gateway_operations.begin(connection, operations, lease_seconds)
    return [t if not t.pronta or t.operation.key in taken else replace(t, pronta=False) for t in tarefas]


def _tarefa(row: Any, tomada_em: float) -> Tarefa:
    return Tarefa(
        **taken(row, row.id, tomada_em),
        versao=row.versao,
        era=StatusEmissao(row.era),
        pronta=row.pronta,
        revisao=row.revisao,
        primeira=row.primeira,
        payload=stored_bytes(row),
        a_preparar=row.a_preparar,
        id_externo=row.id_externo,
        andamento=_andamento(row, StatusEmissao(row.era)),
        suspenso=row.envio_suspenso,
        sonda_em=row.sonda_em,
        clock=DatabaseClock(row.agora),
        numerada=row.numero_rps is not None,
        restored=row.restored,
        late=row.agora - row.proxima_acao_em,
        antes=_made_before(row) if row.a_preparar else (),
    )


def stored_bytes(row: Any) -> bytes:
    """Return what is sent of an emission's row, or what it is made of as long as it is not made."""
    return orjson.dumps(row.intencao) if row.bytes is None or row.a_preparar else bytes(row.bytes)


def _made_before(row: Any) -> tuple[bytes, ...]:
    last = () if row.bytes is None else (row.bytes,)
    return tuple(bytes(each) for each in (*row.bytes_antes, *last))


def _andamento(row: Any, status: StatusEmissao) -> Andamento:
    return Andamento(
        row.id_integracao,
        confirmed(row),
        row.impressao,
        status,
        row.criado_em,
        consultas=row.consultas,
        envios=row.envios,
        ausente_desde=row.ausente_desde,
        avisado=row.avisado_em is not None,
        duvida=_duvida(row, status),
        recusa=_recusa(row.recusa),
        rodadas=row.rodadas,
        recusas=row.recusas,
        sem_conteudo_desde=row.sem_conteudo_desde,
        desejado_em=row.desejado_em,
        causa_fim_em=row.causa_fim_em,
        retida=row.retida,
        ausencias=row.ausencias,
        chave=row.chave_natural,
        procurada=row.enviado_em is None and bool(row.em_duvida),
        sent_at=row.ultimo_envio_em or row.enviado_em,
    )


def _duvida(row: Any, status: StatusEmissao) -> bool:
    """Whether a call may have been accepted; an older release kept no word of it, and what it sent counts as such.

    What is only asked about because its refusal sounded like a duplicate was never accepted.
    """
    if row.em_duvida is None:
        return status is not StatusEmissao.PENDENTE or row.envios > 0
    refused = status is StatusEmissao.DESCONHECIDO and row.recusa is not None
    return bool(row.em_duvida) or (status in _HELD and not refused)


def _recusa(kept: Any) -> Rejected | None:
    if kept is None:
        return None
    return Rejected(kept["mensagem"], tuple(kept["codigos"]), tuple((path, says) for path, says in kept["campos"]))


async def start_sending(connection: Connection, tarefa: Tarefa, lease_seconds: float) -> Tarefa | None:
    """Make ready what was looked at first; ``None`` when its record is another's or has other bytes.

    Raises ``OrderLeaseLostError``.
    """
    tomada_em = time.monotonic()
    if not await gateway_operations.begin(connection, [tarefa.operation], lease_seconds):
        return None
    values = {"id": tarefa.id, "epoch": tarefa.epoch, "lease": lease_seconds}
    if (await connection.execute(_START, values)).rowcount != 1:
        raise OrderLeaseLostError(tarefa.andamento.id_integracao)
    return replace(tarefa, pronta=True, tomada_em=tomada_em)


async def earlier_attempts(connection: Connection, tarefa: Tarefa) -> list[Anterior]:
    """Return the attempts before this one, oldest first: at the same revision, and of the sessions that it repairs."""
    values = {"sessao_id": tarefa.sessao_id, "revisao": tarefa.revisao, "id": tarefa.id}
    return [
        Anterior(
            row.id,
            _andamento(row, StatusEmissao(row.status)),
            row.id_externo,
            numero=row.numero,
            reparada=row.sessao_id != tarefa.sessao_id,
            canal=canal_of(row.canal, row.ambiente),
        )
        for row in await connection.execute(_EARLIER, values)
    ]


async def look_at(connection: Connection, emissao_id: int) -> None:
    """Ask the gateway about this emission now, as after a webhook."""
    await connection.execute(_LOOK_AT, {"b_id": emissao_id})


class _Leases(Leases[Tarefa]):
    """Those of emissions, with that of the idempotency record, which is there once an emission is ready."""

    async def renew(self, connection: Connection, piece: Tarefa) -> bool:
        """Extend both from now; False when it was given back or is another's."""
        ours = await super().renew(connection, piece)
        if ours and piece.pronta:
            await gateway_operations.renew(connection, piece.operation, self.seconds)
        return ours

    async def give_back(self, connection: Connection, piece: Tarefa) -> bool:
        """Return it with its record. False if it is another's."""
        ours = await super().give_back(connection, piece)
        if ours and piece.pronta:
            gateway_operations.leave_open(connection, piece.operation, None)
        return ours


# Beside the epoch, the version: whoever sends an emission again or gives it up needs no epoch.
LEASES: Leases[Tarefa] = _Leases(nfse_emissao, fence=("id", "epoch", "versao"), was={"status": attrgetter("era")})


async def settle(connection: Connection, tarefa: Tarefa, passo: Passo, ouvido: Ouvido = NADA_OUVIDO) -> None:
    """Store what followed and give the lease back; what ``ouvido`` does not tell stays as it is.

    Raises ``OrderLeaseLostError`` for a late commit, now or at the end of the transaction.
    """
    novo, antes = passo.andamento, tarefa.andamento
    fim = passo.daqui is None and novo.status in ASSENTADOS | {StatusEmissao.ERRO}
    values: dict[str, Any] = {
        **LEASES.fence(tarefa),
        "status": novo.status,
        "consultas": novo.consultas,
        "envios": novo.envios,
        "ausente_desde": novo.ausente_desde,
        "ausencias": novo.ausencias,
        "retida": passo.retida,
        "b_atenta": novo.status is not StatusEmissao.PENDENTE,
        "b_seconds": passo.daqui,
        "em_duvida": novo.duvida,
        "recusa": asdict(novo.recusa) if novo.recusa else None,
        "rodadas": novo.rodadas,
        "recusas": novo.recusas,
        "sem_conteudo_desde": novo.sem_conteudo_desde,
        "desejado_em": novo.desejado_em,
        "causa_fim_em": novo.causa_fim_em,
        "b_fim": fim,
        "b_chegou": fim and novo.status is not tarefa.era,
        "b_concluido": novo.status is StatusEmissao.CONCLUIDO is not tarefa.era,
        "b_motivo": passo.motivo,
        "b_resposta": ouvido.resposta,
        "b_leitura": ouvido.leitura,
        "b_protocolo": ouvido.protocolo,
        "b_refazer": passo.refazer,
        "b_avisado": novo.avisado and not antes.avisado,
        "b_id_externo": (passo.nota.id_externo or None) if passo.nota else None,
    }
    lost = OrderLeaseLostError(tarefa.andamento.id_integracao)
    if passo.nota is None:
        connection.later(_SETTLE, values, rows=1, otherwise=lost)
    elif (await connection.execute(_SETTLE, values)).rowcount != 1:  # what follows must see a hint that came meanwhile
        raise lost


def record_attempt(connection: Connection, emissao_id: int, chamada: Chamada) -> None:
    """Append one gateway call to the record, at the end of the transaction."""
    connection.later(_ATTEMPT, {"emissao_id": emissao_id, **asdict(chamada)})


async def hint(connection: Connection, id_integracao: str | None, id_externo: str | None, corpo: Any) -> int:
    """A webhook spoke of a note: store what it said, if we have it, and look at once. Returns how many it concerns."""
    values = {"b_nota": id_integracao or id_externo or "", "webhook_payload": corpo}
    rows = (await connection.execute(_HINT[bool(id_integracao)], values)).all()
    noted = [row.id for row in rows if row.status not in EM_CURSO]  # the others have no note that lacks it
    if noted and corpo is not None:
        connection.later(_ANNOUNCED, {"b_ids": noted, "webhook_payload": corpo})
    return len(rows)


def _hint(key: sa.Column[Any]) -> Any:
    pendente = nfse_emissao.c.status == StatusEmissao.PENDENTE  # nothing was sent, or its time was set by the gateway
    return (
        nfse_emissao.update()
        .where(key == sa.bindparam("b_nota"))
        .values(
            dica_em=sa.func.now(),
            proxima_acao_em=sa.case((pendente, nfse_emissao.c.proxima_acao_em), else_=sa.func.now()),
        )
        .returning(nfse_emissao.c.id, nfse_emissao.c.status)
    )


def _if(name: str, then: Any, otherwise: Any) -> Any:
    return sa.case((sa.bindparam(name, type_=sa.Boolean), then), else_=otherwise)


# Statements are composed once: that costs more than running them.
_E = nfse_emissao.c
_MOTIVO = sa.bindparam("b_motivo", type_=sa.Text)
_LOOK_AT = (
    nfse_emissao.update()
    .where(_E.id == sa.bindparam("b_id"))
    .values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())
)
_EARLIER = sa.text(f"""
WITH RECURSIVE reparadas AS (
    SELECT origem FROM session_snapshot WHERE sessao_id = :sessao_id AND origem IS NOT NULL
    UNION
    SELECT s.origem FROM session_snapshot s JOIN reparadas r ON s.sessao_id = r.origem WHERE s.origem IS NOT NULL
)
SELECT e.*, CASE WHEN p.status <> '{StatusNota.CANCELADO}' THEN p.numero END AS numero
FROM nfse_emissao e LEFT JOIN nfse_processada p ON p.emissao_id = e.id
WHERE e.id < :id AND (e.sessao_id IN (SELECT origem FROM reparadas)
    OR (e.sessao_id = :sessao_id AND e.revisao = :revisao))
ORDER BY e.id
""")  # noqa: S608 - our own constants
_SETTLE = LEASES.settlement(
    recusa=sa.bindparam("recusa", type_=JSONB(none_as_null=True)),
    versao=_E.versao + 1,
    a_preparar=_if("b_refazer", _E.intencao.is_not(None), _E.a_preparar),
    erro_mensagem=_if("b_concluido", _MOTIVO, sa.func.coalesce(_MOTIVO, _E.erro_mensagem)),
    leitura_gateway=sa.func.coalesce(sa.bindparam("b_leitura", type_=JSONB), _E.leitura_gateway),
    protocolo=sa.func.coalesce(sa.bindparam("b_protocolo", type_=sa.Text), _E.protocolo),
    id_externo=sa.func.coalesce(sa.bindparam("b_id_externo", type_=sa.Text), _E.id_externo),
    processado_em=_if(
        "b_chegou", sa.func.now(), _if("b_fim", sa.func.coalesce(_E.processado_em, sa.func.now()), _E.processado_em)
    ),
)
_ATTEMPT = gateway_tentativas.insert()
_HINT = {True: _hint(_E.id_integracao), False: _hint(_E.id_externo)}
_ANNOUNCED = nfse_processada.update().where(
    nfse_processada.c.emissao_id == sa.any_(sa.bindparam("b_ids", type_=sa.ARRAY(sa.BigInteger))),
    nfse_processada.c.webhook_payload.is_(None),
)
