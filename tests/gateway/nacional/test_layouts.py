"""Which layout holds, what the official schemas accept, and what is not parsed at all."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path

import nfelib
import pytest

from bot.settings import Settings
from gateway.nacional.layouts import (
    CALENDARIO,
    IBS_CBS_MUST,
    MAX_BYTES,
    NT009,
    Inicio,
    Layout,
    check,
    deadlines,
    layout_for,
    nt009_from,
    parse,
    term,
)
from state_machine.protocol.channel import Ambiente

SHIPPED = {
    "DPS_v1.01.xsd": "fe45e5250a48e519aba89fc6a472863b8e602ed957778fb64692804933a00d0c",
    "NFSe_v1.01.xsd": "af0bd2d8c50acba3d9c3f3f515426eca083b3f66e3211ce8dd48a7cf101818b8",
    "pedRegEvento_v1.01.xsd": "e90b6816d29cca0bd5ed8f86ad98d3b7b0d8bbfc11a7583e6ff8f98170fd4009",
    "tiposComplexos_v1.01.xsd": "e8e09d525574cc224ca6d1f8d8eb0366043ab2a3aa8d0d234058e6244d60e371",
    "tiposEventos_v1.01.xsd": "1b32bea21089dc232d78b62d805e9c07382f440d4e0ea2cb3fb6b82ebde68c11",
    "tiposSimples_v1.01.xsd": "0d07f9c607af4df1449d21ccedd8eb1ef30df04f21f9f50f4e2f18a805a762fa",
    "xmldsig-core-schema.xsd": "49848f732663aecb618d72ad6130c5c3240f0a10f3a1a8544b7d48a6c726046f",
}


def test_the_shipped_schemas_are_those_that_the_overlay_was_made_for() -> None:
    """An update of nfelib that brings another bundle is noticed: overlay and calendar must be looked at again."""
    folder = Path(nfelib.__file__).parent / "nfse/schemas/v1_0"
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in SHIPPED} == SHIPPED


@pytest.mark.parametrize(
    ("ambiente", "dia", "letters"),
    [
        (Ambiente.PRODUCAO, date(2026, 8, 9), False),
        (Ambiente.PRODUCAO, date(2026, 8, 10), True),
        (Ambiente.HOMOLOGACAO, date(2026, 7, 26), False),
        (Ambiente.HOMOLOGACAO, date(2026, 7, 27), True),
    ],
)
def test_a_layout_holds_from_its_day_on(ambiente: Ambiente, dia: date, letters: bool) -> None:
    """Environment and day decide whether a CNPJ may have letters."""
    assert layout_for(ambiente, dia).alphanumeric is letters


def test_settings_may_bring_another_calendar_and_no_day_before_it_has_a_layout() -> None:
    """Another date or hash is one more line; a day that no line covers is an error that names the field."""
    own = Inicio(Ambiente.PRODUCAO, date(2026, 12, 1), Layout(digest="sha1"))
    assert layout_for(Ambiente.PRODUCAO, date(2026, 12, 1), calendario=(*CALENDARIO, own)).digest == "sha1"
    assert layout_for(Ambiente.PRODUCAO, date(2026, 12, 1)).digest == "sha256"
    with pytest.raises(ValueError, match=r"^dh_emi"):
        layout_for(Ambiente.HOMOLOGACAO, date(2026, 1, 1))


@pytest.mark.parametrize(("dia", "shape"), [(date(2026, 12, 31), False), (date(2027, 1, 1), True)])
def test_nt_009_holds_from_its_day_on(dia: date, shape: bool) -> None:
    """The day before is of the former layout, whatever else holds; without a day there is none."""
    assert layout_for(Ambiente.PRODUCAO, dia, date(2027, 1, 1)) == Layout(nt009=shape)
    assert not layout_for(Ambiente.PRODUCAO, dia).nt009


def test_the_first_day_of_nt_009_is_a_setting_or_the_authoritys_own_day() -> None:
    """Production's day is the setting's; without it each environment has one at its own host, and none elsewhere."""
    own = Settings(fiscal_environment="homologacao")
    assert {ambiente: nt009_from(own, ambiente) for ambiente in Ambiente} == NT009
    away = own.model_copy(update={"nacional_sefin_url": "https://sefin.exemplo"})
    assert (nt009_from(away, Ambiente.HOMOLOGACAO), nt009_from(away, Ambiente.PRODUCAO)) == (
        None,
        NT009[Ambiente.PRODUCAO],
    )
    day = date(2026, 12, 1)
    for environment in ("producao", "homologacao"):
        told = away.model_copy(update={"fiscal_environment": environment, "nacional_nt009_producao": day})
        assert nt009_from(told, Ambiente.PRODUCAO) == day


def test_the_day_of_the_new_taxes_is_a_setting_or_the_authoritys_own() -> None:
    """The setting holds in both environments; without it the day is known at the authority's own hosts only."""
    own = Settings(fiscal_environment="homologacao")
    assert {deadlines(own, ambiente).ibs_cbs for ambiente in Ambiente} == {date(2027, 1, 1)}
    away = own.model_copy(update={"nacional_sefin_url": "https://sefin.exemplo"})
    assert [deadlines(away, ambiente).ibs_cbs for ambiente in (Ambiente.HOMOLOGACAO, Ambiente.PRODUCAO)] == [
        None,
        IBS_CBS_MUST,
    ]
    told = away.model_copy(update={"nacional_ibs_cbs_obrigatorio": date(2027, 3, 1)})
    assert {deadlines(told, ambiente).ibs_cbs for ambiente in Ambiente} == {date(2027, 3, 1)}


@pytest.mark.parametrize(
    "xml",
    [
        b"",
        b"<a>",
        b'<?xml version="1.0" encoding="klingon"?><a/>',
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<!DOCTYPE a><a/>",
        b"<a>10<!-- -->00</a>",
        b"<a><?pi ?></a>",
        b"<a>" * 5000 + b"</a>" * 5000,
        b"<a>" + b"x" * MAX_BYTES + b"</a>",
    ],
    ids=["nothing", "cut", "encoding", "entity", "external", "doctype", "comment", "instruction", "deep", "huge"],
)
def test_hostile_xml_is_not_parsed(xml: bytes) -> None:
    """No entities, no outside, no depth without bottom, nothing that readers and signers see differently."""
    with pytest.raises(ValueError, match=r"\w"):
        parse(xml)


def test_what_the_schema_says_is_in_the_error() -> None:
    """Whoever repairs it is told the element."""
    with pytest.raises(ValueError, match=r"^DPS: .*infDPS"):
        check(parse(b'<DPS xmlns="http://www.sped.fazenda.gov.br/nfse" versao="1.01"/>'), "DPS", Layout())


def test_who_chooses_the_channel_reads_in_what_it_issues_until_when() -> None:
    """The last day of one layout and the first of the next; of a server with a calendar of its own, that."""
    own = Settings(fiscal_environment="homologacao")
    told = "em produção, o leiaute 1.01 até 31/12/2026 e o da NT 009 a partir de 01/01/2027; em homologação, "
    assert term(own, date(2026, 11, 29)) == f"{told}o leiaute da NT 009"
    away = Settings(fiscal_environment="homologacao", nacional_sefin_url="https://sefin.example")
    assert term(away, date(2026, 11, 29)) == f"{told}o do servidor configurado"
    assert term(own, date(2027, 1, 1)) == "em produção, o leiaute da NT 009; em homologação, o leiaute da NT 009"
