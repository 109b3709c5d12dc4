"""The certificates that the sandbox makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from proofs.sandbox.nacional.authority import Authority, holder, rsa_key
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.sandbox.world import World, WorldConfig
from tests.proofs.sandbox.nacional.nacional_company import ANA, LETTERS

if TYPE_CHECKING:
    from pathlib import Path


def test_an_a1_file_has_key_cnpj_and_chain(authority) -> None:
    """It opens with its password, names the CNPJ as ICP-Brasil does, and is signed by the root beside it."""
    key, leaf, chain = pkcs12.load_key_and_certificates(authority.pfx_for(LETTERS, "segredo"), b"segredo")
    assert leaf is not None
    assert key is not None
    assert holder(leaf) == LETTERS
    assert leaf.public_key() == key.public_key()
    leaf.verify_directly_issued_by(chain[0])


def test_certificates_that_the_product_refuses_can_be_made(authority) -> None:
    """Expired, a CA's, without CNPJ, with a small key and with one that is not RSA."""
    _, expired, _ = pkcs12.load_key_and_certificates(authority.pfx_for(ANA, "x", days=-1), b"x")
    assert expired is not None
    assert expired.not_valid_before_utc < expired.not_valid_after_utc < authority.root.certificate.not_valid_after_utc
    assert holder(authority.company(ANA, oid=None).certificate) is None
    assert holder(authority.company(ANA, oid="2.16.76.1.3.7").certificate) is None
    assert authority.company(ANA, key=rsa_key("small", 1024)).rsa.key_size == 1024
    assert authority.company(ANA, key=ec.generate_private_key(ec.SECP256R1())).certificate
    assert authority.company(ANA, ca=True).fingerprint != authority.company(ANA).fingerprint


def test_a_home_keeps_its_authority(tmp_path: Path) -> None:
    """The second one over a home trusts and is trusted as the first; the keys are the owner's alone to read."""
    first = Authority(tmp_path / "nacional")
    first.server_context()
    again = Authority(tmp_path / "nacional")
    assert again.root.fingerprint == first.root.fingerprint
    assert again.seal.fingerprint == first.seal.fingerprint
    kept = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "nacional").iterdir()}
    assert {name for name, mode in kept.items() if mode != 0o600} == {"ca.pem"}


async def test_a_world_has_the_channel_only_when_asked(tmp_path: Path) -> None:
    """Without it no key is made and no address is named; with it the CA's file is where the address list says."""
    async with World(tmp_path / "plain") as world:
        assert "nacional_sefin" not in world.urls.as_dict()
    assert not (tmp_path / "plain" / "nacional").exists()
    async with World(tmp_path / "both", config=WorldConfig(nacional=NacionalConfig())) as world:
        assert [simulator.name for simulator in world.simulators][-2:] == ["sefin", "adn"]
        assert (world.urls.nacional_sefin or "").startswith("https://127.0.0.1:")
        assert world.authority.ca_file.samefile(str(world.urls.nacional_ca_file))
    async with World(config=WorldConfig(nacional=NacionalConfig())) as world:
        scratch = world.authority.ca_file
        assert scratch.exists()
    assert not scratch.exists()
