"""Makes ``gateway/nfe/hosts.json`` of the tables of web services that nfephp-org/sped-nfe keeps (``storage/wsnfe_*``).

Run: ``python -m proofs.scripts.sefaz_hosts AAAA-MM-DD COMMIT wsnfe_4.00_mod55.xml wsnfe_4.00_mod65.xml``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from lxml import etree

OUT: Final = Path(__file__).parents[2] / "gateway" / "nfe" / "hosts.json"
SERVICES: Final = {
    "NfeAutorizacao": "NFeAutorizacao4",
    "NfeRetAutorizacao": "NFeRetAutorizacao4",
    "NfeConsultaProtocolo": "NFeConsultaProtocolo4",
    "NfeInutilizacao": "NFeInutilizacao4",
    "RecepcaoEvento": "NFeRecepcaoEvento4",
    "NfeStatusServico": "NFeStatusServico4",
}  # the table's names, and those of the services


def made(as_of: str, commit: str, files: dict[str, bytes]) -> dict[str, Any]:
    """Return addresses by authorizer, model, environment and service, with a head; ``files`` by model."""
    hosts: dict[str, Any] = {}
    for model, content in files.items():
        for state in etree.fromstring(content).iter("UF"):
            for ambiente in ("producao", "homologacao"):
                found = {
                    SERVICES[row.tag]: "https://" + row.text.strip().partition("://")[2].removesuffix("?wsdl")
                    for row in state.findall(f"{ambiente}/*")
                    if row.tag in SERVICES and row.text
                }
                if len(found) == len(SERVICES):
                    hosts.setdefault(state.findtext("sigla"), {}).setdefault(model, {})[ambiente] = found
    return {
        "as_of": as_of,
        "source": f"nfephp-org/sped-nfe {commit}. Hold against the national portal's list before production.",
        "sha256": {model: hashlib.sha256(content).hexdigest() for model, content in files.items()},
        "hosts": hosts,
    }


if __name__ == "__main__":
    day, commit, of_55, of_65 = sys.argv[1:]
    told = made(day, commit, {"55": Path(of_55).read_bytes(), "65": Path(of_65).read_bytes()})
    OUT.write_text(json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
