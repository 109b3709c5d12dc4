"""Says in one sentence why a session stands where it stands, and whether somebody should act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.field_table import field_named
from state_machine.invoice.session import Estado
from state_machine.invoice.summary import fim
from state_machine.protocol.emission import StatusEmissao
from webhooks.console.render.format import duration
from webhooks.console.render.labels import da_equipe, por_esta, por_que_pediu

Tom = Literal["good", "busy", "bad", "off"]

MOTIVOS: Final[Mapping[str, str]] = {
    "digito_nao_bate": "o dígito verificador não bate",
    "incompleto": "está incompleto",
    "proprio_documento": "é o documento da própria empresa",
    "varios": "há mais de um possível",
    "telefone_ou_cpf": "pode ser telefone ou CPF",
    "parcelado": "foi dito em parcelas",
    "por_unidade": "foi dito por unidade",
    "desconto": "foi dito com desconto",
    "moeda_estrangeira": "está em outra moeda",
    "nao_positivo": "não é maior que zero",
    "ambiguo": "pode ser lido de dois jeitos",
    "duas_notas": "parecem ser duas notas",
    "discordancia": "as duas leituras discordam",
    "recusado": "foi recusado",
}


@dataclass(frozen=True, slots=True)
class Frase:
    """What happened, and what follows; ``tom`` colours it."""

    texto: str
    conselho: str
    tom: Tom


@dataclass(frozen=True, slots=True)
class SituacaoDaSessao:
    """What the sentence is made of; ``idade`` in seconds since the last change, ``duvidas`` as (field, reason)."""

    estado: Estado
    idade: float
    faltam: tuple[str, ...] = ()
    duvidas: tuple[tuple[str, str], ...] = ()
    status: StatusEmissao | None = None
    envios: int = 0
    ausente: bool = False
    numero: str | None = None
    nota: str | None = None  # how the issued note stands: see ``StatusNota``
    substituta: str | None = None  # the number of the note that took its place
    motivo: str | None = None
    anulada: str | None = None  # the number of the note that the city cancelled for this one
    suspensa: str | None = None
    atendente: str | None = None
    nao_entregue: str | None = None
    nossa: bool = False  # the authority blamed nothing that the person said
    troca_recusada: bool = False  # the old note cannot be replaced, and its person was offered the way
    pediu: str | None = None  # why its person asked for one of the staff, who did not come yet


RECUSA_DA_PESSOA: Final = "A pessoa pode tocar em Corrigir nota; os dados estão guardados."
RECUSA_DA_TROCA: Final = (
    "A pessoa pode tocar em Cancelar e refazer: a nota antiga é cancelada e a nova sai corrigida. Os dados estão "
    "guardados."
)
RECUSA_NOSSA: Final = (
    "Quem resolve é a equipe, não a pessoa: veja o motivo, acerte na página da empresa o canal ou o código do serviço, "
    "ou troque o certificado, e use Reprocessar (supervisor). Os dados confirmados estão guardados; a pessoa não "
    "repete nada."
)
ANULADA: Final = "Veja com a pessoa qual das duas o cliente recebeu, e quem mais usa este RPS: a série é só da Prosa."
CREDENCIAL: Final = (
    "Avise quem opera; a nota sai sozinha quando a credencial voltar, ou na hora com Voltar a enviar, na página da "
    "empresa (supervisor)."
)


def por_que(s: SituacaoDaSessao) -> Frase:
    """Return the sentence for one session. Total: every state and status has one."""
    frase = _por_estado(s, s.estado)
    if s.atendente:
        texto = f"{s.atendente} assumiu esta conversa e a Prosa está em silêncio. {frase.texto}"
        return Frase(texto, "Quando terminar, devolva a conversa.", "busy")
    if s.pediu:
        texto = f"A pessoa pediu alguém da equipe: {por_que_pediu(s.pediu)}. {frase.texto}"
        return Frase(texto, "Assuma a conversa e responda; se já está resolvido, Encerrar avisa a pessoa.", "bad")
    if s.nao_entregue:
        return Frase(f"{frase.texto} Uma mensagem nossa não chegou: {s.nao_entregue}.", "Veja se vale reenviar.", "bad")
    return frase


def _por_estado(s: SituacaoDaSessao, estado: Estado) -> Frase:
    match estado:
        case Estado.COLETA:
            return Frase(f"A pessoa começou e ainda não deu nenhum dado, há {_ha(s)}.", "Nada a fazer.", "off")
        case Estado.DADOS_INCOMPLETOS:
            return Frase(f"Espera a pessoa há {_ha(s)}: {_o_que_falta(s)}.", "Nada foi enviado à prefeitura.", "busy")
        case Estado.AGUARDANDO_CONFIRMACAO:
            texto = f"O resumo está com a pessoa há {_ha(s)}; falta o sim."
            return Frase(texto, "Nada foi enviado à prefeitura.", "busy")
        case Estado.PROCESSANDO:
            return _processando(s)
        case Estado.APROVADO:
            return _aprovado(s)
        case Estado.REJEITADO:
            dito = da_equipe(s.motivo or "sem explicar").rstrip(". ").replace(".”", "”")  # one full stop: ours
            texto = f"A nota foi recusada: {dito}. Nenhuma nota existe."
            da_pessoa = RECUSA_DA_TROCA if s.troca_recusada else RECUSA_DA_PESSOA
            return Frase(texto, RECUSA_NOSSA if s.nossa and not s.troca_recusada else da_pessoa, "bad")
        case Estado.ERRO:
            return _com_gente(s)
        case Estado.CANCELADO_USUARIO:
            return Frase("A pessoa desistiu antes de emitir.", "Nada foi enviado à prefeitura.", "off")
        case Estado.EXPIRADO:
            texto = "Passou do prazo sem resposta da pessoa, e nada foi emitido."
            return Frase(texto, "Os dados estão guardados; ela pode retomar.", "off")
        case _:
            assert_never(estado)


def _aprovado(s: SituacaoDaSessao) -> Frase:
    nota = f"A nota {s.numero}" if s.numero else "A nota"
    match s.nota:
        case StatusNota.CANCELADO:
            return Frase(f"{nota} foi autorizada e depois {fim(s.substituta)}.", "Nada a fazer.", "off")
        case StatusNota.CANCELAMENTO_PENDENTE:
            texto = f"{nota} foi autorizada; o cancelamento está com a prefeitura."
            return Frase(texto, "Até ela responder, a nota vale.", "busy")
        case _ if s.anulada:
            return Frase(f"{nota} foi autorizada, e {por_esta(s.anulada)}.", ANULADA, "bad")
        case _:
            return Frase(f"{nota} foi autorizada.", "Nada a fazer.", "good")


def _processando(s: SituacaoDaSessao) -> Frase:
    if s.suspensa:
        texto = f"O gateway recusa as credenciais desta empresa: {s.suspensa}."
        return Frase(texto, CREDENCIAL, "bad")
    match s.status:
        case None:
            return Frase("Confirmada, e a emissão não foi encontrada.", "Avise quem programa.", "bad")
        case StatusEmissao.PENDENTE if s.envios:
            return Frase("Não está no gateway, com certeza; vai sair de novo com os mesmos dados.", "Espere.", "busy")
        case StatusEmissao.PENDENTE:
            return Frase("Confirmada; ainda não saiu daqui.", "Sai sozinha em instantes.", "busy")
        case StatusEmissao.ENVIANDO:
            return Frase("Está saindo agora para o gateway.", "Espere alguns segundos.", "busy")
        case StatusEmissao.ENVIADO:
            return Frase(f"O gateway recebeu; a prefeitura ainda não respondeu, há {_ha(s)}.", "Espere.", "busy")
        case StatusEmissao.DESCONHECIDO:
            onde = "O gateway disse que não a tem; falta confirmar" if s.ausente else "A resposta do gateway se perdeu"
            texto = f"{onde}: a Prosa está perguntando antes de qualquer reenvio."
            return Frase(texto, "Não peça à pessoa para repetir; consultar agora é seguro.", "busy")
        case (
            StatusEmissao.CONCLUIDO
            | StatusEmissao.REJEITADO
            | StatusEmissao.CONFLITO
            | StatusEmissao.ERRO
            | StatusEmissao.DISPENSADO
        ):
            return Frase("A emissão terminou; a conversa recebe a notícia em instantes.", "Espere.", "busy")
        case _:
            assert_never(s.status)


def _com_gente(s: SituacaoDaSessao) -> Frase:
    if s.status is StatusEmissao.CONFLITO:
        texto = f"O gateway e o confirmado não batem: {s.motivo or 'sem detalhe'}."
        return Frase(texto, "Nada sai sozinho, e a pessoa sabe que a equipe cuida. Veja abaixo os dois lados.", "bad")
    texto = f"Não se sabe se a nota existe: {s.motivo or '24 horas sem resultado'}."
    return Frase(texto, "A Prosa não envia mais nada sozinha; procure a referência no painel do gateway.", "bad")


def _o_que_falta(s: SituacaoDaSessao) -> str:
    duvidosos = {campo for campo, _ in s.duvidas}
    partes = [f"{nome_do_campo(campo)}: {MOTIVOS.get(motivo, motivo)}" for campo, motivo in s.duvidas]
    faltam = [_com_artigo(campo) for campo in s.faltam if _chave(campo) not in duvidosos]
    if faltam:
        partes.append(f"falta {' e '.join(faltam)}")
    return "; ".join(partes) or "falta um dado"


def nome_do_campo(campo: str) -> str:
    """Return what a field is called, without its article."""
    return _com_artigo(campo).removeprefix("o ").removeprefix("a ")


def _com_artigo(campo: str) -> str:
    row = field_named(campo)
    return row.staff_name if row else campo


def _chave(campo: str) -> str:
    row = field_named(campo)
    return row.campo.value if row else campo


def _ha(s: SituacaoDaSessao) -> str:
    return duration(s.idade)
