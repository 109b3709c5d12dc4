"""The process that forks the product's lives as long as whoever asks it, not as long as the thread that began it."""

from __future__ import annotations

import os
import select
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proofs.storm.machines.process import interpreter_environment
from proofs.storm.machines.zygote import Zygote
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.timeout(2 * PATIENCE)  # an interpreter starts, and each of two waits has the whole patience
def test_it_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """Linux tells a child of its parent's death when the thread ends that forked it; a test's thread ends early."""
    with ThreadPoolExecutor(1) as thread:
        zygote = thread.submit(Zygote, interpreter_environment(), ROOT).result()
    try:
        for _ in range(2):
            ended, told = os.pipe()
            forked = zygote.spawn(["--help"], os.environ, 2, told=told, stdio=(0, 2))
            os.close(told)
            os.close(forked.pidfd)
            assert select.select([ended], [], [], PATIENCE)[0]
            assert os.read(ended, 16) == b"0"
            os.close(ended)
    finally:
        zygote.close()
