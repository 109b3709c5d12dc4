"""Every other sentence that a user reads; short, warm, precise pt-BR. See also ``questions`` and ``resumo``.

To add a message to people: a function here, in ``questions`` or ``acts`` beside it, in ``texts`` for one subject, or
in ``state_machine/invoice/summary.py``; nowhere else. It says what happened, what was kept, what to do next. With
buttons Meta takes 1,024 characters, three buttons, 20 characters a title. ``outras`` are shorter wordings for when it
would be what the person read last. What people ask is a ``Tema`` in ``knowledge`` with its source and the day it was
written.
"""

from __future__ import annotations

from dataclasses import replace

from state_machine.goods import nome_da_nota
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import DIZER, Botao, Estado, Mensagem, Sessao
from state_machine.invoice.summary import CONFERE, botao_cancelar, resumo
from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl
from state_machine.values.text import TEXTO_COM_BOTOES_MAX, TEXTO_MAX, apara, tamanho

_NOME_MAX = 200  # UTF-16 units of the client's name in a caption
_ACIMA_MAX = 400  # UTF-16 units of an answer above a summary
_MOTIVO_MAX = 500  # UTF-16 units; some cities answer with pages
RETOMADA = "*Retomei os dados da nota anterior.* Se algo mudou, me diz; senão, confirma."
EDITADA = "*Li a mensagem que você editou; o resumo anterior não vale mais.*\nConfere?"
APAGADA = "*Você apagou uma mensagem: tirei da nota o que só ela dizia.*\nConfere?"
_EXEMPLO = "_nota de 1.500 para 12.345.678/0001-95, consultoria de marketing_"  # a textbook CNPJ


_EXEMPLO_DE_VENDA = "_nota de 2 canecas em mãos_"


_REPETINDO = "_Repetindo:_ "


def formas(mensagem: Mensagem) -> tuple[Mensagem, ...]:
    """Return the wordings of a message, of which no two are equal; the last one says that it repeats.

    Each fits where the first one fits.
    """
    textos = (mensagem.texto, *mensagem.outras)
    limite = TEXTO_COM_BOTOES_MAX if mensagem.botoes else TEXTO_MAX
    resto = mensagem.texto
    if tamanho(_REPETINDO + resto) > limite:
        resto = apara(resto.partition("\n")[2] or resto, limite - tamanho(_REPETINDO))  # the heading goes first
    return tuple(replace(mensagem, texto=texto, outras=()) for texto in dict.fromkeys((*textos, _REPETINDO + resto)))


def _exemplos(*, vende: bool) -> str:
    return f"{_EXEMPLO_DE_VENDA} (venda)\n{_EXEMPLO} (serviço)" if vende else _EXEMPLO


def saudacao(*, vende: bool = False) -> Mensagem:
    """Greet and say the one thing that can be done here; ``vende``: the company sells goods."""
    exemplo = _exemplos(vende=vende)
    return Mensagem(
        f"Oi! Eu emito sua nota. Me manda assim:\n{exemplo}",
        outras=(
            f"Para fazer uma nota, me manda assim:\n{exemplo}",
            "Se preferir falar com alguém, escreve _falar com uma pessoa_. Para uma nota: cliente, valor e serviço.",
        ),
    )


def ajuda(*, vende: bool = False) -> Mensagem:
    """Explain how an invoice is issued, corrected and given up; ``vende``: the company sells goods."""
    exemplo = f"{_EXEMPLO_DE_VENDA} (venda) ou {_EXEMPLO} (serviço)" if vende else _EXEMPLO
    pede = "produtos ou serviço" if vende else "cliente, valor e serviço"
    produtos = "\n\nDos produtos: _meus produtos_, _cadastra caneca 35,00_, _muda o preço da caneca pra 40_."
    return Mensagem(
        "*Como funciona*\n"
        f"1. Me manda os dados da nota, como: {exemplo}\n"
        "2. Eu mostro um resumo. Só emito depois do seu *Confirmar*.\n"
        "3. Quando a nota sai, te mando o PDF e o XML.\n\n"
        f"Para mudar algo, é só dizer: _na verdade {'são 3' if vende else 'é 1.800'}_. Para desistir: _cancela_.\n\n"
        "Das notas que já saíram: _status_, _minhas notas_, _segunda via_ e _cancelar nota 123_."
        f"{produtos if vende else ''}",
        outras=(
            f"Em resumo: me manda {pede} ({exemplo}), confere e toca em *Confirmar*.",
            "Se ainda ficou dúvida, escreve _falar com uma pessoa_ ou me pergunta com outras palavras.",
        ),
    )


def o_que_muda(sessao: Sessao) -> Mensagem:
    """Ask what to correct, with what stands kept."""
    return Mensagem(
        "O que eu mudo? Me manda só o certo: CNPJ ou CPF, valor ou serviço.",
        (botao_cancelar(sessao),),
        outras=("Me manda só o certo, por exemplo _o valor é 1.800_ ou _o serviço é mentoria_.",),
    )


def dados_mudaram(sessao: Sessao) -> Mensagem:
    """A yes that answers another summary than the present one confirms nothing."""
    return resumo(sessao, "*Os dados mudaram depois daquele resumo, então ainda não emiti.*\nConfere de novo?")


def empresa_mudou(sessao: Sessao) -> Mensagem:
    """The company's fiscal data changed between summary and yes: the yes answered other data."""
    return resumo(sessao, "*O cadastro da sua empresa mudou depois daquele resumo, então ainda não emiti.*\nConfere?")


def canal_mudou(sessao: Sessao) -> Mensagem:
    """The company issues by another channel, or in another environment, than when the summary was shown."""
    return resumo(sessao, "*Sua empresa agora emite por outro canal ou ambiente, então ainda não emiti.*\nConfere?")


def outra_empresa(sessao: Sessao) -> Mensagem:
    """The number issues for another company than the one that the summary named: the yes answered that one."""
    return resumo(sessao, "*Este número agora emite por outra empresa, então ainda não emiti.*\nConfere o emitente?")


def sem_empresa() -> Mensagem:
    """The number issues for nobody any more, and an invoice was open."""
    return Mensagem(
        "Este número não está mais ligado a nenhuma empresa, então não emiti nada. Os dados continuam guardados; fale "
        "com quem cuida da Prosa na sua empresa."
    )


def sem_direito() -> Mensagem:
    """A word about a confirmed invoice of a company for which the number issues no more."""
    return Mensagem(
        "Este número não emite mais pela empresa desta nota: nem enviei, nem cancelei. Os dados continuam guardados; "
        "decide quem cuida da Prosa na empresa."
    )


def encaminhada(sessao: Sessao) -> Mensagem:
    """Forwarded or edited words, or too many of them, are no answer to the summary, whatever they say."""
    return resumo(
        sessao, "*Mensagem encaminhada, editada ou longa demais não confirma nem cancela: ainda não emiti.*\nConfere?"
    )


def editou_sem_texto() -> Mensagem:
    """A message was edited, and its new text did not come with the notice."""
    return Mensagem(
        "Você editou uma mensagem, mas o texto não chegou. Ainda não emiti, e o resumo não vale mais: o que mudou?"
    )


def editou() -> Mensagem:
    """A message was edited while no invoice was open, and its new text did not come with the notice."""
    return Mensagem("Vi que você editou uma mensagem. Para uma nota, me manda o certo de novo?")


_ONDE_ESTA = {
    Estado.PROCESSANDO: "já tinha ido para emissão",
    Estado.APROVADO: "já foi emitida",
    Estado.ERRO: "já foi confirmada e está com a equipe",
}


def editou_tarde(sessao: Sessao) -> Mensagem:
    """A message was edited after its invoice was confirmed, or had ended without one."""
    if sessao.estado not in _ONDE_ESTA:
        return Mensagem(
            "A mensagem que você editou era de uma nota que não foi emitida, então não mudei nada. "
            "Para fazer a nota com o texto novo, me manda os dados em uma mensagem nova."
        )
    return _tarde(sessao, "A nota {onde} com o texto de antes da edição, e editar a mensagem não muda a nota.")


def apagou_tarde(sessao: Sessao) -> Mensagem:
    """A message was deleted after its invoice was confirmed."""
    return _tarde(sessao, "A nota {onde} com a mensagem que você apagou, e apagar a mensagem não desfaz a nota.")


def _tarde(sessao: Sessao, texto: str) -> Mensagem:
    valor = f" de {formata_brl(sessao.rascunho.valor_servico)}" if sessao.rascunho.validado(Campo.VALOR) else ""
    inicio = texto.format(onde=_ONDE_ESTA[sessao.estado])
    if sessao.estado is Estado.ERRO:
        return Mensagem(f"{inicio} Se ela for autorizada, você recebe aqui e pode pedir o cancelamento.")
    quando = "Quando ela sair, se" if sessao.estado is Estado.PROCESSANDO else "Se"
    return Mensagem(
        f"{inicio} {quando} precisar cancelar, escreve _cancela a nota{valor}_. Depois me manda os dados certos."
    )


def ja_existe_igual(sessao: Sessao) -> Mensagem:
    """Ask before a second invoice of the same content; the summary itself says which one there is."""
    if sessao.igual and sessao.igual.indecisa:
        return resumo(
            sessao,
            "*Você já pediu uma nota igual a esta, e ela ainda não teve resposta.* "
            "Ainda não emiti outra.\nQuer mesmo mais uma?",
        )
    return resumo(sessao, "*Você já pediu uma nota igual a esta.* Ainda não emiti outra.\nQuer mesmo mais uma?")


def lembrete(sessao: Sessao) -> Mensagem:
    """Repeat the summary after words that changed nothing, or a yes written before it was shown."""
    outros = ("*Segue o mesmo resumo: ainda não emiti.*", "*Sem mudança. Para emitir, toca em Confirmar.*")
    mensagem = resumo(sessao, "*Só falta você confirmar.*")
    return replace(mensagem, outras=tuple(resumo(sessao, titulo).texto for titulo in outros))


def com_o_resumo(sessao: Sessao, resposta: Mensagem) -> Mensagem:
    """Put the summary under an answer; of a long one its first line counts."""
    long = tamanho(resposta.texto) > _ACIMA_MAX
    texto = apara(resposta.texto.partition("\n")[0], _ACIMA_MAX) if long else resposta.texto
    return resumo(sessao, f"{texto}\n\n{CONFERE}")


def cancelada(sessao: Sessao) -> Mensagem:
    """Say that nothing was issued and that the data can be taken up again."""
    nenhuma = "nenhuma outra nota" if sessao.igual else "nenhuma nota"
    return Mensagem(
        f"Certo, descartei: {nenhuma} foi emitida.",
        (Botao(f"refazer:{sessao.sessao_id}", "Retomar esta nota"),),
    )


def ja_enviada() -> Mensagem:
    """Too late to give up by chat: it is at the authority."""
    return Mensagem("Esta nota já foi enviada para emissão. Te aviso aqui assim que houver resposta.")


def ja_encerrada(estado_legivel: str) -> Mensagem:
    """An old button was pressed; nothing happens again."""
    return Mensagem(f"Esta nota já foi {estado_legivel}; nada novo foi emitido. Para outra, me manda os dados.")


def autorizada(sessao: Sessao, numero: str) -> str:
    """Caption of the PDF: the result in one line."""
    rascunho = sessao.rascunho
    nome = apara(rascunho.tomador_nome or formata_documento(rascunho.validado(Campo.DOCUMENTO) or ""), _NOME_MAX)
    tipo = nome_da_nota(rascunho.validado(Campo.MODELO))
    return f"{tipo} {numero} autorizada · {formata_brl(rascunho.valor_servico)} · {nome}"


def rejeitada(sessao: Sessao, motivo: str, campo: Campo | None) -> Mensagem:
    """Say why in plain words, what is kept, and who mends it: the person a ``campo``, staff everything else."""
    inicio = (
        f"*Esta nota não foi aceita.*\nMotivo: {apara(motivo, _MOTIVO_MAX) or 'não informado'}\n\n"
        "Nenhuma nota foi emitida e seus dados estão guardados."
    )
    if campo is None:
        return Mensagem(
            f"{inicio} Quem resolve é a nossa equipe, e a nota já está com ela. Não precisa repetir: eu te aviso aqui."
        )
    de_novo = " de novo" if sessao.rascunho.campo(campo).escrito else ""  # else nobody said it
    return Mensagem(
        f"{inicio} Toca em *Corrigir nota* e me diz {FIELDS[campo].name}{de_novo}.",
        (Botao(f"refazer:{sessao.sessao_id}", "Corrigir nota"),),
    )


def falhou() -> Mensagem:
    """A definite technical failure: who looks after it, and what not to do."""
    return Mensagem(
        "Não consegui concluir esta nota; a equipe já foi avisada. "
        "Não precisa mandar de novo: se sair, você recebe aqui."
    )


def demorou(motivo: str | None = None) -> Mensagem:
    """The authority is slow; with ``motivo``, nothing goes out before the company repairs what it says.

    One that ends with a full stop says itself what becomes of the invoice.
    """
    if motivo is not None:
        depois = "" if motivo.endswith(".") else ". Ela está guardada, e sai sozinha depois disso."
        return Mensagem(f"*Ainda não emiti esta nota:* {motivo}{depois}")
    return Mensagem("Sua nota ainda não teve resposta. Não precisa repetir: o PDF vem assim que sair.")


def ainda_quer(sessao: Sessao, outra: str | None = None) -> Mensagem:
    """Ask about an invoice that waits for its person's word; only the buttons answer.

    Nobody has accepted it for a day; with ``outra``, the refused one that it mends was authorised under that number.
    """
    rascunho = sessao.rascunho
    cliente = apara(rascunho.tomador_nome or formata_documento(rascunho.validado(Campo.DOCUMENTO) or ""), _NOME_MAX)
    alvo = f"{sessao.sessao_id}:{sessao.revisao}"
    porque = (
        f"*A nota recusada acabou autorizada: é a nº {outra}.* A corrigida ainda não saiu, e "
        f"emitir as duas só faz sentido se a nº {outra} for cancelada (escreve _cancela a nota {outra}_)."
        if outra
        else "*Esta nota ainda não foi emitida*: até agora o envio não passou."
    )
    return Mensagem(
        f"{porque}\n{formata_brl(rascunho.valor_servico)} · {cliente}\n\n"
        f"{'Parei até você dizer' if outra else 'Ela sai se o envio voltar a passar'}: ainda quer esta nota?",
        (Botao(f"querer:{alvo}", "Quero, emitir"), Botao(f"desistir:{alvo}", "Não quero mais")),
    )


def envio_retomado() -> Mensagem:
    """The stored bytes go again, by the person's word or by staff's."""
    return Mensagem("*Voltei a tentar emitir esta nota*, com os mesmos dados. Não precisa mandar de novo.")


def duas_notas(numero: str, outras: tuple[str, ...]) -> Mensagem:
    """Two notes stand for one confirmation: say it plainly, with what to do."""
    demais = " e ".join(f"nº {outra}" for outra in outras)
    return Mensagem(
        f"*Atenção: saiu mais de uma nota para este mesmo pedido.* Além da {demais}, saiu a "
        f"nº {numero}. Os arquivos dela vão a seguir, e a equipe já foi avisada. Uma delas precisa ser cancelada: "
        f"para isso, escreve _cancela a nota {numero}_, ou espera a equipe te chamar."
    )


def nota_anulada(numero: str) -> str:
    """Say that the city cancelled another note for this one; it goes under the news of the note."""
    qual = "outra nota" if numero == "?" else f"a nota {numero}"
    return f"*Atenção:* com esta nota foi cancelada {qual}, do mesmo RPS. A equipe já foi avisada."


def so_texto(tipo: str) -> Mensagem:
    """Kind answer to what has no words in it."""
    return Mensagem(
        f"{_nao_leio(tipo)} Me escreve CNPJ ou CPF, valor e serviço?",
        outras=("Também não consigo ler essa. Por aqui, só texto.",),
    )


def so_texto_em_aberto(tipo: str) -> Mensagem:
    """The same while an invoice is being made: what is open stands below."""
    return Mensagem(
        f"{_nao_leio(tipo)} Me escreve o que era?",
        outras=("Também não consigo ler essa. Por aqui, só texto.",),
    )


def _nao_leio(tipo: str) -> str:
    if tipo == "location":
        return "Recebi o local, mas não o uso na nota: endereço, só escrito."
    nome = {"audio": "áudio", "image": "foto", "document": "documento", "video": "vídeo"}.get(tipo)
    return f"Ainda não leio {nome}." if nome else "Essa mensagem eu não consigo ler."


def desconhecido() -> Mensagem:
    """A number that belongs to no company gets a way forward, never silence."""
    return Mensagem(
        "Oi! Eu sou a Prosa e emito notas de serviço pelo WhatsApp. Este número ainda não está ligado "
        "a nenhuma empresa. Seu contato ficou registrado para a equipe. "
        "Se a sua empresa já usa a Prosa, peça para incluírem este número."
    )


def devagar() -> Mensagem:
    """Somebody writes faster than answers are due: all is kept and read, and the next answer comes later."""
    return Mensagem(
        "Recebi muitas mensagens e guardei tudo; respondo em alguns minutos. Confirmar e cancelar continuam valendo."
    )


def expirada(sessao_id: str) -> Mensagem:
    """A yes that comes after the deadline."""
    parada = "Aquela nota ficou parada e expirou sem ser emitida. Os dados continuam guardados."
    return Mensagem(parada, (Botao(f"refazer:{sessao_id}", "Retomar esta nota"),))


def em_andamento() -> Mensagem:
    """Words while the last invoice is at the authority."""
    return Mensagem(
        "Sua nota está em emissão; te mando aqui. Para outra, me manda os dados.",
        outras=("Ainda em emissão; te aviso assim que sair.",),
    )


def ja_retomada() -> Mensagem:
    """An old button for data that a later invoice has taken up, or that were issued."""
    return Mensagem("Essa nota já foi retomada. Para outra: CNPJ ou CPF, valor e serviço.")


def nada_a_confirmar() -> Mensagem:
    """A yes, no or small talk when no invoice is open."""
    return Mensagem(
        "Não há nota aberta; nada mudou. Para uma nova, me manda cliente, valor e serviço.",
        tuple(Botao(f"{DIZER}{dito}", dito) for dito in ("Nova nota", "Minhas notas", "Falar com uma pessoa")),
        outras=(
            f"Continua sem nota aberta. Para começar uma, me manda assim:\n{_EXEMPLO}",
            "Nada aberto por aqui. Quer saber o que eu faço? Escreve _ajuda_, ou _falar com uma pessoa_.",
        ),
    )


_INSTRUCOES = {
    "iss_retido": "reter o ISS na nota",
    "retencao": "reter impostos na nota",
    "observacao": "colocar observação na nota",
    "desconto": "destacar desconto na nota: ela sai pelo valor final",
    "exterior": "emitir para cliente de fora do Brasil (no emissor nacional, em nfse.gov.br, dá)",
    "codigo": "mudar o código do serviço: a nota sai com o que está no cadastro da empresa",
    "aliquota": "mudar a alíquota: a nota sai com a que está no cadastro da empresa",
    "periodo": "emitir com mais de um mês de competência",
}


def instrucao_fiscal(qual: str | None) -> Mensagem:
    """Something is asked of the invoice that we cannot do yet; ``qual`` is a value of ``Instrucao``, where known."""
    oque = _INSTRUCOES[qual] if qual else "fazer isso na nota"
    return Mensagem(
        f"*Ainda não sei {oque}, e não emiti nada.* Sigo sem isso? Escreve _sim_ e eu mostro o resumo, "
        "ou _cancela_ para desistir.",
        outras=("Isso eu continuo sem saber fazer, e não emiti nada. Sigo sem isso? _sim_ ou _cancela_.",),
    )


def quarentena() -> Mensagem:
    """A message that failed five times; it is kept and people look at it."""
    return Mensagem("Não consegui ler sua última mensagem; a equipe foi avisada. Me manda de outro jeito?")


def numeracao_bloqueada() -> Mensagem:
    """Staff stopped the numbering of the company's invoices: nothing can be issued until they let it go on."""
    return Mensagem(
        "*Ainda não emiti esta nota:* a numeração da sua empresa está parada. "
        "Guardei os dados e a equipe foi avisada. Daqui a pouco, toca em *Confirmar* de novo."
    )


def reprocessando() -> Mensagem:
    """Staff repaired our side, and the refused invoice is tried again."""
    return Mensagem("*Estou tentando emitir de novo sua nota.* O erro era nosso; não precisa fazer nada.")
