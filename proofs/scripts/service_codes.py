"""Makes the list of national service codes from the official table, saved as CSV.

``python proofs/scripts/service_codes.py`` makes it.

The table is "MUN.INCID_INFO.SERV." of Anexo I (SEFIN_ADN-DPS_NFSe-SNNFSe). Its spreadsheet has lost the leading zeros
of the codes; they are put back. The CSV has the columns ``codigo``, ``texto``, ``grupo`` (``obra``, ``atvEvento`` or
nothing) and ``incide`` (where ISS is due: ``prestador``, ``local``, ``tomador`` or nothing), no heading. Incidence is
that of the sheet of 2026-01-10 (SHA-256 of the file 5f112da4…), which lacks 14.14.03 and 14.14.04: as all of item 14.
The result goes to ``state_machine/services/national_codes.json``; ``--csv`` writes that file as such a CSV instead.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from state_machine.services.codes import digest

FILE = ROOT / "state_machine/services/national_codes.json"
GROUPS = ("", "obra", "atvEvento")
INCIDENCE = ("prestador", "local", "tomador", "")


def rows(lines: list[list[str]]) -> list[list[str]]:
    """Return the rows in the order of their codes. Raises ``ValueError`` for a line that is none, or a code twice."""
    found = {}
    for line in lines:
        codigo, texto, grupo, incide = map(str.strip, line)
        codigo = re.sub(r"\.", "", codigo).zfill(6)
        if not re.fullmatch(r"\d{6}", codigo) or not texto or grupo not in GROUPS or incide not in INCIDENCE:
            raise ValueError(f"no row of the table: {line}")
        if codigo in found:
            raise ValueError(f"a code a second time: {line}")
        found[codigo] = [codigo, " ".join(texto.split()), grupo, incide]
    return [found[codigo] for codigo in sorted(found)]


def main() -> None:
    """Read the CSV and write the list, or the other way round."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("arquivo", type=Path, help="the table as CSV")
    asked.add_argument("--csv", action="store_true", help="write the list as CSV into this file instead")
    asked.add_argument("--versao", help="version of Anexo I, such as 1.01 de 2026-02-09")
    asked.add_argument("--data", help="day on which the table was taken, such as 2026-11-24")
    said = asked.parse_args()
    if said.csv:
        with said.arquivo.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(json.loads(FILE.read_text("utf-8"))["servicos"])
        return
    if not said.versao or not said.data:
        asked.error("--versao and --data say where the table comes from")
    with said.arquivo.open(newline="", encoding="utf-8") as file:
        servicos = rows(list(csv.reader(file)))
    head = {
        "fonte": "Anexo I do manual da NFS-e nacional (SEFIN_ADN-DPS_NFSe-SNNFSe), planilha MUN.INCID_INFO.SERV.",
        "versao": said.versao,
        "data": said.data,
        "completa": True,
        "feita_por": "proofs/scripts/service_codes.py",
        "quantos": len(servicos),
        "sha256": digest(servicos),
    }
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in servicos)
    told = json.dumps(head, ensure_ascii=False, indent=0)[:-2]
    FILE.write_text(f'{told},\n"servicos": [\n{lines}\n]\n}}\n', encoding="utf-8")
    print(f"{len(servicos)} codes, sha256 {head['sha256']}")


if __name__ == "__main__":
    main()
