"""The command as a person runs it: its own process, its words, its exit status."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer import rich_utils

import bot.settings
from bot.cli import words as cli_words
from bot.settings import Settings, place_of_files
from persistence.db.engine import Database
from proofs.__main__ import app
from tests import children

if TYPE_CHECKING:
    from tests.bot.cli.conftest import Prosa

ROOT = Path(__file__).resolve().parents[3]
FORM = (
    "--cnpj=11.222.333/0001-81",
    "--inscricao-municipal=12345678",
    "--municipio=3550308",
    "--usuario=+5511987654321",
)


def _row(database_url: str, query: str) -> tuple[object, ...]:
    async def ask() -> tuple[object, ...]:
        database = await Database.open(database_url, size=1)
        try:
            return tuple(await database.pool.fetchrow(query) or ())
        finally:
            await database.close()

    return asyncio.run(ask())


def test_help_names_every_command(prosa: Prosa) -> None:
    """Whoever asks for help finds all that can be done."""
    said = prosa("--help")
    assert said.returncode == 0
    for command in ("demo", "chat", "serve", "web", "worker", "migrate", "empresa", "contatos", "reconcile", "test"):
        assert command in said.stdout


def test_help_waits_for_no_driver() -> None:
    """The words of the commands load neither database, cache, HTTP client nor model: each command loads its own."""
    heavy = ("sqlalchemy", "asyncpg", "redis", "httpx", "openai", "alembic", "aiohttp")
    code = f"import sys, bot.cli; print([name for name in {heavy!r} if name in sys.modules])"
    done = children.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_phones_right_to_issue_is_taken_away(prosa: Prosa, database_url: str) -> None:
    """The command says what became of it, the audit has it, and a second time there is nothing to take."""
    added = prosa("empresa", "add", *FORM, "--razao-social=PADARIA LTDA", "--usuario=+5511955550001")
    assert added.returncode == 0, added.stderr
    done = prosa("empresa", "remover-usuario", "+55 (11) 95555-0001", "--motivo=saiu da empresa")
    assert (done.returncode, "não emite mais por PADARIA LTDA" in done.stdout) == (0, True), done.stderr
    assert _row(database_url, "SELECT count(*) FROM usuario WHERE telefone = '5511955550001'") == (0,)
    kept = _row(database_url, "SELECT quem, motivo, alvo FROM auditoria WHERE acao = 'removeu usuário'")
    assert kept == ("linha de comando", "saiu da empresa", None)
    for typed in ("+55 (11) 95555-0001", "sem número"):
        again = prosa("empresa", "remover-usuario", typed)
        assert (again.returncode, "Nada mudou" in again.stderr) == (1, True)


def test_an_accounts_wrong_logins_are_forgotten_by_name(prosa: Prosa) -> None:
    """A name without an account is refused with a sentence; nothing is counted for it."""
    said = prosa("staff", "desbloquear", "ninguem")
    assert (said.returncode, "Não há conta ativa" in said.stderr) == (1, True)


def test_no_seed_stands_in_the_arguments(prosa: Prosa) -> None:
    """The authenticator's secret is read from the input; one in the command line is refused, and shows no code."""
    said = prosa("staff", "code", "JBSWY3DPEHPK3PXP" * 2)
    assert (said.returncode, said.stdout, "linha de comando" in said.stderr) == (1, "", True)
    for typed, status in (("jbsw y3dp ehpk 3pxp jbsw y3dp ehpk 3pxp\n", 0), ("isto não é\n", 1), ("", 1)):
        asked = children.run(
            [sys.executable, "-m", "bot.cli", "staff", "code"], cwd=ROOT, input=typed, capture_output=True, text=True
        )
        assert asked.returncode == status, asked.stderr
        assert (len(asked.stdout.strip()) == len("000000")) is (status == 0)


def test_serve_refuses_to_start_without_secrets(prosa: Prosa) -> None:
    """One sentence says what is missing; no traceback, nothing started."""
    said = prosa("serve")
    assert said.returncode == 1
    assert "PROSA_WHATSAPP_APP_SECRET" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_wrong_setting_is_one_sentence(prosa: Prosa) -> None:
    """The setting is named as the operator wrote it."""
    said = prosa("migrate", PROSA_PORT="eighty")
    assert said.returncode == 1
    assert "PROSA_PORT" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_server_that_is_away_is_one_sentence(prosa: Prosa) -> None:
    """A database that does not answer is said so, with what to do."""
    said = prosa("migrate", PROSA_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert said.returncode == 1
    assert "Traceback" not in said.stderr


def test_migrate_may_run_again(prosa: Prosa) -> None:
    """On a database of the newest schema it changes nothing and says so."""
    said = prosa("migrate")
    assert (said.returncode, said.stdout.strip()) == (0, "O banco está na versão mais nova.")


def test_a_company_added_twice_is_updated(prosa: Prosa, database_url: str) -> None:
    """The second time changes what is different."""
    for name in ("ANA DESIGN ME", "ANA DESIGN LTDA"):
        said = prosa("empresa", "add", f"--razao-social={name}", *FORM)
        assert said.returncode == 0, said.stderr
        assert name in said.stdout
    counted = _row(database_url, "SELECT count(*), min(razao_social), (SELECT count(*) FROM usuario) FROM empresa")
    assert counted == (1, "ANA DESIGN LTDA", 1)


def test_a_company_that_cannot_be_is_refused(prosa: Prosa) -> None:
    """The option to correct is named, and nothing was stored."""
    said = prosa("empresa", "add", "--razao-social=X", *FORM, "--aliquota=muito")
    assert said.returncode == 1
    assert "--aliquota" in said.stderr
    assert "Nada foi gravado" in said.stderr


def test_unknown_contacts_are_listed(prosa: Prosa) -> None:
    """Without any there is a sentence."""
    said = prosa("contatos")
    assert said.returncode == 0
    assert "Nenhum número desconhecido" in said.stdout


def test_the_audit_is_verified_and_its_head_is_shown(prosa: Prosa, database_url: str) -> None:
    """A run's head may be given to the next; one that the chain does not hold is status 1, in one sentence."""
    _row(database_url, "INSERT INTO auditoria (quem, acao) VALUES ('ana', 'x') RETURNING id")
    said = prosa("auditoria", "verificar")
    assert said.returncode == 0, said.stderr
    head = said.stdout.strip().rpartition(" ")[2]
    assert prosa("auditoria", "verificar", f"--cabeca={head}").returncode == 0
    number, _, digest = head.partition(":")
    for kept, word in (
        (f"{int(number) + 1}:{digest}", "faltam no fim"),
        (f"{number}:{'0' * 64}", "reescrita"),
        ("x", "12"),
    ):
        said = prosa("auditoria", "verificar", f"--cabeca={kept}")
        assert said.returncode == 1
        assert word in said.stderr
        assert "Traceback" not in said.stderr


def test_the_doctor_ends_with_what_it_found(prosa: Prosa) -> None:
    """Without accounts it says first what is missing, a line each, and ends with 1; a wrong setting is a line too."""
    said = prosa("doctor", PROSA_WHATSAPP_API_URL="http://127.0.0.1:1/v25.0", PROSA_PLUGNOTAS_URL="http://127.0.0.1:1")
    assert said.returncode == 1
    assert "falha  PROSA_WHATSAPP_APP_SECRET" in said.stdout
    assert said.stdout.index("falha  PROSA_WHATSAPP_APP_SECRET") < said.stdout.index("ok     banco: tabelas")
    wrong = prosa("doctor", PROSA_PORT="eighty")
    assert (wrong.returncode, "falha  PROSA_PORT" in wrong.stdout) == (1, True)
    assert "Traceback" not in said.stderr + wrong.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "--port", "x"), "O valor de --port não serve."),
        (("demo", "--nada"), "A opção --nada não existe."),
        (("nada",), "Não há esse comando"),
        (("demmo",), "Não há o comando demmo. Seria demo?"),
        (("replay",), "Falta linha."),
    ],
)
def test_words_typed_wrongly_are_told_in_portuguese(prosa: Prosa, words: tuple[str, ...], said: str) -> None:
    """The sentence names what was wrong and where the right words are; nothing was done, status 2."""
    told = prosa(*words)
    assert (told.returncode, told.stdout) == (2, "")
    assert said in told.stderr
    assert "--help" in told.stderr


LIBRARY = "Options|Arguments|Commands|Usage|Show this|default|required|Nothing|Error|OPTIONS|COMMAND|ARGS"
TYPES = "str|int|float|bool|path|file|text|integer|range|choice|list|row"
COMMON = "the|and|of|with|without|from|this|that|not|is|are|each|number|name|word|what|which|only|once|again"
ENGLISH = re.compile(rf"\b(?:{LIBRARY}|{COMMON})\b|[<{{\[](?:{TYPES})\b")
OPTION = re.compile(r"--[a-z-]+")  # names of options and commands are fixed, and often English


def test_every_help_is_in_portuguese(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No command's help has a word of the library's English or a common one of ours, nor shows what is hidden."""
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", 200)
    group = typer.main.get_command(app)
    cli_words._translate(group)
    commands = {command.name for command in cli_words._tree(group)}
    for command in cli_words._tree(group):
        with contextlib.suppress(typer.Exit):
            command.main(["--help"], prog_name="prosa", standalone_mode=False)
        said = capsys.readouterr().out
        assert "Mostra esta ajuda e termina." in said
        hidden = [parameter.name for parameter in command.params if getattr(parameter, "hidden", False)]
        assert [name for name in hidden if f"[{name}]" in said] == []
        assert [word for word in ENGLISH.findall(OPTION.sub("", said)) if word not in commands] == []


def test_an_unforeseen_failure_of_a_command_is_not_taken_for_wrong_words(prosa: Prosa) -> None:
    """What a command refuses by itself keeps its own words and status."""
    told = prosa("empresa", "add", "--razao-social=X", *FORM, "--regime=rico")
    assert (told.returncode, "--regime é um destes" in told.stderr) == (1, True)


def test_data_stay_in_one_place_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clone's folder from anywhere; a folder that an earlier release made where one stands is gone on with."""
    monkeypatch.delenv("PROSA_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert Settings().home == ROOT / ".prosa"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".prosa").mkdir()
    assert Settings().home == Path(".prosa")
    monkeypatch.setenv("PROSA_HOME", "elsewhere")
    assert Settings().home == Path("elsewhere")


@pytest.mark.parametrize(("state", "home"), [("", ".local/state/prosa"), ("/var/state", "/var/state/prosa")])
def test_an_installed_package_keeps_its_data_where_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, home: str
) -> None:
    """Without a clone, the state folder of the XDG Base Directory Specification."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bot.settings, "__file__", str(tmp_path / "site-packages" / "bot" / "settings.py"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", state)
    assert place_of_files(Path(".prosa")) == tmp_path / home


def test_dialogues_are_played_and_judged(prosa: Prosa, tmp_path: Path) -> None:
    """On servers of their own; what is no dialogue or no record, and a corpus beside them, is refused with a sentence.

    Without a model, who records gets the questions, and is told how many have no answer.
    """
    nota = {"documento": "25956721000109", "valor": "260", "servico": ["costura"]}
    line = {"texto": "nota de R$ 260,00 para 25.956.721/0001-09, serviço: costura", "depois": {"valor": "260"}}
    dialogue = {"familia": "simples", "falas": [line], "respostas": {}, "fim": {"notas": [nota]}}
    (tmp_path / "ana.jsonl").write_text(json.dumps(dialogue) + "\n")
    play = ("evaluate", "--dialogues", "ana.jsonl")
    said = prosa(*play, "--json", "figures.json", "--fail-under", "1", "--record", "tape.jsonl")
    assert said.returncode == 0, said.stdout + said.stderr
    assert "diálogos certos: 1 de 1" in said.stdout
    assert "Perguntas ao modelo sem resposta: 1" in said.stdout
    assert "[DOC1], serviço: costura" in (tmp_path / "tape.jsonl").read_text()
    assert json.loads((tmp_path / "figures.json").read_text())["authors"]["ana"]["notes"] == 1
    (tmp_path / "ana.jsonl").write_text("{}\n")
    for more in ((), ("--replay", "ana.jsonl")):
        refused = prosa(*play, *more)
        assert (refused.returncode, "nada foi medido" in refused.stderr) == (1, True)
    for unclear in (
        ("evaluate",),
        ("evaluate", "ana.jsonl", "--dialogues", "ana.jsonl"),
        ("evaluate", "ana.jsonl", "--extractor", "both"),
        (*play, "--record", "tape.jsonl", "--replay", "tape.jsonl"),
    ):
        assert prosa(*unclear).returncode == 2
