from __future__ import annotations

from dataclasses import fields, replace

from persistence.conversations import snapshots
from persistence.conversations.snapshots import dump_rascunho
from state_machine.invoice.draft import Cadastro, Lido, Rascunho, aplicar
from state_machine.invoice.fields import Campo, Candidate

CNPJ = "12345678000195"


def test_every_field_of_a_draft_is_dumped_as_plain_json() -> None:
    """Each field with all that is known of it, in words that JSON has; what is not known is null."""
    said = (Candidate(Campo.VALOR, "1500", "1.500"),)
    dumped = dump_rascunho(replace(aplicar(Rascunho(), said, (), ()), cadastro=Cadastro(CNPJ, "PADARIA")))
    assert list(dumped) == [*Campo, "cadastro", "substitui"]
    assert dumped["cadastro"] == {"documento": CNPJ, "razao_social": "PADARIA", "situacao": None}
    for campo in Campo:
        assert list(dumped[campo]) == [field.name for field in fields(Lido)]
    assert [type(dumped["valor"][name]) for name in ("status", "origem", "confianca")] == [str, str, str]
    assert (dumped["valor"]["valor"], dumped["nome"]["valor"]) == ("1500.00", None)


def test_a_draft_that_changed_is_dumped_anew_and_few_are_remembered() -> None:
    """The journal's draft and the snapshot's are one; a correction's is another."""
    for amount in range(1, 50):
        draft = aplicar(Rascunho(), (Candidate(Campo.VALOR, str(amount), str(amount)),), (), ())
        assert dump_rascunho(draft) is dump_rascunho(replace(draft))
        assert dump_rascunho(draft)["valor"]["valor"] == f"{amount}.00"
    assert snapshots.dump_rascunho.cache_info().currsize <= 10
