"""Shows and sets the channel by which a company issues, from what an operator typed; checks all of it first."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from gateway.registry import ChannelRow
from operations.company import left_out, one_series
from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.audit.records import COMMAND_LINE, Author
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people import channels, goods
from persistence.tables import empresa
from state_machine.protocol.channel import Ambiente, Canal, Natureza, TipoDocumento
from state_machine.values.documents import CNPJ, DocumentoInvalido

Word = TypeVar("Word", bound=StrEnum)
KnownChannels: TypeAlias = "Mapping[str, ChannelRow]"
_QUEM_NUMERA = {"channel": "o canal numera", "company": "a empresa decide quem numera", "we": "a Prosa numera"}
_LISTS = {
    "days": "lista notas por dia",
    "documents": "lista o que se emitiu e cancelou",
    None: "não lista notas: a conferência não alcança",
}


async def show(database: Database, natures: Mapping[str, Natureza], cnpj: str, documento: str) -> list[str]:
    """Say by which channel the company issues a kind of document. Raises ``CommandRefusedError``."""
    tipo = _word(TipoDocumento, documento, "--documento")
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        canal = await channels.chosen(connection, company.id, tipo)
    if canal.nome not in natures:
        raise CommandRefusedError(
            f"{company.razao_social}: canal {canal.nome}, que esta versão não conhece. Escolha outro."
        )
    return [_told(company.razao_social, tipo, canal, natures[canal.nome])]


async def choose(
    database: Database,
    natures: Mapping[str, Natureza],
    *,
    cnpj: str,
    documento: str,
    nome: str,
    ambiente: str | None,
    rows: KnownChannels = MappingProxyType({}),
) -> list[str]:
    """Do ``choose_for`` for the company with a CNPJ as typed."""
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        return await choose_for(
            connection, company, natures, documento=documento, nome=nome, ambiente=ambiente, rows=rows
        )


async def choose_for(
    connection: Connection,
    company: Any,
    natures: Mapping[str, Natureza],
    *,
    documento: str,
    nome: str,
    ambiente: str | None,
    rows: KnownChannels = MappingProxyType({}),
    author: Author = COMMAND_LINE,
) -> list[str]:
    """Set it for what the company issues from now on, audited. Raises ``CommandRefusedError``: nothing changed.

    ``rows`` say what a channel asks of a company's registration.
    """
    tipo = _word(TipoDocumento, documento, "--documento")
    canal = Canal(nome, _word(Ambiente, ambiente, "--ambiente") if ambiente is not None else None)
    natureza = natures.get(nome)
    if natureza is None:
        raise CommandRefusedError(f"Não há canal {nome}; há {', '.join(natures)}. Nada mudou.")
    if canal.ambiente is not None and natureza.environments == "installation":
        raise CommandRefusedError(
            f"O canal {nome} tem um ambiente só, o da instalação (PROSA_FISCAL_ENVIRONMENT): escolha sem --ambiente. "
            "Nada mudou."
        )
    if natureza.documento is not tipo:
        raise CommandRefusedError(
            f"O canal {nome} emite documentos de {natureza.documento}, não de {tipo}. Nada mudou."
        )
    if tipo is not TipoDocumento.SERVICO and await goods.seller(connection, company.id) is None:
        raise CommandRefusedError(
            f"Diga antes a inscrição estadual: prosa empresa add … --canal {nome} --inscricao-estadual. Nada mudou."
        )
    if natureza.numbers == "we" and tipo is TipoDocumento.SERVICO and company.serie_rps is None:
        raise CommandRefusedError(
            f"No canal {nome} a Prosa numera. Diga antes a série: prosa empresa add … --serie-rps. Nada mudou."
        )
    complaint = rows[nome].unfit(company) if nome in rows else None
    if complaint is not None:
        raise CommandRefusedError(f"Antes de mudar o canal, acerte isto: {complaint}. Nada mudou.")
    of_service = tipo is TipoDocumento.SERVICO
    if (
        of_service
        and company.serie_rps is not None
        and (await channels.chosen(connection, company.id, tipo)).nome != nome
    ):
        serie = one_series(natureza, company.serie_rps)
        await connection.execute(empresa.update().where(empresa.c.id == company.id).values(serie_rps=serie))
    await channels.choose(connection, company.id, canal, tipo)
    detalhe = {"documento": tipo, "canal": canal.nome, "ambiente": canal.ambiente}
    await audit.write_by(connection, author, "mudou o canal", company.id, detalhe)
    told = [_told(company.razao_social, tipo, canal, natureza), "As notas já confirmadas seguem no canal delas."]
    return [*told, *await left_out(connection, rows.get(nome), company)]


async def left_out_of(database: Database, rows: KnownChannels, cnpj: str) -> list[str]:
    """Say what the notes of a company with a CNPJ as typed will lack on the channel by which it issues services."""
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        chosen = await channels.chosen(connection, company.id)
        return await left_out(connection, rows.get(chosen.nome), company)


async def company_of(connection: Connection, cnpj: str) -> Any:
    """Return the row of the company with a CNPJ as typed. Raises ``CommandRefusedError``."""
    try:
        found = await channels.company(connection, CNPJ(cnpj).numero)
    except DocumentoInvalido as error:
        raise CommandRefusedError(f"{cnpj} não é um CNPJ válido; nada mudou.") from error
    if found is None:
        raise CommandRefusedError(f"Nenhuma empresa com o CNPJ {cnpj}; nada mudou.")
    return found


def _word(words: type[Word], said: str, option: str) -> Word:
    try:
        return words(said)
    except ValueError:
        raise CommandRefusedError(f"{option} é um destes: {', '.join(words)}. Nada mudou.") from None


def _told(razao_social: str, tipo: TipoDocumento, canal: Canal, natureza: Natureza) -> str:
    said = [
        f"{razao_social}: documentos de {tipo} pelo canal {canal.nome}, ambiente {canal.ambiente or 'da instalação'}",
        _QUEM_NUMERA[natureza.numbers],
        "responde na hora" if natureza.synchronous else "responde depois",
        "avisa por webhook" if natureza.webhook else "não avisa: a Prosa pergunta",
        _LISTS[natureza.lists_by],
    ]
    return "; ".join(said) + "."
