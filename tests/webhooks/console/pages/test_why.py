from __future__ import annotations

from typing import Any

import pytest

from state_machine.invoice.session import Estado
from state_machine.protocol.emission import StatusEmissao
from webhooks.console.pages.why import SituacaoDaSessao, por_que
from webhooks.console.render import labels

SAYS = {
    Estado.COLETA: "ainda não deu nenhum dado",
    Estado.DADOS_INCOMPLETOS: "Espera a pessoa há 3 min: CNPJ ou CPF do cliente: o dígito verificador não bate; "
    "falta o valor e o serviço.",
    Estado.AGUARDANDO_CONFIRMACAO: "falta o sim",
    Estado.PROCESSANDO: "Está saindo agora para o gateway.",
    Estado.APROVADO: "A nota 1042 foi autorizada.",
    Estado.REJEITADO: "A nota foi recusada: item não confere. Nenhuma nota existe.",
    Estado.ERRO: "Não se sabe se a nota existe: item não confere.",
    Estado.CANCELADO_USUARIO: "desistiu antes de emitir",
    Estado.EXPIRADO: "Passou do prazo",
}


def _situation(estado: Estado, **changes: Any) -> SituacaoDaSessao:
    known: dict[str, Any] = {
        "faltam": ("cnpj", "valor", "descricao"),
        "duvidas": (("documento", "digito_nao_bate"),),
        "status": StatusEmissao.ENVIANDO,
        "numero": "1042",
        "motivo": "item não confere",
    }
    return SituacaoDaSessao(estado, 180.0, **{**known, **changes})


@pytest.mark.parametrize("estado", Estado)
def test_every_state_has_its_sentence(estado: Estado) -> None:
    """Whoever opens a case reads in one sentence where it stands and why, and in another what follows."""
    frase = por_que(_situation(estado))
    assert SAYS[estado] in frase.texto
    assert frase.conselho.endswith(".")
    assert "None" not in frase.texto + frase.conselho


@pytest.mark.parametrize(("numero", "which"), [("41", "a nota 41"), ("?", "outra nota")])
def test_a_note_that_cost_another_is_for_people(numero: str, which: str) -> None:
    """The city cancelled one for it: the stored reason says which, and somebody finds out why."""
    stored = f"the authority voided note {numero} for this one"
    frase = por_que(_situation(Estado.APROVADO, anulada=labels.anulada(stored)))
    assert frase.texto == f"A nota 1042 foi autorizada, e com ela a prefeitura cancelou {which}, do mesmo RPS."
    assert (frase.tom, which in str(labels.motivo(stored))) == ("bad", True)
    assert labels.anulada("ReadTimeout") is labels.anulada(None) is None


@pytest.mark.parametrize("status", [None, *StatusEmissao])
@pytest.mark.parametrize("estado", [Estado.PROCESSANDO, Estado.ERRO])
def test_every_status_of_an_emission_has_its_sentence(estado: Estado, status: StatusEmissao | None) -> None:
    """Whatever became of the emission, the sentence speaks of it."""
    assert por_que(_situation(estado, status=status)).texto.endswith(".")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": StatusEmissao.DESCONHECIDO}, "A resposta do gateway se perdeu"),
        ({"status": StatusEmissao.DESCONHECIDO, "ausente": True}, "O gateway disse que não a tem"),
        ({"status": StatusEmissao.PENDENTE, "envios": 1}, "vai sair de novo com os mesmos dados"),
        ({"suspensa": "401"}, "recusa as credenciais desta empresa"),
    ],
)
def test_a_wait_says_what_is_waited_for(changes: dict[str, object], said: str) -> None:
    """An unknown outcome is never called a failure, and nobody is told to repeat."""
    frase = por_que(_situation(Estado.PROCESSANDO, **changes))
    assert said in frase.texto
    assert "fal" not in frase.texto.replace("falta", "")


def test_a_conversation_in_hand_says_in_whose() -> None:
    """Who takes over sees that the bot is silent."""
    frase = por_que(_situation(Estado.COLETA, atendente="ana"))
    assert frase.texto.startswith("ana assumiu esta conversa e a Prosa está em silêncio.")


def test_a_message_that_did_not_arrive_is_told() -> None:
    """An issued invoice that the person never got is not over."""
    frase = por_que(_situation(Estado.APROVADO, nao_entregue="24 h window closed"))
    assert "não chegou: 24 h window closed" in frase.texto
    assert frase.tom == "bad"


@pytest.mark.parametrize(
    ("nota", "said"), [("cancelado", "depois cancelada"), ("cancelamento_pendente", "com a prefeitura")]
)
def test_a_cancelled_invoice_is_not_called_fine(nota: str, said: str) -> None:
    """An invoice that was issued and cancelled since is told as that."""
    assert said in por_que(_situation(Estado.APROVADO, nota=nota)).texto


def test_a_refusal_of_ours_is_for_staff_and_a_refusal_of_theirs_is_not() -> None:
    """Who cannot mend it is not told to; what the authority said ends with one full stop."""
    ours = por_que(_situation(Estado.REJEITADO, nossa=True, motivo="o código não foi aceito."))
    assert "não foi aceito. Nenhuma nota existe." in ours.texto
    assert "Reprocessar" in ours.conselho
    assert "Corrigir nota" not in ours.conselho
    assert "Corrigir nota" in por_que(_situation(Estado.REJEITADO)).conselho


def test_a_conflict_is_told_without_a_contradiction() -> None:
    """A note that was cancelled outside is no "other content"."""
    said = por_que(_situation(Estado.ERRO, status=StatusEmissao.CONFLITO, motivo="a nota foi cancelada por fora"))
    assert said.texto == "O gateway e o confirmado não batem: a nota foi cancelada por fora."
