"""Prints the bill of materials of an installation: CycloneDX 1.6, made of a lock file; or compares it with this one.

    .venv/bin/python proofs/scripts/sbom.py > sbom.json
    .venv/bin/python proofs/scripts/sbom.py --installed

``--installed`` ends with status 1 where a locked package is missing here, or stands in another version. Another lock's
path may follow. Advisories are looked up elsewhere: ``pip-audit -r requirements/base.lock --require-hashes
--disable-pip --strict``.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK: Final = Path(__file__).parents[2] / "requirements" / "base.lock"
HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def pinned(lock: str) -> list[tuple[Requirement, str, list[str]]]:
    """Return each requirement of a lock, its version, and the SHA-256 of the files that may be installed."""
    lines = lock.replace("\\\n", " ").splitlines()
    said = [(Requirement(line.partition("--hash")[0]), HASH.findall(line)) for line in lines if "==" in line]
    return [(each, next(iter(each.specifier)).version, hashes) for each, hashes in said]


def document(lock: str) -> dict[str, Any]:
    """Return the bill of materials."""
    components = []
    for each, version, hashes in pinned(lock):
        name = canonicalize_name(each.name)
        purl = f"pkg:pypi/{name}@{version}"
        files = [
            {"type": "distribution", "url": purl, "hashes": [{"alg": "SHA-256", "content": one}]} for one in hashes
        ]
        known = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        components.append({**known, "externalReferences": files})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "prosa", "bom-ref": "prosa"}},
        "components": components,
    }


def differences(lock: str) -> list[str]:
    """Return how this installation differs from the lock, a line for each package that it is for."""
    said = []
    for each, version, _ in pinned(lock):
        if each.marker is not None and not each.marker.evaluate():
            continue
        try:
            here = metadata.version(each.name)
        except metadata.PackageNotFoundError:
            here = "missing"
        if here != version:
            said.append(f"{each.name}: {version} locked, {here} here")
    return said


def main(arguments: list[str]) -> int:
    """Print, or compare; returns the status."""
    names = [each for each in arguments if not each.startswith("-")]
    lock = Path(names[0] if names else LOCK).read_text(encoding="utf-8")
    if "--installed" not in arguments:
        print(json.dumps(document(lock), indent=2))
        return 0
    said = differences(lock)
    print("\n".join(said) or "as locked")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
