"""The questions of the conversation: what is asked for a missing or doubtful field, in pt-BR.

What the words about a doubtful field may mean, as buttons or a list to choose from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from state_machine.catalogue.announcement import anotado
from state_machine.catalogue.texts.address import EXEMPLO, ONDE, ONDE_E_QUANDO, example_in
from state_machine.goods import ENTREGA
from state_machine.invoice.draft import ESCOLHA, LEITURA_MAX, VAZIO, Lido, Rascunho
from state_machine.invoice.field_table import FIELDS, NAO, SIM, FieldKind, obrigatorios
from state_machine.invoice.fields import Campo, Motivo
from state_machine.invoice.session import Botao, Mensagem, Opcao, Sessao
from state_machine.invoice.summary import BOTAO_MAX, botao_cancelar, legivel
from state_machine.services.codes import Onde, dotted
from state_machine.values.address import city_of, read_address
from state_machine.values.money import formata_brl
from state_machine.values.text import TEXTO_COM_BOTOES_MAX, apara, tamanho

BOTOES_MAX = 3  # of one message (Cloud API reference, "interactive.action.buttons")
LINHA_MAX = 24  # UTF-16 units of the title of a list's row (ibid., "interactive.action.sections.rows")
_CONTA_MAX = 120  # UTF-16 units of how an amount was reckoned
_ESCRITO_MAX = 80  # UTF-16 units of the description whose code is asked for
_DETALHE_MAX = 200  # UTF-16 units of what names the readings
_PESSOA = "Falar com uma pessoa"
VER_OPCOES = "Ver opções"  # what opens a list
OU_PESSOA = f"Se preferir, toca em *{_PESSOA}*."


def unica_leitura(rascunho: Rascunho) -> tuple[Campo, str] | None:
    """Return the field asked about and its only reading, which a plain yes takes; ``None`` where it has none or more.

    One question stands at a time: the first doubt's.
    """
    campo = rascunho.duvida
    leituras = rascunho.campo(campo).leituras if campo else ()
    return (campo, leituras[0]) if campo and len(leituras) == 1 else None


def mostra_leituras(rascunho: Rascunho) -> bool:
    """Tell whether a yes may answer what is asked: its only reading, or the summary that shows two amounts."""
    return unica_leitura(rascunho) is not None or bool(rascunho.valores_a_escolher)


def pergunta_leituras(campo: Campo, lido: Lido, degrau: int) -> str:
    """Ask which reading counts; ``degrau`` is 0 for the first wording, 1 for the short one, 2 with a person beside."""
    row = FIELDS[campo]
    if row.kind is FieldKind.CODIGO:
        return _pergunta_servico(lido, degrau)
    if row.kind is FieldKind.LUGAR:
        return _pergunta_lugar(lido, degrau)
    if campo in _DITAS:
        pede = _RETEVE if campo is Campo.RETIDO else row.question
        return f"{pede} {OU_PESSOA}" if degrau == _COM_PESSOA else pede
    if row.kind is not FieldKind.DINHEIRO and (lido.detalhe or "").strip():
        return _pergunta_nomeadas(campo, lido, degrau)
    opcoes = _ou([legivel(campo, leitura) or "" for leitura in lido.leituras])
    feita = apara(lido.conta or "", _CONTA_MAX) if len(lido.leituras) == 1 else ""
    conta = f"{feita} = " if feita else ""
    rotulo = "" if row.kind is FieldKind.DINHEIRO else f"{row.label[0].upper()}{row.label[1:]}: "
    match len(lido.leituras), degrau:
        case 1, 0:
            return f"{rotulo}{conta}{opcoes}, é isso?"
        case 1, 1:
            return f"{rotulo}{conta}{opcoes}? Toca no botão ou me manda {row.short}. {row.example}"
        case _, 0:
            return f"{rotulo}{opcoes}?{_SE_NAO[row.article] if len(lido.leituras) == BOTOES_MAX else ''}"
        case _, 1:
            return f"Qual vale para {row.short}: {opcoes}? {row.example}"
        case _:
            return f"Ainda preciso saber {row.short}: {conta}{opcoes}? {OU_PESSOA}"


_RETEVE = "Este cliente reteve o ISS na última nota. E nesta?"
_DITAS = {
    Campo.RETIDO: {SIM: "Com ISS retido", NAO: "Sem retenção"},
    Campo.MODELO: {"nfce": "Sim, em mãos", ENTREGA: "A loja entrega", "nfe": "Não, enviei"},
}


def _pergunta_lugar(lido: Lido, degrau: int) -> str:
    """Ask whether the place is the one that the records know, or which of the cities of one name."""
    opcoes = _ou([legivel(Campo.LOCAL, leitura) or "" for leitura in lido.leituras])
    foi = f"Em qual delas foi o serviço: {opcoes}?"
    if len(lido.leituras) == 1:
        obra = read_address(lido.leituras[0]).logradouro
        foi = f"É na mesma obra: {opcoes}?" if obra else f"O serviço foi em {opcoes}?"
    return f"{foi} {OU_PESSOA}" if degrau == _COM_PESSOA else foi


def _do_campo(rascunho: Rascunho, campo: Campo) -> str:
    """Return the question for a field that is missing."""
    if campo is Campo.LOCAL and rascunho.onde is not None:
        quando = rascunho.onde is Onde.EVENTO and rascunho.validado(Campo.DATA) is None
        return ONDE_E_QUANDO if quando else ONDE[rascunho.onde]
    return FIELDS[campo].question


def _pergunta_servico(lido: Lido, degrau: int) -> str:
    """Ask which of the company's service codes counts: a numbered list, whose numbers stay the same."""
    inicio = (
        f"Em qual serviço da sua empresa entra “{apara(lido.escrito or '', _ESCRITO_MAX)}”?",
        "Ainda preciso saber qual é o código do serviço.",
        "Para fazer a nota, preciso do código do serviço.",
    )[degrau]
    linhas = [f"*{nome.partition('.')[0]}.* {_curto(codigo, nome)}" for codigo, nome in _servicos(lido)]
    fim = f"Toca em *{VER_OPCOES}* ou me manda só o número. {OU_PESSOA if degrau > 1 else ''}".rstrip()
    return "\n".join([inicio, *linhas, fim])


def _servicos(lido: Lido) -> list[tuple[str, str]]:
    """Return each reading with its number and name ("2. Programação"), as the company's list has them."""
    nomes = dict(lido.nomes)
    return [(codigo, nomes.get(codigo, f"{at}. {codigo}")) for at, codigo in enumerate(lido.leituras, 1)]


def _curto(codigo: str, nome: str) -> str:
    return apara(f"{dotted(codigo)} – {nome.partition('. ')[2]}", LEITURA_MAX)


def _pergunta_nomeadas(campo: Campo, lido: Lido, degrau: int) -> str:
    """Ask which reading counts where the doubt's detail names them, as it does clients."""
    row, detalhe = FIELDS[campo], apara((lido.detalhe or "").strip(), _DETALHE_MAX)
    ditas = f"{detalhe[0].upper()}{detalhe[1:]}."
    qual = "É esse?" if len(lido.leituras) == 1 else "Qual deles?"
    match degrau:
        case 0:
            return f"{ditas} {qual}"
        case 1:
            return f"{ditas} {qual} Toca no botão ou me manda {row.short}. {row.example}"
        case _:
            return f"Ainda preciso saber {row.short}. {ditas} {OU_PESSOA}"


# Where the readings take all buttons, the way out is said.
_SE_NAO = {"o": " Se for outro, é só me mandar.", "a": " Se for outra, é só me mandar."}


def _ou(opcoes: list[str]) -> str:
    *inicio, fim = opcoes
    return f"{', '.join(inicio)} ou {fim}" if inicio else fim


def botao_pessoa(sessao: Sessao) -> Botao:
    """Return the button that asks for a person."""
    return Botao(f"pessoa:{sessao.sessao_id}:{sessao.revisao}", _PESSOA)


def opcoes(sessao: Sessao, campo: Campo, *, com_pessoa: bool) -> tuple[tuple[Botao, ...], tuple[Opcao, ...]]:
    """Return the readings of ``campo`` and the way out as buttons, or as the rows of a list where these are too small.

    Each carries the session, the revision at which it is shown, and the reading itself.
    """
    row, lido = FIELDS[campo], sessao.rascunho.campo(campo)
    leituras = lido.leituras
    alvo = f"{sessao.sessao_id}:{sessao.revisao}:{campo}"
    outro = Botao(f"outro:{alvo}", apara(f"{'Outro' if row.article == 'o' else 'Outra'} {row.label}", BOTAO_MAX))
    pessoa = (botao_pessoa(sessao),) if com_pessoa else ()
    if len(leituras) == 1:
        isso = f"{formata_brl(leituras[0])}, isso" if row.kind is FieldKind.DINHEIRO else "Sim"
        sim = Botao(f"usar:{alvo}:{leituras[0]}", isso if tamanho(isso) <= BOTAO_MAX else "Sim")
        return (sim, outro, *pessoa), ()
    if row.kind is FieldKind.CODIGO:  # another one is none of the company's
        linhas = [_servico(f"usar:{alvo}:{codigo}", codigo, nome) for codigo, nome in _servicos(lido)]
        return (), (*linhas, *(Opcao(botao.id, botao.titulo) for botao in pessoa))
    if lido.nomes:  # a document tells nobody which client it is
        linhas = [_pelo_nome(f"usar:{alvo}:{leitura}", campo, leitura, dict(lido.nomes)) for leitura in leituras]
        return (), (*linhas, *(Opcao(botao.id, botao.titulo) for botao in (outro, *pessoa)))
    if ditas_assim := _DITAS.get(campo):
        todos = (*(Botao(f"usar:{alvo}:{leitura}", ditas_assim[leitura]) for leitura in leituras), *pessoa)
        return (todos, ()) if len(todos) <= BOTOES_MAX else ((), tuple(Opcao(each.id, each.titulo) for each in todos))
    ditas = [(f"usar:{alvo}:{leitura}", legivel(campo, leitura) or "") for leitura in leituras]
    if len(leituras) <= BOTOES_MAX and not com_pessoa and all(tamanho(dita) <= BOTAO_MAX for _, dita in ditas):
        return (*(Botao(key, dita) for key, dita in ditas), outro)[:BOTOES_MAX], ()
    linhas = [Opcao(key, apara(dita, LINHA_MAX), dita if tamanho(dita) > LINHA_MAX else None) for key, dita in ditas]
    return (), (*linhas, *(Opcao(botao.id, botao.titulo) for botao in (outro, *pessoa)))


def _servico(key: str, codigo: str, nome: str) -> Opcao:
    numero, _, dito = nome.partition(". ")
    return Opcao(key, f"{numero}. {dotted(codigo)}", apara(dito, LEITURA_MAX))


def _pelo_nome(key: str, campo: Campo, leitura: str, nomes: dict[str, str]) -> Opcao:
    dita = legivel(campo, leitura) or ""
    nome = nomes.get(leitura)
    return Opcao(key, apara(nome, LINHA_MAX), apara(f"{dita} · {nome}", LEITURA_MAX)) if nome else Opcao(key, dita)


DETALHE_MAX = 200  # UTF-16 units; a detail is a hint, not a quotation
TRECHO_MAX = 80  # UTF-16 units of what is quoted back
_COM_PESSOA = 2  # the wording that offers a person beside

# What is asked first, and what, shorter and with an example, when the same doubt still stands.
_DUVIDA = {
    Motivo.DIGITO_NAO_BATE: (
        "O dígito verificador não bate: pode ter trocado um número.{li}{detalhe} {confere} e me manda de novo?",
        "Ainda não bate.{li} {confere}, número por número. {exemplo}",
    ),
    Motivo.INCOMPLETO: (
        "Esse número está incompleto.{li}{detalhe} Me manda o CNPJ (14 caracteres) ou CPF (11) inteiro?",
        "Continua incompleto.{li}{detalhe} {exemplo}",
    ),
    Motivo.PROPRIO_DOCUMENTO: (
        "Esse é o CNPJ da sua própria empresa.{li} Qual é o CNPJ ou CPF do cliente?",
        "Esse ainda é o da sua empresa.{li} Para quem é a nota? {exemplo}",
    ),
    Motivo.VARIOS: (
        "Vi mais de uma opção para {campo}.{li}{detalhe} Qual delas vale?",
        "Ainda vi mais de uma.{li} Qual vale? {exemplo}",
    ),
    Motivo.TELEFONE_OU_CPF: (
        (
            "Esse número pode ser um telefone ou um CPF.{li} Se for o CPF do cliente, me manda de novo "
            "com a palavra CPF na frente."
        ),
        "Telefone ou CPF?{li} Se for CPF, escreve assim: _CPF 123.456.789-09_.",
    ),
    Motivo.PARCELADO: (
        "Entendi que é parcelado.{li}{detalhe} Qual é o valor total desta nota?",
        "Me manda só o valor total.{li} {exemplo}",
    ),
    Motivo.POR_UNIDADE: (
        "Entendi um preço por hora ou unidade.{li}{detalhe} Qual é o valor total da nota?",
        "Me manda só o valor total, já multiplicado.{li} {exemplo}",
    ),
    Motivo.DESCONTO: (
        "Entendi que tem desconto.{li}{detalhe} Qual é o valor final da nota?",
        "Me manda só o valor final, já com o desconto.{li} {exemplo}",
    ),
    Motivo.MOEDA_ESTRANGEIRA: (
        "A nota sai em reais.{li}{detalhe} Qual é o valor em reais?",
        "Me manda o valor já em reais.{li} {exemplo}",
    ),
    Motivo.NAO_POSITIVO: (
        "O valor da nota precisa ser maior que zero e menor que R$ 10 bilhões.{li} Qual é o valor?",
        "Esse valor também não pode sair em uma nota.{li} {exemplo}",
    ),
    Motivo.AMBIGUO: (
        "Não tive certeza sobre {campo}.{li}{detalhe} Me manda de novo, por favor?",
        "Ainda não tive certeza.{li}{detalhe} {exemplo}",
    ),
    Motivo.DUAS_NOTAS: (
        (
            "Parece que são duas notas. Faço uma de cada vez: me manda só os dados da primeira "
            "(CNPJ ou CPF, valor e serviço). Quando ela sair, fazemos a outra."
        ),
        "Só uma de cada vez: escolhe uma e me manda o CNPJ ou CPF, o valor e o serviço dela.",
        "Ainda vejo mais de uma nota. Me manda o CNPJ ou CPF, o valor e o serviço de uma delas.",
    ),
    Motivo.DISCORDANCIA: (
        "Fiquei em dúvida sobre {campo}.{li}{detalhe} Me manda só essa informação, por favor?",
        "Ainda estou em dúvida.{li} {exemplo}",
    ),
    Motivo.RECUSADO: (
        "Não foi aceito na nota anterior: {campo}.{detalhe} Me manda a informação certa?",
        "Para enviar de novo, preciso de outra informação para {campo}. {exemplo}",
    ),
    Motivo.NAO_CABE: (
        "Antes do resumo, preciso acertar {campo}.{detalhe} Nada foi emitido. Me manda de outro jeito?",
        "Ainda não dá para emitir com {campo} assim.{detalhe} {exemplo}",
    ),
}
_TERCEIRA = "Ainda preciso {do_campo}. {exemplo}"
_CONFERE = {11: "Confere no CPF do cliente", 14: "Confere no cartão CNPJ do cliente"}


def _lista(partes: Iterable[str]) -> str:
    *inicio, fim = partes
    return f"{', '.join(inicio)} e {fim}" if inicio else fim


def _de(nome: str) -> str:
    """Contract "de" with the article that a field's name begins with: "do valor", "da data"."""
    return f"d{nome}"


def _marcas(antes: Rascunho | None, rascunho: Rascunho, faltam: Iterable[Campo]) -> str:
    """Return a line of ticks, in the turn that kept something new: what is kept, and the fields to come after it."""
    tem = [c for c in obrigatorios() if rascunho.validado(c)]
    lidos = rascunho.valor.leituras if Campo.VALOR not in rascunho.a_pedir else ()
    novo = antes is not None and lidos and lidos != antes.valor.leituras
    if antes is None or not (novo or any(antes.validado(c) != rascunho.validado(c) for c in tem)):
        return ""
    ditos = [f"✓ {apara(legivel(c, rascunho.validado(c)) or '', TRECHO_MAX)}" for c in tem]
    if lidos:
        ditos.append(f"▢ {' ou '.join(formata_brl(lido) for lido in lidos[:ESCOLHA])} (a conferir)")
    return " · ".join([*ditos, *(f"▢ {FIELDS[c].name.partition(' ')[2]}" for c in faltam)]) if ditos else ""


def _duvida(campo: Campo, lido: Lido, degrau: int) -> str:
    motivo = lido.motivo or Motivo.AMBIGUO
    wordings = FIELDS[campo].doubts.get(motivo) or _DUVIDA[motivo]
    detalhe = apara(lido.detalhe or "", DETALHE_MAX).rstrip(".")
    detalhe = f" {detalhe[0].upper()}{detalhe[1:]}{'' if detalhe.endswith('?') else '.'}" if detalhe else ""
    escrito = apara(lido.escrito or "", TRECHO_MAX)
    texto = (*wordings, _TERCEIRA)[degrau].format(
        campo=FIELDS[campo].name,
        do_campo=_de(FIELDS[campo].name),
        detalhe=detalhe,
        li=f" Li “{escrito}”." if escrito else "",
        confere=_CONFERE.get(sum(map(str.isalnum, escrito)), "Confere o CNPJ ou CPF com o cliente"),
        exemplo=FIELDS[campo].example,
    )
    texto = texto.strip()
    return f"{texto} {OU_PESSOA}" if degrau == _COM_PESSOA else texto


def _produto_novo(lido: Lido, degrau: int) -> tuple[str, tuple[Botao, ...]]:
    """Say that something is no product yet, and how it becomes one; with the button that keeps it at its price."""
    nome, custa = lido.nomes[0]
    dito, falta = apara(lido.escrito or nome, TRECHO_MAX), f" {lido.detalhe}" if lido.detalhe else ""
    achei = f"“{dito}” não está nos seus produtos."
    curto = apara(nome, TRECHO_MAX)
    fim = f"O resto está guardado.{falta}" if degrau < _COM_PESSOA else OU_PESSOA
    if not custa:
        pede = f"Quanto custa cada {curto.lower()}? Ou me manda o nome como está no cadastro (_meus produtos_ mostra)."
        return f"{achei} {pede} {fim}", ()
    titulo = inteiro if tamanho(inteiro := f"Cadastrar {nome}") <= BOTAO_MAX else "Cadastrar produto"
    cadastra = Botao(f"produto:novo:{custa.replace('.', '')}:{curto}", titulo)
    pede = f"Toca em *{titulo}* para guardar por {formata_brl(custa)}, ou me manda o nome como está no cadastro."
    return f"{achei} {pede} {fim}", (cadastra,)


def mesmo_assunto(antes: Rascunho, depois: Rascunho) -> bool:
    """Tell whether the question about ``depois`` is the one that was asked about ``antes``."""
    return antes != Rascunho() and _assunto(antes) == _assunto(depois)


def _assunto(rascunho: Rascunho) -> tuple[object, ...]:
    campo = rascunho.duvida
    if campo is None:
        return rascunho.a_pedir
    motivo = rascunho.campo(campo).motivo
    return (motivo,) if motivo is Motivo.DUAS_NOTAS else (campo, motivo)


def _degrau(sessao: Sessao) -> int:
    """Return which wording is due: the first, the short one, the one with a person; from then on the last two in turn.

    No two that follow each other are equal.
    """
    return sessao.insistencias if sessao.insistencias < _COM_PESSOA else _COM_PESSOA - sessao.insistencias % 2


def pergunta(sessao: Sessao, antes: Rascunho | None = None) -> Mensagem:
    """Ask for what is missing and only for that; a doubtful field first, with what it may mean or why it is in doubt.

    ``antes`` is the draft before this turn: what the turn changed is said first.
    """
    rascunho, degrau = sessao.rascunho, _degrau(sessao)
    inicio = anotado(antes, rascunho) if antes else ""
    campo = rascunho.duvida
    if campo is None:
        varios = () if degrau or _um(rascunho) else rascunho.a_pedir
        marcas = _marcas(antes, rascunho, varios)
        if varios and marcas:
            return _mensagem(sessao, degrau, inicio, f"{marcas}?")
        return _mensagem(sessao, degrau, inicio, _falta(rascunho, degrau), marcas)
    lido, outros = rascunho.campo(campo), _outros(rascunho, campo)
    depois = [_marcas(antes, rascunho, outros) or _resto(outros)]
    if campo is Campo.ITENS and lido.nomes:
        texto, botoes = _produto_novo(lido, degrau)
        return Mensagem(
            _junto(inicio, texto, *depois), (*botoes, *([botao_pessoa(sessao)] if degrau == _COM_PESSOA else []))
        )
    if campo is Campo.ENDERECO and rascunho.itens != VAZIO and lido.motivo is Motivo.NAO_CABE and lido.detalhe:
        texto = f"{lido.detalhe}. Desisto desta nota? Se o endereço for outro, é só me mandar."
        return Mensagem(_junto(inicio, texto, *depois), (botao_cancelar(sessao),))
    if not lido.leituras:
        return _mensagem(sessao, degrau, inicio, _duvida(campo, lido, degrau), *depois)
    botoes, lista = opcoes(sessao, campo, com_pessoa=degrau == _COM_PESSOA)
    return Mensagem(_junto(inicio, pergunta_leituras(campo, lido, degrau), *depois), botoes, lista)


def insiste(sessao: Sessao, *, negou: bool = False) -> Mensagem:
    """Ask once more after words that told nothing; ``negou``: they were a no, which may mean that no answer comes."""
    if not negou:
        return pergunta(sessao)
    rascunho, degrau = sessao.rascunho, _degrau(sessao)
    pede = _lista(FIELDS[c].name for c in rascunho.a_pedir)
    if degrau == _COM_PESSOA:
        texto = f"Sem pressa: fico esperando {pede}, ou escreve _cancela_. {OU_PESSOA}"
    else:
        texto = f"Tudo bem. Quando tiver, me manda {pede}. Para desistir desta nota, escreve _cancela_."
    return _mensagem(sessao, degrau, "", texto)


def nao_cabe(porque: str) -> Mensagem:
    """The company's channel could never send this invoice, and nothing that the user says repairs it."""
    return Mensagem(
        f"*Esta nota ainda não pode sair, e não emiti nada:* {porque}.\n\n"
        "Seus dados continuam guardados. Depois do acerto, escreve _resumo_ para eu conferir de novo.",
        outras=(f"Ainda não pode sair: {porque}. Guardei tudo; depois do acerto, escreve _resumo_.",),
    )


def outro(sessao: Sessao, campo: Campo) -> Mensagem:
    """Ask for the value of a field of which no reading was right."""
    resto = _resto(_outros(sessao.rascunho, campo))
    return Mensagem(_junto("", f"Certo. {_do_campo(sessao.rascunho, campo)}", resto))


def _mensagem(sessao: Sessao, degrau: int, inicio: str, *partes: str) -> Mensagem:
    """Return a question without readings; who is asked it again has a button, too."""
    texto = _junto(inicio, *partes)
    if sessao.cidade and EXEMPLO in texto:
        texto = texto.replace(EXEMPLO, example_in(str(city_of(sessao.cidade))))
    return Mensagem(texto, (botao_pessoa(sessao),) if degrau else ())


def _junto(inicio: str, texto: str, *depois: str) -> str:
    """Return the parts with an empty line between; what comes last is left out where buttons would have no room."""
    partes = [inicio + texto, *filter(None, depois)]
    while len(partes) > 1 and tamanho("\n\n".join(partes)) > TEXTO_COM_BOTOES_MAX:
        partes.pop()
    return "\n\n".join(partes)


def _outros(rascunho: Rascunho, campo: Campo) -> list[Campo]:
    """Return what is asked after ``campo``; where it may be two notes, that question names all that is needed."""
    if rascunho.campo(campo).motivo is Motivo.DUAS_NOTAS:
        return []
    return [c for c in rascunho.a_pedir if c is not campo]


def _resto(outros: Sequence[Campo]) -> str:
    falta = "faltam" if len(outros) > 1 else "falta"
    return f"Depois disso {falta} {_lista(FIELDS[c].name for c in outros)}." if outros else ""


def _um(rascunho: Rascunho) -> bool:
    """Tell whether one question asks for all that is missing."""
    return len(rascunho.a_pedir) == 1 or set(rascunho.a_pedir) == {Campo.LOCAL, Campo.DATA}


def _falta(rascunho: Rascunho, degrau: int) -> str:
    faltam = rascunho.a_pedir
    faltando, primeiro = _lista(FIELDS[c].name for c in faltam), FIELDS[faltam[0]]
    match degrau:
        case 0 if _um(rascunho):
            return _do_campo(rascunho, faltam[0])
        case 0:
            return f"Faltam {faltando}."
        case 1:
            return f"Ainda {'faltam' if len(faltam) > 1 else 'falta'} {faltando}. {primeiro.example}"
        case _:
            return f"Para fazer a nota, preciso {_lista(_de(FIELDS[c].name) for c in faltam)}. {OU_PESSOA}"
