"""Finds everything held about one person, by phone, by conversation or by CPF, and copies it out.

Erases a person in the caller's transaction, and tells what stands in the way; fiscal documents stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from persistence.db.connection import Connection
from persistence.people.companies import PhoneError, canonical_phone
from persistence.people.parts import APAGADA, DO_CPF, DO_EMAIL, DO_TELEFONE, Parte
from persistence.tables.base import literals
from state_machine.cancellation.machine import VIVOS
from state_machine.invoice.session import COM_AUTORIDADE, ESPERAM_USUARIO
from state_machine.mailing.reading import NotAnAddressError, normalised
from state_machine.protocol.emission import COM_PESSOAS, ENCERRADAS
from state_machine.values.documents import CPF, DocumentoInvalido
from state_machine.values.errors import ProsaError

# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound


END_OF_A_PHONE = 8  # digits; what every way of writing one number has in common, and what the index holds


class UnreadablePersonError(ProsaError, ValueError):
    """The text is no phone with country code, no CPF, no e-mail address and no code of a conversation."""

    code = "unreadable_person"


@dataclass(frozen=True, slots=True)
class Pessoa:
    """Somebody, by what finds their rows.

    ``cpf`` is set for an invoice's customer, with the ``emails`` that are known of it; these alone for whoever stands
    only on a list; else it is who writes to us.
    """

    conversas: tuple[str, ...] = ()
    codigos: tuple[str, ...] = ()  # of those conversations, for the audit
    destinos: tuple[str, ...] = ()  # as Meta names them in the ticks of messages to them
    sessoes: tuple[str, ...] = ()
    usuarios: tuple[int, ...] = ()
    cpf: str | None = None
    emails: tuple[str, ...] = ()  # normalised

    @property
    def por(self) -> str:
        """What they were found by, for the audit."""
        if self.cpf:
            return "cpf"
        return "email" if self.emails else "telefone"

    @property
    def partes(self) -> tuple[Parte, ...]:
        """The kinds of rows in which such a person may stand."""
        if self.cpf:
            return DO_CPF
        return DO_EMAIL if self.emails else DO_TELEFONE

    @property
    def valores(self) -> dict[str, Any]:
        """What the conditions of ``partes`` are bound to."""
        return {
            "conversas": list(self.conversas),
            "destinos": list(self.destinos),
            "sessoes": list(self.sessoes),
            "usuarios": list(self.usuarios),
            "cpf": self.cpf or "",
            "emails": list(self.emails),
            "escrito": _written(self.cpf) if self.cpf else "",
        }


def statement(texto: str, valores: dict[str, Any]) -> sa.TextClause:
    """Return one statement bound to those of ``valores`` that it names."""
    named = [name for name in valores if re.search(rf"(?<!:):{name}\b", texto)]
    types: dict[str, Any] = {"usuarios": sa.ARRAY(sa.BigInteger), "cpf": sa.Text, "escrito": sa.Text}
    binds: list[sa.BindParameter[Any]] = [
        sa.bindparam(name, valores[name], types.get(name, sa.ARRAY(sa.Text))) for name in named
    ]
    return sa.text(texto).bindparams(*binds)


async def find(connection: Connection, texto: str) -> Pessoa:
    """Return whose rows these are; one without any is nobody that we know. Raises ``UnreadablePersonError``."""
    limpo = texto.strip()
    try:
        return await _customer(connection, CPF(limpo).numero)
    except DocumentoInvalido:
        pass
    if "@" in limpo:
        try:
            return Pessoa(emails=(normalised(limpo),))
        except NotAnAddressError as error:
            raise UnreadablePersonError(limpo) from error
    try:
        return await _writer(connection, "codigo = CAST(:quem AS uuid)", str(UUID(limpo)), None)
    except ValueError:
        pass
    try:
        telefone = canonical_phone(limpo)
    except PhoneError as error:
        raise UnreadablePersonError(limpo) from error
    return await _writer(connection, "right(wa_id, 8) = :quem", telefone[-END_OF_A_PHONE:], telefone)


async def count(connection: Connection, pessoa: Pessoa) -> dict[str, int]:
    """Count the rows of each part, those that stay too."""
    counted = {}
    for parte in pessoa.partes:
        found = statement(f"SELECT count(*) FROM {parte.tabela} t WHERE {parte.onde}", pessoa.valores)
        counted[parte.nome] = int((await connection.execute(found)).scalar_one())
    return counted


async def _writer(connection: Connection, onde: str, quem: str, telefone: str | None) -> Pessoa:
    rows = await connection.execute(
        sa.text(f"SELECT conversa, codigo, phone_number_id, wa_id, usuario_id FROM conversas WHERE {onde}"),
        {"quem": quem},
    )
    spoken = [row for row in rows if telefone is None or _same(row.wa_id, telefone)]
    phones = {canonical_phone(row.wa_id) for row in spoken if row.wa_id} | ({telefone} if telefone else set())
    known = await connection.execute(
        sa.text("SELECT id FROM usuario WHERE telefone = ANY(:phones)"), {"phones": sorted(phones)}
    )
    usuarios = tuple(sorted({row.id for row in known} | {row.usuario_id for row in spoken if row.usuario_id}))
    # A number that Meta came to hide goes on under another key: it is the same person.
    others = await connection.execute(
        sa.text("SELECT conversa, codigo, phone_number_id, wa_id FROM conversas WHERE usuario_id = ANY(:usuarios)"),
        {"usuarios": list(usuarios)},
    )
    all_ = {row.conversa: row for row in (*spoken, *others)}
    sessions = await connection.execute(
        sa.text("SELECT sessao_id FROM session_snapshot WHERE conversa = ANY(:conversas) ORDER BY id"),
        {"conversas": list(all_)},
    )
    return Pessoa(
        conversas=tuple(all_),
        codigos=tuple(str(row.codigo) for row in all_.values()),
        destinos=tuple(sorted({who for row in all_.values() for who in _addresses(row)} | phones)),
        sessoes=tuple(sessions.scalars()),
        usuarios=usuarios,
    )


async def _customer(connection: Connection, cpf: str) -> Pessoa:
    values = {"cpf": cpf, "escrito": _written(cpf)}
    # Reads every message once: somebody may have been named without any invoice having come of it.
    found = await connection.execute(
        sa.text("""
            SELECT conversa FROM session_snapshot WHERE cnpj = :cpf
            UNION SELECT s.conversa FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id
                WHERE e.tomador_documento = :cpf
            UNION SELECT lane FROM inbox WHERE tipo = 'mensagem' AND payload::text ~ :escrito
        """),
        values,
    )
    conversas = list(found.scalars())
    sessions = await connection.execute(
        sa.text("""
            SELECT sessao_id FROM session_snapshot s WHERE conversa = ANY(:conversas) AND (cnpj = :cpf
                OR cnpj_extracted ~ :escrito OR rascunho::text ~ :escrito OR descricao ~ :escrito
                OR EXISTS (SELECT FROM nfse_emissao e WHERE e.session_id = s.id AND e.tomador_documento = :cpf))
            ORDER BY id
        """),
        {**values, "conversas": conversas},
    )
    emails = await connection.execute(
        sa.text("""
            SELECT lower(email) FROM clientes WHERE documento = :cpf AND email IS NOT NULL
            UNION SELECT lower(email) FROM cliente_tomador WHERE cnpj = :cpf AND email IS NOT NULL
        """),
        {"cpf": cpf},
    )
    return Pessoa(
        conversas=tuple(conversas), sessoes=tuple(sessions.scalars()), cpf=cpf, emails=tuple(sorted(emails.scalars()))
    )


def _written(cpf: str) -> str:
    """Return the regular expression of every way in which people write a CPF."""
    return "[ .]*".join((cpf[:3], cpf[3:6], cpf[6:9])) + "[ .-]*" + cpf[9:]


def _same(wa_id: str | None, telefone: str) -> bool:
    try:
        return wa_id is not None and canonical_phone(wa_id) == telefone
    except PhoneError:
        return False


def _addresses(row: Any) -> list[str]:
    user = row.conversa.removeprefix(f"{row.phone_number_id}:")
    return [who for who in (user, row.wa_id) if who]


# Bytes leave as what they are: the request as its JSON text, a file in base64.
_ROW = {
    "nfse_emissao": "to_jsonb(t) || jsonb_build_object('bytes', convert_from(t.bytes, 'UTF8'))",
    "nfse_documento": "to_jsonb(t) || jsonb_build_object('conteudo', encode(t.conteudo, 'base64'))",
}


async def export(connection: Connection, pessoa: Pessoa) -> dict[str, list[Any]]:
    """Return the rows of each part, by its name, as plain data for a JSON file; nothing is masked."""
    copied: dict[str, list[Any]] = {}
    for parte in pessoa.partes:
        row = _ROW.get(parte.tabela, "to_jsonb(t)")
        found = statement(f"SELECT {row} FROM {parte.tabela} t WHERE {parte.onde}", pessoa.valores)
        copied[parte.nome] = list((await connection.execute(found)).scalars())
    return copied


_IN_PROCESS = f"""
SELECT DISTINCT e.sessao_id FROM nfse_emissao e LEFT JOIN resolvida r ON r.sessao_id = e.sessao_id
WHERE e.sessao_id = ANY(:sessoes) AND (e.proxima_acao_em IS NOT NULL
    OR e.status NOT IN ({literals(ENCERRADAS | COM_PESSOAS)})
    OR (e.status IN ({literals(COM_PESSOAS)}) AND r.em IS NULL))
UNION SELECT sessao_id FROM session_snapshot WHERE sessao_id = ANY(:sessoes)
    AND estado IN ({literals(COM_AUTORIDADE)})
"""
_CANCELLING = f"""
SELECT DISTINCT e.sessao_id FROM cancelamento c JOIN nfse_emissao e ON e.id = c.emissao_id
WHERE e.sessao_id = ANY(:sessoes) AND c.estado IN ({literals(VIVOS)})
"""
_OPEN = f"""
SELECT sessao_id FROM session_snapshot WHERE sessao_id = ANY(:sessoes)
    AND estado IN ({literals(ESPERAM_USUARIO)})
"""
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
"""
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
