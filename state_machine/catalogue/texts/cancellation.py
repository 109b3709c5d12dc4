"""Every sentence about cancelling an issued note; short, warm, precise pt-BR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from state_machine.catalogue.requests import SERVICO
from state_machine.invoice.session import Botao, Mensagem
from state_machine.invoice.summary import fim
from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl
from state_machine.values.text import apara

if TYPE_CHECKING:
    from state_machine.cancellation.machine import Cancelamento, NotaEmitida


SAO_PAULO = ZoneInfo("America/Sao_Paulo")
BOTOES_MAX = 3  # WhatsApp shows no more on a message
_NOME_MAX = 80  # UTF-16 units of a client's name
_TITULO_MAX = 20  # UTF-16 units of a button's title (Cloud API reference)
_PORQUE_MAX = 400  # UTF-16 units; some cities answer with pages

# The buttons that give a reason: title, the words that go to the authority, by code of ``Codigo``.
MOTIVO_DO_BOTAO = {
    "1": ("Erro na emissão", "Erro na emissão da nota"),
    "2": ("Serviço não prestado", "Serviço não prestado ao cliente"),
}
VENDA_DESFEITA = ("Venda desfeita", "Venda desfeita com o cliente")  # the same of goods
DE_BOTAO = frozenset(motivo for _, motivo in (*MOTIVO_DO_BOTAO.values(), VENDA_DESFEITA))
LEMBRETE = "*Ainda não cancelei nada.* Para cancelar, só pelo botão."
BOTAO_ANTIGO = "*Esse botão era de um resumo anterior, então ainda não cancelei.* Confere de novo?"
CONFERE = "*Cancelo esta nota?* Depois de cancelada, ela não volta."


def erro(palavras: str) -> str:
    """Return the reason of a note that is made anew: an error, in the words in which it was told, where there are any.

    ``o_errado`` reads them back.
    """
    geral = MOTIVO_DO_BOTAO["1"][1]
    return f"{geral}: {palavras}" if palavras else geral


def o_errado(motivo: str) -> str | None:
    """Return the words in which a reason of ``erro`` says what was wrong."""
    geral, _, palavras = motivo.partition(": ")
    return palavras if palavras and geral == MOTIVO_DO_BOTAO["1"][1] else None


def descreve(nota: NotaEmitida) -> str:
    """Name a note as its owner knows it: number, value, client, day, and who made it where that was somebody else."""
    nome = apara(nota.tomador or "", _NOME_MAX)
    cliente = f"{nome} · {formata_documento(nota.documento)}" if nome else formata_documento(nota.documento)
    dia = nota.emitida_em.astimezone(SAO_PAULO)
    quem = f"\n⚠️ Feita por {apara(nota.feita_por, _NOME_MAX)}, em outra conversa." if nota.feita_por else ""
    return f"{nota.tipo} {nota.numero} · {formata_brl(nota.valor)} · {cliente} · emitida em {dia:%d/%m/%Y}{quem}"


def pergunta_motivo(c: Cancelamento) -> Mensagem:
    """Show the note and ask why."""
    return Mensagem(
        f"*Cancelar esta nota?*\n{descreve(c.nota)}\n\n"
        "Qual é o motivo? Toca em um botão ou me escreve em uma frase (pelo menos 15 letras).",
        _motivos(c),
    )


def pergunta_de_novo(c: Cancelamento, antes: str = "") -> Mensagem:
    """Say in one line what a cancellation waits for, after what was asked meanwhile (``antes``)."""
    if c.motivo is None:
        return Mensagem(f"{antes}Para cancelar a nota {c.nota.numero}, falta o *motivo*.", _motivos(c))
    return Mensagem(f"{antes}Para cancelar a nota {c.nota.numero}, falta o seu toque no botão.", _decisao(c))


def motivo_curto(c: Cancelamento) -> Mensagem:
    """The authority wants a sentence."""
    return Mensagem(
        "O motivo precisa de pelo menos 15 letras. Me conta em uma frase, como _valor errado, vou emitir outra_. "
        f"A nota {c.nota.numero} continua valendo por enquanto.",
        (_nao_cancelar(c),),
    )


def resumo(c: Cancelamento, titulo: str = CONFERE) -> Mensagem:
    """Show exactly what would be cancelled and why, with buttons bound to this cancellation and version."""
    motivo = c.motivo.texto if c.motivo else ""
    return Mensagem(
        f"{titulo}\n\n{descreve(c.nota)}\nMotivo: {motivo}",
        _decisao(c),
    )


def nao_prestado(nota: NotaEmitida) -> tuple[str, str]:
    """Return the button and the words of a note whose service, or sale, was not."""
    return MOTIVO_DO_BOTAO["2"] if nota.tipo == SERVICO else VENDA_DESFEITA


def _motivos(c: Cancelamento) -> tuple[Botao, ...]:
    return (
        Botao(f"cancelar_erro:{c.id}:{c.versao}", MOTIVO_DO_BOTAO["1"][0]),
        Botao(f"cancelar_nao_prestado:{c.id}:{c.versao}", nao_prestado(c.nota)[0]),
        _nao_cancelar(c),
    )


def _decisao(c: Cancelamento) -> tuple[Botao, ...]:
    return (Botao(f"cancelar_sim:{c.id}:{c.versao}", "Cancelar a nota"), _nao_cancelar(c))


def _nao_cancelar(c: Cancelamento) -> Botao:
    return Botao(f"cancelar_nao:{c.id}:{c.versao}", "Não cancelar")


def pedido(c: Cancelamento) -> Mensagem:
    """It is stored and on its way."""
    return Mensagem(f"Pedi o cancelamento da nota {c.nota.numero}. Assim que houver resposta, eu te aviso aqui.")


def em_curso(nota: NotaEmitida) -> Mensagem:
    """A second request for what is under way."""
    return Mensagem(f"O cancelamento da nota {nota.numero} já foi pedido. Assim que houver resposta, eu te aviso aqui.")


def mantida(c: Cancelamento) -> Mensagem:
    """The user let it stand."""
    return Mensagem(f"Certo, não cancelei: a nota {c.nota.numero} continua valendo.")


def expirado(c: Cancelamento) -> Mensagem:
    """The confirmation came after the deadline."""
    return Mensagem(
        f"Esse pedido ficou parado por muito tempo e expirou: a nota {c.nota.numero} não foi cancelada e continua "
        f"valendo. Para cancelar, me escreve _cancelar nota {c.nota.numero}_."
    )


def cancelada(nota: NotaEmitida) -> Mensagem:
    """The authority cancelled it; whoever made it may make it anew, changing only what was wrong."""
    texto = f"*Nota {nota.numero} cancelada*\n{descreve(nota)}"
    if nota.sessao_id is None:
        return Mensagem(texto)
    return Mensagem(
        f"{texto}\n\nPara emitir outra no lugar dela, toca em *Refazer* e muda só o que estava errado.",
        (Botao(f"refazer:{nota.sessao_id}", "Refazer"),),
    )


def cancelada_por_fora(nota: NotaEmitida) -> Mensagem:
    """It was cancelled, and not through us."""
    return Mensagem(
        f"*A nota {nota.numero} foi cancelada* fora da Prosa (no site do emissor ou pela contabilidade).\n"
        f"{descreve(nota)}"
    )


def negada(nota: NotaEmitida, porque: str) -> Mensagem:
    """The authority refused; what that means, and what to do next."""
    return Mensagem(
        f"*O cancelamento da nota {nota.numero} não foi aceito: ela continua valendo.*\n"
        f"Motivo: {apara(porque, _PORQUE_MAX) or 'não informado'}\n\n"
        "Se o prazo da cidade já passou, quem resolve é a contabilidade, direto com a prefeitura."
    )


def demorou(nota: NotaEmitida) -> Mensagem:
    """The authority is slow."""
    return Mensagem(
        f"O cancelamento da nota {nota.numero} ainda não teve resposta; continuo acompanhando. "
        "Não precisa pedir de novo."
    )


def com_a_equipe(nota: NotaEmitida) -> Mensagem:
    """A day without an answer, or refused in a way that no repetition changes."""
    return Mensagem(
        f"Não consegui concluir o cancelamento da nota {nota.numero}. A equipe assumiu: por "
        "enquanto, conte com ela como válida. Se ele sair, eu te aviso."
    )


def ja_cancelada(nota: NotaEmitida) -> Mensagem:
    """Nothing left to do."""
    return Mensagem(f"A nota {nota.numero} já está {fim(nota.substituta)}.\n{descreve(nota)}")


def encerrado(c: Cancelamento) -> Mensagem:
    """An old button of a cancellation that has ended."""
    if c.estado.value == "cancelado":
        return ja_cancelada(c.nota)
    return Mensagem(
        f"Esse pedido de cancelamento já foi encerrado e esse botão não vale mais. Se ainda quiser, me escreve "
        f"_cancelar nota {c.nota.numero}_."
    )


def ainda_em_emissao() -> Mensagem:
    """The last invoice has no number yet: there is nothing to cancel."""
    return Mensagem(
        "Sua última nota ainda está em emissão. Assim que sair, te mando aqui; depois dá para pedir o cancelamento."
    )


def qual_nota(notas: Sequence[NotaEmitida], nao_achei: str | None = None) -> Mensagem:
    """Ask which; ``nao_achei`` names what was asked for and is not there."""
    inicio = f"Não achei {nao_achei} entre as notas da sua empresa." if nao_achei else "Qual nota você quer cancelar?"
    if not notas:
        return Mensagem(f"{inicio if nao_achei else ''} Não há nota emitida por aqui que dê para cancelar.".strip())
    linhas = "\n".join(f"• {descreve(nota)}" for nota in notas[:BOTOES_MAX])
    titulo = "As últimas são:" if nao_achei else "As que encontrei:"
    return Mensagem(
        f"{inicio} {titulo}\n{linhas}\n\nSe for outra, me escreve o número dela: _cancelar nota 123_.",
        tuple(
            Botao(f"cancelar_nota:{nota.emissao_id}", apara(f"Nota {nota.numero}", _TITULO_MAX))
            for nota in notas[:BOTOES_MAX]
        ),
    )
