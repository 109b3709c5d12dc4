"""Makes ``state_machine/ncm.txt`` of the official list of goods (NCM) as Siscomex publishes it.

Run: ``python -m proofs.scripts.ncm_codes LIST.json``, with the file of "Download NCM" of the Portal Único Siscomex.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Final

OUT: Final = Path(__file__).parents[2] / "state_machine" / "ncm.txt"
_LONGEST: Final = 200  # characters of the words of one code; the rest names chemicals
_TAG: Final = re.compile(r"<[^>]*>")
_DASHES: Final = re.compile(r"^[\s-]+")


def made(content: bytes) -> str:
    """Return the file: a head with source, day and hash, then each heading (4 digits) and code (8) with its words."""
    told = json.loads(content)
    words: dict[str, str] = {}
    for row in told["Nomenclaturas"]:
        text = _DASHES.sub("", _TAG.sub("", row["Descricao"])).rstrip(" .:;")
        words[re.sub(r"\D", "", row["Codigo"])] = " ".join(text.split())
    lines = [
        "# Nomenclatura Comum do Mercosul: Portal Único Siscomex, tabela vigente",
        f"# {told['Data_Ultima_Atualizacao_NCM']}; {told['Ato']}",
        f"# sha256 of the JSON: {hashlib.sha256(content).hexdigest()}; made by proofs/scripts/ncm_codes.py",
    ]
    for code in sorted(words):
        if len(code) == 4:  # noqa: PLR2004 - a heading
            lines.append(f"{code}\t{words[code][:_LONGEST]}")
        elif len(code) == 8:  # noqa: PLR2004 - a code of goods
            between = [words[code[:n]] for n in (5, 6, 7) if code[:n] in words]
            lines.append(f"{code}\t{' › '.join([*between, words[code]])[-_LONGEST:]}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    OUT.write_text(made(Path(sys.argv[1]).read_bytes()), encoding="utf-8")
