"""E-mail addresses: how one is written so that two spellings of it compare equal."""

from __future__ import annotations

from typing import Final

from email_validator import EmailNotValidError, validate_email

from state_machine.values.errors import ProsaError
from state_machine.values.text.untrusted import single_line


class NotAnAddressError(ProsaError, ValueError):
    """What stands there is no address to which a mail may go."""

    code = "email_invalido"


LONGEST: Final = 320  # characters as somebody writes one, with a name before it; an address has 254


def normalised(text: str) -> str:
    """Return the address in lower case, its domain as IDNA writes it. Raises ``NotAnAddressError``.

    What nobody sees, a name before it and ``mailto:`` are no part of it. Nobody is asked whether the domain exists.
    Letters outside ASCII before the @ are refused, as few servers take them, and what a mail reads as encoded.
    """
    written = single_line(text[: LONGEST + 1])
    if written.endswith(">") and written.count("<") == 1:
        written = written.partition("<")[2][:-1].strip()
    if written[:7].lower() == "mailto:":
        written = written[7:]
    try:
        if len(text) > LONGEST or "=?" in written:
            raise NotAnAddressError("não é um endereço de e-mail")
        found = validate_email(written, check_deliverability=False, allow_smtputf8=False)
    except EmailNotValidError as error:
        raise NotAnAddressError("não é um endereço de e-mail") from error
    return f"{found.local_part}@{found.ascii_domain}".lower()
