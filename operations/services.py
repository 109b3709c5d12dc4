"""Shows and changes a company's national service codes, from what an operator typed; checks all of it first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from operations.channel import company_of
from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.audit.records import COMMAND_LINE, Author
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people import services
from state_machine.services.codes import (
    ATIVIDADES_SN,
    IbsCbs,
    Onde,
    Servico,
    digits,
    dotted,
    nbs,
    onde,
    plain_digits,
    table,
)
from state_machine.values.text import single_line, tamanho

LONGEST: Final = 60  # UTF-16 units of a company's own words for a code: more is not shown beside its number
MOST: Final = 40  # codes of a company; who has more issues for several businesses
# CST and cClassTrib of full taxation: the common service. Which hold for a company's is its accountant's word.
COMMON: Final = ("000", "000001")
_ASKED: Final = {  # beside what every invoice needs, by what a code says of its place
    Onde.CIDADE: "a cidade onde foi o serviço",
    Onde.OBRA: "o endereço ou o CNO da obra",
    Onde.EVENTO: "o dia e o endereço do evento",
    Onde.CLIENTE: "o endereço do cliente",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceForm:
    """A code to add, as typed; ``principal``: it is the main one from now on.

    ``nbs``, ``atividade_sn`` and, of IBS and CBS, ``ind_op``, ``cst`` and ``class_trib``: what is not said stays.
    """

    codigo: str
    descricao: str | None = None
    nbs: str | None = None
    principal: bool = False
    ind_op: str | None = None
    cst: str | None = None
    class_trib: str | None = None
    atividade_sn: str | None = None


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
    codigo = _known(form.codigo)
    descricao = single_line(form.descricao or "") or None
    if descricao and (tamanho(descricao) > LONGEST or "|" in descricao):
        raise CommandRefusedError(f"A descrição tem até {LONGEST} caracteres, sem o sinal |. Nada mudou.")
    own = await services.of_company(connection, company.id, company.codigo_servico)
    if len({*(servico.codigo for servico in own), codigo}) > MOST:
        raise CommandRefusedError(f"Uma empresa tem até {MOST} códigos. Nada mudou.")
    former = _six(company.codigo_servico)
    if form.principal and former not in {None, codigo, *(s.codigo for s in own[1:])}:
        await services.keep(connection, company.id, next(s for s in own if s.codigo == former))
    was = next((servico for servico in own if servico.codigo == codigo), Servico(codigo))
    now, supposed = _taxed(was, form)
    await services.keep(connection, company.id, replace(now, descricao=descricao))
    principal = codigo if form.principal else company.codigo_servico
    await services.changed(connection, company.id, principal)
    detalhe = {"codigo": codigo, "principal": principal}
    await audit.write_by(connection, author, "deu código de serviço", company.id, detalhe)
    told = await _listed(connection, company.id, principal)
    place = onde(codigo)
    asked = _ASKED[place] if place else None
    warned = [f"No código {dotted(codigo)} a conversa pergunta também {asked}."] if asked else []
    return [company.razao_social, *told, *supposed, *warned]


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


def _taxed(was: Servico, form: ServiceForm) -> tuple[Servico, list[str]]:
    """Put what was typed of NBS, IBS and CBS in the place of what was known, and say what was only supposed."""
    try:
        cnbs = nbs(form.nbs) if form.nbs else was.nbs
    except ValueError:
        raise CommandRefusedError("O NBS tem 9 dígitos e começa por 1, como 1.1506.10.00. Nada mudou.") from None
    if form.atividade_sn and form.atividade_sn not in ATIVIDADES_SN:
        raise CommandRefusedError(
            f"A atividade no Simples (cAtvSN) é uma destas: {', '.join(ATIVIDADES_SN)}. Nada mudou."
        )
    was = replace(was, atividade_sn=form.atividade_sn or was.atividade_sn)
    before = was.ibs_cbs
    ind_op = form.ind_op or (before.ind_op if before else None)
    if not (form.ind_op or form.cst or form.class_trib):
        return replace(was, nbs=cnbs), []
    if ind_op is None or cnbs is None:
        raise CommandRefusedError("O grupo IBS/CBS pede o NBS e o cIndOp, e a contabilidade os diz. Nada mudou.")
    known = (before.cst, before.class_trib) if before else COMMON
    try:
        group = IbsCbs(
            plain_digits(ind_op, 6), plain_digits(form.cst or known[0], 3), plain_digits(form.class_trib or known[1], 6)
        )
    except ValueError:
        raise CommandRefusedError("O cIndOp tem 6 dígitos, o CST 3 e o cClassTrib 6. Nada mudou.") from None
    supposed = before is None and not (form.cst and form.class_trib)
    said = f"CST {COMMON[0]} e cClassTrib {COMMON[1]} são o caso comum, e valem onde nada foi dito."
    return replace(was, nbs=cnbs, ibs_cbs=group), [f"{said} Quem decide é a contabilidade."] if supposed else []


def _known(typed: str) -> str:
    """Return a code of the table. Raises ``CommandRefusedError``."""
    said = _six(typed)
    row = table().codigos.get(said or "")
    if said is None or row is None:
        raise CommandRefusedError(
            f"{typed} não está na lista nacional (Anexo I, versão {table().versao}). Procure com prosa servico. "
            "Nada mudou."
        )
    return said


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
        + (
            f", cIndOp {group.ind_op}, CST {group.cst}, cClassTrib {group.class_trib}"
            if (group := servico.grupo)
            else ""
        )
        + (f", cAtvSN {servico.atividade_sn}" if servico.atividade_sn else "")
        + (" (principal)" if servico.codigo == main else "")
        for number, servico in enumerate(own, 1)
    ]
