"""``prosa reconcile``: asks the gateway now after every emission without a final answer, and says what still waits."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import sqlalchemy as sa

from operations.protocol import stopped
from persistence.queue.waiting import under_way
from persistence.tables import nfse_emissao
from state_machine.protocol.emission import StatusEmissao
from state_machine.protocol.reconciliation import ASSENTADOS
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bot.house import House
    from persistence.queue.waiting import Espera

NAMED = 20  # of a company: enough to look into, and the count says the rest
MINUTE, HOUR, DAY = 60, 3600, 86_400
# As ``nfse_emissao.retida`` says why it waits without a call.
BEHIND = {
    "circuito": "o gateway não respondia e é deixado em paz até {quando}",
    "credencial": "o gateway recusa a credencial da empresa; nova tentativa às {quando}",
    "pessoa": "a pessoa foi perguntada se ainda quer a nota; nova tentativa às {quando}",
    "tentativa_anterior": "falta saber de uma tentativa anterior; nova pergunta às {quando}",
    "historia": "o banco pode ter esquecido notas enviadas: rode prosa restaurado",
    "leiaute": "a SEFIN recusa o leiaute em vigor: escolha o outro em Saúde, no console",
    "registro": "outro pedido com a mesma chave está em andamento; nova tentativa às {quando}",
}


async def ask_now(house: House) -> list[str]:
    """Make every open emission due, work on them once, and return a line about each, what waits, and stopped companies.

    What was never taken by the gateway keeps its time: it is only listed.
    """
    stops = await stopped(house.database)
    async with house.database.transaction() as connection:
        opened = await connection.execute(
            nfse_emissao.update()
            .where(nfse_emissao.c.status.not_in({*ASSENTADOS, StatusEmissao.PENDENTE}))  # those are sent in their time
            .values(proxima_acao_em=sa.func.now())
            .returning(nfse_emissao.c.id)
        )
        ids = list(opened.scalars())
    if ids:
        await house.pumps["emissions"].run_once()
    async with house.database.transaction() as connection:
        rows = await connection.execute(
            sa.select(nfse_emissao.c.id_integracao, nfse_emissao.c.status, nfse_emissao.c.erro_mensagem)
            .where(nfse_emissao.c.id == sa.any_(sa.bindparam("ids", type_=sa.ARRAY(sa.BigInteger))))
            .order_by(nfse_emissao.c.id),
            {"ids": ids},
        )
        asked = [_line(row.id_integracao, row.status, row.erro_mensagem) for row in rows]
        waiting = await under_way(connection)
    if not asked and not waiting:
        return ["Nenhuma emissão sem resposta final.", *stops]
    return [*asked, *_still_waiting(waiting), *stops]


def _line(id_integracao: str, status: str, motivo: str | None) -> str:
    settled = "" if status in ASSENTADOS else " (a Prosa continua perguntando)"
    return f"{id_integracao}: {status}{f' · {motivo}' if motivo else ''}{settled}"


def _still_waiting(waiting: Sequence[Espera]) -> list[str]:
    """Say how many wait, and of each company which, how long and for what."""
    if not waiting:
        return []
    by_status = Counter(each.status for each in waiting)
    lines = [f"Sem resposta final: {len(waiting)} ({', '.join(f'{n} {status}' for status, n in by_status.items())})."]
    for (name, cnpj), group in groupby(waiting, lambda each: (each.razao_social, each.cnpj)):
        theirs = list(group)
        lines.append(f"{name} ({cnpj}): {len(theirs)} {'espera' if len(theirs) == 1 else 'esperam'}")
        lines += [
            f"  {each.id_integracao}: {each.status} há {_age(each.idade)}; {_behind(each)}" for each in theirs[:NAMED]
        ]
        if len(theirs) > NAMED:
            lines.append(f"  e mais {len(theirs) - NAMED}, mais novas que estas")
    return lines


def _behind(each: Espera) -> str:
    if each.em_maos:
        return "uma chamada está em andamento"
    if each.proxima_acao_em is None:
        return "ninguém mais pergunta por ela: veja no console"
    if each.na_vez:
        return "espera uma vaga entre as chamadas da empresa"
    quando = _moment(each.proxima_acao_em)
    if each.retida in BEHIND:
        return BEHIND[each.retida].format(quando=quando)
    if each.pausa_pedida:
        return f"o gateway pediu uma pausa até {quando}"
    return f"próxima {'tentativa' if each.status == StatusEmissao.PENDENTE else 'pergunta'} às {quando}"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(SAO_PAULO):%d/%m %H:%M:%S}"


def _age(seconds: float) -> str:
    for size, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
