"""Asks for the certificate's link in the chat, and sends a file by its page."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from aiohttp import ClientSession, FormData
from pydantic import SecretStr

from tests.made_certificates import SENHA

if TYPE_CHECKING:
    from tests.road.road_people import Person

PUBLIC: Final = "https://prosa.exemplo.com.br/x"
KEY: Final = SecretStr(base64.b64encode(bytes(range(32))).decode())
TOKEN: Final = re.compile(rf"{re.escape(PUBLIC)}/certificado/([A-Za-z0-9_-]{{43}})$")


async def ask(person: Person, words: str = "certificado") -> str:
    """Ask for the link, and return its token."""
    said = (await person.say(words)).text
    found = TOKEN.search(said)
    assert found is not None, said
    assert re.search(r"vale por 1[45] minutos", said)
    assert "ANA DESIGN ME" in said
    return found[1]


async def send(address: str, token: str, arquivo: bytes, senha: str = SENHA) -> tuple[int, str]:
    """Send a file by the page, as a proxy hands it on."""
    form = FormData(default_to_multipart=True)
    form.add_field("arquivo", arquivo, filename="a.pfx")
    form.add_field("senha", senha)
    url = f"{address}/certificado/{token}"
    async with ClientSession() as session, session.post(url, data=form) as answer:
        return answer.status, await answer.text()
