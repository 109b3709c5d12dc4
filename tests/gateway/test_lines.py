from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest

from gateway.http.wire import NotSentError
from gateway.lines import FORGET_AFTER, PROBES, QUOTAS, CallKind, Lines
from gateway.plugnotas.adapter import PlugNotas
from gateway.plugnotas.payload import IntegrationKey
from state_machine.protocol.emission import Arquivo, NotReady, NotSent, Unknown

ANA, BIA = "11222333000181", "99000002000148"
KINDS = list(CallKind)


class Clock:
    """Seconds that go on when told to."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def made(**more):
    clock, heard = Clock(), []
    lines = Lines(clock=clock, threshold=2, cooldown=10.0, on_change=lambda *news: heard.append(news), **more)
    return lines, clock, heard


def broken(lines: Lines, company: str, kind: CallKind) -> None:
    for _ in range(2):
        lines.breaker(company, kind).failed()


@pytest.mark.parametrize("kind", KINDS)
def test_a_breaker_is_one_companys_and_one_kinds(kind: CallKind) -> None:
    """What fails stops neither another kind of call of the company nor anything of another company."""
    lines, _, heard = made()
    broken(lines, ANA, kind)
    allowed = {(who, what) for who in (ANA, BIA) for what in CallKind if lines.breaker(who, what).allows()}
    assert allowed == {(who, what) for who in (ANA, BIA) for what in CallKind} - {(ANA, kind)}
    assert lines.open(kind) == {ANA}
    lines.breaker(ANA, kind).succeeded()
    assert heard == [(kind, 1), (kind, 0)]


def test_places_are_counted_for_each_company_and_each_kind() -> None:
    """A company never has all of them; one more is refused at once and nothing of it was sent."""
    lines, _, _ = made()
    for kind, quota in QUOTAS.items():
        rest = quota.all - quota.company
        with ExitStack() as taken:
            for _ in range(quota.company):
                taken.enter_context(lines.call(ANA, kind))
            with pytest.raises(NotSentError), lines.call(ANA, kind):
                pass
            assert rest > 0
            for _ in range(rest):
                taken.enter_context(lines.call(BIA, kind))
            with pytest.raises(NotSentError), lines.call("another", kind):
                pass
        with lines.call(ANA, kind):
            pass


def test_who_is_not_called_for_long_is_forgotten() -> None:
    """Memory holds the companies of the last hour; a forgotten breaker no longer counts as open."""
    lines, clock, heard = made()
    for number in range(1000):
        lines.breaker(str(number), CallKind.DOWNLOAD)
    broken(lines, ANA, CallKind.DOWNLOAD)
    clock.now = FORGET_AFTER / 2
    lines.breaker(BIA, CallKind.DOWNLOAD)
    clock.now = FORGET_AFTER
    assert lines.open(CallKind.DOWNLOAD) == frozenset()
    assert heard == [(CallKind.DOWNLOAD, 1), (CallKind.DOWNLOAD, 0)]
    assert list(lines._kinds[CallKind.DOWNLOAD].lines) == [BIA]


def test_while_the_whole_gateway_is_down_probes_are_few_and_after_it_they_are_not() -> None:
    """A thousand companies probe no oftener than a handful; each answer lets the next one look."""
    lines, clock, _ = made()
    companies = [str(number) for number in range(1000)]
    for company in companies:
        broken(lines, company, CallKind.QUESTION)
    for passed in (10.0, 20.0, 30.0):
        clock.now = passed
        assert sum(lines.breaker(company, CallKind.QUESTION).allows() for company in companies) == PROBES
    clock.now = 40.0
    for company in companies:
        breaker = lines.breaker(company, CallKind.QUESTION)
        assert breaker.allows()
        breaker.succeeded()
    assert lines.open(CallKind.QUESTION) == frozenset()


def test_a_probe_refused_for_the_others_sake_comes_again_after_a_pause() -> None:
    """Nobody runs in circles meanwhile."""
    lines, clock, _ = made()
    companies = [str(number) for number in range(PROBES + 1)]
    for company in companies:
        broken(lines, company, CallKind.QUESTION)
    clock.now = 10.0
    last = [lines.breaker(company, CallKind.QUESTION) for company in companies][-1]
    assert [lines.breaker(company, CallKind.QUESTION).allows() for company in companies] == [True] * PROBES + [False]
    assert last.pause() == 10.0


async def test_failing_downloads_leave_submissions_and_questions_alone(server, free, intent) -> None:
    """Ten times 500 for a PDF opens the breaker of that company's downloads, and no other."""
    server.says(500, b"")
    lines = Lines(clock=Clock())
    async with PlugNotas(server.url, "key", guard=free, lines=lines) as gateway:
        for _ in range(10):
            assert isinstance(await gateway.download(ANA, "5bb4", "pdf"), NotReady)
        assert [kind for kind in CallKind if lines.open(kind)] == [CallKind.DOWNLOAD]
        key = IntegrationKey(intent.prestador.cnpj, intent.id_integracao)
        for _ in range(9):
            assert isinstance(await gateway.submit(gateway.payload(intent)), Unknown)
            await gateway.find(key)
        assert [kind for kind in CallKind if lines.open(kind)] == [CallKind.DOWNLOAD]
        other = gateway.payload(replace(intent, prestador=replace(intent.prestador, cnpj=BIA)))
        await gateway.submit(other)
        assert lines.open(CallKind.SUBMISSION) == frozenset()
        await gateway.submit(gateway.payload(intent))
        assert lines.open(CallKind.SUBMISSION) == {intent.prestador.cnpj}


async def test_an_answer_is_a_success_and_our_own_bottleneck_is_nothing(server, free, intent) -> None:
    """A document closes the breaker; a place that was not free neither opens nor closes it."""
    server.says(500, b"")
    server.says(200, b"%PDF-1.4")
    lines = Lines(clock=Clock(), threshold=1)
    async with PlugNotas(server.url, "key", guard=free, lines=lines) as gateway:
        await gateway.download(ANA, "5bb4", "pdf")
        assert lines.open(CallKind.DOWNLOAD) == {ANA}
        assert isinstance(await gateway.download(ANA, "5bb4", "pdf"), Arquivo)
        assert lines.open(CallKind.DOWNLOAD) == frozenset()
        with ExitStack() as taken:
            for _ in range(QUOTAS[CallKind.SUBMISSION].company):
                taken.enter_context(lines.call(intent.prestador.cnpj, CallKind.SUBMISSION))
            assert isinstance(await gateway.submit(gateway.payload(intent)), NotSent)
        assert lines.open(CallKind.SUBMISSION) == frozenset()
