"""What can be mended on a company's page: each with the command's own checks, a reason, and its audit in one commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from operations import goods, services
from operations.channel import choose_for
from operations.company import CompanyForm, add_user, change_company, remove_user, told
from operations.protocol import CommandRefusedError, release_of
from persistence.audit.records import Author
from persistence.db.connection import Connection
from persistence.idempotency import records as idempotency
from persistence.idempotency.records import Operation, Replay, Started
from persistence.staff import companies as staff_companies
from state_machine.goods import COLUNAS
from state_machine.protocol.channel import TipoDocumento
from webhooks.console.access.visit import Visita
from webhooks.console.companies.pages import company_page
from webhooks.console.pages.queue import whole

FIELD: Final = 100  # characters of one field but the reason
REASON: Final = "Falta dizer por quê. Nada mudou."


@dataclass(frozen=True, slots=True)
class Asked:
    """One form that was sent: for which company, with which fields, by whom."""

    visita: Visita
    company: Any
    fields: Mapping[str, str]
    author: Author


@dataclass(frozen=True, slots=True)
class Change:
    """One change: the fields of its form, and what makes it, which returns the lines to say."""

    fields: tuple[str, ...]
    make: Callable[[Connection, Asked], Awaitable[list[str]]]


async def act(visita: Visita) -> web.StreamResponse:
    """Make the change, its audit row and its idempotency record in one commit; a second press changes nothing.

    A refusal is said on the page, and nothing was changed.
    """
    name, quem = visita.request.match_info["mudanca"], visita.staff
    change, numero = CHANGES.get(name), whole(visita.request.match_info["numero"]) or 0
    if change is None:
        raise web.HTTPNotFound
    chave, motivo = await visita.campo("chave", 100), await visita.campo("motivo")
    if not chave:
        raise web.HTTPUnprocessableEntity
    if not motivo:
        return await company_page(visita, status=422, erro=REASON)
    fields = {field: await visita.campo(field, FIELD) for field in change.fields}
    said = {"motivo": motivo, **fields}
    operation = Operation.named(chave, f"console:empresa {name}", f"staff:{quem.id}", str(numero), said)
    try:
        async with visita.deps.database.transaction() as connection:
            begun = await idempotency.begin(connection, operation)
            if isinstance(begun, Started):
                company = await staff_companies.row(connection, quem.alcance, numero)
                if company is None:
                    raise web.HTTPNotFound
                asked = Asked(visita, company, fields, Author(quem.nome, quem.id, motivo))
                feito = await change.make(connection, asked)
                await idempotency.succeed(connection, begun, {"feito": feito})
            elif isinstance(begun, Replay):
                feito = list(begun.result["feito"])
            else:
                raise web.HTTPConflict
    except CommandRefusedError as error:
        return await company_page(visita, status=409, erro=str(error))
    return await company_page(visita, feito=feito)


async def _add_code(connection: Connection, asked: Asked) -> list[str]:
    said = asked.fields
    beside = {name: said[name] or None for name in ("descricao", "nbs", "ind_op", "cst", "class_trib", "atividade_sn")}
    form = services.ServiceForm(codigo=said["codigo"], principal=bool(said["principal"]), **beside)
    return await services.add_to(connection, asked.company, form, asked.author)


async def _remove_code(connection: Connection, asked: Asked) -> list[str]:
    return await services.remove_from(connection, asked.company, asked.fields["codigo"], asked.author)


async def _add_product(connection: Connection, asked: Asked) -> list[str]:
    return await goods.add_to(connection, asked.company, asked.fields, asked.author)


async def _remove_product(connection: Connection, asked: Asked) -> list[str]:
    return await goods.remove_from(connection, asked.company, asked.fields["codigo"], asked.author)


async def _change(connection: Connection, asked: Asked) -> list[str]:
    was, said = asked.company, asked.fields
    form = CompanyForm(
        cnpj=was.cnpj,
        razao_social=said["razao_social"],
        inscricao_municipal=said["inscricao_municipal"],
        municipio=was.municipio_ibge,
        regime=said["regime"],
        apuracao_ibscbs=said["apuracao_ibscbs"] or None,
        email_contador=said["email_contador"],
    )
    return await change_company(connection, was, form, asked.visita.deps.channels, asked.author)


async def _choose_channel(connection: Connection, asked: Asked) -> list[str]:
    rows, said = asked.visita.deps.channels, asked.fields
    natures = {name: row.natureza for name, row in rows.items()}
    tipo, ambiente = TipoDocumento.SERVICO, said["ambiente"] or None
    return await choose_for(
        connection,
        asked.company,
        natures,
        documento=tipo,
        nome=said["canal"],
        ambiente=ambiente,
        rows=rows,
        author=asked.author,
    )


async def _add_person(connection: Connection, asked: Asked) -> list[str]:
    alcance = asked.visita.staff.alcance
    return await add_user(connection, asked.company, asked.fields["telefone"], alcance, asked.author)


async def _remove_person(connection: Connection, asked: Asked) -> list[str]:
    telefone = await staff_companies.phone(connection, asked.company.id, whole(asked.fields["pessoa"]) or 0)
    quem, motivo = asked.visita.staff, asked.author.motivo or ""
    done = await remove_user(connection, telefone or "", motivo, quem.alcance, quem=quem.nome, staff_id=quem.id)
    return [told(done)]


async def _release(connection: Connection, asked: Asked) -> list[str]:
    return await release_of(connection, asked.company, asked.author)


CHANGES: Final[Mapping[str, Change]] = {
    "mudar-cadastro": Change(
        ("razao_social", "inscricao_municipal", "regime", "apuracao_ibscbs", "email_contador"), _change
    ),
    "dar-codigo": Change(
        ("codigo", "descricao", "nbs", "ind_op", "cst", "class_trib", "atividade_sn", "principal"), _add_code
    ),
    "tirar-codigo": Change(("codigo",), _remove_code),
    "dar-produto": Change(COLUNAS, _add_product),
    "tirar-produto": Change(("codigo",), _remove_product),
    "mudar-canal": Change(("canal", "ambiente"), _choose_channel),
    "dar-direito": Change(("telefone",), _add_person),
    "tirar-direito": Change(("pessoa",), _remove_person),
    "liberar": Change((), _release),
}
