"""Carries out a decision's effects inside the turn's transaction: outbox, customer, emission."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Awaitable, Iterable
from dataclasses import asdict
from datetime import date, datetime
from typing import Any, assert_never

from bot.orders.accept import Confirmed, Door, OtherChannelError
from extractor.fields.clients import nickname, until_number
from operations.person import issuer_of
from persistence.conversations.snapshots import StaleSessionError
from persistence.db.connection import Connection
from persistence.fiscal import attempts
from persistence.people import clients
from persistence.people.companies import Empresa
from persistence.queue import outbox
from persistence.rows import OutboxMessage
from state_machine.documents import Atividade, DocumentoProduto, DocumentoServico, Endereco, Obra, Tomador
from state_machine.goods import ENTREGA
from state_machine.invoice.draft import Rascunho
from state_machine.invoice.field_table import INSCRICAO
from state_machine.invoice.fields import Campo, Origem
from state_machine.invoice.session import (
    Dispensar,
    Efeito,
    Emitir,
    EnviarArquivo,
    Mensagem,
    Responder,
    RetomarEnvio,
    Sessao,
)
from state_machine.protocol.channel import conversation
from state_machine.services.codes import Onde, Servico
from state_machine.values.address import read_address
from state_machine.values.local_time import local_day


def one_reply(efeitos: Iterable[Efeito]) -> tuple[Efeito, ...]:
    """Keep only the last of several answers: a turn says one thing (Meta bills each message)."""
    todos = list(efeitos)
    respostas = [efeito for efeito in todos if isinstance(efeito, Responder)]
    return tuple(e for e in todos if not isinstance(e, Responder) or e is respostas[-1])


class Effects:
    """Does what decisions want done; all of it in the caller's transaction."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def carry_out(
        self,
        connection: Connection,
        efeitos: Iterable[Efeito],
        sessao: Sessao,
        row_id: int,
        empresa: Empresa | None,
        agora: datetime,
        correlacao: str,
    ) -> None:
        """Write what each effect asks for. Raises ``ValueError`` rather than issue for another company than its own.

        Raises ``StaleSessionError`` rather than issue by another channel than the confirmed one.
        """
        for efeito in efeitos:
            match efeito:
                case Responder(mensagem, unica, depois):
                    resumo_de = sessao.revisao if _takes_a_yes(mensagem) else None
                    await self._say(
                        connection, sessao, mensagem, correlacao, chave=unica, resumo_de=resumo_de, bloqueia=not depois
                    )
                case EnviarArquivo():
                    chave = f"arquivo:{efeito.emissao_id}:{efeito.formato}"
                    await self._say(connection, sessao, efeito, correlacao, chave=chave, bloqueia=False)
                case RetomarEnvio(revisao):
                    await self._must(attempts.resume(connection, sessao.sessao_id, revisao), sessao)
                case Dispensar(revisao):
                    await self._must(attempts.withdraw(connection, sessao.sessao_id, revisao), sessao)
                case Emitir():
                    if empresa is None or empresa.id != sessao.empresa_id:
                        raise ValueError("the invoice of one company was about to be issued for another")
                    await self._issue(connection, sessao, efeito, row_id, empresa, agora, correlacao)
                case _:
                    assert_never(efeito)

    async def _say(
        self,
        connection: Connection,
        sessao: Sessao,
        mensagem: OutboxMessage,
        correlacao: str,
        *,
        chave: str | None,
        resumo_de: int | None = None,
        bloqueia: bool = True,
    ) -> None:
        outbox.enqueue(
            connection,
            conversa=sessao.conversa,
            mensagem=mensagem,
            sessao_id=sessao.sessao_id,
            chave=chave,
            resumo_de=resumo_de,
            bloqueia=bloqueia,
            correlacao=correlacao,
        )

    async def _must(self, change: Awaitable[bool], sessao: Sessao) -> None:
        """The event said under the row's lock that nobody accepted it: else it is a bug, and nothing is stored."""
        if not await change:
            raise RuntimeError(f"the emission of {sessao.sessao_id} is no longer certain to be nobody's")

    async def _issue(
        self,
        connection: Connection,
        sessao: Sessao,
        emitir: Emitir,
        row_id: int,
        empresa: Empresa,
        agora: datetime,
        correlacao: str,
    ) -> None:
        confirmed = confirmed_of(sessao, emitir, empresa, agora, row_id)
        try:
            await self._door.accept(connection, confirmed, correlacao)
        except OtherChannelError:  # since this turn looked: look again, and show it
            raise StaleSessionError(sessao.sessao_id) from None
        if confirmed.documento.tomador.documento and (apelido := _nickname(sessao.rascunho)):
            clients.remember(connection, empresa.id, apelido, confirmed.documento.tomador.documento, sessao.conversa)


def confirmed_of(
    sessao: Sessao, emitir: Emitir, empresa: Empresa, agora: datetime, row_id: int | None = None
) -> Confirmed:
    """Return what a session's summary says. Raises ``ValueError`` for an incomplete one."""
    rascunho = sessao.rascunho
    documento, descricao = rascunho.validado(Campo.DOCUMENTO), rascunho.validado(Campo.DESCRICAO)
    if descricao is None or not rascunho.completo:
        raise ValueError("an incomplete draft was confirmed")  # transition never lets one through
    said: dict[str, Any] = {
        "prestador": issuer_of(empresa, _servico(rascunho, empresa)),
        "tomador": Tomador(
            documento or "",
            rascunho.tomador_nome,
            rascunho.validado(Campo.EMAIL),
            _endereco(rascunho.validado(Campo.ENDERECO)),
        ),
        "valor": rascunho.valor_servico,
    }
    return Confirmed(
        origin=conversation(sessao.sessao_id, emitir.revisao, row_id),
        tentativa=emitir.tentativa,
        empresa=empresa,
        documento=_vendido(rascunho, empresa, agora, said)
        if rascunho.produtos
        else DocumentoServico(
            **said,
            competencia=_competencia(rascunho, empresa.municipio_ibge, sessao.mostrado_em or agora),
            descricao=descricao,
            **_lugar(rascunho),
            iss_retido=rascunho.iss_retido,
        ),
        canal=None
        if rascunho.produtos
        else sessao.canal,  # another channel for goods is another version of its company
        substitui=rascunho.substitui.emissao_id if rascunho.substitui else None,
    )


def _vendido(rascunho: Rascunho, empresa: Empresa, agora: datetime, said: dict[str, Any]) -> DocumentoProduto:
    """Return an invoice for goods, of the day of its yes. Raises ``ValueError`` for a company that sells none."""
    if empresa.comercio is None:
        raise ValueError("an invoice for goods was about to be issued for a company that sells none")
    return DocumentoProduto(
        **said,
        competencia=local_day(empresa.municipio_ibge, agora),
        modelo="nfe" if rascunho.validado(Campo.MODELO) == "nfe" else "nfce",
        entrega=rascunho.validado(Campo.MODELO) == ENTREGA,
        itens=rascunho.produtos,
        inscricao_estadual=empresa.comercio.inscricao_estadual,
        endereco=empresa.comercio.endereco,
    )


def _lugar(rascunho: Rascunho) -> dict[str, Any]:
    """Return what the note says of the place where the work was done: city, and building site or event."""
    lugar = rascunho.validado(Campo.LOCAL)
    if lugar is None:
        return {}
    endereco = _endereco(lugar) if read_address(lugar).logradouro else None
    told: dict[str, Any] = {"local": read_address(lugar).codigo_cidade}
    if rascunho.onde is Onde.OBRA:
        numero = rascunho.validado(Campo.OBRA) or ""
        inscricao = numero.removeprefix(INSCRICAO) if numero.startswith(INSCRICAO) else None
        told["obra"] = Obra(endereco=endereco, cno=None if inscricao else numero or None, inscricao=inscricao)
    if rascunho.onde is Onde.EVENTO and endereco is not None:
        inicio = date.fromisoformat(rascunho.validado(Campo.DATA) or "")
        fim = rascunho.validado(Campo.FIM)
        told["evento"] = Atividade(
            nome=rascunho.nome_do_evento,
            inicio=inicio,
            fim=date.fromisoformat(fim) if fim else inicio,
            endereco=endereco,
        )
    return told


def _endereco(texto: str | None) -> Endereco | None:
    """Return an address as the person said it, ``None`` where they said none."""
    if texto is None:
        return None
    dito = asdict(read_address(texto))
    return Endereco(**dito | {"complemento": dito["complemento"] or None})


def _servico(rascunho: Rascunho, empresa: Empresa) -> Servico:
    """Return the code that was confirmed, else the company's main one. Raises ``ValueError`` for one not its own."""
    codigo = rascunho.validado(Campo.CODIGO)
    if codigo is None:
        return empresa.principal
    own = next((servico for servico in empresa.servicos if servico.codigo == codigo), None)
    if own is None:
        raise ValueError("an invoice was about to be issued by a service code that is not the company's")
    return own


def _competencia(rascunho: Rascunho, municipio_ibge: str, mostrado_em: datetime) -> date:
    """Return the day that the invoice belongs to: as said, else the last of the said month so far, else today.

    "Today" is in the company's city, on the day when the summary was shown: a yes after midnight confirms what was
    seen before it.
    """
    hoje = local_day(municipio_ibge, mostrado_em)
    data, mes = rascunho.validado(Campo.DATA), rascunho.validado(Campo.COMPETENCIA)
    if data:
        return date.fromisoformat(data)
    if not mes:
        return hoje
    primeiro = date.fromisoformat(f"{mes}-01")
    ultimo = primeiro.replace(day=monthrange(primeiro.year, primeiro.month)[1])
    return min(ultimo, hoje) if primeiro <= hoje else primeiro


def _takes_a_yes(mensagem: Mensagem) -> bool:
    """A yes in words answers a summary, or a question that shows what the words may mean."""
    return any(key.startswith(("confirmar:", "emitir:", "usar:")) for key in mensagem.ids)


def _nickname(rascunho: Rascunho) -> str | None:
    """Return what the person calls the client of a confirmed invoice, ``None`` where that is its own name."""
    if rascunho.documento.origem is Origem.CADASTRO:  # found or chosen among the clients: these words meant it
        escrito = rascunho.documento.escrito
    else:
        said = rascunho.validado(Campo.NOME) and rascunho.nome.origem is not Origem.PROPOSTA
        escrito = rascunho.nome.escrito if said else None
    apelido = nickname(until_number(escrito or ""))
    return apelido if apelido and apelido != nickname(rascunho.tomador_nome or "") else None
