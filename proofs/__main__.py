"""``./prosa``, in a clone: the product's commands, and those that need simulators."""

from __future__ import annotations

from bot.cli.__main__ import app, main
from proofs.commands.bench import bench
from proofs.commands.demo import chat, demo
from proofs.commands.evaluate import evaluate, treinar
from proofs.commands.storm import storm

__all__ = ["app", "main"]

for command in (demo, chat, storm, bench, evaluate, treinar):
    app.command()(command)

if __name__ == "__main__":
    main()
