"""Shows and changes a company's national service codes, from what an operator typed; checks all of it first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from operations.channel import company_of
from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.audit.records import COMMAND_LINE
from persistence.people import services
from state_machine.services.codes import digits, dotted, nbs, table
from state_machine.services.own import Servico
from state_machine.values.text.length import tamanho

if TYPE_CHECKING:
    from persistence.audit.records import Author
    from persistence.db.connection import Connection
    from persistence.db.engine import Database

LONGEST: Final = 60  # UTF-16 units of a company's own words for a code: more is not shown beside its number
MOST: Final = 40  # codes of a company; who has more issues for several businesses
_GROUPS: Final = {"obra": "da obra", "atvEvento": "do evento"}


@dataclass(frozen=True, slots=True)
class ServiceForm:
    """A code to add, as typed; ``principal``: it is the main one from now on."""

    codigo: str
    descricao: str | None = None
    nbs: str | None = None
    principal: bool = False


async def show(database: Database, cnpj: str) -> list[str]:
    """List the company's codes, the main one first, with their numbers in the chat. Raises ``CommandRefusedError``."""
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        return [company.razao_social, *await _listed(connection, company.id, company.codigo_servico)]


async def add(database: Database, cnpj: str, form: ServiceForm) -> list[str]:
    """Do ``add_to`` for the company with a CNPJ as typed."""
    async with database.transaction() as connection:
        return await add_to(connection, await company_of(connection, cnpj), form)


async def add_to(connection: Connection, company: Any, form: ServiceForm, author: Author = COMMAND_LINE) -> list[str]:
    """Add a code, or change what stands beside it, audited. Raises ``CommandRefusedError``: nothing changed.

    The company gets a new version: summaries that were shown before are shown again before a yes counts.
    """
    codigo, row = _known(form.codigo)
    descricao = " ".join((form.descricao or "").split()) or None
    if descricao and (tamanho(descricao) > LONGEST or "|" in descricao):
        raise CommandRefusedError(f"A descrição tem até {LONGEST} caracteres, sem o sinal |. Nada mudou.")
    try:
        cnbs = nbs(form.nbs) if form.nbs else None
    except ValueError:
        raise CommandRefusedError("O NBS tem 9 dígitos e começa por 1, como 1.1506.10.00. Nada mudou.") from None
    own = await services.of_company(connection, company.id, company.codigo_servico)
    if len({*(servico.codigo for servico in own), codigo}) > MOST:
        raise CommandRefusedError(f"Uma empresa tem até {MOST} códigos. Nada mudou.")
    former = _six(company.codigo_servico)
    if form.principal and former not in {None, codigo, *(s.codigo for s in own[1:])}:
        await services.keep(connection, company.id, next(s for s in own if s.codigo == former))
    await services.keep(connection, company.id, Servico(codigo, descricao, cnbs))
    principal = codigo if form.principal else company.codigo_servico
    await services.changed(connection, company.id, principal)
    detalhe = {"codigo": codigo, "principal": principal}
    await audit.write_by(connection, author, "deu código de serviço", company.id, detalhe)
    told = await _listed(connection, company.id, principal)
    warned = (
        f"Atenção: a SEFIN pede no código {dotted(codigo)} os dados {row}, que a Prosa ainda não envia: essas notas "
        "serão recusadas."
    )
    return [company.razao_social, *told, *([warned] if row else [])]


async def remove(database: Database, cnpj: str, codigo: str) -> list[str]:
    """Do ``remove_from`` for the company with a CNPJ as typed."""
    async with database.transaction() as connection:
        return await remove_from(connection, await company_of(connection, cnpj), codigo)


async def remove_from(connection: Connection, company: Any, codigo: str, author: Author = COMMAND_LINE) -> list[str]:
    """Take a code away, audited. Raises ``CommandRefusedError``: nothing changed."""
    said = _six(codigo)
    own = await services.of_company(connection, company.id, company.codigo_servico)
    if said is None or said not in {servico.codigo for servico in own}:
        raise CommandRefusedError(f"{codigo} não é um código desta empresa. Nada mudou.")
    if said == _six(company.codigo_servico):
        raise CommandRefusedError(f"{dotted(said)} é o código principal: dê antes outro como principal. Nada mudou.")
    await services.remove(connection, company.id, said)
    await services.changed(connection, company.id, company.codigo_servico)
    detalhe = {"codigo": said, "principal": company.codigo_servico}
    await audit.write_by(connection, author, "tirou código de serviço", company.id, detalhe)
    return [company.razao_social, *await _listed(connection, company.id, company.codigo_servico)]


def _known(typed: str) -> tuple[str, str | None]:
    """Return a code of the table, and in words the group that its DPS must have."""
    said = _six(typed)
    row = table().codigos.get(said or "")
    if said is None or row is None:
        raise CommandRefusedError(
            f"{typed} não está na lista nacional (Anexo I, versão {table().versao}). Procure com prosa servico. "
            "Nada mudou."
        )
    return said, _GROUPS.get(row.grupo or "")


def _six(typed: str) -> str | None:
    try:
        return digits(typed)
    except ValueError:
        return None


async def _listed(connection: Connection, empresa_id: int, principal: str) -> list[str]:
    own = await services.of_company(connection, empresa_id, principal)
    if not own:
        return [f"Código {principal}, de outra lista."]
    main = _six(principal)
    return [
        f"{number}. {dotted(servico.codigo)} – {servico.nome}"
        + (f", NBS {servico.nbs}" if servico.nbs else "")
        + (" (principal)" if servico.codigo == main else "")
        for number, servico in enumerate(own, 1)
    ]
