"""What a channel asks for a company's certificate: who keeps it is not the channel's business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from datetime import datetime

Purpose = Literal["assinar", "conectar"]


class OpenA1(Protocol):
    """A certificate in the open.

    ``impressao``: SHA-256 of its DER, hex. ``valido_ate``: aware. ``chave``: PEM PKCS #8. ``cadeia``: PEM, the
    company's certificate first.
    """

    @property
    def impressao(self) -> str: ...  # noqa: D102 - said above
    @property
    def valido_ate(self) -> datetime: ...  # noqa: D102
    @property
    def chave(self) -> bytes: ...  # noqa: D102
    @property
    def cadeia(self) -> bytes: ...  # noqa: D102


class Certificates(Protocol):
    """The companies' certificates; every opening leaves an audit row."""

    async def current(self, cnpj: str) -> str | None:
        """Return the fingerprint of the company's certificate, ``None`` where it has none."""
        ...

    async def open(self, cnpj: str, purpose: Purpose, nota: str | None) -> OpenA1 | None:
        """Return it in the open, for the note of this identity; ``None`` where there is none that can be opened."""
        ...


class UnusableCertificateError(ProsaError, LookupError):
    """The company has no certificate that is good now: it is missing, past its day, or cannot be opened."""

    code = "unusable_certificate"
