"""E-mail addresses: how one is written so that two spellings of it compare equal."""

from __future__ import annotations

from email_validator import EmailNotValidError, validate_email

from state_machine.values.errors import ProsaError


class NotAnAddressError(ProsaError, ValueError):
    """What stands there is no address to which a mail may go."""

    code = "email_invalido"


def normalised(text: str) -> str:
    """Return the address in lower case, its domain as IDNA writes it. Raises ``NotAnAddressError``.

    Nobody is asked whether the domain exists. Letters outside ASCII before the @ are refused: few servers take them.
    """
    try:
        found = validate_email(text.strip(), check_deliverability=False, allow_smtputf8=False)
    except EmailNotValidError as error:
        raise NotAnAddressError("não é um endereço de e-mail") from error
    return f"{found.local_part}@{found.ascii_domain}".lower()
