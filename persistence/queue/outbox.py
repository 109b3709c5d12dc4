"""Keeps messages on their way out: each conversation's in order, each claimed by one sender, each tick remembered.

What WhatsApp tells of a message's way: sent, delivered, read.

Tells what stored ticks say of a message that may have left.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from persistence.claims import Leases
from persistence.db.clock import in_seconds
from persistence.db.connection import Connection, clean
from persistence.db.engine import Database
from persistence.people.parts import APAGADA
from persistence.rows import OutboxMessage, to_payload
from persistence.tables import TALVEZ_SAIU, StatusSaida, nfse_processada, outbox
from state_machine.catalogue import messages
from state_machine.invoice.session import Mensagem, Sessao

FILES_IN_ORDER = 60.0  # an XML comes after its PDF; but a PDF that is never rendered must not keep other files back

# Ticks only ever grow: WhatsApp may tell them late or out of order. A failure may follow "sent", not "delivered".
ORDEM: dict[str, int] = {status: posto for posto, status in enumerate(StatusSaida)}
UNEXPLAINED = "no reason given"  # what failed has an error always: by that it is found


@dataclass(frozen=True, slots=True)
class Saida:
    """A message to be sent, under our lease; ``mensagem`` is as stored (see ``persistence.rows``).

    ``era`` is its status before we took it: ``enviando`` means that a worker died with it in hand, perhaps sent;
    ``incerto``, that an earlier copy may have left. ``canal``: the channel and environment of the session it is about,
    ``modelo`` that of its goods.
    """

    id: int
    epoch: int
    era: str
    endereco: str
    mensagem: dict[str, Any]
    tentativas: int
    criado_em: datetime
    agora: datetime
    conversa: str
    sessao_id: str | None
    canal: str | None
    modelo: str | None
    correlacao: str | None
    tomada_em: float  # our monotonic clock when we took it, to notice that we were frozen


LEASES: Leases[Saida] = Leases(outbox, outbox.c.run_at.is_not(None))  # what a tick settled is in nobody's hands
# Statements are composed once: that costs more than running them.
_ENQUEUE = insert(outbox).on_conflict_do_nothing(index_elements=[outbox.c.chave])
# Of several wordings the one after what the conversation read last; the first one, if that was something else.
_WORDING = sa.text("""(
    SELECT f.forma FROM jsonb_array_elements(:b_formas) WITH ORDINALITY AS f(forma, n) ORDER BY f.n <= coalesce((
        SELECT max(g.n) FROM jsonb_array_elements(:b_formas) WITH ORDINALITY AS g(forma, n) WHERE g.forma->>'texto' = (
            SELECT o.mensagem->>'texto' FROM outbox o WHERE o.conversa = :b_conversa ORDER BY o.id DESC LIMIT 1
        )
    ), 0), f.n LIMIT 1
)""").bindparams(sa.bindparam("b_formas", type_=JSONB), sa.bindparam("b_conversa", type_=sa.Text))
_ENQUEUE_WORDED = insert(outbox).values(mensagem=_WORDING)


def enqueue(
    connection: Connection,
    *,
    conversa: str,
    mensagem: OutboxMessage,
    de: str | None = None,
    sessao_id: str | None = None,
    chave: str | None = None,
    resumo_de: int | None = None,
    bloqueia: bool = True,
    correlacao: str | None = None,
) -> None:
    """Put one message into the transaction that decided it; with ``chave`` a second of the same key is dropped.

    ``de`` is who of the staff wrote it, ``resumo_de`` the revision whose summary or readings it shows; ``bloqueia``:
    later messages wait until it has left. An answer of ours without a key is never, word for word, what was said last.
    """
    if conversa.startswith(APAGADA):  # late news of an invoice whose person was erased: there is nobody to tell
        return
    values = {
        "conversa": conversa,
        "sessao_id": sessao_id,
        "chave": chave,
        "resumo_de": resumo_de,
        "bloqueia": bloqueia,
        "correlacao": correlacao,
    }
    if isinstance(mensagem, Mensagem) and chave is None and de is None:
        formas = [to_payload(forma) for forma in messages.formas(mensagem)]
        connection.later(_ENQUEUE_WORDED, {**values, "b_formas": formas, "b_conversa": conversa})
    else:
        connection.later(_ENQUEUE, {**values, "mensagem": to_payload(mensagem, de)})


async def lane_of(connection: Connection, chave: str) -> str | None:
    """Return the conversation that the message of this key was said to, while it is kept."""
    found: str | None = await connection.scalar(sa.select(outbox.c.conversa).where(outbox.c.chave == chave))
    return found


_CLAIM = f"""
WITH due AS (
    SELECT o.id, o.status FROM outbox o
    WHERE o.run_at <= now() AND (o.lease_until IS NULL OR o.lease_until < now())
      AND NOT EXISTS (
          SELECT 1 FROM outbox p
          WHERE p.conversa = o.conversa AND p.id < o.id AND p.run_at IS NOT NULL
            AND (p.bloqueia OR (NOT o.bloqueia AND (p.erro IS NULL OR p.criado_em > now() - make_interval(secs => $3))))
      )
    ORDER BY o.run_at LIMIT $1 FOR UPDATE OF o SKIP LOCKED
)
UPDATE outbox o SET lease_until = now() + make_interval(secs => $2), epoch = o.epoch + 1,
    status = '{StatusSaida.ENVIANDO}'
FROM due, conversas c
WHERE o.id = due.id AND c.conversa = o.conversa AND o.run_at IS NOT NULL
RETURNING o.id, o.epoch, due.status AS era, o.mensagem, o.tentativas, o.criado_em, o.conversa, o.sessao_id,
          (SELECT s.canal FROM session_snapshot s WHERE s.sessao_id = o.sessao_id) AS canal,
          (SELECT s.rascunho #>> '{{modelo,valor}}' FROM session_snapshot s WHERE s.sessao_id = o.sessao_id) AS modelo,
          o.correlacao, c.endereco, now() AS agora
"""  # noqa: S608 - our own constants


async def claim(database: Database, limit: int) -> list[Saida]:
    """Take due messages; of one conversation only the oldest, so that they leave in order.

    A file that could not be had is waited for by other files only for ``FILES_IN_ORDER`` seconds.
    """
    tomada_em = time.monotonic()
    rows = await database.pool.fetch(_CLAIM, limit, LEASES.seconds, FILES_IN_ORDER)
    return [Saida(**row, tomada_em=tomada_em) for row in rows]


async def sent(connection: Connection, saida: Saida, wamid: str) -> bool:
    """Meta took it. A status webhook may have said so before us; then its tick stands.

    Says whether another message of the conversation waits behind it.
    """
    return bool(await connection.scalar(_SENT, {"_id": saida.id, "_wamid": wamid}))


async def again(
    connection: Connection,
    saida: Saida,
    seconds: float,
    *,
    erro: str,
    codigo: int | None = None,
    incerto: bool = False,
    conta: bool = True,
) -> None:
    """Try later; ``incerto`` when it may have left, so that a status webhook can still settle it first.

    A message that was in doubt stays so, whatever became of a later try: the first copy's tick may still come.
    """
    values = {
        "_id": saida.id,
        "_epoch": saida.epoch,
        "_seconds": seconds,
        "_conta": int(conta),
        "status": StatusSaida.INCERTO if incerto or saida.era == StatusSaida.INCERTO else StatusSaida.PENDENTE,
        "erro": erro,
        "erro_codigo": codigo,
    }
    await connection.execute(_AGAIN, values)
    # Its followers can't leave before it: due at every claim, they would be looked at in vain.
    await connection.execute(_FOLLOWERS, {"_id": saida.id, "_conversa": saida.conversa, "_seconds": seconds})


async def give_up(connection: Connection, saida: Saida, *, erro: str, codigo: int | None) -> None:
    """It can't be sent; it stays on record for people."""
    values = {"_id": saida.id, "_epoch": saida.epoch, "erro": erro, "erro_codigo": codigo}
    await connection.execute(_GIVE_UP, values)


async def without_caption(connection: Connection, saida: Saida) -> None:
    """Take the caption off a document whose result had to be told before it was ready."""
    await connection.execute(_REWORD, {"_id": saida.id, "mensagem": {**saida.mensagem, "legenda": None}})


async def tick(
    connection: Connection, *, outbox_id: int, wamid: str, status: str, codigo: int | None, erro: str | None
) -> bool:
    """Apply a status webhook; an older tick than the one we have changes nothing. Says whether it was ours.

    Our id counts only for a message that may have left and whose wamid we don't know: numbers start again in a restored
    or second database, and Meta repeats its webhooks for seven days.
    """
    values = {"_id": outbox_id, "_wamid": wamid, "_codigo": codigo, "_erro": erro}
    return bool((await connection.execute(_TICK[status], values)).rowcount)


async def retry_failed(connection: Connection, wamid: str, seconds: float, max_tries: int) -> bool:
    """Send again what Meta took and then failed to deliver for a passing reason; the old wamid is forgotten."""
    values = {"_wamid": wamid, "_seconds": seconds, "_tries": max_tries}
    return bool((await connection.execute(_RETRY, values)).rowcount)


async def failed_file(connection: Connection, *, outbox_id: int = 0, wamid: str | None = None) -> Any | None:
    """Return the document that failed for good, by our number or by Meta's, with its note's number; else ``None``."""
    return (await connection.execute(_FAILED_FILE, {"_id": outbox_id, "_wamid": wamid})).one_or_none()


async def file_again(connection: Connection, outbox_id: int, seconds: float) -> bool:
    """Send a failed document once more, uploaded anew; false for one that went twice."""
    return bool((await connection.execute(_FILE_AGAIN, {"_id": outbox_id, "_seconds": seconds})).rowcount)


_SAID = sa.text("""
SELECT mensagem->>'texto' FROM outbox WHERE conversa = :conversa AND criado_em > now() - interval '1 hour'
    AND strpos(mensagem->>'texto', :words) > 0 ORDER BY id DESC LIMIT 1
""")


async def lately(connection: Connection, conversa: str, words: str) -> str | None:
    """Return the newest message of the last hour that has these words in it, ``None`` where there is none."""
    found: str | None = await connection.scalar(_SAID, {"conversa": conversa, "words": words})
    return found


async def seen(connection: Connection, sessao: Sessao) -> tuple[datetime | None, bool]:
    """Return when the summary, or the readings, of the session's revision first left for the user, ``None`` if never.

    And whether we answered about anything else since it was decided: a yes may be meant for that.
    """
    values = {
        "_sessao": sessao.sessao_id,
        "_revisao": sessao.revisao,
        "_conversa": sessao.conversa,
        "_momento": sessao.mostrado_em,
    }
    row = (await connection.execute(_SEEN, values)).one()
    return row.left_at, row.aside


def rank(column: str) -> str:
    """Return the SQL for how far a message has come whose status is ``column``."""
    steps = " ".join(f"WHEN '{status}' THEN {posto}" for status, posto in ORDEM.items())
    return f"CASE {column} {steps} ELSE 0 END"


def _forward(status: str) -> Any:  # constants are part of the text: a parameter is sent each time
    ahead: sa.ColumnElement[bool] = sa.literal_column(f"({rank('outbox.status')}) < {ORDEM[status]}", sa.Boolean)
    return sa.case((ahead, sa.literal_column(f"'{status}'", sa.Text)), else_=outbox.c.status)


_WAMID = sa.bindparam("_wamid", type_=sa.Text)
_THIS = outbox.c.id == sa.bindparam("_id")
_IN_HAND = outbox.update().where(_THIS, outbox.c.epoch == sa.bindparam("_epoch"))
_AGAIN = _IN_HAND.where(outbox.c.run_at.is_not(None)).values(
    run_at=in_seconds("_seconds"), lease_until=None, tentativas=outbox.c.tentativas + sa.bindparam("_conta")
)
_FOLLOWERS = (
    outbox.update()
    .where(outbox.c.conversa == sa.bindparam("_conversa"), outbox.c.id > sa.bindparam("_id"))
    .where(outbox.c.run_at < in_seconds("_seconds"), sa.select(outbox.c.bloqueia).where(_THIS).scalar_subquery())
    .values(run_at=in_seconds("_seconds"))
)
_GIVE_UP = _IN_HAND.values(status=StatusSaida.FALHOU, run_at=None, lease_until=None)
_REWORD = outbox.update().where(_THIS)
_RETRY = (
    outbox.update()
    .where(
        outbox.c.wamid == _WAMID, outbox.c.status == StatusSaida.FALHOU, outbox.c.tentativas < sa.bindparam("_tries")
    )
    .values(status=StatusSaida.PENDENTE, wamid=None, run_at=in_seconds("_seconds"), lease_until=None)
)
_IS_FILE = outbox.c.mensagem["tipo"].astext == "arquivo"
_FAILED_FILE = sa.select(
    outbox,
    sa.select(nfse_processada.c.numero)
    .where(nfse_processada.c.emissao_id == sa.cast(outbox.c.mensagem["emissao_id"].astext, sa.BigInteger))
    .scalar_subquery()
    .label("numero"),
).where(sa.or_(_THIS, outbox.c.wamid == _WAMID), outbox.c.status == StatusSaida.FALHOU, _IS_FILE)
_FILE_AGAIN = (
    outbox.update()
    .where(_THIS, outbox.c.status == StatusSaida.FALHOU, sa.not_(outbox.c.mensagem.has_key("de_novo")))
    .values(
        status=StatusSaida.PENDENTE,
        wamid=None,
        run_at=in_seconds("_seconds"),
        lease_until=None,
        mensagem=outbox.c.mensagem + sa.cast({"de_novo": True}, JSONB),
    )
)
_SHOWN = outbox.alias()
_OF_REVISION = _SHOWN.c.sessao_id == sa.bindparam("_sessao"), _SHOWN.c.resumo_de == sa.bindparam("_revisao")
_LEFT_AT = sa.select(sa.func.min(_SHOWN.c.enviado_em)).where(*_OF_REVISION, _SHOWN.c.status != StatusSaida.FALHOU)
_ASIDE = (
    sa.exists()
    .where(outbox.c.conversa == sa.bindparam("_conversa"), outbox.c.criado_em > sa.bindparam("_momento"))
    .where(outbox.c.sessao_id.is_distinct_from(sa.bindparam("_sessao")), outbox.c.chave.is_(None))
    .where(outbox.c.id > sa.select(sa.func.min(_SHOWN.c.id)).where(*_OF_REVISION).scalar_subquery())  # by its index
)
_SEEN = sa.select(_LEFT_AT.scalar_subquery().label("left_at"), _ASIDE.label("aside"))
_NEXT = outbox.alias()
_SENT = (
    outbox.update()
    .where(_THIS)
    .values(
        wamid=_WAMID,
        status=_forward(StatusSaida.ENVIADO),
        enviado_em=sa.func.coalesce(outbox.c.enviado_em, sa.func.now()),
        run_at=sa.null(),
        lease_until=sa.null(),
        tentativas=outbox.c.tentativas + sa.literal_column("1"),
    )
    .returning(
        sa.exists().where(_NEXT.c.conversa == outbox.c.conversa, _NEXT.c.id > outbox.c.id, _NEXT.c.run_at.is_not(None))
    )
)
_LOST_ANSWER = sa.and_(_THIS, outbox.c.wamid.is_(None), outbox.c.status.in_(TALVEZ_SAIU))
_TICK = {
    status: outbox.update()
    .where(sa.or_(outbox.c.wamid == _WAMID, _LOST_ANSWER))
    .values(
        wamid=_WAMID,
        status=_forward(status),
        enviado_em=sa.func.coalesce(outbox.c.enviado_em, sa.func.now()),
        run_at=None,
        erro_codigo=sa.func.coalesce(sa.bindparam("_codigo", type_=sa.Integer), outbox.c.erro_codigo),
        erro=sa.func.coalesce(
            sa.bindparam("_erro", type_=sa.Text), outbox.c.erro, UNEXPLAINED if status == StatusSaida.FALHOU else None
        ),
    )
    for status in ORDEM
}


RANK = rank("o.status")  # in SQL: how far the message ``o`` has come
# Meta's words and ours.
_STEPS = {
    "sent": StatusSaida.ENVIADO,
    "delivered": StatusSaida.ENTREGUE,
    "read": StatusSaida.LIDO,
    "played": StatusSaida.LIDO,
}
DIGITS = 18  # of a number of ours; longer ones don't fit into the database's


@dataclass(frozen=True, slots=True)
class Tick:
    """How far a message has come. ``outbox_id`` is our own number for it, as Meta gives it back; 0: none."""

    wamid: str
    outbox_id: int
    status: str  # of ``outbox.ORDEM``

    @classmethod
    def of(cls, status: Mapping[str, Any]) -> Tick | None:
        """Read Meta's ``statuses[]`` object; ``None`` for a failure, and for what we don't keep."""
        step = _STEPS.get(str(status.get("status")))
        return cls(clean(str(status.get("id"))), number_of(status), step) if step else None

    def columns(self) -> tuple[str, int, str, int]:
        """Return its fields and its rank, as statements take them."""
        return self.wamid, self.outbox_id, self.status, ORDEM[self.status]


def number_of(status: Mapping[str, Any]) -> int:
    """Return our number of the message that a ``statuses[]`` object is about, 0 for none."""
    ours = str(status.get("biz_opaque_callback_data") or "")
    return int(ours) if ours.isascii() and ours.isdigit() and len(ours) <= DIGITS else 0


TICK_LAG = 20.0  # seconds; a road on which Meta's newest tick is older than this is blocked, or nobody uses it
NEWEST_ROWS = 300  # arrivals looked through for that tick: some seconds of a busy house, days of a quiet one


class LostAnswer(StrEnum):
    """What the inbox knows of a message whose answer was lost."""

    TICK_WAITS = "its tick is stored and not yet worked on"
    NO_TICKS = "no tick of anybody arrives"
    SILENCE = "ticks arrive, and none of this message"


# The callback is looked for among the open rows only (a partial index): those done have settled the message already.
_ASK = sa.text("""
SELECT
    EXISTS (
        SELECT FROM inbox
        WHERE estado = 0 AND lane >= 'entrega:' AND lane < 'entrega;'
          AND payload -> 'status' ->> 'biz_opaque_callback_data' = :outbox_id
    ) AS tick_waits,
    EXISTS (
        SELECT FROM (
            SELECT tipo, payload -> 'status' ->> 'timestamp' AS quando FROM inbox ORDER BY id DESC LIMIT :rows
        ) r
        WHERE tipo = 'status' AND quando ~ '^[0-9]{1,11}$'
          AND to_timestamp(quando::float8) > now() - make_interval(secs => :lag)
    ) AS ticks_arrive
""")


async def ask(connection: Connection, outbox_id: int) -> LostAnswer:
    """Return what is known of a message that was handed over at least ``TICK_LAG`` ago, without an answer.

    Meta stamps a tick when it happens. One stamped within the last ``TICK_LAG`` seconds proves that the ticks of that
    time are through: webs listen, and Meta's queue is short.
    """
    row = (await connection.execute(_ASK, {"outbox_id": str(outbox_id), "rows": NEWEST_ROWS, "lag": TICK_LAG})).one()
    if row.tick_waits:
        return LostAnswer.TICK_WAITS
    return LostAnswer.SILENCE if row.ticks_arrive else LostAnswer.NO_TICKS
