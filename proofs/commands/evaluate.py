"""``prosa evaluate``: measures what is read from labelled messages, or the whole product in labelled dialogues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import fail, settings, with_storage

if TYPE_CHECKING:
    from bot.process.servers import Storage
    from bot.settings import Settings


def evaluate(
    corpus: Annotated[
        Path | None, typer.Argument(help="Arquivo JSONL com casos, ou pasta de autores.", exists=True)
    ] = None,
    dialogues: Annotated[
        Path | None, typer.Option(help="Em vez do corpus: diálogos para conversar com o produto.", exists=True)
    ] = None,
    extractor: Annotated[str, typer.Option(help="prosa, rules, model ou both.")] = "prosa",
    json: Annotated[Path | None, typer.Option(help="Grava o resultado completo aqui.")] = None,
    fail_under: Annotated[float | None, typer.Option(help="Sai com erro se a exatidão ficar abaixo disto.")] = None,
    record: Annotated[Path | None, typer.Option(help="Grava aqui as perguntas ao modelo e as respostas.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Responde por esta gravação, sem rede.", exists=True)] = None,
) -> None:
    """Mede a extração em um corpus rotulado, ou o produto inteiro em diálogos rotulados."""
    chosen = settings(quiet=True)
    if dialogues is not None and corpus is None:
        _play(dialogues, chosen, json, fail_under)
        return
    if corpus is None or dialogues is not None:
        raise typer.BadParameter("diga um corpus, ou --dialogues com um arquivo ou uma pasta")
    from extractor.evaluation.evaluate import run

    code = run(
        corpus,
        extractor,
        json,
        fail_under,
        api_key=chosen.openai_api_key.get_secret_value() or None,
        base_url=chosen.openai_base_url,
        model=chosen.openai_model or None,
        record=record,
        replay=replay,
    )
    raise typer.Exit(code)


def _play(place: Path, chosen: Settings, json: Path | None, fail_under: float | None) -> None:
    from tempfile import TemporaryDirectory

    from proofs.dialogues.report import measure, tell
    from proofs.dialogues.script import dialogues

    try:
        scripts = dialogues(place)
    except ValueError as error:
        fail(f"Uma linha não é um diálogo (o formato está em docs/extraction.md); nada foi medido. {error}")
    if not scripts:
        fail(f"Não há diálogos em {place}; nada foi medido.")
    with TemporaryDirectory(prefix="prosa-dialogues-") as home:
        # Servers of its own, as for the demo: what is played must not reach a database that the environment names.
        alone = chosen.model_copy(update={"home": Path(home), "database_url": None, "redis_url": None})

        async def work(storage: Storage) -> None:
            report = await measure(scripts, alone, storage.database_url, storage.redis_url)
            raise typer.Exit(tell(report, json, fail_under))

        with_storage(alone, work)
