"""``./prosa``, in a clone: the product's commands, and those that need simulators."""

from __future__ import annotations

from bot.cli.__main__ import app
from bot.cli.words import run
from proofs.commands.bench import bench
from proofs.commands.demo import chat, demo
from proofs.commands.evaluate import evaluate
from proofs.commands.storm import storm

__all__ = ["app", "main"]

for command in (demo, chat, storm, bench, evaluate):
    app.command()(command)


def main() -> None:
    """Run the command that was typed; ends the process with its status."""
    run(app)


if __name__ == "__main__":
    main()
