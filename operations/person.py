"""Answers a person's LGPD request: a copy of everything, or an erasure with its audit.

``prosa contatos``: shows staff who wrote from a number that no company knows.

What an authority is told of a company that issues: its registration, as an invoice carries it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.conversations import conversations
from persistence.db.clock import database_now
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people.companies import Empresa
from persistence.people.person import Impedimentos, Pessoa, UnreadablePersonError, count, erase, export, find, obstacles
from state_machine.documents import Prestador, Tributos
from state_machine.services.codes import Servico


async def show_unknown(database: Database) -> None:
    """Print a table, the most recent first."""
    async with database.transaction() as connection:
        rows = await conversations.unknown_contacts(connection)
    if not rows:
        Console().print("Nenhum número desconhecido escreveu.")
        return
    table = Table("Telefone", "Nome no perfil", "Mensagens", "Última", title="Números sem empresa")
    for row in rows:
        ultima = row.ultima_entrada_em.strftime("%d/%m/%Y %H:%M UTC")
        table.add_row(row.wa_id or row.endereco, row.nome_perfil or "", str(row.mensagens), ultima)
    Console().print(table)
    Console().print("Para liberar um número: prosa empresa add … --usuario +<telefone>")


def issuer_of(empresa: Empresa, servico: Servico) -> Prestador:
    """Return who issues an invoice of one of the company's services; a burden that is told in part is not told."""
    burden = (empresa.tributos_federal, empresa.tributos_estadual, empresa.tributos_municipal)
    told = [part for part in burden if part is not None]
    return Prestador(
        cnpj=empresa.cnpj,
        razao_social=empresa.razao_social,
        inscricao_municipal=empresa.inscricao_municipal,
        municipio_ibge=empresa.municipio_ibge,
        regime=empresa.regime,
        codigo_servico=servico.codigo,
        cnae=empresa.cnae,
        aliquota=empresa.aliquota,
        tributos_sn=empresa.tributos_sn,
        tributos=Tributos(*told) if len(told) == len(burden) else None,
        informa_im=empresa.informa_im,
        codigo_nbs=servico.nbs,
        ibs_cbs=servico.grupo,
        apuracao_ibscbs=empresa.apuracao_ibscbs,
        atividade_sn=servico.atividade_sn,
    )


SEM_REDE = "linha de comando"  # who asks, where no account of the console does


class PersonError(CommandRefusedError):
    """The request can't be answered, and the text says why; nothing was changed."""

    code = "person"


@dataclass(frozen=True, slots=True)
class Pedinte:
    """Who answers the request, for the audit."""

    nome: str = SEM_REDE
    staff_id: int | None = None


@dataclass(frozen=True, slots=True)
class Ensaio:
    """What an erasure would do: rows by part with what becomes of them, and what has to end first."""

    linhas: tuple[tuple[str, int, str], ...]
    impedimentos: tuple[str, ...]
    conversas: tuple[str, ...] = ()  # whose live sessions go after the commit: ``LiveSessions.erase``

    @property
    def vazio(self) -> bool:
        """Nothing is held, or only what the law wants kept."""
        return not any(quantas for _, quantas, _ in self.linhas)


async def copy(connection: Connection, texto: str, motivo: str, quem: Pedinte) -> dict[str, Any]:
    """Return everything held about a person, and note in the audit that it was taken. Raises ``PersonError``."""
    pessoa = await _person(connection, texto)
    partes = await export(connection, pessoa)
    detalhe = {nome: len(rows) for nome, rows in partes.items() if rows}
    await _audit(connection, pessoa, acao="exportar pessoa", motivo=motivo, quem=quem, partes=detalhe)
    return {"gerado_em": (await database_now(connection)).isoformat(), "dados": partes}


async def rehearse(connection: Connection, texto: str) -> Ensaio:
    """Return what an erasure would do now. Raises ``PersonError``."""
    return await _rehearsal(connection, await _person(connection, texto))


async def remove(connection: Connection, texto: str, motivo: str, quem: Pedinte) -> Ensaio:
    """Erase the person and write the audit in the same transaction; returns what was done. Raises ``PersonError``.

    What Redis holds is the caller's to erase (``LiveSessions.erase``), once this is committed.
    """
    pessoa = await _person(connection, texto)
    ensaio = await _rehearsal(connection, pessoa)
    if ensaio.impedimentos:
        raise PersonError(" ".join(("Nada foi apagado.", *ensaio.impedimentos)))
    await erase(connection, pessoa)
    done = {nome: quantas for nome, quantas, _ in ensaio.linhas if quantas}
    await _audit(connection, pessoa, acao="apagar pessoa", motivo=motivo, quem=quem, partes=done)
    return ensaio


async def _person(connection: Connection, texto: str) -> Pessoa:
    try:
        return await find(connection, texto)
    except UnreadablePersonError as error:
        raise PersonError(
            "Diga um telefone com o país, como +5511912345678, um CPF, um e-mail, ou o código de uma conversa. "
            "Nada mudou."
        ) from error


async def _rehearsal(connection: Connection, pessoa: Pessoa) -> Ensaio:
    counted = await count(connection, pessoa)
    linhas = tuple((parte.nome, counted[parte.nome], parte.destino) for parte in pessoa.partes)
    return Ensaio(linhas, tuple(_words(await obstacles(connection, pessoa))), pessoa.conversas)


def _words(entre: Impedimentos) -> list[str]:
    said = []
    if entre.em_emissao:
        said.append(
            f"Há nota sem fim ({', '.join(entre.em_emissao)}): consulte no gateway e espere o resultado; "
            "se foi decidido que não sairá, encerre no console."
        )
    if entre.cancelando:
        said.append(f"Há cancelamento sem resposta ({', '.join(entre.cancelando)}): espere a prefeitura responder.")
    if entre.abertas:
        said.append(f"Há nota esperando a pessoa ({', '.join(entre.abertas)}): encerre no console, ou espere vencer.")
    if entre.ocupada and not said:
        said.append("A conversa está sendo atendida agora: tente de novo em um minuto.")
    return said


async def _audit(
    connection: Connection, pessoa: Pessoa, *, acao: str, motivo: str, quem: Pedinte, partes: dict[str, int]
) -> None:
    """Write who asked for what and how much it was; a code names the conversation, and nothing names a customer."""
    await audit.write(
        connection,
        staff_id=quem.staff_id,
        quem=quem.nome,
        acao=acao,
        alvo=pessoa.codigos[0] if pessoa.codigos else None,
        motivo=motivo,
        detalhe={"por": pessoa.por, "conversas": list(pessoa.codigos), "linhas": partes},
    )
