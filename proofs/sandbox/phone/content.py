"""The words of the demo page, in pt-BR: sample messages and what each switch does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from proofs.sandbox.phone.ports import SwitchName


@dataclass(frozen=True, slots=True)
class Sample:
    """A chip under the conversation: fills the composer with ``text``, sends nothing; ``who``: of one person."""

    label: str
    text: str
    who: str = ""


@dataclass(frozen=True, slots=True)
class SwitchWords:
    """How a switch is named and explained."""

    name: SwitchName
    label: str
    explanation: str


SAMPLES: Final = (
    Sample("Venda em mãos", "nota de 2 canecas em mãos", "Davi"),
    Sample("NF-e", "nota de 2 canecas pra 12.345.678/0001-95", "Davi"),
    Sample("Cadastrar produto", "cadastrar produto", "Davi"),
    Sample("Tudo de uma vez", "faz uma nota de 1500 pra 12.345.678/0001-95, consultoria de marketing"),
    Sample("Sim, mas…", "sim, mas o valor é 1.800"),
    Sample("Só o serviço", "quero uma nota de criação de logotipo"),
    Sample("Só o CNPJ", "cnpj 12.345.678/0001-95"),
    Sample("Só o valor", "dois mil e trezentos reais"),
    Sample("Corrigir", "na verdade é 1.800"),
    Sample("Dígito errado", "cnpj 12.345.678/0001-99"),
    Sample("CNPJ com letras", "nota de 2.500 pra 12.ABC.345/01DE-35, suporte técnico"),
    # the register shows this one as closed, so the simulated city rejects its note
    Sample("Nota recusada", "nota de 900 reais pra 99.000.031/0001-00, manutenção de site"),
    Sample("Trocar o cliente", "o cnpj certo é 12.345.678/0001-95"),
    Sample("Desistir", "deixa pra lá"),
)

SWITCHES: Final = (
    SwitchWords("lento", "Gateway lento", "Demora a responder. A conversa segue e você pode começar outra nota."),
    SwitchWords("rejeitar", "Rejeitar a próxima", "A próxima nota volta recusada: dá para corrigir e reenviar."),
    SwitchWords(
        "culpa_nossa",
        "Rejeitar a próxima por culpa nossa",
        "O cadastro da empresa está errado: a nota espera a equipe, que a acerta no console.",
    ),
    SwitchWords(
        "perder_resposta",
        "Perder a resposta depois de aceitar",
        "A nota entra, a resposta some. A Prosa pergunta antes de reenviar.",
    ),
    SwitchWords(
        "sem_webhook",
        "Nunca enviar o webhook",
        "O gateway não avisa que terminou. A Prosa vai conferir sozinha.",
    ),
)
