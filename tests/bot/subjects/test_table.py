from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from bot.wiring.handlers import SUBJECTS, jobs

ROOT = Path(__file__).parents[3]
BUTTON = re.compile(r'\b(?:Botao|Opcao)\(\s*f?"(\w+):')


def test_every_button_of_the_catalogue_is_of_one_subject() -> None:
    """A button whose action no subject declares would be taken for a message without words."""
    texts = "".join(path.read_text() for path in (ROOT / "state_machine").rglob("*.py"))
    declared = Counter(action for subject in SUBJECTS for action in subject.actions)
    assert set(BUTTON.findall(texts)) == set(declared)
    assert set(declared.values()) == {1}


def test_a_subjects_deadline_is_a_job() -> None:
    """What a subject lets expire is looked for as often as the others' deadlines."""
    planned = {job.name: job.every for job in jobs()}
    assert [planned[deadline.name] for subject in SUBJECTS for deadline in subject.deadlines] == [5, 5, 5]
