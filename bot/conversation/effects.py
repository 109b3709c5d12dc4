"""Carries out a decision's effects inside the turn's transaction: outbox, customer, emission."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import asdict, replace
from datetime import date
from typing import TYPE_CHECKING, Any, assert_never

from bot.conversation.customers import remembered
from bot.conversation.rps import Numbers
from extractor.fields.clients import nickname, until_number
from gateway.port import InvoiceIntent, Prestador, Tomador, Tributos
from gateway.registry import UnknownChannelError
from persistence.conversations.snapshots import StaleSessionError
from persistence.fiscal import attempts, intents
from persistence.fiscal.intents import NovaEmissao, integration_id
from persistence.people import channels as company_channels
from persistence.people import clients
from persistence.queue import outbox
from persistence.versions import AnotherVersionError
from state_machine.invoice.fields import Campo, Origem
from state_machine.machine.effects import (
    Dispensar,
    Efeito,
    Emitir,
    EnviarArquivo,
    GravarSnapshot,
    Mensagem,
    Responder,
    RetomarEnvio,
)
from state_machine.protocol.channel import Canal
from state_machine.services.own import Servico
from state_machine.values.local_time import local_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable
    from datetime import datetime

    from bot.ports import FiscalGateway
    from gateway.port import Endereco, Explicacao, Rps
    from gateway.register.cnpj import CompanyEntry
    from gateway.registry import Channels
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from persistence.rows.outbox_messages import OutboxMessage
    from persistence.witness.row import Witness
    from state_machine.invoice.draft import Rascunho
    from state_machine.machine.session import Sessao
    from state_machine.protocol.channel import Ambiente


def one_reply(efeitos: Iterable[Efeito]) -> tuple[Efeito, ...]:
    """Keep only the last of several answers: a turn says one thing (Meta bills each message)."""
    todos = list(efeitos)
    respostas = [efeito for efeito in todos if isinstance(efeito, Responder)]
    return tuple(e for e in todos if not isinstance(e, Responder) or e is respostas[-1])


class Hands:
    """Does what decisions want done; all of it in the caller's transaction."""

    def __init__(self, channels: Channels, witness: Witness) -> None:
        self._channels = channels
        self._witness = witness

    async def may_number(self, connection: Connection, empresa: Empresa) -> bool:
        """Tell whether an invoice of this company can be issued as far as its number goes."""
        numbers = Numbers(await self._gateway_of(connection, empresa))
        if await numbers.blocked(connection, empresa):
            return False
        return not numbers.given(empresa) or (await self._witness.look(connection)).doubt is None

    async def may_have_issued(self, connection: Connection, empresa: Empresa, sessao: Sessao) -> bool:
        """Tell whether the session's summary was shown to a history of which the end may be missing."""
        if not Numbers(await self._gateway_of(connection, empresa)).given(empresa):
            return False
        since = (await self._witness.look(connection)).restored_at
        if since is None:
            return False
        shown = sessao.mostrado_em or (await outbox.seen(connection, sessao))[0]
        return shown is None or shown < since

    def channel(self, empresa: Empresa) -> str:
        """Return the channel and environment where this company issues now, as a session holds them."""
        return _written(empresa.canal, self._channels.environment(empresa.canal))

    async def complaint(
        self, database: Database, sessao: Sessao, empresa: Empresa, agora: datetime
    ) -> Explicacao | None:
        """Return what keeps the company's channel from ever sending this invoice, ``None`` where nothing is known.

        Called outside of a transaction: the channel may take milliseconds, elsewhere.
        """
        async with database.alone() as connection:
            gateway = await self._gateway_of(connection, empresa)
            cadastro = await remembered(connection, sessao.rascunho.validado(Campo.DOCUMENTO) or "")
        rps = Numbers(gateway).example(empresa)
        emitir = Emitir(sessao.revisao)
        intent = _intent(sessao, emitir, empresa, agora, cadastro.endereco if cadastro else None, rps)
        if rps is None and gateway.natureza.numbers == "we":
            return None  # no number is set up: the yes is told so
        recusa = await gateway.check(intent)
        return gateway.explain(recusa) if recusa else None

    async def _gateway_of(self, connection: Connection, empresa: Empresa) -> FiscalGateway:
        """Return the company's channel for services. Raises ``AnotherVersionError`` for one that is not known here."""
        try:
            return self._channels.of(await company_channels.chosen(connection, empresa.id))
        except UnknownChannelError as error:
            raise AnotherVersionError(f"a channel: {error}") from None

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
                case GravarSnapshot():
                    pass  # the turn saves the session whenever it changed
                case Responder(mensagem, unica):
                    resumo_de = sessao.revisao if _takes_a_yes(mensagem) else None
                    await self._say(connection, sessao, mensagem, correlacao, chave=unica, resumo_de=resumo_de)
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
        cadastro = await remembered(connection, sessao.rascunho.validado(Campo.DOCUMENTO) or "")
        gateway = await self._gateway_of(connection, empresa)
        if sessao.canal not in {None, _written(Canal(gateway.name), gateway.ambiente)}:
            raise StaleSessionError(sessao.sessao_id)  # it moved since this turn looked: look again, and show it
        numbers = Numbers(gateway)
        seen = await numbers.seen(connection, empresa, sessao, emitir.revisao, emitir.tentativa)
        if seen is None:
            rps = await numbers.take(connection, empresa, sessao, emitir.revisao, emitir.tentativa)
        else:
            rps, emitir = seen[0], replace(emitir, tentativa=seen[1])
        intent = _intent(sessao, emitir, empresa, agora, cadastro.endereco if cadastro else None, rps)
        chave = str(gateway.key_for(intent))
        tomador_id = await intents.upsert_tomador(connection, empresa.id, _customer(intent.tomador, cadastro))
        if apelido := _nickname(sessao.rascunho):
            clients.remember(connection, empresa.id, apelido, intent.tomador.documento, sessao.conversa)
        emissao_id = await intents.create(
            connection,
            NovaEmissao(
                session_id=row_id,
                sessao_id=sessao.sessao_id,
                revisao=emitir.revisao,
                tentativa=emitir.tentativa,
                prestador_id=empresa.id,
                prestador_cnpj=empresa.cnpj,
                tomador_id=tomador_id,
                tomador_documento=intent.tomador.documento,
                id_integracao=intent.id_integracao,
                valor=intent.valor,
                descricao=intent.descricao,
                codigo_servico=intent.prestador.codigo_servico,
                competencia=intent.competencia,
                payload=gateway.payload(intent),
                correlacao=correlacao,
                serie_rps=rps.serie if rps else None,
                numero_rps=rps.numero if rps else None,
                canal=gateway.name,
                a_preparar=gateway.natureza.prepares,
                ambiente=gateway.ambiente,
                chave=chave if chave != intent.id_integracao else None,
                perguntar=seen is not None,
            ),
        )
        await numbers.bind(connection, empresa, rps, emissao_id)


def _written(canal: Canal, ambiente: Ambiente) -> str:
    return f"{canal.nome}/{ambiente}"


def _intent(
    sessao: Sessao, emitir: Emitir, empresa: Empresa, agora: datetime, endereco: Endereco | None, rps: Rps | None
) -> InvoiceIntent:
    """Return what the gateway is to issue, from the confirmed data and the company's fiscal defaults."""
    rascunho = sessao.rascunho
    documento, descricao = rascunho.validado(Campo.DOCUMENTO), rascunho.validado(Campo.DESCRICAO)
    if documento is None or descricao is None:
        raise ValueError("an incomplete draft was confirmed")  # transition never lets one through
    return InvoiceIntent(
        id_integracao=integration_id(sessao.sessao_id, emitir.revisao, emitir.tentativa),
        prestador=_prestador(empresa, _servico(rascunho, empresa)),
        tomador=Tomador(
            documento,
            rascunho.tomador_nome,
            rascunho.validado(Campo.EMAIL),
            endereco,
        ),
        valor=rascunho.valor_servico,
        descricao=descricao,
        competencia=_competencia(rascunho, empresa.municipio_ibge, sessao.mostrado_em or agora),
        rps=rps,
    )


def _servico(rascunho: Rascunho, empresa: Empresa) -> Servico:
    """Return the code that was confirmed, else the company's main one. Raises ``ValueError`` for one not its own."""
    codigo = rascunho.validado(Campo.CODIGO)
    if codigo is None:
        return next(iter(empresa.servicos), Servico(empresa.codigo_servico))
    own = next((servico for servico in empresa.servicos if servico.codigo == codigo), None)
    if own is None:
        raise ValueError("an invoice was about to be issued by a service code that is not the company's")
    return own


def _prestador(empresa: Empresa, servico: Servico) -> Prestador:
    burden = (empresa.tributos_federal, empresa.tributos_estadual, empresa.tributos_municipal)
    told = [part for part in burden if part is not None]
    return Prestador(
        empresa.cnpj,
        empresa.razao_social,
        empresa.inscricao_municipal,
        empresa.municipio_ibge,
        empresa.regime,
        servico.codigo,
        empresa.cnae,
        empresa.aliquota,
        tributos_sn=empresa.tributos_sn,
        tributos=Tributos(*told) if len(told) == len(burden) else None,
        informa_im=empresa.informa_im,
        codigo_nbs=servico.nbs,
    )


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
    return any(key.startswith(("confirmar:", "usar:")) for key in mensagem.ids)


def _nickname(rascunho: Rascunho) -> str | None:
    """Return what the person calls the client of a confirmed invoice, ``None`` where that is its own name."""
    if rascunho.documento.origem is Origem.CADASTRO:  # found or chosen among the clients: these words meant it
        escrito = rascunho.documento.escrito
    else:
        said = rascunho.validado(Campo.NOME) and rascunho.nome.origem is not Origem.PROPOSTA
        escrito = rascunho.nome.escrito if said else None
    apelido = nickname(until_number(escrito or ""))
    return apelido if apelido and apelido != nickname(rascunho.tomador_nome or "") else None


def _customer(tomador: Tomador, cadastro: CompanyEntry | None) -> dict[str, Any]:
    """Return the columns of ``cliente_tomador``."""
    endereco = asdict(tomador.endereco) if tomador.endereco else {}
    return {
        "cnpj": tomador.documento,
        "razao_social": tomador.razao_social,
        "email": tomador.email,
        **endereco,
        **({"dados_receita_raw": cadastro.raw} if cadastro else {}),
    }
