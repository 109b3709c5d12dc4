"""What is said above a summary whose data are unlikely: a date far away, or an amount out of all proportion."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from state_machine.invoice.fields import Campo
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.money import formata_brl

if TYPE_CHECKING:
    from datetime import datetime

    from state_machine.invoice.draft import Rascunho

LONG_AGO: Final = timedelta(days=366)  # an older date is a birth, a contract's, or a slip of a year
TOO_MUCH: Final = Decimal(100)  # times the usual: two zeros too many, or a comma that was not seen


def cautela(rascunho: Rascunho, agora: datetime, comum: Decimal | None = None) -> str | None:
    """Return what to look at twice before a yes, ``None`` where nothing stands out.

    ``agora`` is aware UTC; ``comum`` is the company's usual amount in BRL, ``None`` where it is not known.
    """
    return _data(rascunho, agora.astimezone(SAO_PAULO).date()) or _valor(rascunho, comum)


def _data(rascunho: Rascunho, hoje: date) -> str | None:
    dia, mes = rascunho.validado(Campo.DATA), rascunho.validado(Campo.COMPETENCIA)
    if dia:
        quando, oque = date.fromisoformat(dia), f"a data do serviço é {'/'.join(reversed(dia.split('-')))}"
    elif mes:
        quando, oque = date.fromisoformat(f"{mes}-01"), f"a competência é {'/'.join(reversed(mes.split('-')))}"
    else:
        return None
    if quando > hoje:
        return f"⚠️ *Atenção: {oque}, no futuro.*"
    return f"⚠️ *Atenção: {oque}, há mais de um ano.*" if hoje - quando > LONG_AGO else None


def _valor(rascunho: Rascunho, comum: Decimal | None) -> str | None:
    if comum is None or rascunho.valor_servico < comum * TOO_MUCH:
        return None
    valor = formata_brl(rascunho.valor_servico)
    return f"⚠️ *Atenção: {valor} é muito mais que o seu comum ({formata_brl(comum)}).*"
