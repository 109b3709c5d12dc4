"""A house with a mail server sends batches; one without leaves them alone."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from bot.house import open_house
from bot.loops.jobs import JOBS
from bot.settings import Settings


@pytest.mark.parametrize(("url", "there"), [("", False), ("smtps://mail.exemplo.com.br", True)])
async def test_a_mail_server_makes_the_loop(database_url: str, redis_url: str, url: str, there: bool) -> None:
    """The loop that sends exists where ``PROSA_SMTP_URL`` does; the sweep exists everywhere."""
    settings = Settings(
        whatsapp_phone_number_id="1",
        whatsapp_access_token=SecretStr("token-for-the-tests"),
        plugnotas_api_key=SecretStr("key-for-the-tests"),
        gateway_webhook_secret=SecretStr("webhook-for-the-tests"),
        smtp_url=SecretStr(url),
        smtp_from="notas@exemplo.com.br",
        public_url="https://prosa.exemplo.com.br",
    )
    async with open_house(settings, database_url, redis_url) as house:
        assert ("mailing" in house.pumps) is there
        assert ("mailing" in house.loops) is there
        assert "batches" in {job.name for job in JOBS}
