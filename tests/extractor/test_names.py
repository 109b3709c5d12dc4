"""The customer's name that stands in an order without a label: whole, and no other words in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from extractor.two_readers import read_by_both
from state_machine.invoice.draft import Cadastro, Rascunho, aplicar
from state_machine.invoice.fields import Campo
from state_machine.invoice.summary import resumo
from tests.state_machine.made_sessions import nova

if TYPE_CHECKING:
    from extractor.contract import Context

CNPJ, CPF = "11.222.333/0001-81", "529.982.247-25"


def said(text: str, context: Context) -> dict[Campo, str]:
    return {c.campo: c.valor for c in read_by_both(text, context).extraction.candidates}


@pytest.mark.parametrize(
    ("order", "name", "service"),
    [
        (f"nota de 900 pra Padaria Boa Massa {CNPJ}, consultoria", "Padaria Boa Massa", "consultoria"),
        (f"nota de 900 pra padaria boa massa {CNPJ}, consultoria", "padaria boa massa", "consultoria"),
        (f"aula de violão 300 Maria Souza {CPF}", "Maria Souza", "aula de violão"),
        (f"aula de violão, 300, maria souza {CPF}", "maria souza", "aula de violão"),
        (f"{CPF} Maria Souza, aula de violão, 300", "Maria Souza", "aula de violão"),
        (f"nota de 300 pro João da Silva, cpf {CPF}, aula de violão", "João da Silva", "aula de violão"),
        (f"faz nota da Quitéria, cpf {CPF}, 160 de aula", "Quitéria", "aula"),
        (f"dona Cleide Abreu cpf {CPF} solda no portão 300", "Cleide Abreu", "solda no portão"),
        (f"nota pra assessora Ilana Prado, cpf {CPF}, fotos, 500", "Ilana Prado", "fotos"),
        (f"troca de motor, mercado bom jaguar {CNPJ} 1650", "mercado bom jaguar", "troca de motor"),
        (f"troca de motor 1650 Móveis Cedro Real {CNPJ}", "Móveis Cedro Real", "troca de motor"),
        (f"manutenção mensal 440 Cond Três Marias {CNPJ}", "Cond Três Marias", "manutenção mensal"),
        (f"CNPJ {CNPJ}, Rede Educa Poty, palestra, 800", "Rede Educa Poty", "palestra"),
        (f"comissão de 4.210, Rações Campo Belo, CNPJ {CNPJ}", "Rações Campo Belo", "comissão"),
        (
            f"consultoria pra Escola de Música Villa Aurora CNPJ {CNPJ} R$ 450",
            "Escola de Música Villa Aurora",
            "consultoria",
        ),
        (
            f"Nota pra Associação Amigos do Bosque ({CNPJ}) dedetização R$ 1.200",
            "Associação Amigos do Bosque",
            "dedetização",
        ),
    ],
)
def test_a_name_beside_its_document_is_read_whole(order: str, name: str, service: str, fresh: Context) -> None:
    """Without its title, and with the words that look like numbers or money; the service is not touched."""
    found = said(order, fresh)
    assert (found.get(Campo.NOME), found.get(Campo.DESCRICAO)) == (name, service)


@pytest.mark.parametrize(
    "order",
    [
        f"nota de 500 pra reforma da cozinha {CPF}",
        f"faz uma nota pra mim de 300 cpf {CPF} aula de violão",
        f"nota pra gente de 300 cpf {CPF} aula",
        f"nota pro cliente {CPF} de 300, aula",
        f"nota pra semana que vem 300 cpf {CPF} aula",
        f"nota de 300 no cpf do pai {CPF}, aula do Enzo",
        f"nota da escola municipal {CNPJ} pintura 900",
        f"treinamento NR-35 pra funcionários da obra {CNPJ} 900",
        f"pintura da Rua das Flores 120, 800 reais, {CNPJ}",
        f"limpeza na Avenida Paulista, 800, cnpj {CNPJ}",
        f"instalação de ar no Bairro Santa Luzia {CNPJ} 900",
        f"frete de Campinas pra Santos 800 cnpj {CNPJ}",
        f"nota de 2300 {CNPJ} descrição topografia da Fazenda Boa Esperança em Uberaba",
        f"show em Juiz de Fora, 1500, {CNPJ}",
        f"reforma do banheiro na Rua Sete de Setembro 88, Vila Nova, 3.800,00, cpf {CPF}",
        f"Juiz de Fora, 3 de março. Nota de 300, cpf {CPF}, aula",
        f"aqui é o Anselmo, nota de 300 cpf {CPF} afinação",
        f"minha sócia Paula Souza pediu nota de 900 pra {CNPJ}, arte",
        f"contador Marcos Alves pediu, {CNPJ}, 300, laudo",
        f"meu nome é Carlos Prado, nota de 300 cpf {CPF} afinação",
        f"fornecedor: Gilberto Pragas, nota pra {CNPJ} de 900, dedetização",
        f"nota de 300 cpf {CPF} aula, email maria.souza@exemplo.com.br",
        f"afinação de piano Fritz Dobbert {CNPJ} 480",
        f"Consultoria Financeira {CNPJ} 900",
        f"Aula De Violão {CPF} 300",
        f"PINTURA DE FACHADA 900 {CNPJ}",
        f"Pilates 340 cpf {CPF}",
        f"nota de 300 flash tattoo cpf {CPF}",
        f"Bolo de Festa {CPF} 190",
        f"retenção de IRRF 1,5% na nota de 900 pra {CNPJ}, consultoria",
        "quero uma notinha pra churrascaria",
        "preciso provar que ganho 1500 por mês pro apê, tem comprovante das notas?",
        "preciso de 4 notas, uma pra cada representada",
        "não, é no nome da mãe agora",
    ],
)
def test_what_names_nobody_is_no_name(order: str, fresh: Context) -> None:
    """A place, a purpose, work, whoever writes, somebody in general: a missing name is better than another's."""
    assert Campo.NOME not in said(order, fresh)


@pytest.mark.parametrize(
    ("register", "shown"),
    [(None, "Maria Souza"), (Cadastro("52998224725", "MARIA DE SOUZA LIMA"), "MARIA DE SOUZA LIMA")],
)
def test_a_name_beside_a_cpf_reaches_the_summary(register: Cadastro | None, shown: str, fresh: Context) -> None:
    """Where the register has a name, that one stands."""
    read = read_by_both(f"aula de violão, R$ 300, Maria Souza {CPF}", fresh).extraction
    draft = aplicar(Rascunho(), read.candidates, read.doubts, read.clear)
    assert draft.completo
    text = resumo(nova(rascunho=replace(draft, cadastro=register))).texto
    assert shown in text
