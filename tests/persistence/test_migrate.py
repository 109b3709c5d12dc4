from __future__ import annotations

import sys

import children
from alembic.config import Config
from alembic.script import ScriptDirectory

from persistence.migrate import _SCRIPTS, newest


def test_the_newest_revision_is_the_one_that_alembic_means() -> None:
    """Reading the scripts ourselves finds the same head."""
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    assert newest() == ScriptDirectory.from_config(config).get_current_head()


def test_asking_for_the_schema_does_not_wait_for_alembic() -> None:
    """A start on a current database imports no migration tool."""
    code = "import sys, persistence.migrate; sys.exit('alembic' in sys.modules)"
    assert children.run([sys.executable, "-c", code]).returncode == 0
