"""Stops a company's submissions by one channel while that refuses our credentials; one probe at a time looks again."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from persistence.db.connection import Connection
from persistence.people.channels import of_channel, written
from state_machine.cancellation.machine import EstadoCancelamento
from state_machine.cancellation.reconciliation import Envio
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.emission import StatusEmissao
from state_machine.protocol.reconciliation import PROBE_FIRST, PROBE_LONGEST

# The pause before the next probe is as long as the company was stopped: its repair may have come while the call that
# was refused was under way, and nobody hears of it again.
_NEXT: Final = f"""now() + make_interval(secs => least({PROBE_LONGEST}, greatest({PROBE_FIRST},
        extract(epoch FROM now() - coalesce(e.suspenso_em, now())))))"""
_SUSPEND = sa.text(f"""
WITH antes AS (SELECT id, envio_suspenso FROM empresa WHERE id = :empresa_id FOR NO KEY UPDATE)
UPDATE empresa e SET envio_suspenso = :motivo, suspenso_em = coalesce(e.suspenso_em, now()),
    suspenso_canal = :canal, sonda_em = {_NEXT}
FROM antes WHERE e.id = antes.id RETURNING antes.envio_suspenso IS NULL AS nova
""")  # noqa: S608 - our own constants
_PROBE = sa.text(f"""
UPDATE empresa e SET sonda_em = {_NEXT}
WHERE id = :empresa_id
    AND (envio_suspenso IS NULL OR sonda_em IS NULL OR sonda_em <= now() OR suspenso_canal <> :canal)
""")  # noqa: S608 - our own constants
_LIFT = sa.text("""
UPDATE empresa SET envio_suspenso = NULL, suspenso_em = NULL, sonda_em = NULL, suspenso_canal = NULL
WHERE id = :empresa_id AND envio_suspenso IS NOT NULL
    AND (CAST(:canal AS text) IS NULL OR suspenso_canal IS NULL OR suspenso_canal = :canal)
""")
# One key may speak for many companies: when it works for one of those that it was refused for, the others look at once.
_OTHERS = sa.text("UPDATE empresa SET sonda_em = now() WHERE envio_suspenso = :motivo AND sonda_em > now()")
# What somebody works on right now is skipped: they settle it themselves.
_DUE = sa.text(f"""
UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id IN (
    SELECT id FROM nfse_emissao
    WHERE (retida = 'credencial' OR (retida = 'pessoa' AND :parada)) AND proxima_acao_em IS NOT NULL
      AND (CAST(:canal AS text) IS NULL OR {of_channel("nfse_emissao")} = :canal)
      AND prestador_id IN (
        SELECT id FROM empresa WHERE id = :empresa_id OR (envio_suspenso IS NOT NULL AND sonda_em <= now())
    )
    FOR UPDATE SKIP LOCKED
)
""")  # noqa: S608 - our own constants
# Whatever its age: a repair may let the authority tell us what is unknown.
_UNKNOWN = sa.text(f"""
UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id IN (
    SELECT id FROM nfse_emissao
    WHERE prestador_id = :empresa_id AND (lease_until IS NULL OR lease_until < now())
      AND status IN ('{StatusEmissao.DESCONHECIDO}', '{StatusEmissao.ERRO}')
    FOR UPDATE SKIP LOCKED
)
""")  # noqa: S608 - our own constants
# A cancellation of which the outcome is unknown is asked about, one that waited for the cause is sent.
_CANCELLATIONS = sa.text(f"""
UPDATE cancelamento SET proxima_acao_em = now() WHERE id IN (
    SELECT c.id FROM cancelamento c JOIN nfse_emissao n ON n.id = c.emissao_id
    WHERE n.prestador_id = :empresa_id AND (CAST(:canal AS text) IS NULL OR {of_channel("n")} = :canal)
      AND c.estado = '{EstadoCancelamento.PENDENTE}' AND (c.lease_until IS NULL OR c.lease_until < now())
      AND (c.envio IN ('{Envio.DESCONHECIDO}', '{Envio.COM_GENTE}') OR (:parada AND c.envio = '{Envio.A_ENVIAR}'))
    FOR UPDATE OF c SKIP LOCKED
)
""")  # noqa: S608 - our own constants
_LIST = sa.text("""
SELECT e.cnpj, e.razao_social, e.envio_suspenso, e.suspenso_em,
    (SELECT count(*) FROM nfse_emissao n WHERE n.prestador_id = e.id AND n.retida IN ('credencial', 'pessoa')
        AND n.proxima_acao_em IS NOT NULL) AS esperando
FROM empresa e WHERE e.envio_suspenso IS NOT NULL ORDER BY e.suspenso_em
""")


async def suspend(connection: Connection, empresa_id: int, canal: Canal, motivo: str) -> bool:
    """Stop the company's submissions by this channel; True when the company was not stopped before.

    Where two of its channels refuse us, the one that refused last is the one that is stopped.
    """
    values = {"empresa_id": empresa_id, "canal": written(canal), "motivo": motivo}
    return bool((await connection.execute(_SUSPEND, values)).scalar_one())


async def take_probe(connection: Connection, empresa_id: int, canal: Canal) -> bool:
    """Let one emission try whether we are still refused; True also when this channel is no longer stopped."""
    values = {"empresa_id": empresa_id, "canal": written(canal)}
    return (await connection.execute(_PROBE, values)).rowcount == 1


async def lift(connection: Connection, empresa_id: int, motivo: str | None = None, canal: Canal | None = None) -> int:
    """Let the company send again; what waited for it, of any age, is due now, and what is unknown. Says how many notes.

    Where it was not stopped no cause ends: what its person was asked about keeps its time.
    ``motivo``: companies that were stopped for the same reason get their probe now. ``canal``: only what goes by it,
    for that is what was heard; a repair is of all of them.
    """
    values = {"empresa_id": empresa_id, "canal": written(canal) if canal is not None else None}
    parada = (await connection.execute(_LIFT, values)).rowcount == 1
    if motivo is not None:
        await connection.execute(_OTHERS, {"motivo": motivo})
    due = (await connection.execute(_DUE, {**values, "parada": parada})).rowcount
    await connection.execute(_CANCELLATIONS, {**values, "parada": parada})
    return due + (await connection.execute(_UNKNOWN, {"empresa_id": empresa_id})).rowcount


async def suspended(connection: Connection) -> list[Any]:
    """List stopped companies, the longest first: why, since when, and how many emissions wait (``esperando``)."""
    return list(await connection.execute(_LIST))


_LAYOUT = sa.text("SELECT escolha, parado_em IS NOT NULL AS parado FROM nacional_leiaute WHERE ambiente = :ambiente")
# Chosen by itself only where nobody chose before: the second refusal stops.
_STOP_LAYOUT = sa.text("""
INSERT INTO nacional_leiaute AS n (ambiente, escolha, parado_em, detalhe, quem)
VALUES (:ambiente, :sozinho, CASE WHEN CAST(:sozinho AS text) IS NULL THEN now() END, :detalhe,
    CASE WHEN CAST(:sozinho AS text) IS NOT NULL THEN 'Prosa' END)
ON CONFLICT (ambiente) DO UPDATE SET parado_em = now(), detalhe = excluded.detalhe, alterado_em = now()
WHERE n.parado_em IS NULL
RETURNING true
""")
_CHOOSE_LAYOUT = sa.text("""
INSERT INTO nacional_leiaute (ambiente, escolha, quem) VALUES (:ambiente, :escolha, :quem)
ON CONFLICT (ambiente) DO UPDATE SET escolha = excluded.escolha, quem = excluded.quem, parado_em = NULL,
    alterado_em = now()
""")
_WAITED_FOR_IT = sa.text("""
UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id IN (
    SELECT id FROM nfse_emissao
    WHERE retida = 'leiaute' AND proxima_acao_em IS NOT NULL AND coalesce(ambiente, :ambiente) = :ambiente
    FOR UPDATE SKIP LOCKED
)
""")
_STOPPED_LAYOUTS = sa.text("SELECT * FROM nacional_leiaute ORDER BY ambiente")


async def layout(connection: Connection, ambiente: Ambiente) -> tuple[Any, bool]:
    """Return the layout that was chosen for an environment (``1.01``, ``nt009`` or none), and whether it is stopped."""
    row = (await connection.execute(_LAYOUT, {"ambiente": ambiente.value})).one_or_none()
    return (row.escolha, row.parado) if row else (None, False)


async def stop_layout(connection: Connection, ambiente: Ambiente, detalhe: str, sozinho: str | None) -> bool:
    """Stop what is sent in an environment; with ``sozinho``, and nothing chosen before, that layout goes on instead.

    Returns whether this is news.
    """
    values = {"ambiente": ambiente.value, "detalhe": detalhe, "sozinho": sozinho}
    return (await connection.execute(_STOP_LAYOUT, values)).one_or_none() is not None


async def choose_layout(connection: Connection, ambiente: Ambiente, escolha: str, quem: str) -> None:
    """Have an environment issue in this layout from now on; what waited for it is looked at now."""
    await connection.execute(_CHOOSE_LAYOUT, {"ambiente": ambiente.value, "escolha": escolha, "quem": quem})
    await connection.execute(_WAITED_FOR_IT, {"ambiente": ambiente.value})


async def layouts(connection: Connection) -> list[Any]:
    """Return each environment of which somebody chose the layout, or which is stopped."""
    return list(await connection.execute(_STOPPED_LAYOUTS))
