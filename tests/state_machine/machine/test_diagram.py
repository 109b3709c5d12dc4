from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from proofs.diagrams import session as diagram
from proofs.diagrams.session import COMMAND, arcs, mermaid, refreshed
from state_machine.invoice.session import ESPERAM_USUARIO, FINAIS, Estado
from state_machine.machine.events import EVENTOS
from tests import children

ROOT = Path(diagram.__file__).parents[2]
PAGE = ROOT / "docs" / "estados.md"

# "Máquina de Estados e Persistência" of the specification, arrow by arrow (staying put is left out).
SPECIFIED = {
    ("[*]", "coleta"),
    ("coleta", "dados_incompletos"),
    ("coleta", "aguardando_confirmacao"),
    ("coleta", "expirado"),
    ("dados_incompletos", "aguardando_confirmacao"),
    ("dados_incompletos", "expirado"),
    ("aguardando_confirmacao", "processando"),
    ("aguardando_confirmacao", "cancelado_usuario"),
    ("aguardando_confirmacao", "expirado"),
    ("processando", "aprovado"),
    ("processando", "rejeitado"),
    ("processando", "erro"),
}
OURS = {
    ("coleta", "cancelado_usuario"),  # people give up before the summary, too
    ("dados_incompletos", "cancelado_usuario"),
    ("dados_incompletos", "processando"),  # a summary shows two amounts: one press is choice and consent
    ("aguardando_confirmacao", "dados_incompletos"),  # a correction may leave a doubt
    ("erro", "aprovado"),  # the authority's late word
    ("erro", "rejeitado"),
    ("rejeitado", "aprovado"),
    ("processando", "cancelado_usuario"),  # nobody had accepted it for a day, and its person no longer wants it
    ("erro", "processando"),  # staff send what certainly nobody accepted
    ("rejeitado", "processando"),  # staff repaired what was ours: the confirmed revision is tried again
}


def test_the_rules_make_the_specifications_arrows_and_these_others():
    """Nothing of the specification is missing, and what was added is listed with its reason."""
    assert {(de, para) for de, para, _ in arcs()} == SPECIFIED | OURS


def test_every_event_has_an_example():
    """An event without one would be missing from the diagram."""
    assert {type(e) for e in diagram.EXEMPLOS} == set(EVENTOS)


def test_every_state_can_be_reached_and_left():
    """No state is an island; final ones end."""
    text = mermaid()
    for estado in Estado:
        assert re.search(rf"--> {estado}\b", text)
        assert re.search(rf"^    {estado} --> ", text, re.MULTILINE)
        assert (f"    {estado} --> [*]\n" in text) == (estado in FINAIS)
        assert diagram.example(estado).espera_usuario == (estado in ESPERAM_USUARIO)


def test_the_page_shows_the_diagram_of_the_rules_as_they_are():
    """A drawing that the rules have outgrown fails here."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == refreshed(page), f"docs/estados.md is stale; refresh it: {COMMAND}"


def test_the_command_rewrites_only_between_the_markers(tmp_path):
    """What people wrote around the diagram stays; a second run changes nothing."""
    page = tmp_path / "estados.md"
    page.write_text(PAGE.read_text(encoding="utf-8").replace("coleta --> ", "colheita --> "), encoding="utf-8")
    command = [sys.executable, "-m", "proofs.diagrams.session", str(page)]
    for _ in range(2):
        children.run(command, check=True, cwd=ROOT)
        assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_a_page_without_markers_is_refused():
    """Rather than written over."""
    with pytest.raises(ValueError, match="markers"):
        refreshed("# outra página\n")
