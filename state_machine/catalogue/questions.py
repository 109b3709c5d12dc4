"""The questions of the conversation: what is asked for a missing or doubtful field, in pt-BR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.catalogue.announcement import anotado
from state_machine.invoice.draft import Rascunho, StatusCampo
from state_machine.invoice.field_table import FIELDS, obrigatorios
from state_machine.invoice.fields import Motivo
from state_machine.invoice.summary import legivel
from state_machine.machine.effects import Mensagem
from state_machine.values.text_length import apara

if TYPE_CHECKING:
    from collections.abc import Iterable

    from state_machine.invoice.draft import Lido
    from state_machine.invoice.fields import Campo

DETALHE_MAX = 200  # UTF-16 units; a detail is a hint, not a quotation
TRECHO_MAX = 80  # UTF-16 units of what is quoted back

# What is asked first, and what when the same doubt still stands: nobody reads the same words twice.
_DUVIDA = {
    Motivo.DIGITO_NAO_BATE: (
        "O dígito verificador não bate: pode ter trocado um número.{li}{detalhe} {confere} e me manda de novo?",
        "Ainda não bate.{li}{detalhe} {confere}, número por número: se estiver igual, pede ao cliente o certo.",
    ),
    Motivo.INCOMPLETO: (
        "Esse número está incompleto.{li}{detalhe} Me manda o CNPJ (14 caracteres) ou CPF (11) inteiro?",
        "Continua incompleto.{li}{detalhe} Um CNPJ tem 14 caracteres e um CPF tem 11: copia e cola o número inteiro?",
    ),
    Motivo.PROPRIO_DOCUMENTO: (
        "Esse é o CNPJ da sua própria empresa.{li} Qual é o CNPJ ou CPF do cliente?",
        (
            "Esse ainda é o da sua empresa, que já sai como emitente.{li} Para quem é a nota? Me manda o CNPJ ou CPF "
            "do cliente."
        ),
    ),
    Motivo.VARIOS: (
        "Vi mais de uma opção para {campo}.{li}{detalhe} Qual delas vale para esta nota?",
        "Ainda vi mais de uma opção para {campo}.{li}{detalhe} Me manda só a que vale, sozinha em uma mensagem.",
    ),
    Motivo.TELEFONE_OU_CPF: (
        (
            "Esse número pode ser um telefone ou um CPF.{li} Se for o CPF do cliente, me manda de novo "
            "com a palavra CPF na frente."
        ),
        "Ainda não sei se é telefone ou CPF.{li} Escreve _CPF_ e o número, na mesma mensagem.",
    ),
    Motivo.PARCELADO: (
        "Entendi que é parcelado.{li}{detalhe} Qual é o valor total desta nota?",
        "A conta das parcelas eu não faço, para não errar.{li}{detalhe} Me manda só o valor total desta nota?",
    ),
    Motivo.POR_UNIDADE: (
        "Entendi um preço por hora ou unidade.{li}{detalhe} Qual é o valor total da nota?",
        "Essa conta eu não faço, para não errar.{li}{detalhe} Me manda só o valor total da nota?",
    ),
    Motivo.DESCONTO: (
        "Entendi que tem desconto.{li}{detalhe} Qual é o valor final da nota?",
        "A conta do desconto eu não faço, para não errar.{li}{detalhe} Me manda só o valor final da nota?",
    ),
    Motivo.MOEDA_ESTRANGEIRA: (
        "A nota sai em reais.{li}{detalhe} Qual é o valor em reais?",
        "A nota só pode sair em reais, e a cotação quem sabe é você.{li}{detalhe} Me manda o valor já em reais?",
    ),
    Motivo.NAO_POSITIVO: (
        "O valor da nota precisa ser maior que zero e menor que R$ 10 bilhões.{li} Qual é o valor?",
        "Esse valor também não pode sair em uma nota.{li} Me manda um valor maior que zero.",
    ),
    Motivo.AMBIGUO: (
        "Não tive certeza sobre {campo}.{li}{detalhe} Me manda de novo, por favor?",
        "Ainda não tive certeza sobre {campo}.{li}{detalhe} {exemplo}",
    ),
    Motivo.DUAS_NOTAS: (
        (
            "Parece que são duas notas. Faço uma de cada vez: me manda só os dados da primeira "
            "(CNPJ ou CPF, valor e serviço). Quando ela sair, fazemos a outra."
        ),
        (
            "Só consigo fazer uma nota de cada vez. Escolhe uma e me manda o CNPJ ou CPF, o valor e o serviço dela; "
            "a outra vem depois."
        ),
    ),
    Motivo.DISCORDANCIA: (
        "Fiquei em dúvida sobre {campo}.{li}{detalhe} Me manda só essa informação, por favor?",
        "Ainda estou em dúvida sobre {campo}.{li}{detalhe} {exemplo}",
    ),
    Motivo.RECUSADO: (
        "A prefeitura não aceitou {campo} da nota anterior.{detalhe} Me manda a informação certa?",
        (
            "Para enviar de novo, ainda preciso de outra informação para {campo}: a anterior a prefeitura não aceitou."
            "{detalhe} {exemplo}"
        ),
    ),
}
_CONFERE = {11: "Confere no CPF do cliente", 14: "Confere no cartão CNPJ do cliente"}


def _lista(partes: Iterable[str]) -> str:
    *inicio, fim = partes
    return f"{', '.join(inicio)} e {fim}" if inicio else fim


def _guardados(rascunho: Rascunho) -> str:
    """Say what is kept, so that nobody types it twice."""
    tem = [c for c in obrigatorios() if rascunho.validado(c)]
    ditos = (f"{FIELDS[c].name} ({apara(legivel(c, rascunho.validado(c)) or '', TRECHO_MAX)})" for c in tem)
    return f"\n\nJá guardei {_lista(ditos)}." if tem else ""


def _duvida(campo: Campo, lido: Lido, *, de_novo: bool) -> str:
    motivo = lido.motivo or Motivo.AMBIGUO
    detalhe = apara(lido.detalhe or "", DETALHE_MAX).rstrip(".")
    detalhe = f" {detalhe[0].upper()}{detalhe[1:]}." if detalhe else ""
    escrito = apara(lido.escrito or "", TRECHO_MAX)
    return _DUVIDA[motivo][de_novo].format(
        campo=FIELDS[campo].name,
        detalhe=detalhe,
        li=f" Li “{escrito}”." if escrito else "",
        confere=_CONFERE.get(sum(map(str.isalnum, escrito)), "Confere o CNPJ ou CPF com o cliente"),
        exemplo=FIELDS[campo].example,
    )


def duvidosos(rascunho: Rascunho) -> tuple[Campo, ...]:
    """Fields about which something was said that can't be taken as it stands."""
    lidos = zip(FIELDS, rascunho.lidos, strict=True)
    return tuple(campo for campo, lido in lidos if lido.status is StatusCampo.INVALID)


def pergunta(rascunho: Rascunho, antes: Rascunho | None = None) -> Mensagem:
    """Ask for what is missing and only for that; a doubtful field first, with its reason.

    ``antes`` is the draft before this turn: what the turn changed is said first, and a question that was already
    asked of it is put in other words.
    """
    inicio = anotado(antes, rascunho) if antes else ""
    em_duvida = duvidosos(rascunho)
    if em_duvida:
        campo = em_duvida[0]
        de_novo = antes is not None and antes.campo(campo).motivo is rascunho.campo(campo).motivo
        return Mensagem(inicio + _duvida(campo, rascunho.campo(campo), de_novo=de_novo) + _resto(rascunho, campo))
    de_novo = antes is not None and antes != Rascunho() and antes.faltam == rascunho.faltam
    return Mensagem(inicio + _falta(rascunho, de_novo=de_novo) + _guardados(rascunho))


def insiste(rascunho: Rascunho, *, negou: bool = False) -> Mensagem:
    """Ask once more after words that told nothing; ``negou``: they were a no, which may mean that no answer comes."""
    if negou:
        pede = _lista(FIELDS[c].name for c in dict.fromkeys((*duvidosos(rascunho), *rascunho.faltam)))
        texto = f"Tudo bem. Quando tiver, me manda {pede}. Para desistir desta nota, escreve _cancela_."
        return Mensagem(texto + _guardados(rascunho))
    if duvidosos(rascunho):
        return pergunta(rascunho, rascunho)
    return Mensagem(_falta(rascunho, de_novo=True) + _guardados(rascunho))


def _resto(rascunho: Rascunho, campo: Campo) -> str:
    outros = [c for c in dict.fromkeys((*duvidosos(rascunho), *rascunho.faltam)) if c is not campo]
    if not outros or rascunho.campo(campo).motivo is Motivo.DUAS_NOTAS:  # that question names all that is needed
        return _guardados(rascunho)
    falta = "faltam" if len(outros) > 1 else "falta"
    return f"\n\nDepois disso {falta} {_lista(FIELDS[c].name for c in outros)}.{_guardados(rascunho)}"


def _falta(rascunho: Rascunho, *, de_novo: bool) -> str:
    faltam = rascunho.faltam
    faltando = _lista(FIELDS[c].name for c in faltam)
    if len(faltam) == 1:
        so = FIELDS[faltam[0]]
        return f"Ainda falta {faltando}. {so.example}" if de_novo else so.question
    inicio = "Ainda faltam" if de_novo else "Faltam"
    return f"{inicio} {faltando}. Pode mandar tudo junto ou um de cada vez."
