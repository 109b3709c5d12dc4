"""Makes the simulator's copy of Anexo I: ``python proofs/scripts/annex_rules.py RULES.csv INCIDENCE.csv --sha256 …``.

The first file is the sheet "RN DPS_NFS-e" of Anexo I (SEFIN_ADN-DPS_NFSe-SNNFSe), the second its sheet
"MUN.INCID_INFO.SERV.", both saved with headings and semicolons; ``--sha256`` is of the spreadsheet. Of the rules those
stay that SEFIN executes.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[2] / "proofs/sandbox/nacional/anexo1.json"
PLACES = {"prestador": "incide_prestador", "local": "incide_local_prestacao", "tomador": "incide_tomador"}


def table(file: Path) -> list[dict[str, str]]:
    """Return the rows of a sheet."""
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter=";"))


def incidence(row: dict[str, str]) -> list[str]:
    """Return a service code, where its ISS is due, and the group that it must have."""
    places = [place for place, column in PLACES.items() if "X" in row[column]]
    return [row["ctribnac"], *(places or [""]), row["grupo"].strip("-")]


def main() -> None:
    """Read both sheets and write the copy."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("regras", type=Path)
    asked.add_argument("incidencia", type=Path)
    asked.add_argument("--sha256", required=True)
    asked.add_argument("--data", required=True, help="day on which the spreadsheet was taken, such as 2026-01-10")
    said = asked.parse_args()
    names = ("codigo", "caminho", "campo", "nivel", "mensagem")
    parts: dict[str, list[Any]] = {
        "regras": [[row[name] for name in names] for row in table(said.regras) if row["sefin"] == "V"],
        "incidencia": [incidence(row) for row in table(said.incidencia)],
    }
    head = {
        "fonte": "Anexo I do manual da NFS-e nacional (SEFIN_ADN-DPS_NFSe-SNNFSe), planilhas RN DPS_NFS-e (as regras "
        "com V em SEFIN) e MUN.INCID_INFO.SERV.",
        "data": said.data,
        "sha256": said.sha256,
        "feita_por": "proofs/scripts/annex_rules.py",
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    for name, rows in parts.items():
        told = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        lines.append(f"{json.dumps(name)}: [\n{told}\n]")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(", ".join(f"{len(rows)} {name}" for name, rows in parts.items()))


if __name__ == "__main__":
    main()
