"""Records what a model answers, and plays it again without network: for tests and evaluations."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator

from extractor.model.prompt import NOTHING, Resposta

if TYPE_CHECKING:
    from pathlib import Path

    from extractor.hybrid import Proposer
    from extractor.model.prompt import Meter, Question


class _Line(BaseModel):
    """A line of a record as far as it is read; what an answer leaves out is empty."""

    pergunta: str
    resposta: Annotated[Resposta | None, BeforeValidator(lambda answer: answer and {**NOTHING, **answer})]


class Player:
    """Answers from a record; a question without an answer there, or of another prompt, is ``missed`` and has none.

    Raises ``ValueError`` (pydantic's) for a line that is no question, or whose answer has another form.
    """

    def __init__(self, path: Path) -> None:
        self._answers = _read(path)
        self.missed = 0

    async def propose(self, question: Question, meter: Meter | None = None) -> Resposta | None:
        """Answer as it was recorded."""
        answer = self._answers.get(digest(question)) or await self._beyond(question, meter)
        self.missed += answer is None
        return answer

    async def _beyond(self, question: Question, meter: Meter | None) -> Resposta | None:  # noqa: ARG002 - nobody is asked
        """Answer what the record does not."""
        return None

    async def aclose(self) -> None:
        """Nothing is open."""


class Recorder(Player):
    """Asks its client what the record does not answer, and adds it; without a client, the question alone.

    What the record has stays, and a question without an answer is in it once. Without a ``path`` it only asks.
    """

    def __init__(self, path: Path | None, client: Proposer | None = None, modelo: str = "") -> None:
        self._answers = _read(path) if path is not None and path.exists() else {}
        self.missed = 0
        self._client = client
        self._modelo = modelo
        self._tape = path.open("a", buffering=1, encoding="utf-8") if path is not None else None
        if path is not None and self._tape is not None and path.read_bytes()[-1:] not in b"\n":
            self._tape.write("\n")  # somebody filled it in and did not end the last line

    async def _beyond(self, question: Question, meter: Meter | None) -> Resposta | None:
        """Ask, and write."""
        answer = await self._client.propose(question, meter) if self._client is not None else None
        key = digest(question)
        if self._tape is not None and (answer is not None or key not in self._answers):
            self._answers[key] = answer
            line = {
                "pergunta": key,
                "mensagem": question.messages[-1][1],
                "modelo": self._modelo,
                "resposta": answer and answer.model_dump(),
            }
            self._tape.write(json.dumps(line, ensure_ascii=False) + "\n")
        return answer

    async def aclose(self) -> None:
        """Close the record and the client."""
        if self._tape is not None:
            self._tape.close()
        if self._client is not None:
            await self._client.aclose()


def _read(path: Path) -> dict[str, Resposta | None]:
    """Return the answers of a record by their questions; of two to the same question the later one."""
    lines = map(_Line.model_validate_json, path.read_text(encoding="utf-8").splitlines())
    return {line.pergunta: line.resposta for line in lines}


def digest(question: Question) -> str:
    """Return the same for the same prompt and words: an answer to another prompt is no answer."""
    return sha256(json.dumps(question.messages, ensure_ascii=False).encode()).hexdigest()[:16]
