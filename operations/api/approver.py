"""Says and chooses who approves what other systems propose for a company, from what an operator typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations.channel import company_of
from operations.protocol import CommandRefusedError
from persistence.api import approvers
from persistence.audit import records as audit
from persistence.people.companies import PhoneError, canonical_phone

if TYPE_CHECKING:
    from persistence.db.engine import Database


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
            if not await approvers.choose(connection, company.id, phone):
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
        asked = await approvers.of_company(connection, company.id)
    if asked is None:
        return [f"{company.razao_social} não tem ninguém que possa emitir: nada pode ser enviado."]
    how = "" if asked.escolhido else ", como primeira pessoa da empresa"
    never = "" if asked.conversa else " Ainda não escreveu ao Prosa: até lá nada pode ser enviado."
    return [f"Quem aprova por {company.razao_social} é +{asked.telefone}{how}.{never}"]
