"""The table of channels; another one is a file beside this and a row here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proofs.storm.channels.goods import NFCE, NFE
from proofs.storm.channels.nacional import NACIONAL
from proofs.storm.channels.paulistana import PAULISTANA
from proofs.storm.channels.plugnotas import PLUGNOTAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proofs.storm.channels.channel import Channel

CHANNELS: Final[Mapping[str, Channel]] = {
    channel.name: channel for channel in (PLUGNOTAS, NACIONAL, PAULISTANA, NFE, NFCE)
}


def channels_of(names: Iterable[str]) -> list[Channel]:
    """Return the channels of these names, in the table's order."""
    wanted = set(names)
    return [channel for name, channel in CHANNELS.items() if name in wanted]
