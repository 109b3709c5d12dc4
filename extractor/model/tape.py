"""Records what a model answers, and plays it again without network: for tests and evaluations."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from extractor.model.prompt import NOTHING, Resposta

if TYPE_CHECKING:
    from pathlib import Path

    from extractor.model.meter import Meter
    from extractor.model.prompt import Question


class Proposer(Protocol):
    """Whatever answers a question as a model would; ``None`` where there is no usable answer."""

    async def propose(self, question: Question, meter: Meter | None = None) -> Resposta | None:
        """Answer once; ``meter`` hears what it took."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class Recorder:
    """Writes each question with the answer of the client inside it; without a client, the questions alone.

    Without a ``path`` it only asks.
    """

    def __init__(self, path: Path | None, client: Proposer | None = None, modelo: str = "") -> None:
        self._client = client
        self._modelo = modelo
        self._tape = path.open("w", encoding="utf-8") if path is not None else None

    async def propose(self, question: Question, meter: Meter | None = None) -> Resposta | None:
        """Ask, and write."""
        answer = await self._client.propose(question, meter) if self._client is not None else None
        line = {
            "pergunta": digest(question),
            "mensagem": question.messages[-1][1],
            "modelo": self._modelo,
            "resposta": answer and answer.model_dump(),
        }
        if self._tape is not None:
            self._tape.write(json.dumps(line, ensure_ascii=False) + "\n")
        return answer

    async def aclose(self) -> None:
        """Close the record and the client."""
        if self._tape is not None:
            self._tape.close()
        if self._client is not None:
            await self._client.aclose()


class Player:
    """Answers from a record; a question that is not in it, or was of another prompt, is ``missed`` and has none."""

    def __init__(self, path: Path) -> None:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        self._answers = {line["pergunta"]: line["resposta"] for line in lines}
        self.missed = 0

    async def propose(self, question: Question, meter: Meter | None = None) -> Resposta | None:  # noqa: ARG002 - nothing is taken
        """Answer as it was recorded."""
        answer = self._answers.get(digest(question))
        self.missed += answer is None
        return answer and Resposta.model_validate({**NOTHING, **answer})

    async def aclose(self) -> None:
        """Nothing is open."""


def digest(question: Question) -> str:
    """Return the same for the same prompt and words: an answer to another prompt is no answer."""
    return sha256(json.dumps(question.messages, ensure_ascii=False).encode()).hexdigest()[:16]
