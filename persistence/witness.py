"""What proves that this database is the one that was written to: its server, its beat, and words kept outside of it.

Keeps which numbers beyond our counters the authority was seen to know, and whose each of them is.

The row that knows on which server this database was written, compared with the server and with what we remember.

Keeps the last word about the database's history where its loss is not theirs: in Redis, and in a file.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Collection
from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
import structlog
from redis.exceptions import RedisError

from persistence.conversations.sessions import RedisLine
from persistence.db.connection import Connection
from persistence.fiscal.numbering import Sequencia

_KEEP = sa.text("""
INSERT INTO numero_visto (empresa_id, municipio, serie, ambiente, numero, referencia)
VALUES (:empresa_id, :municipio, :serie, :ambiente, :numero, :referencia)
ON CONFLICT (empresa_id, municipio, serie, ambiente, numero) DO UPDATE SET referencia = excluded.referencia,
    visto_em = now()
""")
_FIND = sa.text("""
SELECT v.serie, v.numero, v.referencia FROM numero_visto v
WHERE v.empresa_id = :empresa_id AND v.municipio = :municipio AND v.ambiente = :ambiente
    AND v.referencia = ANY(CAST(:referencias AS text[]))
    AND NOT EXISTS (SELECT FROM numeracao n JOIN numeracao_uso u ON u.numeracao_id = n.id AND u.numero = v.numero
        WHERE n.empresa_id = v.empresa_id AND n.municipio = v.municipio AND n.serie = v.serie
            AND n.ambiente = v.ambiente AND u.emissao_id IS NOT NULL)
ORDER BY v.numero DESC LIMIT 1
""")
# The number was explained as used beyond the copy; now it is known by whom.
_TAKE = sa.text("""
UPDATE numeracao_uso u SET inutilizado_em = NULL, motivo = NULL FROM numeracao n
WHERE n.id = u.numeracao_id AND u.numero = :numero AND u.emissao_id IS NULL
    AND n.empresa_id = :empresa_id AND n.municipio = :municipio AND n.serie = :serie AND n.ambiente = :ambiente
""")
_BEGIN_SEQUENCE = sa.text("""
WITH nova AS (
    INSERT INTO numeracao (empresa_id, modelo, municipio, serie, ambiente, primeiro, ultimo)
    VALUES (:empresa_id, :modelo, :municipio, :serie, :ambiente, :numero, :numero)
    ON CONFLICT DO NOTHING RETURNING id
), usada AS (
    INSERT INTO numeracao_uso (numeracao_id, numero, inutilizado_em, motivo)
    SELECT id, :numero, now(), :motivo FROM nova
)
SELECT id FROM nova
""")


async def keep(connection: Connection, sequencia: Sequencia, numero: int, referencia: str | None) -> None:
    """Note that a note stands under the number; ``referencia`` is what it carries, ``None`` where it carries none."""
    values = {**asdict(sequencia), "numero": numero, "referencia": referencia}
    await connection.execute(_KEEP, {name: values[name] for name in values if name != "modelo"})


async def number_of(
    connection: Connection, sequencia: Sequencia, referencias: Collection[str]
) -> tuple[str, int, str] | None:
    """Return series, number and reference of the note that carries one of these; in any series of the company.

    Not one that an emission of ours has taken in.
    """
    values = {
        "empresa_id": sequencia.empresa_id,
        "municipio": sequencia.municipio,
        "ambiente": sequencia.ambiente,
        "referencias": list(referencias),
    }
    row = (await connection.execute(_FIND, values)).one_or_none()
    return None if row is None else (row.serie, int(row.numero), row.referencia)


async def take(connection: Connection, sequencia: Sequencia, numero: int) -> None:
    """Let an intent be bound to a number that was explained as used beyond the copy."""
    values = {**asdict(sequencia), "numero": numero}
    await connection.execute(_TAKE, {name: values[name] for name in values if name != "modelo"})


async def begin(connection: Connection, sequencia: Sequencia, numero: int, motivo: str) -> int | None:
    """Begin a sequence that the copy does not know yet with a number used beyond it; ``None`` where it knows it."""
    found = (
        await connection.execute(_BEGIN_SEQUENCE, {**asdict(sequencia), "numero": numero, "motivo": motivo})
    ).scalars()
    return int(found[0]) if found else None


log = structlog.get_logger(__name__)

# The timeline is read of the log's position: the control file tells the new one only after a checkpoint. A server in
# recovery has none of its own, and takes no writes either.
_NOW: Final = """
SELECT (SELECT system_identifier::text FROM pg_control_system()) AS servidor,
    CASE WHEN NOT pg_is_in_recovery()
        THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS linha,
    (SELECT oid::text FROM pg_database WHERE datname = current_database()) || ':'
        || CAST('nfse_emissao'::regclass AS oid)::text AS banco,
    coalesce((SELECT max(id) FROM nfse_emissao), 0) AS emissao
"""
_LOOK = sa.text(f"""
SELECT agora.servidor AS servidor_agora, agora.linha AS linha_agora, agora.banco AS banco_agora, agora.emissao,
    coalesce((
        SELECT id FROM nfse_emissao WHERE xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
        ORDER BY id DESC LIMIT 1
    ), 0) AS gravada,
    h.id IS NOT NULL AS existe, h.servidor, h.linha, h.banco, h.batida, h.maior_emissao, h.suspeita, h.restaurado_em
FROM ({_NOW}) agora LEFT JOIN historia h ON h.id = 1
""")  # noqa: S608 - a constant of this module
_BEGIN = sa.text("""
INSERT INTO historia (servidor, linha, banco, maior_emissao, suspeita, suspeita_em)
VALUES (:servidor, :linha, :banco, :emissao, CAST(:suspeita AS text), CASE WHEN :suspeita IS NOT NULL THEN now() END)
ON CONFLICT DO NOTHING
""")
# What was read may have been accepted meanwhile: that history is not doubted for what the one before lacked.
_SUSPECT = sa.text("""
UPDATE historia SET suspeita = :suspeita, suspeita_em = now()
WHERE suspeita IS NULL AND restaurado_em IS NOT DISTINCT FROM :restaurado_em
""")
_DOUBTED = sa.text("SELECT clock_timestamp() - suspeita_em FROM historia WHERE suspeita IS NOT NULL")
_OPERATOR: Final = "restored"
_SAID = sa.text("UPDATE historia SET suspeita = :suspeita, suspeita_em = now() WHERE suspeita IS NULL")
_HELD = sa.text("SELECT restauro_desde IS NOT NULL FROM empresa WHERE id = :empresa")
_BEAT = sa.text("""
UPDATE historia SET batida = batida + 1,
    maior_emissao = greatest(maior_emissao, (SELECT coalesce(max(id), 0) FROM nfse_emissao))
WHERE suspeita IS NULL RETURNING batida, maior_emissao
""")
_ACCEPT = sa.text(f"""
UPDATE historia h SET servidor = agora.servidor, linha = agora.linha, banco = agora.banco,
    maior_emissao = agora.emissao, suspeita = NULL, suspeita_em = NULL, restaurado_em = clock_timestamp()
FROM ({_NOW}) agora
""")  # noqa: S608 - a constant of this module


@dataclass(frozen=True, slots=True)
class HistoryWord:
    """How far a history was seen: ``restored`` names it (microseconds of when it was accepted, 0 for the first)."""

    restored: int = 0
    beat: int = 0
    emission: int = 0

    def joined(self, other: HistoryWord) -> HistoryWord:
        """Return what both know together; of two histories the one accepted later counts."""
        if self.restored != other.restored:
            return max(self, other, key=lambda word: word.restored)
        return replace(self, beat=max(self.beat, other.beat), emission=max(self.emission, other.emission))

    def knows_more(self, other: HistoryWord) -> bool:
        """Tell whether the history of ``other`` lacks something that this one has seen."""
        if self.restored != other.restored:
            return self.restored > other.restored
        return self.beat > other.beat or self.emission > other.emission


@dataclass(frozen=True, slots=True)
class Standing:
    """How the history stands: ``doubt`` is why it may have forgotten something; when it was last accepted as it is."""

    doubt: str | None
    restored_at: datetime | None


class Witness:
    """What this process, and whoever told it, saw of the database; each look compares it with what is there now."""

    def __init__(self) -> None:
        self._seen = HistoryWord()

    def heard(self, word: HistoryWord) -> None:
        """Learn what was kept elsewhere."""
        self._seen = self._seen.joined(word)

    async def look_for(self, connection: Connection, empresa_id: int) -> Standing:
        """Compare likewise; a company that nobody could be asked about since a restore is in doubt by itself."""
        standing = await self.look(connection)
        held = standing.doubt is None and (await connection.execute(_HELD, {"empresa": empresa_id})).scalar_one()
        return replace(standing, doubt=_OPERATOR) if held else standing

    async def look(self, connection: Connection) -> Standing:
        """Compare in the caller's transaction, so on the server that it writes to; what is wrong is stored there.

        What is compared was known before the server is asked: meanwhile others may learn of more. What is learnt is
        what others committed (``gravada``): an invoice of this very transaction may yet be rolled back.
        """
        seen = self._seen
        row = (await connection.execute(_LOOK)).one()
        there = _word(row)
        doubt = row.suspeita or _doubt(row, there, seen)
        if not row.existe:
            values = {"servidor": row.servidor_agora, "linha": row.linha_agora, "banco": row.banco_agora}
            await connection.execute(_BEGIN, {**values, "emissao": row.emissao, "suspeita": doubt})
        elif doubt != row.suspeita:
            values = {"suspeita": doubt, "restaurado_em": row.restaurado_em}
            if (await connection.execute(_SUSPECT, values)).rowcount == 0:
                return await self.look(connection)
        if doubt != row.suspeita:
            log.error("history_in_doubt", reason=doubt)
        if doubt is None:
            self.heard(replace(there, emission=row.gravada))
        return Standing(doubt, row.restaurado_em)

    async def beat(self, connection: Connection) -> HistoryWord | None:
        """Move the row on, and return what is to be kept elsewhere; ``None`` while the history is in doubt."""
        if (await self.look(connection)).doubt is not None:
            return None
        row = (await connection.execute(_BEAT)).one_or_none()
        return None if row is None else replace(self._seen, beat=row.batida, emission=row.maior_emissao)


async def in_doubt_for(connection: Connection) -> timedelta:
    """Return for how long the history has been in doubt; zero where nobody has noticed."""
    return (await connection.execute(_DOUBTED)).scalar_one_or_none() or timedelta(0)


async def suspect(connection: Connection) -> None:
    """Doubt the history from now on, until ``accept``: a copy was put back, whoever noticed."""
    await Witness().look(connection)
    await connection.execute(_SAID, {"suspeita": _OPERATOR})


async def accept(connection: Connection) -> None:
    """Take the history as it is: an operator says so, or every number beyond it was looked for."""
    await Witness().look(connection)
    await connection.execute(_ACCEPT)


def _doubt(row: Any, there: HistoryWord, seen: HistoryWord) -> str | None:
    if not row.existe and not row.emissao:
        return None  # a new installation: there is nothing that it could have forgotten
    if row.existe and row.servidor != row.servidor_agora:
        return "another server"
    if row.existe and row.linha != row.linha_agora:
        return "another timeline"
    if row.existe and row.banco != row.banco_agora:
        return "another database"
    if seen.knows_more(there) or (row.existe and row.maior_emissao > row.emissao):
        return "something is missing"
    return None


def _word(row: Any) -> HistoryWord:
    restored = round(row.restaurado_em.timestamp() * 1_000_000) if row.restaurado_em else 0
    return HistoryWord(restored, row.batida or 0, row.emissao)


KEY: Final = "prosa:historia"
# A slow process does not put an older word over a newer one.
_NEWEST: Final = """
local known, old = pcall(cjson.decode, redis.call('GET', KEYS[1]) or '')
local new = cjson.decode(ARGV[1])
if known and type(old) == 'table' and #old == #new then
    for i = 1, #new do
        if old[i] ~= new[i] then
            if old[i] > new[i] then return end
            break
        end
    end
end
redis.call('SET', KEYS[1], ARGV[1])
"""


class Keepers:
    """Redis, and ``file`` where there is a place for one. Either may forget: then it says nothing, and harms nobody."""

    def __init__(self, line: RedisLine, file: Path | None = None) -> None:
        self._line = line
        self._file = file

    async def recall(self) -> HistoryWord:
        """Return what they know together."""
        told = HistoryWord()
        try:
            told = told.joined(_read(await self._line.ask("GET", KEY)))
        except RedisError as error:
            log.warning("witness_away", error=type(error).__name__)
        if self._file is not None:
            told = told.joined(await asyncio.to_thread(_read_file, self._file))
        return told

    async def keep(self, word: HistoryWord) -> None:
        """Let them know; one that is away hears the next word."""
        text = json.dumps(astuple(word))
        try:
            await self._line.ask("EVAL", _NEWEST, 1, KEY, text)
        except RedisError as error:
            log.warning("witness_away", error=type(error).__name__)
        if self._file is not None:
            await asyncio.to_thread(_write_file, self._file, text)


def _read(text: bytes | str | None) -> HistoryWord:
    try:
        restored, beat, emission = json.loads(text or "")
        return HistoryWord(int(restored), int(beat), int(emission))
    except (ValueError, TypeError):
        return HistoryWord()


def _read_file(file: Path) -> HistoryWord:
    try:
        return _read(file.read_bytes())
    except OSError:
        return HistoryWord()


def _write_file(file: Path, text: str) -> None:
    try:
        new = file.with_suffix(f".{os.getpid()}")  # processes of one machine share the file
        new.write_text(text)
        new.replace(file)
    except OSError as error:
        log.warning("witness_away", error=type(error).__name__)
