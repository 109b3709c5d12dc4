"""``prosa evaluate``: measures what is read from labelled messages, or the whole product in labelled dialogues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from bot.cli.opening import fail, settings, with_storage

if TYPE_CHECKING:
    from bot.process.servers import Storage
    from bot.settings import Settings
    from proofs.reading.tape import Player

DEADLINE: Final = 30.0  # seconds for one answer


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
    record: Annotated[
        Path | None, typer.Option(help="Responde por esta gravação; o que falta nela, pergunta e grava.")
    ] = None,
    replay: Annotated[Path | None, typer.Option(help="Responde por esta gravação, sem rede.", exists=True)] = None,
) -> None:
    """Mede a extração em um corpus rotulado, ou o produto inteiro em diálogos rotulados."""
    chosen = settings(quiet=True)
    if record is not None and replay is not None:
        raise typer.BadParameter("--record já responde pelo que a gravação tem: use um dos dois")
    if corpus is not None and dialogues is None:
        from proofs.reading.evaluate import run

        model = _model(extractor, chosen, record, replay)
        _end(run(corpus, extractor, json, fail_under, model=model), model)
    if corpus is not None or dialogues is None:
        raise typer.BadParameter("diga um corpus, ou --dialogues com um arquivo ou uma pasta")
    _play(dialogues, chosen, json, fail_under, _model(extractor, chosen, record, replay))


def treinar(
    corpus: Annotated[
        Path, typer.Argument(help="Pasta com um arquivo JSONL por autor.", exists=True, file_okay=False)
    ] = Path("tests/corpus/authors/train"),
    para: Annotated[Path | None, typer.Option(help="Pasta dos pesos; sem ela, os desta instalação.")] = None,
) -> None:
    """Treina o segundo leitor com mensagens rotuladas; leva minutos."""
    from extractor.learned.reader import WEIGHTS
    from proofs.reading.training import train

    files = sorted(corpus.glob("*.jsonl"))
    if not files:
        fail(f"A pasta {corpus} não tem arquivos .jsonl; nada mudou.")
    manifest = train(files, para or WEIGHTS)
    typer.echo(f"{manifest['mensagens']} mensagens de {len(manifest['autores'])} autores; pesos em {para or WEIGHTS}.")


def _model(extractor: str, chosen: Settings, record: Path | None, replay: Path | None) -> Player | None:
    """Return who answers as the model: a record, the model of the settings, or both; nobody where none is asked."""
    if extractor == "rules" or (extractor == "prosa" and record is None and replay is None):
        return None
    from extractor.model.openai_client import ModelClient
    from proofs.reading.tape import Player, Recorder

    name, url, key = chosen.openai_model, chosen.openai_base_url, chosen.openai_api_key.get_secret_value()
    if not (name or record or replay):
        raise typer.BadParameter("para medir o modelo, diga qual é: PROSA_OPENAI_BASE_URL e PROSA_OPENAI_MODEL")
    try:
        if replay is not None:
            return Player(replay)
        server = ModelClient(api_key=key or None, base_url=url, model=name, deadline=DEADLINE) if name else None
        return Recorder(record, server, name)
    except ValueError as error:
        fail(f"Uma linha da gravação não serve (a forma está em docs/extraction.md); nada foi medido. {error}")


def _end(code: int, model: Player | None) -> NoReturn:
    if model is not None:
        typer.echo(f"Perguntas ao modelo sem resposta: {model.missed}")
    raise typer.Exit(code)


def _play(place: Path, chosen: Settings, json: Path | None, fail_under: float | None, model: Player | None) -> None:
    from contextlib import aclosing, nullcontext
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
            async with nullcontext() if model is None else aclosing(model):
                report = await measure(scripts, alone, storage.database_url, storage.redis_url, model)
            _end(tell(report, json, fail_under), model)

        with_storage(alone, work)
