"""The answers to speech acts that give no data: waiting, complaints, later, thanks, what is not for us."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from state_machine.catalogue import questions
from state_machine.catalogue.requests import NotaListada
from state_machine.invoice.draft import ESCOLHA, Rascunho
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Botao, Estado, Mensagem, Opcao, Sessao
from state_machine.invoice.summary import botao_cancelar, com_a_nota, fim, legivel, resumo
from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl
from state_machine.values.text import apara, tamanho

_NOME_MAX = 60  # UTF-16 units of a client's name
_DITAS_MAX = 200  # UTF-16 units of a complaint: with the rest of its button's id less than 256, which Meta takes
_RESTO_MAX = 80  # UTF-16 units of each further invoice that is quoted back
EQUIPE = "equipe"  # what that button speaks to, where no invoice is asked about
PESSOA = Botao(f"pessoa:{EQUIPE}", "Falar com alguém")


def espera(*, resumo: bool, aberta: bool) -> Mensagem:
    """They ask to wait: nothing changes. ``resumo``: a summary is shown; ``aberta``: an invoice is being made."""
    if resumo:
        return Mensagem(
            "Tranquilo, espero. O resumo e os botões dele continuam valendo.",
            outras=("Sem pressa. O resumo continua valendo.",),
        )
    if aberta:
        return Mensagem(
            "Tranquilo, espero. O que você já mandou continua guardado.",
            outras=("Sem pressa, está tudo guardado.",),
        )
    return Mensagem("Tranquilo, estou por aqui.", outras=("Sem pressa.",))


def espera_emissao() -> Mensagem:
    """They ask to wait for what is already at the authority."""
    return Mensagem(
        "Esta nota já foi enviada depois do seu *Confirmar*, e não dá para segurar. Quando sair, eu te aviso; "
        "se precisar, dá para pedir o cancelamento.",
        outras=("Ela já foi enviada. Te aviso assim que houver resposta.",),
    )


def nao_sei(*, imposto: bool) -> Mensagem:
    """A question that is not in what we know; ``imposto``: it is of taxes."""
    quem = (
        " De imposto, quem sabe é a contabilidade."
        if imposto
        else " Eu cuido das suas notas: escreve _ajuda_ e eu conto."
    )
    return Mensagem(
        f"Essa eu não sei, e prefiro não chutar.{quem}",
        outras=("Também não sei essa. Quer saber o que eu faço? Escreve _ajuda_.",),
    )


def o_que_errado(sessao: Sessao) -> Mensagem:
    """Something in the summary is wrong: ask which part, with a button for each."""
    alvo = f"{sessao.sessao_id}:{sessao.revisao}"
    return Mensagem(
        "O que está errado: cliente, valor ou serviço? O resto continua guardado, e nada foi emitido.",
        (
            Botao(f"errado_cliente:{alvo}", "Cliente"),
            Botao(f"errado_valor:{alvo}", "Valor"),
            Botao(f"errado_servico:{alvo}", "Serviço"),
        ),
        outras=("Qual dos três eu mudo? Pode tocar no botão ou já me mandar o certo.",),
    )


def qual_cliente() -> Mensagem:
    """The customer of the summary is another one of its kind."""
    return Mensagem(
        "Qual é o cliente certo? Me manda o nome, ou o CNPJ ou CPF. Nada foi emitido.",
        outras=("Ainda não sei qual. O CNPJ ou CPF resolve.",),
    )


def negou(sessao: Sessao) -> Mensagem:
    """A no to the summary: it may mean that something is wrong, or that the invoice is not wanted."""
    return Mensagem(
        "Certo, não emiti. O que está errado? Me manda o certo, ou toca em *Cancelar* se não quer mais esta nota.",
        (Botao(f"corrigir:{sessao.sessao_id}:{sessao.revisao}", "Corrigir"), botao_cancelar(sessao)),
        outras=("Continua guardada, e nada foi emitido. Me diz o que mudar, ou toca em *Cancelar*.",),
    )


def reclama(
    nota: NotaListada | None, *, em_aberto: bool, limitada: bool = False, substitui: bool = False, palavras: str = ""
) -> Mensagem:
    """They complain: offer the very note of this conversation; nothing is done by itself.

    ``limitada``: the authority takes no other note in the place of one, where value, customer or competence change.
    ``substitui``: it takes one whatever changes.
    ``palavras``, the complaint's own, go with the button, so that they need not be said again; too long ones do not.
    """
    if nota is None:
        sobra = "A nota que estamos fazendo ainda não foi emitida: me diz o que mudar." if em_aberto else ""
        return Mensagem(
            f"Entendi que algo deu errado. Não saiu nenhuma nota por esta conversa. {sobra}".strip(),
            (PESSOA,),
            outras=(f"Me conta o que deu errado, ou chama alguém da equipe. {sobra}".strip(),),
        )
    qual = f"nota {nota.numero}, de {formata_brl(nota.valor)} para {apara(nota.cliente, _NOME_MAX)} ({nota.dia})"
    if nota.cancelada:
        return Mensagem(
            f"A última por aqui é a {qual}, e ela já está {fim(nota.substituta)}. Para fazer outra, me manda os dados "
            "certos.",
            (PESSOA,),
            outras=("Essa nota não vale mais. Para outra nota, me manda os dados certos.",),
        )
    ditas = " ".join(palavras.split())
    ditas = f"::{ditas}" if ditas and tamanho(ditas) <= _DITAS_MAX else ""
    regra = "Nota emitida não se edita"
    if limitada:
        regra += ", e a de MEI ou Simples também não se substitui para mudar valor, cliente ou competência"
    refazer = Botao(f"refazer_nota:{nota.emissao_id}{ditas}", "Cancelar e refazer")
    if substitui:
        return Mensagem(
            f"Sinto muito. É a {qual}? Ela continua valendo. {regra}: eu faço outra que a substitui, e a antiga deixa "
            "de valer quando a nova sair.",
            (Botao(f"substituir:{nota.emissao_id}{ditas}", "Substituir a nota"), refazer, PESSOA),
            outras=(f"Para trocar a nota {nota.numero}: começa pelo botão. Você muda só o errado e confirma.",),
        )
    return Mensagem(
        f"Sinto muito. É a {qual}? Ela continua valendo. {regra}: eu peço o cancelamento, e depois você muda só o que "
        "estava errado.",
        (refazer, PESSOA),
        outras=(f"Para trocar a nota {nota.numero}: começa pelo botão. Depois de cancelada, você muda só o errado.",),
    )


def depois() -> Mensagem:
    """They want it later, or regularly."""
    return Mensagem(
        "Ainda não agendo nem repito nota sozinha: só emito na hora, com o seu *Confirmar*. Me chama no dia.",
        outras=("Agendar eu ainda não faço. No dia, me manda os dados.",),
    )


def fora(*, vende: bool = False) -> Mensagem:
    """Nothing for Prosa; ``vende``: the company sells goods, and is told how a sale is said."""
    venda = " De uma venda: _nota de 2 canecas em mãos_." if vende else ""
    return Mensagem(
        f"Isso eu não faço: por aqui só emito, consulto e cancelo notas.{venda}",
        outras=(f"Isso fica fora do que eu faço. Por aqui, só notas fiscais.{venda}",),
    )


def obrigado() -> Mensagem:
    """They thank."""
    return Mensagem("Por nada!", outras=("Disponha!",))


def ate_mais() -> Mensagem:
    """They leave."""
    return Mensagem("Até mais!", outras=("Até!",))


def combinado() -> Mensagem:
    """A no where nothing is open: nothing changes."""
    return Mensagem("Combinado, fica como está.", outras=("Tudo bem, nada muda.",))


def xingou() -> Mensagem:
    """They swear: short, kind, and a way out."""
    return Mensagem(
        "Entendo a irritação. Me diz o que precisa e eu tento resolver.",
        outras=("Estou aqui para ajudar com a nota. Se preferir, escreve _falar com uma pessoa_.",),
    )


def varias(quantas: int, restantes: Sequence[str]) -> Mensagem:
    """Several invoices in one message: the first is begun, the others are quoted for later."""
    linhas = "\n".join(f"• _{apara(' '.join(resto.split()), _RESTO_MAX)}_" for resto in restantes)
    outras = "a outra" if len(restantes) == 1 else "as outras"
    return Mensagem(
        f"*Li {quantas} notas e faço uma de cada vez.* Quando a primeira sair, me manda {outras}:\n{linhas}"
    )


def outra_nota(dito: str) -> Mensagem:
    """One more invoice is ordered while another is being made: nothing of it is taken, and it is quoted for later."""
    return Mensagem(
        "*Essa é outra nota, e faço uma de cada vez.* Quando a aberta sair, me manda: "
        f"_{apara(' '.join(dito.split()), _RESTO_MAX)}_"
    )


def esta_ou_outra(sessao: Sessao, dito: str) -> Mensagem:
    """Another customer is named over a summary: ask whether it corrects this invoice; its words go with the buttons."""
    if tamanho(_numa_linha(dito)) > _DITAS_MAX:
        return outra_nota(dito)
    return Mensagem(
        f"*É para corrigir a nota {_qual_aberta(sessao.rascunho)}, ou é outra nota?* Nada mudou nela, e nada foi "
        f"emitido.\n_{apara(dito, _DITAS_MAX)}_",
        (
            Botao(f"esta:{sessao.sessao_id}:{sessao.revisao}:{_numa_linha(dito)}", "Corrigir esta"),
            _a_outra(sessao, "É outra", dito),
        ),
        outras=("Ainda não sei: corrijo a nota que está aberta, ou é outra?",),
    )


def _qual_aberta(rascunho: Rascunho) -> str:
    """Name the invoice that is being made by what is known of it."""
    documento, [possivel] = rascunho.validado(Campo.DOCUMENTO), rascunho.documento.nomes[:1] or (("", ""),)
    cliente = rascunho.tomador_nome if documento else rascunho.validado(Campo.NOME) or possivel[1]
    cliente = cliente or (formata_documento(documento) if documento else "")
    lidos = " ou ".join(map(formata_brl, rascunho.valor.leituras[:ESCOLHA]))
    valor = legivel(Campo.VALOR, rascunho.validado(Campo.VALOR)) or lidos
    ditos = (f"de {valor}" if valor else "", f"para {apara(cliente, _NOME_MAX)}" if cliente else "")
    return " ".join(filter(None, ditos)) or "aberta"


def outra_guardada(sessao: Sessao, dito: str) -> Mensagem:
    """This invoice has its yes, and the one that was ordered behind it waits in a button."""
    if tamanho(_numa_linha(dito)) > _DITAS_MAX:
        return outra_nota(dito)
    return Mensagem(
        f"*Confirmada. A outra eu ainda não comecei:* _{apara(dito, _DITAS_MAX)}_",
        (_a_outra(sessao, "Fazer a outra", dito),),
    )


def uma_de_cada_vez(sessao: Sessao, dito: str) -> Mensagem:
    """The words are another invoice's: this one comes first, as its summary shows, and the other waits in a button."""
    titulo = "*Certo, é outra, e faço uma de cada vez.* Primeiro esta; depois, toca em *Fazer a outra*."
    if sessao.estado is Estado.AGUARDANDO_CONFIRMACAO or sessao.rascunho.valores_a_escolher:
        return com_outra(sessao, resumo(sessao, titulo), dito)
    pergunta, botao = questions.insiste(sessao), _a_outra(sessao, "Fazer a outra", dito)
    texto = f"{titulo}\n_{apara(dito, _DITAS_MAX)}_\n\n{pergunta.texto}"
    if pergunta.lista:
        return Mensagem(texto, (), (*pergunta.lista, Opcao(botao.id, botao.titulo)))
    return Mensagem(texto, (*pergunta.botoes[:2], botao))


def com_outra(sessao: Sessao, mensagem: Mensagem, dito: str) -> Mensagem:
    """Return a summary with the button that begins another invoice, from these words, in place of *Corrigir*."""
    if tamanho(_numa_linha(dito)) > _DITAS_MAX:
        return mensagem
    resto = tuple(botao for botao in mensagem.botoes if not botao.id.startswith("corrigir:"))
    return replace(mensagem, botoes=(*resto[:2], _a_outra(sessao, "Fazer a outra", dito)))


def _a_outra(sessao: Sessao, titulo: str, dito: str) -> Botao:
    return Botao(f"outra:{sessao.sessao_id}:{sessao.revisao}:{_numa_linha(dito)}", titulo)


def _numa_linha(dito: str) -> str:
    return ", ".join(" ".join(linha.split()) for linha in dito.splitlines() if linha.strip())


def em_aberto(sessao: Sessao, mensagem: Mensagem) -> Mensagem:
    """Return an answer that ends with what is open: a line about the invoice with its buttons, or the question."""
    if sessao.estado is Estado.AGUARDANDO_CONFIRMACAO and sessao.rascunho.completo:
        return com_a_nota(sessao, mensagem)
    if sessao.estado is not Estado.DADOS_INCOMPLETOS:
        return mensagem
    pergunta = questions.insiste(sessao)
    return replace(
        mensagem,
        texto=f"{mensagem.texto}\n\n{pergunta.texto}",
        botoes=mensagem.botoes or pergunta.botoes,
        lista=() if mensagem.botoes else pergunta.lista,
        outras=tuple(f"{outra}\n\n{pergunta.texto}" for outra in mensagem.outras),
    )


def longa() -> Mensagem:
    """More was written at once than is read: it is said before the answer to what was read."""
    return Mensagem(
        "É muito texto para uma vez só: li o começo, e o resto não. "
        "Se faltou alguma coisa, me manda em mensagens curtas."
    )
