"""Which channels there are, and which adapter a choice gets."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from bot.settings import Settings
from gateway.lines import Lines
from gateway.nacional.adapter import sefin_address
from gateway.plugnotas.adapter import NATUREZA
from gateway.plugnotas.adapter import opened as plugnotas
from gateway.plugnotas.payload import IntegrationKey
from gateway.port import Surroundings
from gateway.registry import REGISTRY, ChannelRow, Channels, UnknownChannelError
from state_machine.protocol.channel import PRIMEIRO, Ambiente, Canal, TipoDocumento

EACH = {**REGISTRY, "cidade": ChannelRow(replace(NATUREZA, environments="each"), plugnotas)}


def opened() -> Channels:
    """The product's channels and one that has environments, in an installation for production."""
    return Channels(
        EACH,
        Settings(),
        Canal(PRIMEIRO, Ambiente.PRODUCAO),
        guard=lambda: None,
        lines=lambda: Lines(clock=lambda: 0.0),
    )


def test_the_settings_offer_the_channels_that_there_are() -> None:
    """A new row is a new word of PROSA_GATEWAY, and the other way round."""
    services = {name for name, row in REGISTRY.items() if row.natureza.documento is TipoDocumento.SERVICO}
    assert set(get_args(Settings.model_fields["gateway"].annotation)) == services


async def test_a_choice_without_environment_takes_the_installations() -> None:
    """One adapter for each channel and environment, whoever asks for it, each with lines of its own."""
    channels = opened()
    first = channels.of(Canal("cidade"))
    tests = channels.of(Canal("cidade", Ambiente.HOMOLOGACAO))
    assert first is channels.of(Canal("cidade", Ambiente.PRODUCAO))
    assert (first.ambiente, tests.ambiente) == (Ambiente.PRODUCAO, Ambiente.HOMOLOGACAO)
    assert first.lines is not tests.lines
    await channels.aclose()


async def test_a_channel_of_one_environment_is_never_counted_in_another() -> None:
    """PlugNotas' address and key are the installation's: a row that names another environment changes no numbers."""
    channels = opened()
    assert channels.of(Canal(ambiente=Ambiente.HOMOLOGACAO)) is channels.of(Canal())
    assert channels.of(Canal()).ambiente is Ambiente.PRODUCAO
    await channels.aclose()


async def test_an_unknown_channel_is_no_other_one() -> None:
    """What names a channel that this release does not have gets no adapter at all."""
    channels = opened()
    with pytest.raises(UnknownChannelError):
        channels.of(Canal("estadual"))
    await channels.aclose()


async def test_a_key_comes_back_from_its_text_equal() -> None:
    """The text form is what is stored, and the issuer is part of the key."""
    channels = opened()
    gateway = channels.of(Canal())
    key = gateway.key("11222333000181", "211126-0a1b2c3d-r1-1")
    assert key == IntegrationKey("11222333000181", "211126-0a1b2c3d-r1-1")
    assert gateway.key(key.prestador, str(key)) == key != gateway.key("44555666000181", str(key))
    await channels.aclose()


@pytest.mark.parametrize(
    ("ambiente", "address"),
    [
        (Ambiente.PRODUCAO, "https://sefin.exemplo.com.br"),
        (Ambiente.HOMOLOGACAO, "https://sefin.producaorestrita.nfse.gov.br/SefinNacional"),
    ],
)
def test_a_set_address_is_of_the_installations_environment_only(ambiente: Ambiente, address: str) -> None:
    """A company that practises never reaches production's server, nor the other way round."""
    settings = Settings(nacional_sefin_url="https://sefin.exemplo.com.br", fiscal_environment="producao")
    around = Surroundings(settings, ambiente, guard=lambda: None, lines=Lines(clock=lambda: 0.0), certificates=None)
    assert sefin_address(around) == address
