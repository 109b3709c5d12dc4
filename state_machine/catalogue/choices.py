"""What the words about a doubtful field may mean, as buttons or a list to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.invoice.draft import LEITURA_MAX
from state_machine.invoice.field_table import FIELDS, FieldKind
from state_machine.invoice.summary import BOTAO_MAX, legivel
from state_machine.machine.effects import Botao, Opcao
from state_machine.services.codes import dotted
from state_machine.values.text.length import apara, tamanho

if TYPE_CHECKING:
    from state_machine.invoice.draft import Lido, Rascunho
    from state_machine.invoice.fields import Campo
    from state_machine.machine.session import Sessao

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
            return f"{rotulo}{conta}{opcoes}? Toca em *Sim* ou me manda {row.short}. {row.example}"
        case _, 0:
            return f"{rotulo}{opcoes}?{_SE_NAO[row.article] if len(lido.leituras) == BOTOES_MAX else ''}"
        case _, 1:
            return f"Qual vale para {row.short}: {opcoes}? {row.example}"
        case _:
            return f"Ainda preciso saber {row.short}: {conta}{opcoes}? {OU_PESSOA}"


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
        return (Botao(f"usar:{alvo}:{leituras[0]}", "Sim"), outro, *pessoa), ()
    if row.kind is FieldKind.CODIGO:  # another one is none of the company's
        linhas = [_servico(f"usar:{alvo}:{codigo}", codigo, nome) for codigo, nome in _servicos(lido)]
        return (), (*linhas, *(Opcao(botao.id, botao.titulo) for botao in pessoa))
    if lido.nomes:  # a document tells nobody which client it is
        linhas = [_pelo_nome(f"usar:{alvo}:{leitura}", campo, leitura, dict(lido.nomes)) for leitura in leituras]
        return (), (*linhas, *(Opcao(botao.id, botao.titulo) for botao in (outro, *pessoa)))
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
