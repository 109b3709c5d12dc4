"""The simulated city's refusals, each asked for by a sentence of the contract and of the city's manual 3.3.5."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from proofs.sandbox.nacional import authority as authorities
from proofs.sandbox.nacional.authority import Authority
from proofs.sandbox.paulistana.rps import MEI, SIMPLES, Chave
from proofs.sandbox.paulistana.rules import PaulistanaConfig, Taxpayer
from tests.proofs.sandbox.paulistana.paulistana_company import ANA, CCM, OTHER, Company, codes, opened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from proofs.sandbox.nacional.authority import Made

FIRST = Chave(CCM, "PROSA", 1)
NOW = datetime.now(UTC)


def _elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch, name: str | None = None) -> Made:
    """Return Ana's certificate of another authority: of the same name, or of this one."""
    if name is not None:
        named = authorities._name
        monkeypatch.setattr(authorities, "_name", lambda _: named(name))
    return Authority(home).company(ANA)


async def _refused(ana: Company, text: str, code: str, operation: str = "EnvioRPS") -> Any:
    """Send a message that is refused with one code, of which no note is made or ended; returns the answer."""
    before = dict(ana.city.notes)
    told = await ana.asked(operation, text)
    assert (told.findtext("Cabecalho/Sucesso"), codes(told), told.find("ChaveNFeRPS")) == ("false", [code], None)
    assert ana.city.notes == before
    assert ana.city.ledger.of("refused")[-1].data["codes"] == [code]
    return told


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("1051", {"ends": NOW - timedelta(hours=1)}),
        ("1051", {"begins": NOW + timedelta(hours=1)}),
        ("1052", {"oid": None}),
    ],
)
async def test_a_certificate_out_of_its_days_or_without_a_cnpj_signs_nothing(
    ana: Company, code: str, how: dict[str, Any]
) -> None:
    """1051, and 1052: the connection's own certificate is a good one."""
    other = Company(ana.city, ana.city.authority.company(ANA, **how))
    await _refused(ana, other.envio(), code)


async def test_a_certificate_of_another_chain_signs_nothing(
    ana: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1055 where it is none of ICP-Brasil, 1053 where it only says that it is."""
    await _refused(ana, Company(ana.city, _elsewhere(tmp_path / "same", monkeypatch)).envio(), "1053")
    foreign = _elsewhere(tmp_path / "foreign", monkeypatch, "AC de Outra Terra")
    await _refused(ana, Company(ana.city, foreign).envio(), "1055")


async def test_a_revoked_certificate_signs_nothing(authority: Authority) -> None:
    """1054."""
    async with opened(authority, PaulistanaConfig(revoked=frozenset({ANA}))) as ana:
        await _refused(ana, ana.envio(), "1054")


@pytest.mark.parametrize(
    ("code", "spoilt"),
    [
        ("1056", lambda text: text.replace("<NBS>118054000</NBS>", "<NBS>118054001</NBS>")),
        ("1056", lambda text: text.replace("Consultoria|nov/2026", "Consultoria|nov/2027")),
        ("1057", lambda text: _changed(text, "SignatureValue", lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]))),
        ("1050", lambda text: _changed(text, "X509Certificate", lambda _: b"no certificate")),
    ],
)
async def test_a_message_that_was_changed_after_its_signature_makes_nothing(
    ana: Company, code: str, spoilt: Callable[[str], str]
) -> None:
    """1056 for its text, 1057 for the signature's own value, 1050 for a certificate that is none."""
    text = ana.envio()
    assert spoilt(text) != text
    await _refused(ana, spoilt(text), code)


def _changed(text: str, name: str, how: Callable[[bytes], bytes]) -> str:
    """Change the bytes inside of one element of the message's signature."""
    found = re.search(f"<{name}>([^<]+)</{name}>", text)
    assert found is not None
    return text.replace(found[1], base64.b64encode(how(base64.b64decode(found[1]))).decode())


async def test_the_connection_is_the_senders_own(ana: Company) -> None:
    """1100: another company's certificate brings a message that says Ana sends it."""
    other = Company(ana.city, ana.city.authority.company(OTHER))
    await _refused(other, ana.envio(), "1100")
    await other.http.aclose()


@pytest.mark.parametrize("operation", ["EnvioRPS", "TesteEnvioLoteRPS", "CancelamentoNFe"])
async def test_only_the_prestador_signs_what_issues_or_cancels(authority: Authority, operation: str) -> None:
    """1107: the sender and the connection are another company's, the inscription is Ana's."""
    async with opened(authority, PaulistanaConfig(taxpayers={CCM: Taxpayer(ANA)})) as ana:
        await ana.asked("EnvioRPS", ana.envio(9))
        other = Company(ana.city, authority.company(OTHER), remetente=OTHER)
        texts = {
            "EnvioRPS": other.envio(),
            "TesteEnvioLoteRPS": other.teste(),
            "CancelamentoNFe": other.cancelamento(),
        }
        await _refused(other, texts[operation], "1107", operation)
        await other.http.aclose()


@pytest.mark.parametrize("versao", [1, 2])
async def test_a_wrong_string_is_answered_with_the_right_one(authority: Authority, versao: int) -> None:
    """1206 shows the string that the city computed: 86 or 90 characters; the same number may go again, rightly."""
    async with opened(authority, PaulistanaConfig(layout_2_since=None)) as ana:
        ana.versao = versao
        wide = 8 if versao == 1 else 12
        wrong = re.sub("<Assinatura>[^<]+", f"<Assinatura>{ana.seal('x' * 90)}", ana.rps())
        text = ana.message("PedidoEnvioRPS", f'<RPS xmlns="">{wrong}</RPS>')
        told = await _refused(ana, text, "1206")
        found = re.search(r"String verificada \((.+)\)$", told.findtext("Erro/Descricao"))
        assert found is not None
        assert (len(found[1]), found[1][: wide + 5]) == (78 + wide, f"{CCM.zfill(wide)}PROSA")
        assert found[1].endswith(f"TNN{10000:015d}{0:015d}026581{13167474254:014d}")
        await ana.asked("EnvioRPS", ana.envio())
        assert len(ana.city.of_rps(FIRST)) == 1


async def test_the_simples_is_led_to_layout_1_with_its_number(authority: Authority) -> None:
    """641, of a sending and of a question: nothing was issued, and the same RPS goes in layout 1."""
    async with opened(authority, PaulistanaConfig(taxpayers={CCM: Taxpayer(ANA, SIMPLES)})) as ana:
        await _refused(ana, ana.envio(), "641")
        await _refused(ana, ana.consulta(), "641", "ConsultaNFe")
        ana.versao = 1
        assert codes(await ana.asked("ConsultaNFe", ana.consulta())) == ["1106"]
        assert (await ana.asked("EnvioRPS", ana.envio())).findtext("ChaveNFeRPS/ChaveNFe/NumeroNFe") == "1"


async def test_layout_1_ends_on_a_day_for_all_others(authority: Authority) -> None:
    """631 names the day of the fact from which layout 2 is the only one; the same RPS goes in it."""
    async with opened(authority, PaulistanaConfig(layout_2_since=date(2026, 1, 1))) as ana:
        ana.versao = 1
        assert "01/01/2026" in (await _refused(ana, ana.envio(), "631")).findtext("Erro/Descricao")
        ana.versao = 2
        assert (await ana.asked("EnvioRPS", ana.envio())).findtext("ChaveNFeRPS/ChaveNFe/NumeroNFe") == "1"


async def test_a_mei_does_not_issue_here(authority: Authority) -> None:
    """359 leads to the national issuer; the register says that it may not issue."""
    async with opened(authority, PaulistanaConfig(taxpayers={CCM: Taxpayer(ANA, MEI)})) as ana:
        told = await _refused(ana, ana.envio(), "359")
        assert "padrão nacional" in told.findtext("Erro/Descricao")
        assert (await ana.asked("ConsultaCNPJ", ana.cnpj())).findtext("Detalhe/EmiteNFe") == "false"


async def test_an_rps_that_somebody_converted_on_the_site_makes_no_other_note(ana: Company) -> None:
    """216 is an alert of an answer that agrees and names no note: the one of the site stands, found by its RPS."""
    ana.city.issue_elsewhere(CCM, ANA, serie="PROSA", rps=1)
    told = await ana.asked("EnvioRPS", ana.envio())
    assert (told.findtext("Cabecalho/Sucesso"), codes(told, "Alerta"), codes(told)) == ("true", ["216"], [])
    assert told.find("ChaveNFeRPS") is None
    (note,) = ana.city.of_rps(FIRST)
    assert (note.by, note.cancelled) == ("site", None)
    assert (await ana.asked("ConsultaNFe", ana.consulta())).findtext("NFe/ChaveNFe/NumeroNFe") == str(note.numero)


@pytest.mark.parametrize("code", ["218", "338", "372", "373"])
async def test_an_rps_whose_note_is_kept_is_not_sent_again(ana: Company, code: str) -> None:
    """Refused, and the first note stands alone; 338 says its number."""
    await ana.asked("EnvioRPS", ana.envio())
    ana.city.mark(CCM, 1, code)
    told = await _refused(ana, ana.envio(), code)
    assert code != "338" or "(1)" in told.findtext("Erro/Descricao")
    (note,) = ana.city.of_rps(FIRST)
    assert note.cancelled is None


async def test_sent_again_an_rps_costs_its_first_note_and_a_cancelled_one_is_dead(ana: Company) -> None:
    """217 names the note that it cancels; once the second is cancelled, 223."""
    await ana.asked("EnvioRPS", ana.envio())
    told = await ana.asked("EnvioRPS", ana.envio())
    assert (codes(told, "Alerta"), told.findtext("ChaveNFeRPS/ChaveNFe/NumeroNFe")) == (["217"], "2")
    assert "NF-e (1)" in told.findtext("Alerta/Descricao")
    first, second = ana.city.of_rps(FIRST)
    assert (first.cancelled_by, second.cancelled) == ("substituicao", None)
    await ana.asked("CancelamentoNFe", ana.cancelamento(2))
    await _refused(ana, ana.envio(), "223")


@pytest.mark.parametrize(("length", "taken"), [(20, 20), (24, 24), (20, 24), (24, 20)])
async def test_a_cancellation_is_signed_over_the_string_of_its_length(
    authority: Authority, length: int, taken: int
) -> None:
    """1305 for another one, and nothing is cancelled; a second cancellation is alert 1301."""
    config = PaulistanaConfig()
    config = replace(config, cancel_lengths={**config.cancel_lengths, 2: taken})
    async with opened(authority, config) as ana:
        await ana.asked("EnvioRPS", ana.envio())
        text = ana.cancelamento(digits=length - 12)
        if length != taken:
            await _refused(ana, text, "1305", "CancelamentoNFe")
            return
        assert codes(await ana.asked("CancelamentoNFe", text), "Alerta") == []
        again = await ana.asked("CancelamentoNFe", text)
        assert (again.findtext("Cabecalho/Sucesso"), codes(again, "Alerta")) == ("true", ["1301"])
