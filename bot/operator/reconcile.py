"""``prosa reconcile``: asks the gateway now after every emission without a final answer, and says what still waits.

What ``prosa restaurado`` asks the authorities with: their channels alone, opened for one command.

The words of an audit for a terminal, without anybody's documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import groupby

import sqlalchemy as sa

from bot.budgets import lines_of
from bot.house import House
from bot.master_key import vault_of
from bot.orders.audit import Conferida
from bot.settings import Settings
from gateway.registry import REGISTRY, Channels
from operations.protocol import stopped
from persistence.db.engine import Database, refuse_in_transaction
from persistence.people.certificates import KeptCertificates
from persistence.people.goods import KeptGoods
from persistence.queue.backlog import Espera, under_way
from persistence.tables import nfse_emissao
from state_machine.protocol.audit import Conferencia, Diferenca, DifferenceKind
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.emission import CannotTell, StatusEmissao
from state_machine.protocol.reconciliation import ASSENTADOS
from state_machine.values.documents import formata_documento
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.money import formata_brl
from telemetry.metrics import Metrics

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


@asynccontextmanager
async def channels_of(settings: Settings, database: Database) -> AsyncIterator[Channels]:
    """Open the channels; nobody is told how their breakers stand."""
    channels = Channels(
        REGISTRY,
        settings,
        Canal(settings.gateway, Ambiente(settings.fiscal_environment)),
        guard=refuse_in_transaction,
        lines=lines_of(settings, Metrics(), _unheard),
        certificates=KeptCertificates(database, vault_of(settings)),
        kept=KeptGoods(database),
    )
    try:
        yield channels
    finally:
        await channels.aclose()


def _unheard(_destino: str) -> Callable[[int], None]:
    return lambda _abertos: None


EQUAL, DIFFERS, UNKNOWN = 0, 1, 2  # exit statuses

_TITLES = {
    DifferenceKind.SO_NOSSAS: "só aqui",
    DifferenceKind.SO_DELES: "só no gateway",
    DifferenceKind.DIVERGEM: "divergem",
}


def status_of(conferidas: Sequence[Conferida]) -> int:
    """Return the exit status: a difference is certain, so it counts more than a gateway that could not tell."""
    resultados = [conferida.resultado for conferida in conferidas]
    if any(not isinstance(resultado, CannotTell) and resultado.diferencas for resultado in resultados):
        return DIFFERS
    return UNKNOWN if any(isinstance(resultado, CannotTell) for resultado in resultados) else EQUAL


def lines(conferidas: Sequence[Conferida]) -> list[str]:
    """Return one line for each company, and below it one for each difference."""
    found: list[str] = []
    for conferida in conferidas:
        quem = f"{conferida.razao_social} ({formata_documento(conferida.cnpj)})"
        resultado = conferida.resultado
        if isinstance(resultado, CannotTell):
            found.append(f"{quem}: o gateway não soube dizer ({resultado.motivo}); nada foi comparado.")
            continue
        found.append(f"{quem}: {_summary(resultado)}")
        found += [f"    {_difference(diferenca)}" for diferenca in resultado.diferencas]
    return found or ["Nenhuma empresa cadastrada."]


def _summary(conferencia: Conferencia) -> str:
    periodo = conferencia.periodo
    dias = f"{periodo.inicio:%d/%m/%Y} a {periodo.fim:%d/%m/%Y}"
    counts = [f"{_TITLES[tipo]}: {len(found)}" for tipo in DifferenceKind if (found := conferencia.de(tipo))]
    if conferencia.em_curso:
        counts.append(f"em andamento: {conferencia.em_curso}")
    if conferencia.reler:
        counts.append(f"a Prosa pergunta de novo por {len(conferencia.reler)}")
    verdict = "" if conferencia.diferencas else ", tudo confere"
    return f"{dias}, {conferencia.listadas} no gateway{verdict}{''.join(f'; {count}' for count in counts)}."


def _difference(diferenca: Diferenca) -> str:
    nossa, deles = diferenca.nossa, diferenca.deles
    parts = [_TITLES[diferenca.tipo].upper()]
    if reference := nossa.id_integracao if nossa else deles.id_integracao if deles else "":
        parts.append(reference)
    if numero := (deles.numero if deles else None) or (nossa.numero if nossa else None):
        parts.append(f"nota {numero}")
    match diferenca.valores:
        case (aqui, la):
            parts.append(f"{formata_brl(aqui)} aqui, {formata_brl(la)} lá")
        case (valor,):
            parts.append(formata_brl(valor))
    if deles:
        parts.append(f"id no gateway {deles.id_externo}")
    return f"{' · '.join(parts)}: {diferenca.motivo}"
