"""What an operator decides about the API: who may call it, and who approves.

Makes, lists and revokes the keys of the API, from what an operator typed; checks all of it first.

Says and chooses who approves what other systems propose for a company, from what an operator typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from operations.channel import company_of
from operations.protocol import CommandRefusedError
from persistence.api import approvals, keys
from persistence.api.keys import SCOPES
from persistence.audit import records as audit
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people import channels
from persistence.people.companies import PhoneError, canonical_phone
from state_machine.protocol.channel import Ambiente

YEAR: Final = 365  # days that a key holds, unless another number is said


async def make_key(
    database: Database,
    cnpjs: Sequence[str],
    escopos: Sequence[str],
    own: Ambiente,
    *,
    tudo: bool = False,
    dias: int = YEAR,
) -> list[str]:
    """Make a key for these companies, audited, and return it alone. Raises ``CommandRefusedError``.

    ``own``: the installation's environment, of a company that has chosen none. ``escopos`` are of ``SCOPES``, or of one
    area as ``propostas:*``; a key without any may do everything, which ``tudo`` says. It holds for ``dias`` days.
    """
    known = SCOPES | {f"{escopo.partition(':')[0]}:*" for escopo in SCOPES}
    for escopo in escopos:
        if escopo not in known:
            there = ", ".join(sorted(SCOPES))
            raise CommandRefusedError(f"{escopo} não é um escopo. Há {there}. Nenhuma chave foi criada.")
    if bool(escopos) == tudo:
        raise CommandRefusedError(
            "Diga o que a chave poderá fazer com --escopo, ou --tudo para tudo. Nenhuma chave foi criada."
        )
    async with database.transaction() as connection:
        found: dict[int, Ambiente] = {}
        for cnpj in cnpjs:
            company = await company_of(connection, cnpj)
            found[company.id] = (await channels.chosen(connection, company.id)).ambiente or own
        environments = set(found.values())
        if len(environments) != 1:
            raise CommandRefusedError(
                "Uma chave é de um ambiente só, e estas empresas têm ambientes diferentes. Nenhuma chave foi criada."
            )
        chave, prefixo = await keys.make(
            connection, list(found), environments.pop(), sorted(set(escopos)), timedelta(days=dias)
        )
        for empresa_id in found:
            await _audited(connection, empresa_id, "criou chave da API", prefixo)
    return [chave]


async def list_keys(database: Database, cnpj: str) -> list[str]:
    """Say which keys act for a company, the newest first. Raises ``CommandRefusedError``."""
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        rows = await keys.of_company(connection, company.id)
    return [
        f"{row.prefixo}…  criada {_day(row.criada_em)}, "
        + (f"usada {_day(row.usada_em)}" if row.usada_em else "nunca usada")
        + (f", revogada {_day(row.revogada_em)}" if row.revogada_em else "")
        + (f", vale até {_day(row.vale_ate)}" if row.vale_ate else ", não vence")
        + (f"; escopos {', '.join(row.escopos)}" if row.escopos else "; pode tudo")
        + (f"; {len(row.empresas)} empresas" if len(row.empresas) > 1 else "")
        for row in rows
    ] or [f"{company.razao_social} não tem chave da API."]


async def revoke_key(database: Database, prefixo: str) -> list[str]:
    """Have a key hold no longer, at once and audited. Raises ``CommandRefusedError``."""
    named = prefixo.strip().rstrip("…")
    async with database.transaction() as connection:
        of_it = await keys.revoke(connection, named)
        if not of_it:
            raise CommandRefusedError(
                f"Nenhuma chave que vale começa por {named[: len('prosa_live_') + keys.VISIBLE]}; nada mudou. "
                "Veja o começo de cada uma com: prosa api chave listar"
            )
        for empresa_id in of_it:
            await _audited(connection, empresa_id, "revogou chave da API", named)
    return [f"{named}… não vale mais."]


def _day(moment: datetime) -> str:
    return f"{moment:%d/%m/%Y %H:%M} UTC"


async def _audited(connection: Connection, empresa_id: int, acao: str, prefixo: str) -> None:
    await audit.write(
        connection, staff_id=None, quem="linha de comando", acao=acao, alvo=prefixo, empresa_id=empresa_id
    )


async def choose_approver(database: Database, cnpj: str, telefone: str | None) -> list[str]:
    """Have one of a company's people asked from now on, audited; without a phone only say who is.

    What was sent already stays with whom it was sent to. Raises ``CommandRefusedError``.
    """
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        if telefone is not None:
            try:
                phone = canonical_phone(telefone)
            except PhoneError as error:
                raise CommandRefusedError(f"{telefone} não é um telefone com DDI e DDD; nada mudou.") from error
            if not await approvals.choose_approver(connection, company.id, phone):
                raise CommandRefusedError(
                    f"+{phone} não emite por {company.razao_social}; nada mudou. Autorize antes: prosa empresa add."
                )
            await audit.write(
                connection,
                staff_id=None,
                quem="linha de comando",
                acao="escolheu aprovador da API",
                alvo=company.cnpj,
                empresa_id=company.id,
            )
        asked = await approvals.approver_of(connection, company.id)
    if asked is None:
        return [f"{company.razao_social} não tem ninguém que possa emitir: nada pode ser enviado."]
    how = "" if asked.escolhido else ", como primeira pessoa da empresa"
    never = "" if asked.conversa else " Ainda não escreveu ao Prosa: até lá nada pode ser enviado."
    return [f"Quem aprova por {company.razao_social} é +{asked.telefone}{how}.{never}"]
