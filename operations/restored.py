"""``prosa restaurado``: what is done to a restored database before requests are taken again.

Walks the numbers beyond a restored database's counters at the authority, where every note carries our reference.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from gateway.keys import ChaveInvalida, IdDPS
from gateway.port import FiscalGateway
from gateway.registry import Channels, UnknownChannelError
from operations.person import issuer_of
from operations.protocol import CommandRefusedError
from persistence import witness
from persistence import witness as history
from persistence.audit import records as audit
from persistence.batches import records as batches
from persistence.db.clock import database_now
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import comparison, numbering
from persistence.fiscal.numbering import Conhecida, Modelo, Sequencia
from persistence.national import distribution
from persistence.people.channels import canal_of
from persistence.people.companies import Empresa, get_company
from state_machine.documents import Documento, DocumentoProduto, DocumentoServico, Rps, Tomador
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.emission import Absent, CannotTell, Finding, Found, Nota
from state_machine.values.local_time import SAO_PAULO

# Numbers are drawn in order, and one whose note was refused or never sent is absent. The list tells what stands behind
# however many of these; among the notes that are too young for it, so many in a row do not happen. Each costs two
# questions.
ABSENCES: Final = 20
LISTED: Final = timedelta(hours=26)  # after which a note stands in the authority's list, one day's delay and a margin
_AT_ONCE: Final = 10  # numbers asked about together: a company's line has places for twice as many questions
_WINDOW: Final = timedelta(days=30)  # of a list by days: no channel gives more than 31 at once
FARTHEST: Final = 100_000  # a company issues fewer between two copies: what goes on for longer is no counter of ours


Listed: TypeAlias = Mapping[tuple[str, str, int], str | None]
"""References of listed notes, by city, series and number."""


class _UntoldError(Exception):
    """The authority does not say what a company has beyond the copy; the text says where and why, in pt-BR."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What was seen of one sequence: ``known`` is its number in the copy, ``None`` where that knows no such sequence.

    ``seen`` are the numbers under which notes stand, each with the reference that it carries.
    """

    known: int | None
    empresa: Empresa
    sequencia: Sequencia
    first: int
    seen: dict[int, str | None]

    @property
    def said(self) -> str:
        """Say what was found, in pt-BR."""
        where = f"{self.empresa.razao_social}, série {self.sequencia.serie}: a autoridade"
        if not self.seen:
            return f"{where} não tem nota depois da cópia."
        alheias = sum(referencia is None for referencia in self.seen.values())
        nossas = f"{where} tem {len(self.seen)} depois da cópia, até o número {self.last}"
        if alheias:
            return f"{nossas}; {alheias} sem referência da Prosa: outro programa usa esta série. Escolha outra."
        return f"{nossas}."

    @property
    def last(self) -> int:
        """The last number that is taken; one before ``first`` where none is."""
        return max(self.seen, default=self.first - 1)


async def settle(
    database: Database, channels: Channels, wait: Callable[[float], Awaitable[None]], since: timedelta
) -> None:
    """Wait until the authority has taken whatever left us before the history was doubted: only then absence counts.

    ``wait`` gets seconds, of which those since the doubt are gone already; nothing where no company is walked.
    """
    async with database.transaction() as connection:
        rows = await comparison.companies(connection)
    longest = max((_settles(channels, row) for row in rows), default=timedelta(0)) - since
    if longest > timedelta(0):
        await wait(longest.total_seconds())


def _settles(channels: Channels, row: Any) -> timedelta:
    try:
        natureza = channels.of(canal_of(row.canal, row.ambiente)).natureza
    except UnknownChannelError:
        return timedelta(0)
    spaced = natureza.absences * natureza.absence_spacing
    return natureza.absence_age + spaced if natureza.numbers == "we" else timedelta(0)


async def walk(
    database: Database, channels: Channels, absences: int = ABSENCES, only: Collection[int] | None = None
) -> tuple[list[Walk], dict[int, str]]:
    """Look beyond each sequence of the companies whose channel takes its numbers from us alone, or of ``only`` these.

    Returns what was seen, and of which companies (by id) the authority did not tell, with why. Nothing is changed.
    """
    async with database.transaction() as connection:
        now = await database_now(connection)
        known = await numbering.sequences(connection)
        rows = [row for row in await comparison.companies(connection) if only is None or row.id in only]
        companies = [((await get_company(connection, row.id))[0], row) for row in rows]
    walks: list[Walk] = []
    untold: dict[int, str] = {}
    for empresa, row in companies:
        try:
            for canal in _numbered(empresa, row):
                walks += await _of_channel(database, channels, empresa, canal, known, absences, now)
        except UnknownChannelError:
            continue
        except _UntoldError as error:
            untold[empresa.id] = f"{empresa.razao_social}: {error}"
            walks = [each for each in walks if each.empresa.id != empresa.id]
    return walks, untold


def _numbered(empresa: Empresa, row: Any) -> list[Canal]:
    """Return the company's channels: that of its services, and those of its goods."""
    goods = empresa.comercio.canais.values() if empresa.comercio else ()
    return [canal_of(row.canal, row.ambiente), *goods]


async def _of_channel(
    database: Database,
    channels: Channels,
    empresa: Empresa,
    canal: Canal,
    known: Sequence[Conhecida],
    absences: int,
    now: datetime,
) -> list[Walk]:
    """Look beyond the company's sequences on one channel. Raises ``UnknownChannelError`` and ``_UntoldError``."""
    gateway = channels.of(canal)
    if gateway.natureza.numbers != "we":
        return []
    serie, primeiro = numbering.series_of(empresa, gateway.natureza)
    present = numbering.in_series(empresa, gateway.natureza, gateway.ambiente, serie) if serie is not None else None
    modelo = numbering.MODELOS[gateway.natureza.documento]
    theirs = [each for each in known if each.sequencia.empresa_id == empresa.id and each.sequencia.modelo is modelo]
    begun = [
        Walk(known=each.id, empresa=empresa, sequencia=each.sequencia, first=each.ultimo + 1, seen={})
        for each in theirs
    ]
    if present is not None and present not in {each.sequencia for each in theirs}:
        begun.append(Walk(known=None, empresa=empresa, sequencia=present, first=primeiro, seen={}))
    lists: dict[Ambiente, Listed | None] = {}
    walks = []
    for each in begun:
        there = Canal(canal.nome, each.sequencia.ambiente)
        if channels.of(there).natureza.lists_by == "days":
            lista: Listed | None = await _by_days(database, channels.of(there), each, now)
        else:
            if each.sequencia.ambiente not in lists:
                lists[each.sequencia.ambiente] = await _list(database, channels, there, empresa.cnpj)
            lista = lists[each.sequencia.ambiente]
        walks.append(await _walked(channels.of(there), each, absences, lista, now))
    return walks


async def _by_days(database: Database, gateway: FiscalGateway, begun: Walk, now: datetime) -> Listed:
    """Return the references of a sequence's notes that the authority lists since the copy. Raises ``_UntoldError``."""
    serie, today = begun.sequencia, now.astimezone(SAO_PAULO).date()
    async with database.transaction() as connection:
        since = await numbering.known_until(connection, serie.empresa_id)
    inicio = since.astimezone(SAO_PAULO).date()
    found: dict[tuple[str, str, int], str | None] = {}
    while inicio <= today:
        fim, cursor, more = min(inicio + _WINDOW, today), None, True
        while more:
            told = await gateway.listing(begun.empresa.cnpj, inicio, fim, cursor)
            if isinstance(told, CannotTell):
                raise _UntoldError(f"a lista dela não veio ({told.motivo})")
            for nota in told.notas:
                numero = nota.numero_rps
                if numero and nota.id_integracao == str(gateway.key_for(_under(begun, numero, today))):
                    found[serie.municipio, serie.serie.lstrip("0"), numero] = nota.referencia
            cursor, more = told.seguinte, told.seguinte is not None
        inicio = fim + timedelta(days=1)
    return found


async def _list(database: Database, channels: Channels, canal: Canal, cnpj: str) -> Listed | None:
    """Return the references of a company's notes that the authority lists since the copy; ``None`` where it lists none.

    By city, series and number. The copy's own place in the list stays: what it says of other notes is read later on.
    Raises ``_UntoldError``.
    """
    documents = channels.documents(canal)
    if documents is None:
        return None
    found: dict[tuple[str, str, int], str | None] = {}
    try:
        async with database.transaction() as connection:
            nsu = await distribution.before(connection, canal, cnpj)
        while lot := await documents.after(cnpj, nsu):
            if isinstance(lot, CannotTell):
                raise _UntoldError(f"a lista dela não veio ({lot.motivo})")
            for nota in (each.nota for each in lot if each.nota is not None and each.nota.prestador == cnpj):
                with suppress(ChaveInvalida):
                    dps = IdDPS.parse(nota.id_integracao)
                    found[dps.municipio, str(dps.serie), dps.numero] = nota.referencia
            nsu = lot[-1].nsu
    finally:
        await documents.aclose()
    return found


async def listed(database: Database, channels: Channels) -> bool:
    """Tell whether some company's notes are compared by ``prosa conferir``: its channel lists them."""
    async with database.transaction() as connection:
        rows = await comparison.companies(connection)
    return any(_lists(channels, row) for row in rows)


def _lists(channels: Channels, row: Any) -> bool:
    try:
        return channels.of(canal_of(row.canal, row.ambiente)).natureza.lists_by == "days"
    except UnknownChannelError:
        return True


async def _walked(
    gateway: FiscalGateway,
    begun: Walk,
    absences: int,
    lista: Listed | None,
    now: datetime,
) -> Walk:
    """Take what the list has in this series, then ask for the numbers between and behind. Raises ``_UntoldError``."""
    serie = begun.sequencia
    listed = {
        numero: referencia
        for (municipio, seen, numero), referencia in (lista or {}).items()
        if municipio == serie.municipio and seen == serie.serie.lstrip("0") and numero >= begun.first
    }
    seen = dict(listed)
    absent, numero, last = 0, begun.first, max(listed, default=0)
    asked: dict[int, Finding] = {}
    today = now.astimezone(SAO_PAULO).date()
    where = f"série {serie.serie}, número"
    while absent < absences or numero <= last:
        if max(numero, last) - begun.first > FARTHEST:
            raise _UntoldError(f"{where} {max(numero, last)}: não acaba")
        if numero in listed:
            absent = 0
        else:
            if numero not in asked:  # together, and none that would not be asked one by one
                most = min(_AT_ONCE, max(absences - absent, last + 1 - numero))
                some = [each for each in range(numero, numero + most) if each not in listed]
                keys = (gateway.key_for(_under(begun, each, today)) for each in some)
                asked.update(zip(some, await asyncio.gather(*map(gateway.find, keys)), strict=True))
            match asked[numero]:
                case Found(nota) if lista is not None and _is_old(nota, now):
                    raise _UntoldError(f"{where} {numero}: há uma nota de ontem que a lista dela ainda não tem")
                case Found(nota):
                    seen[numero] = nota.referencia
                    absent = 0
                case Absent():
                    absent += 1
                case CannotTell(motivo):
                    raise _UntoldError(f"{where} {numero} ({motivo})")
        numero += 1
    return replace(begun, seen=seen)


def _is_old(nota: Nota, now: datetime) -> bool:
    """Tell whether a list that is whole has this note."""
    try:
        issued = datetime.fromisoformat(nota.data_emissao or "")
    except ValueError:
        return False
    return issued.tzinfo is not None and now - issued > LISTED


def _under(begun: Walk, numero: int, today: date) -> Documento:
    """Return an invoice of which only the key is asked: its company, series and number make it."""
    serie = begun.sequencia
    of_goods = serie.modelo is not Modelo.NFSE  # its place is a state, and its code (cNF) is nobody's
    empresa = begun.empresa if of_goods else replace(begun.empresa, municipio_ibge=serie.municipio)
    said: dict[str, Any] = {
        "id_integracao": "restaurado-1" if of_goods else "",
        "prestador": issuer_of(empresa, empresa.principal),
        "tomador": Tomador(empresa.cnpj, None),
        "valor": Decimal("0.01"),
        "competencia": today,
        "rps": Rps(serie.serie, numero),
    }
    if not of_goods:
        return DocumentoServico(**said, descricao="")
    modelo: Literal["nfe", "nfce"] = "nfe" if serie.modelo is Modelo.NFE else "nfce"
    return DocumentoProduto(**said, modelo=modelo, itens=(), inscricao_estadual="")


_LAST = re.compile(r"(\d{1,9}):(\d{1,15})")
_WHO = "linha de comando"
_STOPPED = "Nenhum número mudou, e nada numerado aqui sai até este comando terminar bem."
_ONLY = "Só as empresas que faltavam da última vez. Se outra cópia foi posta no lugar: prosa restaurado --tudo."
_HELD = "As outras seguem. Destas nada numerado aqui é confirmado nem enviado, porque ninguém disse o que já saiu:"
_AGAIN = "Resolva (certificado, rede ou --rps) e rode de novo: só estas serão perguntadas."
MOST_SKIPPED = FARTHEST  # a note's own number typed in a number's place is far more


async def restore(
    database: Database,
    ultimos: Sequence[str],
    channels: Channels | None = None,
    absences: int = ABSENCES,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    *,
    tudo: bool = False,
) -> list[str]:
    """Have open emissions asked for, move the RPS sequences on, note it in the audit; returns lines for a terminal.

    The history is in doubt before anybody is asked, and stays so where this does not end. ``ultimos`` are words as
    ``3:550``: the last number of sequence 3 that the gateway knows. Each sequence needs one, but for those that are
    looked for at the authority over ``channels``, after ``wait`` (seconds) for what it may take late. A company whose
    numbers nobody tells is held, and the others go on; within a day the next run takes only what is held, unless
    ``tudo``: the same words again are good, those of the others are done. Raises ``CommandRefusedError``: held
    companies are named there, or the words are wrong.
    """
    matches = {word: _LAST.fullmatch(word.strip()) for word in ultimos}
    given = {int(match[1]): int(match[2]) for match in matches.values() if match}
    async with database.transaction() as connection:
        left = {} if tudo else await numbering.left(connection)
        since = min(left.values()) if left else await history.in_doubt_for(connection)
        if not left:
            await history.suspect(connection)
    walks: list[Walk] = []
    untold: dict[int, str] = {}
    if channels is not None and all(matches.values()):
        await settle(database, channels, wait, since)
        walks, untold = await walk(database, channels, absences, left or None)
    compared = channels is None or await listed(database, channels)
    walked = {each.known: each for each in walks if each.known is not None}
    async with database.transaction() as connection:
        here = await numbering.sequences(connection)
        known = {each.id: each for each in here if not left or each.sequencia.empresa_id in left}
        if not all(matches.values()) or given.keys() - {each.id for each in here}:
            raise CommandRefusedError(_ask_for([each for n, each in known.items() if n not in walked]))
        last = {
            n: max(given.get(n, 0), walked[n].last if n in walked else 0) for n in known if n in given or n in walked
        }
        far = [n for n, ultimo in last.items() if ultimo - known[n].ultimo > MOST_SKIPPED]
        if far:
            raise CommandRefusedError(_too_far([known[number] for number in far]))
        for n in known.keys() - last.keys():
            untold.setdefault(known[n].sequencia.empresa_id, _untold(known[n]))
        skipped = {number: await numbering.move_past(connection, number, ultimo) for number, ultimo in last.items()}
        for each in walks:
            skipped |= await _keep(connection, each)
        abertas = await numbering.ask_for_open(connection, left or None)
        await numbering.hold(connection, untold)
        listas = [] if left else await batches.doubt(connection)
        if not left:
            await history.accept(connection)
        vistas = sum(len(each.seen) for each in walks)
        detalhe = {
            "emissoes": len(abertas),
            "pulados": {str(number): count for number, count in skipped.items()},
            "vistas": vistas,
            "paradas": list(untold),
            "lotes": [each.id for each in listas],
        }
        await audit.write(connection, staff_id=None, quem=_WHO, acao="restaurado", detalhe=detalhe)
    lines = [
        *([_ONLY] * bool(left)),
        f"Emissões em aberto, que serão perguntadas antes de qualquer envio: {len(abertas)}.",
        *(f"  {reference}" for reference in abertas),
        *(each.said for each in walks),
        *(_listed(each) for each in listas),
        *(["Quem confirmar de novo uma nota achada recebe a que já saiu."] * (vistas > 0)),
        *(f"Sequência {number}: {skipped[number]} números pulados." for number in given if number in skipped),
    ]
    if untold:
        held = [f"  {each}" for each in untold.values()]
        raise CommandRefusedError("\n".join((*lines, _HELD, *held, _AGAIN)))
    return [
        *lines,
        "Agora: prosa conferir --dias N, do dia da cópia até hoje, e só depois abra as portas."
        if compared
        else "Agora pode abrir as portas: a numeração segue depois da última nota achada.",
    ]


async def _keep(connection: Connection, seen: Walk) -> dict[int, int]:
    """Store what was seen; returns what a sequence skips that the copy does not know."""
    for numero, referencia in seen.seen.items():
        await witness.keep(connection, seen.sequencia, numero, referencia)
    if seen.known is not None or not seen.seen:
        return {}
    begun = await witness.begin(connection, seen.sequencia, seen.first, numbering.MOTIVO)
    if begun is None:  # somebody confirmed meanwhile
        raise CommandRefusedError("Uma empresa começou a numerar enquanto eu perguntava. Nada mudou: rode de novo.")
    return {begun: 1 + await numbering.move_past(connection, begun, seen.last)}


def _listed(lista: Any) -> str:
    return f"Lote {lista.id} ({lista.nome_arquivo}) espera outro sim: {lista.quantas} e-mails talvez já tenham saído."


def _untold(known: numbering.Conhecida) -> str:
    where = f"série {known.sequencia.serie}, aqui até {known.ultimo}"
    return f"{known.razao_social}: falta --rps {known.id}:ÚLTIMO, o último RPS que o gateway conhece ({where})"


def _too_far(known: list[numbering.Conhecida]) -> str:
    named = "; ".join(f"sequência {each.id}, aqui até {each.ultimo}" for each in known)
    return (
        f"Isso pularia mais de {MOST_SKIPPED} números ({named}). O número pedido é o do RPS, não o da nota. {_STOPPED}"
    )


def _ask_for(known: list[numbering.Conhecida]) -> str:
    if not known:
        return f"Nenhuma sequência precisa de --rps, ou o que foi dado não é dela: rode sem. {_STOPPED}"
    return "\n".join((f"Não entendi o que veio em --rps. {_STOPPED}", *(f"  {_untold(each)}" for each in known)))
