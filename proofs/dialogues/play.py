"""Plays dialogues against the real house in this process: each has a person, a phone and a company of its own."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr
from stdnum.br import cnpj as check

from extractor.model.prompt import Question
from operations.company import add_company
from proofs.connected import connected
from proofs.demo.world import COMPANY
from proofs.dialogues.script import TAPS, Nota, fold, names
from proofs.sandbox.meta.meta import MetaConfig
from proofs.sandbox.meta.model import bsuid
from proofs.sandbox.model import Reply
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig
from proofs.sandbox.world import WorldConfig
from state_machine.invoice.draft import StatusCampo
from state_machine.invoice.field_table import obrigatorios
from state_machine.invoice.fields import Campo, Confianca
from state_machine.invoice.session import ESPERAM_USUARIO, Estado
from state_machine.values.money import formata_brl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from bot.settings import Settings
    from extractor.hybrid import Proposer
    from persistence.db.engine import Database
    from proofs.dialogues.script import Fala, Roteiro
    from proofs.sandbox.meta.model import Bubble, Button
    from proofs.sandbox.model import Asked
    from proofs.sandbox.world import World

TOGETHER: Final = 12  # conversations at once: what two cores play without making each other wait
TURN_SECONDS: Final = 90.0  # for everything that a line brings about; usual: below one
LOOK_EVERY: Final = 0.03  # seconds
MORE_TURNS: Final = 2  # beyond the fewest, before the person gives up
QUICK: Final = WorldConfig(
    meta=MetaConfig(statuses=()),  # nobody reads the ticks here, and each is a webhook
    plugnotas=PlugNotasConfig(
        processing=0.05, rendering=0.0, nameless=True
    ),  # the scripts know no names to answer with
    knows_all=True,
)
CHANGED: Final = {
    "openai_api_key": SecretStr(""),  # rules and learned reader: the same everywhere
    "person_answers_burst": 0,
    "model_calls_per_day": 0,
}
FIELDS: Final = {
    "documento": Campo.DOCUMENTO,
    "valor": Campo.VALOR,
    "servico": Campo.DESCRICAO,
    "nome": Campo.NOME,
}  # as the labels call them
ASKED_AS: Final = {campo: name for name, campo in FIELDS.items() if name != "nome"}
MIMES: Final = {"audio": "audio/ogg", "image": "image/jpeg"}
_CONFIRM: Final = "confirmar:"
_CONFIRMS: Final = (_CONFIRM, "emitir:")  # an invoice, or one of the two amounts that its summary shows
_FIRST_ROOT: Final = 98_000_001  # never given to anybody
_FIRST_LINE: Final = 70_000_000
_BATCH: Final = 10_000  # more people than one run has: a second run on the same stores meets nobody again

_batches = itertools.count(step=_BATCH)

_SESSION = "SELECT * FROM session_snapshot WHERE conversa = $1 ORDER BY id DESC LIMIT 1"
_SETTLED = """
SELECT EXISTS (SELECT FROM inbox WHERE chave = $2 AND estado <> 0)
   AND NOT EXISTS (SELECT FROM inbox WHERE lane = $1 AND estado = 0)
   AND NOT EXISTS (SELECT FROM outbox WHERE conversa = $1 AND run_at IS NOT NULL)
   AND NOT EXISTS (SELECT FROM nfse_emissao JOIN session_snapshot USING (sessao_id)
                   WHERE conversa = $1 AND proxima_acao_em IS NOT NULL)
   AND NOT EXISTS (SELECT FROM cancelamento WHERE conversa = $1 AND proxima_acao_em IS NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the draft holds, by the labels' names: ``doubtful`` is asked about, or stands marked in the summary.

    ``aberta``: an invoice is in the making; else the draft is empty. ``resumo``: its summary awaits a yes. ``pedido``:
    the field that is asked for, where nothing can be confirmed yet.
    """

    aberta: bool = False
    resumo: bool = False
    values: dict[str, str] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()
    pedido: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One line that was said, what stood before and after it, what was answered, and which notes came of it."""

    texto: str
    fala: Fala | None  # None: said after the last line, as an answer
    antes: Standing
    depois: Standing
    answers: tuple[str, ...]
    issued: tuple[Nota, ...] = ()


@dataclass(frozen=True, slots=True)
class Played:
    """A dialogue as it went; ``stuck``: the product did not come to rest in time."""

    roteiro: Roteiro
    turns: tuple[Turn, ...]
    stuck: bool = False

    @property
    def issued(self) -> tuple[Nota, ...]:
        """The notes that the authority issued, by its own ledger; the service is the whole text."""
        return tuple(nota for turn in self.turns for nota in turn.issued)


@dataclass(slots=True)
class Talk:
    """A person with a phone who follows a script."""

    roteiro: Roteiro
    world: World
    database: Database
    who: str
    cnpj: str
    turns: list[Turn] = field(default_factory=list)
    _tapped: set[str] = field(default_factory=set)

    async def play(self) -> Played:
        """Say every line, then answer what is asked until the wanted notes are there or nothing is asked."""
        stuck = False
        try:
            for fala in self.roteiro.falas:
                await self._say(fala.texto, fala)
            for _ in range(self.roteiro.needed + MORE_TURNS if self.roteiro.needed else 0):
                if len(self._ledger()) >= len(self.roteiro.fim.notas) or not await self._answer():
                    break
        except TimeoutError:
            stuck = True
        return Played(self.roteiro, tuple(self.turns), stuck)

    async def _say(self, texto: str, fala: Fala | None = None, button: tuple[Bubble, Button] | None = None) -> None:
        meta = self.world.meta
        if fala is not None and (tap := fala.tap):
            wanted = await self._wanted_now()
            button = self._newest(lambda each: _is_tap(each, tap, wanted))
            if button is None:
                return
        before, issued, antes = len(self._bubbles()), len(self._ledger()), await self._standing()
        if button is not None:
            bubble, pressed = button
            self._tapped.add(pressed.id)
            send = meta.user_list_reply if pressed in bubble.rows else meta.user_button
            wamid = await send(self.who, pressed.id, pressed.title, context_wamid=bubble.id)
        elif fala is not None and fala.medium:
            wamid = await meta.user_media(self.who, b"?", MIMES[fala.medium], kind=fala.medium)
        else:
            wamid = await meta.user_text(self.who, texto)
        await self._rest(wamid)
        said = tuple(_words(bubble) for bubble in self._bubbles()[before:])
        came = tuple(self._ledger()[issued:])
        after = await self._standing(issued=bool(came))
        self.turns.append(Turn(texto, fala, antes, after, said, came))

    async def _rest(self, wamid: str) -> None:
        async with asyncio.timeout(TURN_SECONDS):
            while not await self.database.pool.fetchval(_SETTLED, self._conversa, wamid):  # noqa: ASYNC110 - a row has no event
                await asyncio.sleep(LOOK_EVERY)

    async def _answer(self) -> bool:
        """Answer the open question as ``respostas`` says; false when nothing is asked."""
        session = await self.database.pool.fetchrow(_SESSION, self._conversa)
        respostas, wanted = self.roteiro.respostas, await self._wanted_now()
        confirm = self._newest(lambda each: _is_tap(each, TAPS[0], wanted), last=True)
        if session is None or session["estado"] not in ESPERAM_USUARIO:
            asked = any("?" in text for text in self.turns[-1].answers[-1:]) if self.turns else False
            texto = respostas.get("outra") if asked else None
        elif session["estado"] == Estado.AGUARDANDO_CONFIRMACAO:
            texto = respostas.get("confirmacao")
            if confirm:
                await self._say(f"[{confirm[1].title}]", button=confirm)
                return True
            if self._newest(lambda each: each.id.startswith(_CONFIRM), last=True):  # of another amount than is wanted
                texto = respostas.get("valor_duvida") or respostas.get("valor")
        else:
            lidos = session["rascunho"]
            doubtful = [campo for campo in Campo if lidos[campo]["status"] == StatusCampo.INVALID]
            missing = [campo for campo in obrigatorios() if lidos[campo]["status"] != StatusCampo.VALIDATED]
            pending = [Campo(session["pendente"])] if session["pendente"] else []
            campo = next(iter((*doubtful, *pending, *missing)))
            if confirm:
                await self._say(f"[{confirm[1].title}]", button=confirm)
                return True
            if reading := self._newest(lambda each: _takes(each.id, campo, wanted), last=True):
                await self._say(f"[{reading[1].title}]", button=reading)
                return True
            doubt = respostas.get("valor_duvida") if campo is Campo.VALOR and doubtful else None
            texto = doubt or respostas.get(ASKED_AS.get(campo, "outra"))
        if not texto:
            return False
        await self._say(texto)
        return True

    def _wanted(self, documento: str | None) -> list[Nota]:
        """Return the notes that are wanted and not there, only those to ``documento`` where one is."""
        left = list(self.roteiro.fim.notas)
        for issued in self._ledger():
            for nota in [each for each in left if (each.documento, each.valor) == (issued.documento, issued.valor)][:1]:
                left.remove(nota)
        return [nota for nota in left if nota.documento == documento] or left

    async def _wanted_now(self) -> list[Nota]:
        """Return the notes that are wanted for the customer of the open draft."""
        session = await self.database.pool.fetchrow(_SESSION, self._conversa)
        return self._wanted(session["rascunho"]["documento"]["valor"] if session else None)

    @property
    def _conversa(self) -> str:
        return f"{self.world.config.meta.account.phone_number_id}:{bsuid(self.who)}"

    def _bubbles(self) -> list[Bubble]:
        return [bubble for bubble in self.world.meta.bubbles(self.who) if bubble.side == "bot"]

    def _newest(self, fits: Callable[[Button], bool], *, last: bool = False) -> tuple[Bubble, Button] | None:
        """Return the newest button that fits and was not tapped yet; ``last``: of the newest message only."""
        shown = [bubble for bubble in self._bubbles() if bubble.attachment is None]
        for bubble in reversed(shown[-1:] if last else shown):
            for button in (*bubble.buttons, *bubble.rows):
                if button.id not in self._tapped and fits(button):
                    return bubble, button
        return None

    def _ledger(self) -> list[Nota]:
        ours = [note for note in self.world.plugnotas.issued() if note.prestador == self.cnpj]
        return [
            Nota(documento=note.tomador, valor=str(note.valor), servico=(str(note.servico["discriminacao"]),))
            for note in ours
        ]

    async def _standing(self, *, issued: bool = False) -> Standing:
        """Return what stands in the draft; a note that this very line issued is still its draft."""
        session = await self.database.pool.fetchrow(_SESSION, self._conversa)
        if session is None or not (issued or session["estado"] in ESPERAM_USUARIO):
            return Standing()
        lidos = {name: session["rascunho"][campo] for name, campo in FIELDS.items()}
        values = {n: lido["valor"] for n, lido in lidos.items() if lido["status"] == StatusCampo.VALIDATED}
        confirms = self._newest(lambda each: each.id.startswith(_CONFIRMS), last=True)
        doubtful = frozenset(n for n, lido in lidos.items() if _in_doubt(lido))
        return Standing(
            session["estado"] in ESPERAM_USUARIO,
            session["estado"] == Estado.AGUARDANDO_CONFIRMACAO,
            values,
            doubtful,
            None if confirms else next((n for n, campo in FIELDS.items() if campo == session["pendente"]), None),
        )


def _is_tap(button: Button, tap: str, wanted: Sequence[Nota]) -> bool:
    """True for the button of that title, or for one that confirms the amount of a wanted note by name."""
    if tap != TAPS[0] or "R$" not in button.title:
        return button.title == tap
    named = button.title[button.title.index("R$") :]
    amounts = {formata_brl(nota.valor) for nota in wanted}
    return named in amounts | {each.removesuffix(",00") for each in amounts} and button.id.startswith(_CONFIRMS)


def _takes(button: str, campo: Campo, wanted: Sequence[Nota]) -> bool:
    """True for a button that takes a reading of ``campo`` which stands in one of the wanted notes."""
    parts = button.split(":", 4)  # usar:sessao:revisao:campo:leitura
    if parts[0] != "usar" or parts[3] != campo:
        return False
    match campo:
        case Campo.VALOR:
            return parts[4] in {nota.valor for nota in wanted}
        case Campo.DOCUMENTO:
            return parts[4] in {nota.documento for nota in wanted}
        case _:
            return any(names(parts[4], nota.servico) for nota in wanted)


def _in_doubt(lido: dict[str, Any]) -> bool:
    marked = (StatusCampo.VALIDATED, Confianca.DUVIDOSA)
    return lido["status"] == StatusCampo.INVALID or (lido["status"], lido["confianca"]) == marked


def _words(bubble: Bubble) -> str:
    return f"{bubble.text} [{bubble.attachment.filename}]" if bubble.attachment else bubble.text


def companies(roteiros: Sequence[Roteiro], first: int = _FIRST_ROOT) -> Iterator[str]:
    """Yield CNPJs that nobody names in these dialogues: the issuer's own document would never be the customer's."""
    named = fold(" ".join(roteiro.model_dump_json() for roteiro in roteiros))
    for root in itertools.count(first):
        number = f"{root}0001"
        number += check.calc_check_digits(number)
        if number not in named and check.format(number) not in named:
            yield number


def _behind(model: Proposer) -> Callable[[World], Awaitable[dict[str, Any]]]:
    """Return what lets ``model`` speak for the world's server, and the settings that lead there."""

    async def say(asked: Asked) -> Reply:
        messages = tuple((each["role"], each["content"]) for each in asked.body["messages"])
        answer = await model.propose(Question(asked.user, {}, messages))
        return Reply(shape="refusal") if answer is None else Reply(answer.model_dump())

    async def lead(world: World) -> dict[str, Any]:
        world.model.answer_with(say)
        return {
            "openai_api_key": SecretStr("-"),
            "openai_base_url": world.urls.openai_base,
            "openai_model": world.model.model,
        }

    return lead


async def play(
    roteiros: Sequence[Roteiro],
    settings: Settings,
    database_url: str,
    redis_url: str,
    *,
    model: Proposer | None = None,
    together: int = TOGETHER,
    progress: Callable[[], None] = lambda: None,
) -> list[Played]:
    """Play all of them, ``together`` at once, on stores of the newest schema; returns them in their order.

    With ``model`` the product asks a server, over HTTP as it asks any, behind which that one answers.
    """
    slots = asyncio.Semaphore(together)
    batch = next(_batches)
    between = None if model is None else _behind(model)
    async with connected(settings, database_url, redis_url, QUICK, between=between, changes=CHANGED) as opened:
        world, database = opened.world, opened.house.database

        async def one(number: int, roteiro: Roteiro, cnpj: str) -> Played:
            async with slots:
                who = f"55119{_FIRST_LINE + batch + number}"
                await add_company(database, replace(COMPANY, cnpj=cnpj, usuarios=(who,)))
                played = await Talk(roteiro, world, database, who, cnpj).play()
                progress()
                return played

        async with asyncio.TaskGroup() as group:
            numbered = zip(roteiros, companies(roteiros, _FIRST_ROOT + batch), strict=False)
            tasks = [group.create_task(one(number, *each)) for number, each in enumerate(numbered)]
        return [task.result() for task in tasks]
