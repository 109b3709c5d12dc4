"""The safe actions: what each does, its consequence in one sentence, whose it is and when it makes sense.

Hands an issued note's PDF or XML to staff, whole, for a reason that the audit keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from aiohttp import web

from persistence.access.accounts import Papel, Staff
from persistence.audit import records as audit
from persistence.fiscal import notes
from persistence.fiscal.attempts import is_certainly_nobodys
from persistence.rows import Comando, Ordem
from persistence.staff import case as staff_case
from persistence.staff.case import Caso
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.session import ESPERAM_USUARIO, FINAIS, Estado
from state_machine.protocol.emission import StatusEmissao
from webhooks.console.access.visit import Visita

FORMATOS: Final = ("pdf", "xml")
_PLAIN: Final = re.compile(r"[^0-9A-Za-z-]+")  # of a number that an authority made up, in a file's name


def issued(caso: Caso) -> Any | None:
    """Return the case's emission with a note; of two, the one whose note is still worth something."""
    with_note = [emissao for emissao in caso.emissoes if emissao.numero]
    return min(with_note, key=lambda e: (e.nota_status == StatusNota.CANCELADO, e.nota_status), default=None)


async def download(visita: Visita) -> web.StreamResponse:
    """``POST /console/sessoes/{id}/documentos``: the file; 422 without a reason, 409 while nobody has fetched it."""
    formato, motivo = await visita.campo("formato", 3), await visita.campo("motivo")
    if formato not in FORMATOS or not motivo:
        raise web.HTTPUnprocessableEntity
    sessao_id, quem = visita.request.match_info["sessao_id"], visita.staff
    async with visita.deps.database.transaction() as connection:
        caso = await staff_case.session(connection, quem.alcance, sessao_id)
        emissao = issued(caso) if caso else None
        if caso is None or emissao is None:
            raise web.HTTPNotFound
        documento = (await notes.document(connection, emissao.id, formato)).documento
        if documento is None:
            raise web.HTTPConflict(text="document")
        await audit.write(
            connection,
            staff_id=quem.id,
            quem=quem.nome,
            acao=f"abriu {formato.upper()}",
            alvo=sessao_id,
            empresa_id=caso.sessao.empresa_id,
            motivo=motivo,
        )
    nome = f"NFSe-{_PLAIN.sub('-', emissao.numero)}.{formato}"
    headers = {"Content-Disposition": f'attachment; filename="{nome}"'}  # never shown as a page of ours
    return web.Response(body=documento.conteudo, content_type=f"application/{formato}", headers=headers)


TEXTO_MAX: Final = 3500  # characters; with the name in front it stays below WhatsApp's 4,096

_ABERTAS: Final = frozenset(
    {StatusEmissao.ENVIADO, StatusEmissao.DESCONHECIDO, StatusEmissao.ERRO, StatusEmissao.CONFLITO}
)


@dataclass(frozen=True, slots=True)
class Acao:
    """One action. ``comando`` is what goes into the inbox; ``None``: it changes no conversation (a note).

    ``cabe`` tells whether it makes sense for this case and person now; it is asked again in the transaction.
    """

    nome: str
    titulo: str
    consequencia: str
    feito: str
    papel: Papel
    cabe: Callable[[Caso, Staff], bool]
    comando: Comando | Ordem | Literal["cancelar"] | None = None
    texto: str | None = None  # the label of a text to write, where there is one
    motivo: bool = True  # asked for; what belongs to a take-over goes by the reason of that
    no_menu: bool = True
    perigo: bool = False


def _open_emission(caso: Caso, _: Staff) -> bool:
    return any(emissao.status in _ABERTAS for emissao in caso.emissoes)


def _mine(caso: Caso, quem: Staff) -> bool:
    return bool(caso.sessao.atendente_id == quem.id)


def _closable(caso: Caso, _: Staff) -> bool:
    estado = caso.sessao.estado
    return estado in ESPERAM_USUARIO or (
        estado in FINAIS and (caso.sessao.resolvida_em is None or caso.sessao.pessoa_motivo)
    )


def _refused_for_us(caso: Caso, _: Staff) -> bool:
    """The authority refused the newest attempt, and blamed nothing that the person said or is offered a way around."""
    s = caso.sessao
    newest = caso.emissoes[0].status if caso.emissoes else None
    refused = s.estado == Estado.REJEITADO and newest == StatusEmissao.REJEITADO
    return bool(refused and s.pendente is None and not caso.troca_recusada)


def _accepted_by_nobody(caso: Caso, _: Staff) -> bool:
    """The newest attempt waits, or was given up, and no call of it can have been accepted."""
    s = caso.sessao
    stopped = bool(caso.emissoes) and is_certainly_nobodys(caso.emissoes[0])
    return stopped and s.estado in {Estado.PROCESSANDO, Estado.ERRO}


def _issued(caso: Caso, _: Staff) -> bool:
    return any(emissao.nota_status == StatusNota.AUTORIZADO for emissao in caso.emissoes)


ACOES: Final[tuple[Acao, ...]] = (
    Acao(
        "consultar",
        "Consultar no gateway",
        "A Prosa pergunta agora ao gateway por esta nota. Não emite outra nota: é só uma pergunta, pela mesma "
        "referência. O que voltar segue o caminho de sempre.",
        "Pergunta pedida. A resposta aparece na linha do tempo.",
        Papel.SUPORTE,
        _open_emission,
        comando="consultar",
    ),
    Acao(
        "reenviar",
        "Reenviar mensagem",
        "A mesma mensagem sai outra vez, do jeito que está guardada. Não emite nada. Se a primeira chegou, a pessoa "
        "recebe duas, e a Meta cobra as duas.",
        "A mensagem está na fila de envio.",
        Papel.SUPORTE,
        lambda caso, _: bool(caso.sessao.janela_aberta),
        comando="reenviar",
        no_menu=False,
    ),
    Acao(
        "reenviar_nota",
        "Reenviar PDF e XML",
        "O PDF e o XML da nota saem outra vez pelo WhatsApp, uma vez por pedido. Não emite nada. Se a pessoa já os "
        "tem, recebe de novo, e a Meta cobra as duas mensagens.",
        "Os arquivos estão na fila de envio.",
        Papel.SUPORTE,
        lambda caso, _: issued(caso) is not None and bool(caso.sessao.janela_aberta),
        comando="reenviar_nota",
    ),
    Acao(
        "assumir",
        "Assumir a conversa",
        "A Prosa fica em silêncio e avisa a pessoa que agora é você, pelo seu nome de exibição. Os resumos já "
        "mostrados deixam de valer: nada é emitido até você devolver. O motivo vale para tudo o que você escrever até "
        "lá. Uma nota que já foi enviada segue, e o resultado chega à pessoa.",
        "A conversa é sua assim que a Prosa terminar o que estava fazendo nela.",
        Papel.SUPORTE,
        lambda caso, quem: not _mine(caso, quem),
        comando="assumir",
    ),
    Acao(
        "escrever",
        "Escrever para a pessoa",
        "Sua mensagem sai pelo WhatsApp, com o seu nome. A Meta só deixa escrever até 24 horas depois da última "
        "mensagem da pessoa.",
        "A mensagem está na fila de envio.",
        Papel.SUPORTE,
        lambda caso, quem: _mine(caso, quem) and bool(caso.sessao.janela_aberta),
        comando="escrever",
        texto="Mensagem",
        motivo=False,
        no_menu=False,  # the composer under the timeline
    ),
    Acao(
        "devolver",
        "Devolver para a Prosa",
        "A Prosa avisa que voltou e mostra de novo o que está guardado. O que vocês combinaram ela não leu: a pessoa "
        "precisa dizer de novo o que mudou, e só o resumo novo pode ser confirmado.",
        "A Prosa volta a atender em instantes.",
        Papel.SUPORTE,
        lambda caso, _: caso.sessao.atendente_id is not None,
        comando="devolver",
        motivo=False,
    ),
    Acao(
        "anotar",
        "Anotar",
        "Fica na linha do tempo, só para a equipe. A pessoa não vê.",
        "Anotado.",
        Papel.SUPORTE,
        lambda _caso, _quem: True,
        texto="Anotação",
        motivo=False,  # the note says it
    ),
    Acao(
        "reprocessar",
        "Reprocessar",
        "Tenta de novo a mesma confirmação, com outra referência, depois que o cadastro ou o código do serviço foi "
        "acertado. Antes de enviar, a Prosa pergunta ao gateway por todas as tentativas anteriores: se uma saiu, vale "
        "ela e nada é enviado.",
        "Pedido registrado. Primeiro a Prosa pergunta pelas tentativas anteriores.",
        Papel.SUPERVISOR,
        _refused_for_us,
        comando="reprocessar",
    ),
    Acao(
        "enviar",
        "Enviar os dados guardados",
        "Os mesmos dados saem de novo para o gateway, com a mesma referência. Só é possível porque nenhum envio desta "
        "nota pode ter sido aceito: ela existe uma vez só. A pessoa é avisada.",
        "Pedido registrado. O envio sai em instantes.",
        Papel.SUPERVISOR,
        _accepted_by_nobody,
        comando="enviar",
    ),
    Acao(
        "cancelar",
        "Cancelar a nota",
        "Pede à prefeitura o cancelamento desta nota. O motivo vai para a prefeitura e precisa de 15 letras ou mais. "
        "Enquanto ela não responde, a nota fica como cancelamento pendente; se recusar, a nota continua valendo.",
        "Cancelamento pedido. A resposta da prefeitura aparece aqui.",
        Papel.SUPERVISOR,
        _issued,
        comando="cancelar",
        perigo=True,
    ),
    Acao(
        "encerrar",
        "Encerrar",
        "Se a nota espera a pessoa, deixa de ser emitida e a pessoa é avisada. Se já terminou, só sai da "
        "fila; quem tinha pedido uma pessoa é avisado. Volta para a fila se algo mudar.",
        "Encerrada.",
        Papel.SUPERVISOR,
        _closable,
        comando="encerrar",
        perigo=True,
    ),
)
POR_NOME: Final = {acao.nome: acao for acao in ACOES}


def available(caso: Caso, quem: Staff) -> list[Acao]:
    """Return what this person can do to this case now."""
    return [acao for acao in ACOES if quem.papel.alcanca(acao.papel) and acao.cabe(caso, quem)]


def main_of(caso: Caso, acoes: list[Acao]) -> Acao | None:
    """Return the one action that this case asks for; none while somebody speaks there, or where nothing is amiss."""
    if caso.sessao.atendente_id is not None:
        return None
    names = ("assumir",) if caso.sessao.pessoa_motivo else ("reprocessar", "enviar", "consultar")
    return next((acao for name in names for acao in acoes if acao.nome == name), None)
