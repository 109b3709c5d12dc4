"""``prosa lote`` as a person runs it: shown first, sent after a yes, asked about, stopped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bot.cli.conftest import Prosa

CNPJ = "12.345.678/0001-95"
ADD = ("empresa", "add", "--cnpj", CNPJ, "--razao-social", "Padaria", "--inscricao-municipal", "1")


def test_a_list_is_shown_and_then_confirmed(prosa: Prosa, tmp_path: Path) -> None:
    """Without a mail server the yes is refused; a stop and the state are told by the batch's number."""
    assert prosa(*ADD, "--municipio", "3550308", "--usuario", "+5511987654321").returncode == 0
    file = tmp_path / "lista.csv"
    file.write_text("email;nome\nana@exemplo.com.br;Ana\n")
    send = ("lote", "enviar", str(file), "--empresa", CNPJ, "--tipo", "envio", "--assunto", "Oi", "--mensagem", "Oi!")
    shown = prosa(*send)
    assert shown.returncode == 0, shown.stderr
    found = re.search(r"^Lote (\d+) .* --confirmar ([0-9a-f]{12})$", shown.stdout, re.DOTALL | re.MULTILINE)
    assert found is not None
    refused = prosa(*send, "--confirmar", found[2])
    assert refused.returncode == 1
    assert "PROSA_SMTP_URL" in refused.stderr
    assert "aguardando_confirmacao" in prosa("lote", "estado", found[1]).stdout
    assert "1 e-mails não saem mais" in prosa("lote", "parar", found[1]).stdout
    missing = prosa("lote", "enviar", str(tmp_path / "nada.csv"), "--empresa", CNPJ)
    assert (missing.returncode, "Nada mudou" in missing.stderr) == (1, True)
