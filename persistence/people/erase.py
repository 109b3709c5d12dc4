"""Erases a person in the caller's transaction, and tells what stands in the way; fiscal documents stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from persistence.people.parts import APAGADA
from persistence.people.person import statement
from persistence.versions import literals
from state_machine.cancellation.machine import VIVOS
from state_machine.machine.states import COM_AUTORIDADE, ESPERAM_USUARIO
from state_machine.protocol.emission import COM_PESSOAS, ENCERRADAS

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.people.person import Pessoa

_IN_PROCESS = f"""
SELECT DISTINCT e.sessao_id FROM nfse_emissao e LEFT JOIN resolvida r ON r.sessao_id = e.sessao_id
WHERE e.sessao_id = ANY(:sessoes) AND (e.proxima_acao_em IS NOT NULL
    OR e.status NOT IN ({literals(ENCERRADAS | COM_PESSOAS)})
    OR (e.status IN ({literals(COM_PESSOAS)}) AND r.em IS NULL))
UNION SELECT sessao_id FROM session_snapshot WHERE sessao_id = ANY(:sessoes)
    AND estado IN ({literals(COM_AUTORIDADE)})
"""  # noqa: S608 - our own constants
_CANCELLING = f"""
SELECT DISTINCT e.sessao_id FROM cancelamento c JOIN nfse_emissao e ON e.id = c.emissao_id
WHERE e.sessao_id = ANY(:sessoes) AND c.estado IN ({literals(VIVOS)})
"""  # noqa: S608 - our own constants
_OPEN = f"""
SELECT sessao_id FROM session_snapshot WHERE sessao_id = ANY(:sessoes)
    AND estado IN ({literals(ESPERAM_USUARIO)})
"""  # noqa: S608 - our own constants
_BUSY = """
SELECT lane FROM lanes WHERE lane = ANY(:conversas) AND lease_until > now()
UNION SELECT lane FROM inbox WHERE lane = ANY(:conversas) AND estado = 0
UNION SELECT conversa FROM outbox WHERE conversa = ANY(:conversas) AND run_at IS NOT NULL
"""
_LOCK = "SELECT lane FROM lanes WHERE lane = ANY(:conversas) ORDER BY lane FOR UPDATE"
_STAND_INS = f"""
INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em, mensagens, criado_em)
SELECT '{APAGADA}' || codigo, phone_number_id, 'apagado', ultima_entrada_em, mensagens, criado_em
FROM conversas WHERE conversa = ANY(:conversas)
"""  # noqa: S608 - words of ours
_SAME_CODES = "UPDATE conversas SET codigo = CAST(substr(conversa, 9) AS uuid) WHERE conversa = ANY(:conversas)"


@dataclass(frozen=True, slots=True)
class Impedimentos:
    """Why nothing may be erased now: sessions whose invoice is under way, and whether something is being done."""

    em_emissao: tuple[str, ...]
    cancelando: tuple[str, ...]
    abertas: tuple[str, ...]
    ocupada: bool

    def __bool__(self) -> bool:
        """Tell whether anything stands in the way."""
        return bool(self.em_emissao or self.cancelando or self.abertas or self.ocupada)


async def obstacles(connection: Connection, pessoa: Pessoa) -> Impedimentos:
    """Return what must end first. The conversations stay locked, so that no turn begins before the commit."""
    values = pessoa.valores
    await connection.execute(statement(_LOCK, values))

    async def found(texto: str) -> tuple[str, ...]:
        return tuple((await connection.execute(statement(texto, values))).scalars())

    return Impedimentos(
        em_emissao=await found(_IN_PROCESS),
        cancelando=await found(_CANCELLING),
        abertas=await found(_OPEN),
        ocupada=bool(await found(_BUSY)),
    )


async def erase(connection: Connection, pessoa: Pessoa) -> None:
    """Erase, or strip of the person, every row that the law does not want kept; a second time changes nothing more."""
    if not pessoa.cpf:
        await connection.execute(statement(_STAND_INS, pessoa.valores))
    for parte in pessoa.partes:
        if parte.apaga:
            await connection.execute(statement(parte.apaga, pessoa.valores))
    if not pessoa.cpf:  # the audit names a conversation by its code: it goes on meaning this one
        stand_ins = [f"{APAGADA}{codigo}" for codigo in pessoa.codigos]
        await connection.execute(sa.text(_SAME_CODES), {"conversas": stand_ins})
