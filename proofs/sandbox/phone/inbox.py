"""The simulated mail server's mails as the page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.sandbox.mailbox import Kept, Mailbox

SHOWN: Final = 20  # of the newest: a list of hundreds would bury the page
TEXT: Final = 1_000  # characters of one mail


class Inbox:
    """Reads each mail once; ``read`` answers the newest first."""

    def __init__(self, box: Mailbox) -> None:
        self._box = box
        self._parsed: list[dict[str, Any]] = []

    def read(self) -> Sequence[Mapping[str, Any]]:
        """Return ``para``, ``assunto``, ``texto`` and the names of the files (``arquivos``) of each mail."""
        self._parsed += [_shown(kept) for kept in self._box.kept[len(self._parsed) :]]
        return self._parsed[: -SHOWN - 1 : -1]


def _shown(kept: Kept) -> dict[str, Any]:
    message = kept.message
    body = message.get_body(("plain",))
    return {
        "para": kept.to,
        "assunto": str(message["Subject"]),
        "texto": body.get_content()[:TEXT] if body is not None else "",
        "arquivos": [part.get_filename() for part in message.iter_attachments()],
    }
