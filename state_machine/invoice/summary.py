"""The summary: exactly what a confirmation would issue, within what one message holds.

Every sentence about a note that takes the place of another; short, precise pt-BR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from state_machine.goods import ENTREGA, NOMES, linhas, load, resumida
from state_machine.invoice.draft import Rascunho, Substituida
from state_machine.invoice.field_table import FIELDS, FieldKind
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Botao, Mensagem, Sessao
from state_machine.proposal import proposed_by
from state_machine.services.codes import Onde, named
from state_machine.values.address import as_people_write, city_of, read_address
from state_machine.values.documents import formata_documento
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.money import formata_brl, por_extenso
from state_machine.values.text import TEXTO_COM_BOTOES_MAX, apara, tamanho

_MOTIVO_MAX = 400  # UTF-16 units

MOTIVO = "Correção de dados da nota substituída"  # what the authority is told
SEM_CANAL = "a nota que esta substitui saiu por outro emissor; para corrigir, peça o cancelamento dela e emita outra"


def substituira(antiga: Substituida) -> str:
    """Say in the summary what a yes does beside."""
    return f"⚠️ Substitui a nota {antiga.numero}, que deixa de valer quando esta sair."


def substituiu(antiga: Substituida) -> str:
    """Say with the new note what became of the old one."""
    return f"A nota {antiga.numero} foi substituída por esta e não vale mais."


def sem_substituir(numero: str, substituta: str | None = None) -> str:
    """The note is none that can be replaced any more."""
    porque = f"foi {fim(substituta)}" if substituta else "não vale"
    return f"A nota {numero} já {porque}, então não há o que substituir. Para outra, me manda os dados."


def sem_troca(antiga: Substituida, motivo: str | None = None) -> Mensagem:
    """The authority takes no other note in its place: what is kept, and the way that is left."""
    porque = f"\nMotivo: {apara(motivo, _MOTIVO_MAX)}" if motivo else ""
    return Mensagem(
        f"*A nota {antiga.numero} não pode ser substituída.*{porque}\n\nNenhuma nota nova foi emitida, e a sua "
        "correção está guardada. Toca em *Cancelar e refazer*: depois do cancelamento, a nova sai corrigida, com o "
        "seu sim.",
        (Botao(f"refazer_nota:{antiga.emissao_id}", "Cancelar e refazer"),),
    )


def fim(substituta: str | None) -> str:
    """Say why a note counts no more: the number of the one that took its place, or that it was cancelled."""
    return f"substituída pela nota {substituta}" if substituta else "cancelada"


# UTF-16 units of each part, chosen so that at least 100 remain for the service when all others are at their longest.
TITULO_MAX = 200
_NOME_MAX = 100
_SITUACAO_MAX = 30
_EMITENTE_MAX = 80
_SERVICO_MAX = 420  # more is not read on a phone
_CODIGO_MAX = 90  # a code and the beginning of its text, by which it is recognised
_ENDERECO_MAX = 120  # of a customer's address; the longest that people have are shorter
_MUDADO_MAX = 60  # of an old or new value in the title

BOTAO_MAX = 20  # UTF-16 units of a button's title (Cloud API reference, "interactive.action.buttons")
_CONTA_MAX = 80  # UTF-16 units of how an amount was reckoned
# From here on an amount stands in words too: a zero too many, which costs most, is then read as "quinze mil".
_POR_EXTENSO = Decimal(10_000)
_CONFERE = "confere?"  # beside an amount that is only the likeliest
_SEM = {  # what was asked of the invoice and it will lack: values of ``Instrucao``
    "iss_retido": "Sai *sem retenção* do ISS.",
    "retencao": "Sai *sem retenção* de impostos.",
    "observacao": "Sai *sem a observação*.",
    "desconto": "Sai *sem linha de desconto*, pelo valor acima.",
    "exterior": "Sai *como de cliente do Brasil*.",
    "codigo": "Sai *com o código do cadastro* da empresa.",
    "aliquota": "Sai *com a alíquota do cadastro* da empresa.",
    "periodo": "Sai *com um só mês* de competência.",
}
_CLIENTE_CURTO_MAX = 40  # of the customer's name where the invoice is only mentioned

CONFERE = "*Confere?*"
ESCOLHE = "*Confere: qual é o valor?*"
NOME_DO_CADASTRO = "*O nome do cliente sai como está no cadastro da Receita.*\nConfere?"


def resumo(sessao: Sessao, titulo: str = CONFERE) -> Mensagem:
    """Show what a confirmation would issue, with buttons bound to this session and revision.

    An amount of which two readings are left is issued by a button that names it. What was asked for and will be
    missing is said in every summary that follows.
    """
    rascunho = sessao.rascunho
    validados = {campo: rascunho.validado(campo) for campo in FIELDS}
    if rascunho.onde is Onde.EVENTO:  # what the service is called where nobody named the event
        validados[Campo.EVENTO] = rascunho.nome_do_evento
    lugar = validados[Campo.LOCAL]
    if rascunho.onde is Onde.OBRA and lugar and not rascunho.tem_cno:  # the address is the building site's
        numero, dito = validados[Campo.OBRA], as_people_write(lugar)
        validados[Campo.OBRA] = f"{dito} ({numero})" if numero else dito
        validados[Campo.LOCAL] = str(city_of(read_address(lugar).codigo_cidade) or lugar)
    if not rascunho.iss_retido:
        validados[Campo.RETIDO] = None
    opcionais = [
        f"{row.summary}: {texto}"
        for campo, row in FIELDS.items()
        if row.summary and (texto := legivel(campo, validados[campo]))
    ]
    trocada = [substituira(rascunho.substitui)] if rascunho.substitui else []
    antes = [titulo, "", *trocada, *_igual(sessao), *_cliente(rascunho), _valor(rascunho)]
    proposta = proposed_by(rascunho)
    veio = [f"Pedida por: sistema da empresa ({proposta})"] if proposta else []
    depois = [*opcionais, f"Emitente: {apara(sessao.emitente, _EMITENTE_MAX)}", *veio, *_sem(sessao)]
    resta = TEXTO_COM_BOTOES_MAX - tamanho("\n".join([*antes, "Serviço: ", *depois]))
    if produtos := rascunho.produtos:
        tipo = f"Tipo: {legivel(Campo.MODELO, validados[Campo.MODELO])} ({_POR_QUE[validados[Campo.MODELO] or '']})"
        vendidos = _itens(linhas(produtos), resta - tamanho(f"{tipo}\n"))
        return Mensagem("\n".join([*antes, *vendidos, tipo, *depois]), _botoes(sessao))
    servico = _servico(rascunho.validado(Campo.DESCRICAO) or "", min(resta, _SERVICO_MAX))
    return Mensagem("\n".join([*antes, f"Serviço: {servico}", *depois]), _botoes(sessao))


def com_a_nota(sessao: Sessao, mensagem: Mensagem) -> Mensagem:
    """Put one line about the open invoice under an answer, with the buttons of its summary where it has none itself.

    The summary is not drawn again: a yes in words brings it (``confirma``), a button is bound to what it showed.
    """
    cliente = apara(sessao.rascunho.tomador_nome or "o cliente", _CLIENTE_CURTO_MAX)
    confira = f" ({_CONFERE})" if sessao.rascunho.valor_a_conferir else ""
    linha = f"A nota de {formata_brl(sessao.rascunho.valor_servico)}{confira} para {cliente} espera o seu sim."
    return replace(_cada(mensagem, lambda texto: f"{texto}\n\n{linha}"), botoes=mensagem.botoes or _botoes(sessao))


def _cada(mensagem: Mensagem, feito: Callable[[str], str]) -> Mensagem:
    return replace(mensagem, texto=feito(mensagem.texto), outras=tuple(map(feito, mensagem.outras)))


def _botoes(sessao: Sessao) -> tuple[Botao, ...]:
    alvo = f"{sessao.sessao_id}:{sessao.revisao}"
    rascunho, corrigir = sessao.rascunho, Botao(f"corrigir:{alvo}", "Corrigir")
    if valores := rascunho.valores_a_escolher:
        return (*(Botao(f"emitir:{alvo}:{valor}", _nomeia("Emitir", valor)) for valor in valores), corrigir)
    sim = _nomeia("Confirmar", rascunho.valor_servico) if rascunho.valor_a_conferir else "Confirmar"
    return Botao(f"confirmar:{alvo}", "Emitir outra" if sessao.igual else sim), corrigir, botao_cancelar(sessao)


def _nomeia(verbo: str, valor: Decimal | str) -> str:
    """Return the title of a button that names an amount, without the verb where that has no room."""
    dito = formata_brl(valor)
    titulos = (f"{verbo} {dito}", f"{verbo} {dito.removesuffix(',00')}")
    return next((titulo for titulo in titulos if tamanho(titulo) <= BOTAO_MAX), dito)


def _valor(rascunho: Rascunho) -> str:
    """Return the line of the amount: marked where it is doubtful, with how it was reckoned, or both readings of it."""
    conta = apara(rascunho.valor.conta or "", _CONTA_MAX)
    if valores := rascunho.valores_a_escolher:
        return f"Valor: {' ou '.join(f'*{formata_brl(valor)}*' for valor in valores)}{f' ({conta})' if conta else ''}"
    valor = rascunho.valor_servico
    if not rascunho.valor_a_conferir:
        return f"Valor: *{formata_brl(valor)}*" + (f" ({por_extenso(valor)})" if valor >= _POR_EXTENSO else "")
    return f"Valor: *{formata_brl(valor)}* ({f'{conta}, ' if conta else ''}{_CONFERE})"


def botao_cancelar(sessao: Sessao) -> Botao:
    """Return the button that gives this invoice up."""
    return Botao(f"cancelar:{sessao.sessao_id}:{sessao.revisao}", "Cancelar")


def _igual(sessao: Sessao) -> list[str]:
    """Say when the invoice of the same content was asked for."""
    if sessao.igual is None:
        return []
    quando = f"{sessao.igual.criada_em.astimezone(SAO_PAULO):%d/%m, às %H:%M}"
    if sessao.igual.indecisa:
        return [f"⚠️ A outra foi pedida em {quando} e ainda pode sair: emitir esta pode duplicar a nota."]
    return [f"⚠️ A outra foi pedida em {quando}."]


def _sem(sessao: Sessao) -> list[str]:
    texto = _SEM.get(sessao.sem or "")
    return [texto] if texto else []


def _cliente(rascunho: Rascunho) -> list[str]:
    documento = rascunho.validado(Campo.DOCUMENTO) or ""
    if not documento:
        nome = rascunho.validado(Campo.NOME)
        fora = f" ({apara(nome, _NOME_MAX)} fica fora: sem CPF, a NFC-e não leva nome)" if nome else ""
        return [f"Cliente: *consumidor sem nome*{fora}"]
    tipo = "CPF" if len(documento) == 11 else "CNPJ"  # noqa: PLR2004 - a CPF has 11 digits
    nome = rascunho.tomador_nome
    if nome:
        linhas = [f"Cliente: {apara(nome, _NOME_MAX)}"]
    else:
        porque = "" if rascunho.produtos else ": algumas prefeituras recusam sem"
        linhas = [f"Cliente: *sem nome*. Se tiver, me manda{porque}."]
    linhas.append(f"{tipo}: {formata_documento(documento)}")
    situacao = rascunho.cadastro.situacao if rascunho.cadastro else None
    if situacao not in {None, "", "ATIVA"}:
        linhas.append(f"⚠️ Na Receita este CNPJ consta como *{apara(situacao or '', _SITUACAO_MAX)}*.")
    return linhas


_POR_QUE = {
    "nfe": "para empresa, ou quando a mercadoria é enviada",
    "nfce": "consumidor, entregue em mãos",
    ENTREGA: "consumidor, a loja entrega",
    "": "",
}


def _itens(todos: list[str], limite: int) -> list[str]:
    """Return the lines of the items that have room, and how many more are kept."""
    if tamanho("\n".join(todos)) <= limite:
        return todos
    aviso = "… e mais {} itens, todos guardados e somados"
    cabem = [linha for n, linha in enumerate(todos, 1) if tamanho("\n".join([*todos[:n], aviso])) <= limite]
    return [*cabem, aviso.format(len(todos) - len(cabem))]


def _servico(texto: str, limite: int) -> str:
    if tamanho(texto) <= limite:
        return texto
    aviso = f" (texto inteiro guardado, {len(texto)} caracteres)"
    return apara(texto, limite - tamanho(aviso)) + aviso


def legivel(campo: Campo, valor: str | None) -> str | None:
    """Return a validated value as people write it."""
    if valor is None:
        return None
    match FIELDS[campo].kind:
        case FieldKind.DINHEIRO:
            return formata_brl(valor)
        case FieldKind.DOCUMENTO:
            return formata_documento(valor)
        case FieldKind.MES | FieldKind.DIA:
            return "/".join(reversed(valor.split("-")))
        case FieldKind.CODIGO:
            return apara(named(valor), _CODIGO_MAX)
        case FieldKind.ENDERECO | FieldKind.LUGAR:
            return apara(as_people_write(valor), _ENDERECO_MAX)
        case FieldKind.ITENS:
            return apara(resumida(load(valor)), 2 * _MUDADO_MAX)
        case FieldKind.MODELO:
            return NOMES.get(valor, valor)
        case FieldKind.PROSA | FieldKind.TEXTO | FieldKind.EMAIL:
            return apara(valor, 2 * _MUDADO_MAX)
        case kind:
            assert_never(kind)


def titulo_da_mudanca(mudancas: Sequence[tuple[Campo, str, str]]) -> str:
    """Say what a correction changed, from what to what; only the fields' names where that would grow long."""
    frases = [_mudei(campo, velho, novo) for campo, velho, novo in mudancas]
    titulo = f"*{' '.join(frases)}*\nConfere?"
    if tamanho(titulo) <= TITULO_MAX:
        return titulo
    return f"*Mudei {', '.join(FIELDS[campo].short for campo, _, _ in mudancas)}.*\nConfere?"


def _mudei(campo: Campo, velho: str, novo: str) -> str:
    if FIELDS[campo].kind is FieldKind.PROSA:
        return f"Troquei {FIELDS[campo].short} para {apara(novo, _MUDADO_MAX)}."
    de, para = (apara(legivel(campo, valor) or "", _MUDADO_MAX) for valor in (velho, novo))
    return f"Mudei {FIELDS[campo].short} de {de} para {para}."
