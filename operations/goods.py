"""A company that sells goods: what it says as a seller, and its products, from what an operator typed or sent."""

from __future__ import annotations

import asyncio
import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gateway.nfe.adapter import Sefaz
from gateway.nfe.outcome import Encerrado, Registered
from gateway.registry import Channels
from operations.channel import company_of
from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.audit.records import COMMAND_LINE, Author
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import notes, numbering
from persistence.fiscal.numbering import Modelo, NumeroOcupadoError, Sequencia
from persistence.people import goods
from persistence.people.channels import chosen
from persistence.people.goods import MOST
from state_machine.goods import COLUNAS, Produto, ProdutoInvalido, checked
from state_machine.protocol.channel import Canal, TipoDocumento
from state_machine.protocol.emission import Absent, Rejected, Unknown
from state_machine.values.money import formata_brl
from state_machine.values.text import single_line

LARGEST: Final = 5_000_000  # bytes of a list of products
_ASKED: Final = "inutilização pedida"  # begins the reason of a number whose answer is not known
_SHOWN: Final = 20  # rows that are refused, each with its sentence


async def add(database: Database, cnpj: str, dados: Mapping[str, str]) -> list[str]:
    """Keep one product of the company with a CNPJ as typed (texts by column). Raises ``CommandRefusedError``."""
    async with database.transaction() as connection:
        return await add_to(connection, await company_of(connection, cnpj), dados, COMMAND_LINE)


async def add_to(connection: Connection, company: Any, dados: Mapping[str, str], author: Author) -> list[str]:
    """Keep one product of a company (its row), as typed. Raises ``CommandRefusedError``."""
    try:
        novo = checked(dict(dados), company.regime)
    except ProdutoInvalido as error:
        raise CommandRefusedError(f"{error.campo} {dados.get(error.campo, '')}: {error}. Nada mudou.") from error
    await keep(connection, company, [novo], author)
    return [f"{company.razao_social}: {novo.codigo} – {novo.texto}, {formata_brl(novo.preco)} por {novo.unidade}."]


async def import_file(database: Database, cnpj: str, file: Path) -> list[str]:
    """Keep all products of a CSV (``;``) or XLSX, or none of them. Raises ``CommandRefusedError``: rows and fields."""
    try:
        content = await asyncio.to_thread(file.read_bytes)
    except OSError as error:
        raise CommandRefusedError(f"Não li {file}: {error.strerror}. Nada mudou.") from error
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        novos = read_list(file.name, content, company.regime)
        await keep(connection, company, novos, COMMAND_LINE)
    return [f"{company.razao_social}: {len(novos)} produtos guardados."]


async def show(database: Database, cnpj: str) -> list[str]:
    """List the company's products. Raises ``CommandRefusedError``."""
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        known = await goods.of_company(connection, company.id)
    told = [
        f"{each.codigo}  {each.texto}  NCM {each.ncm}  CFOP {each.cfop}  CSOSN {each.csosn}  "
        f"{formata_brl(each.preco)}/{each.unidade}"
        for each in known
    ]
    return [company.razao_social, *(told or ["Nenhum produto: prosa produtos add, ou produtos importar."])]


async def remove(database: Database, cnpj: str, codigo: str) -> list[str]:
    """Take one product away. Raises ``CommandRefusedError``."""
    async with database.transaction() as connection:
        return await remove_from(connection, await company_of(connection, cnpj), codigo, COMMAND_LINE)


async def remove_from(connection: Connection, company: Any, codigo: str, author: Author) -> list[str]:
    """Take one product of a company (its row) away. Raises ``CommandRefusedError``."""
    if not await goods.remove(connection, company.id, codigo):
        raise CommandRefusedError(f"{company.razao_social} não tem o produto {codigo}. Nada mudou.")
    await audit.write_by(connection, author, "tirou produto", company.id, {"codigo": codigo})
    return [f"{company.razao_social}: {codigo} não é mais oferecido; as notas já emitidas ficam como são."]


async def close_numbers(
    database: Database, channels: Channels, *, cnpj: str, modelo: str, serie: int, numeros: range, motivo: str
) -> list[str]:
    """Have the authority close numbers that have no note (inutilização); returns only where it answered 102.

    They are void here before it is asked, so that no invoice takes one meanwhile; a certain refusal takes that back.
    Raises ``CommandRefusedError``.
    """
    tipo = {"55": TipoDocumento.PRODUTO, "65": TipoDocumento.CONSUMIDOR}[modelo]
    texto = single_line(motivo)
    if not 15 <= len(texto) <= 255:  # noqa: PLR2004 - xJust
        raise CommandRefusedError("--motivo tem de 15 a 255 letras. Nada mudou.")
    pedido = f"{_ASKED}: {texto}"
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        gateway = channels.of(await chosen(connection, company.id, tipo))
        if gateway.natureza.documento is not tipo or not isinstance(gateway, Sefaz):
            raise CommandRefusedError(f"{company.razao_social} não emite pelo modelo {modelo}. Nada mudou.")
        place = company.municipio_ibge[:2]
        sequencia = Sequencia(company.id, place, str(serie), gateway.ambiente, Modelo(modelo))
        given = {numero: (why, chave) for numero, why, chave in await numbering.given(connection, sequencia, numeros)}
        asked = [why for why, _ in given.values() if why is not None and why.startswith(_ASKED)]
        again = len(asked) == len(numeros)
        if again:
            pedido = asked[0]
        else:
            try:
                await numbering.void(connection, sequencia, numeros, pedido)
            except NumeroOcupadoError as error:
                raise CommandRefusedError(
                    "Algum destes números tem nota, pode vir a ter, já está explicado ou nunca foi dado. Nada mudou."
                ) from error
    for numero, (_, chave) in given.items() if not again else ():
        if chave is not None and not isinstance(await gateway.find(gateway.key(company.cnpj, chave)), Absent):
            await _restate(database, sequencia, numeros, de=pedido, para=None)
            raise CommandRefusedError(f"A Sefaz não confirmou que o número {numero} está sem nota. Nada mudou.")
    answer = await gateway.close_numbers(company.cnpj, company.municipio_ibge, serie, numeros, texto)
    told = f"{numeros.start}" if len(numeros) == 1 else f"{numeros.start} a {numeros.stop - 1}"
    if isinstance(answer, Encerrado):
        await _restate(database, sequencia, numeros, de=pedido, para=f"inutilizado na Sefaz: {texto}")
        if answer.antes:
            raise CommandRefusedError(f"{told}: a Sefaz já tinha estes números inutilizados. Ficam explicados aqui.")
        return [f"{told}: inutilizado na Sefaz (102), protocolo {answer.protocolo or 'sem número'}."]
    if isinstance(answer, Unknown):
        raise CommandRefusedError(
            f"{told}: a Sefaz não respondeu ({answer.motivo}). Nenhuma nota usa estes números; peça de novo para saber."
        )
    await _restate(database, sequencia, numeros, de=pedido, para=None)
    why = answer.mensagem if isinstance(answer, Rejected) else answer.motivo
    raise CommandRefusedError(f"{told}: a Sefaz não inutilizou: {why}. Nada mudou.")


async def correct(database: Database, channels: Channels, *, cnpj: str, numero: str, texto: str) -> list[str]:
    """Have SEFAZ register a letter of correction of an NF-e, by its number or key. Raises ``CommandRefusedError``."""
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        gateway = channels.of(await chosen(connection, company.id, TipoDocumento.PRODUTO))
        found = await notes.external_ids(connection, company.id, Canal(gateway.name, gateway.ambiente), numero)
    if not isinstance(gateway, Sefaz) or not found:
        raise CommandRefusedError(f"{company.razao_social} não tem a NF-e {numero}. Nada mudou.")
    if len(found) > 1:
        raise CommandRefusedError(f"Mais de uma série tem a NF-e {numero}; diga a chave dela. Nada mudou.")
    answer = await gateway.correct(found[0], texto)
    if isinstance(answer, Unknown):
        raise CommandRefusedError(
            f"A Sefaz não respondeu ({answer.motivo}). Peça de novo, com o mesmo texto, para saber."
        )
    if not isinstance(answer, Registered):
        why = answer.mensagem if isinstance(answer, Rejected) else answer.motivo
        raise CommandRefusedError(f"A carta não foi registrada: {why}. Nada mudou.")
    told = {"numero": numero, "texto": texto, "protocolo": answer.protocolo}
    async with database.transaction() as connection:
        await audit.write_by(connection, COMMAND_LINE, "corrigiu nota", company.id, told)
    return [
        f"NF-e {numero}: carta de correção registrada, protocolo {answer.protocolo or 'já conhecido'}. Vale a última."
    ]


async def _restate(database: Database, sequencia: Sequencia, numeros: range, *, de: str, para: str | None) -> None:
    async with database.transaction() as connection:
        await numbering.restate(connection, sequencia, numeros, de=de, para=para)


def read_list(nome: str, content: bytes, regime: str) -> list[Produto]:
    """Read a list of products, CSV or XLSX. Raises ``CommandRefusedError``, which names each row and field."""
    if len(content) > LARGEST:
        raise CommandRefusedError("A lista tem mais de 5 MB. Nada mudou.")
    rows = _sheet(content) if content.startswith(b"PK") or nome.lower().endswith(".xlsx") else _csv(content)
    header = _header(rows)
    found: dict[str, Produto] = {}
    wrong: list[str] = []
    for line, cells in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        dados = dict(zip(header, cells, strict=False))
        try:
            novo = checked(dados, regime)
        except ProdutoInvalido as error:
            wrong.append(f"linha {line}, {error.campo}: {error}")
            continue
        if found.setdefault(novo.codigo, novo) is not novo:
            wrong.append(f"linha {line}, codigo: {novo.codigo} já está numa linha acima")
    if wrong:
        more = [f"e mais {len(wrong) - _SHOWN}"] if len(wrong) > _SHOWN else []
        raise CommandRefusedError("\n".join(["Nada mudou. Corrija e importe de novo:", *wrong[:_SHOWN], *more]))
    if not found:
        raise CommandRefusedError("A lista não tem nenhum produto. Nada mudou.")
    return list(found.values())


def _header(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns of a list. Raises ``CommandRefusedError`` where one lacks or is twice, or of too many rows."""
    header = [" ".join(name.split()).lower() for name in next(iter(rows), [])]
    if missing := [name for name in COLUNAS if name not in header]:
        raise CommandRefusedError(
            f"A lista pede as colunas {' '.join(COLUNAS)} na primeira linha; falta {', '.join(missing)}. Nada mudou."
        )
    if twice := [name for name in COLUNAS if header.count(name) > 1]:
        raise CommandRefusedError(f"Na linha 1, a coluna {', '.join(twice)} vem mais de uma vez. Nada mudou.")
    if len(rows) > MOST + 1:
        raise CommandRefusedError(
            f"A lista tem mais de {MOST} linhas, e uma empresa tem até {MOST} produtos. Nada mudou."
        )
    return header


async def keep(connection: Connection, company: Any, novos: Sequence[Produto], author: Author) -> None:
    """Keep products of a company (its row), those of a known code anew. Raises ``CommandRefusedError``."""
    if await goods.keep(connection, company.id, novos) > MOST:
        raise CommandRefusedError(f"Uma empresa tem até {MOST} produtos. Nada mudou.")
    texts = Counter(each.texto.casefold() for each in await goods.of_company(connection, company.id))
    if same := next((each.texto for each in novos if texts[each.texto.casefold()] > 1), None):
        raise CommandRefusedError(f"Dois produtos teriam o nome “{same}”, e a conversa não saberia qual. Nada mudou.")
    await audit.write_by(
        connection, author, "guardou produtos", company.id, {"codigos": [p.codigo for p in novos[:50]]}
    )


def _csv(content: bytes) -> list[list[str]]:
    try:
        texto = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        texto = content.decode("cp1252", "replace")  # as Excel writes a CSV in Brazil
    try:
        return list(csv.reader(io.StringIO(texto, newline=""), delimiter=";"))
    except csv.Error as error:
        raise CommandRefusedError("A lista não é um CSV separado por ponto e vírgula. Nada mudou.") from error


def _sheet(content: bytes) -> list[list[str]]:
    import openpyxl  # noqa: PLC0415 - few processes need it

    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        rows: Iterable[Sequence[Any]] = book.worksheets[0].iter_rows(values_only=True, max_row=MOST + 2, max_col=50)
        return [[_cell(value) for value in row] for row in rows]
    except Exception as error:
        raise CommandRefusedError("A lista não é uma planilha XLSX que abra. Nada mudou.") from error


def _cell(value: Any) -> str:
    """Return a cell as people see it: 102.0 is 102, and an amount has a decimal comma."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.10g}".replace(".", ",")
    return "" if value is None else str(value)
