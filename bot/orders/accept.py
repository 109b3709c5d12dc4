"""The one door for an invoice's order: what was confirmed, whoever confirmed it, becomes a stored intent.

Gives a confirmed invoice its RPS number, where the company numbers through us.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from bot.ports import FiscalGateway
from gateway.port import Explicacao
from gateway.register import CompanyEntry, company
from gateway.registry import Channels
from operations.national.verify import ask
from persistence import outside, witness
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import attempts, intents, issued, numbering
from persistence.fiscal.intents import NovaEmissao, integration_id
from persistence.fiscal.notes import Guardado
from persistence.fiscal.numbering import Sequencia
from persistence.national import cities
from persistence.national.cities import CityQuestion
from persistence.people import channels as company_channels
from persistence.people.companies import Empresa
from persistence.witness import Witness
from state_machine.documents import (
    Documento,
    DocumentoProduto,
    DocumentoServico,
    Endereco,
    Rps,
    Substituicao,
    Tomador,
)
from state_machine.invoice.fields import Campo
from state_machine.invoice.summary import MOTIVO, SEM_CANAL
from state_machine.protocol.channel import ATTEMPTS, Ambiente, Canal, Convenio, Origin, TipoDocumento
from state_machine.protocol.emission import CannotTell
from state_machine.services.codes import table
from state_machine.values.address import EnderecoDito, as_people_write, city_of
from state_machine.values.errors import ProsaError

REVISIONS = 10  # from ours on that are looked for: what was forgotten may have been corrected since


class Numbers:
    """Numbers of one channel in one environment; all in the caller's transaction, which stores the intent."""

    def __init__(self, gateway: FiscalGateway) -> None:
        self._gateway = gateway

    async def take(self, connection: Connection, empresa: Empresa, origin: Origin, tentativa: int) -> Rps | None:
        """Return the next number of the company's series, or ``None`` where the gateway numbers.

        A new attempt keeps the refused one's number: no gap, and a city that is unique on it refuses a second note.
        It gets the next one where that number was explained away, is another city's, or another's note has it.
        Raises ``NumeracaoBloqueadaError``.
        """
        serie, primeiro = self._series(empresa)
        if serie is None:
            return None
        before = await attempts.newest(connection, origin.id, origin.revisao) if tentativa > 1 else None
        sequencia = self._sequence(empresa, serie)
        same = before is not None and before.serie_rps == serie and self._counts(before)
        if before is not None and same and await numbering.is_unused(connection, sequencia, before.numero_rps):
            return Rps(before.serie_rps, before.numero_rps)
        numero = await numbering.allocate(connection, sequencia, primeiro=primeiro, canal=self._gateway.name)
        return Rps(serie, numero)

    async def seen(
        self, connection: Connection, empresa: Empresa, origin: Origin, tentativa: int
    ) -> tuple[Rps, int, int] | None:
        """Return number, revision and attempt of the note that the authority has of this order, which we had forgotten.

        Looked for before a number is drawn; a later attempt than ours may be the one that became the note, and what
        was forgotten may have been confirmed in another revision: a second note would be one too many.
        """
        reference, (serie, _) = self._gateway.natureza.reference, self._series(empresa)
        if reference is None or serie is None:
            return None
        ours: dict[str, tuple[int, int]] = {}
        for revisao in range(1, origin.revisao + REVISIONS):
            first = tentativa if revisao == origin.revisao else 1
            for each in range(first, first + ATTEMPTS):
                ours[reference(integration_id(origin.id, revisao, each))] = revisao, each
        found = await witness.number_of(connection, self._sequence(empresa, serie), ours.keys())
        if found is None:
            return None
        serie, numero, referencia = found
        await witness.take(connection, self._sequence(empresa, serie), numero)
        return Rps(serie, numero), *ours[referencia]

    def example(self, empresa: Empresa) -> Rps | None:
        """Return a number like the next one, which is not taken; ``None`` where we give none."""
        serie, primeiro = self._series(empresa)
        return Rps(serie, primeiro or 1) if serie is not None else None

    def given(self, empresa: Empresa) -> bool:
        """Tell whether the company's invoices get their number from us."""
        return self.example(empresa) is not None

    async def blocked(self, connection: Connection, empresa: Empresa) -> bool:
        """Tell whether the company's invoices can get no number now: none is set up, or staff blocked its sequence."""
        serie, _ = self._series(empresa)
        if serie is None:
            return self._gateway.natureza.numbers == "we"
        return await numbering.blocked(connection, self._sequence(empresa, serie)) is not None

    async def bind(self, connection: Connection, empresa: Empresa, rps: Rps | None, emissao_id: int) -> None:
        """Tie the number to the stored intent. Raises ``NumeroOcupadoError``."""
        if rps is not None:
            await numbering.bind(connection, self._sequence(empresa, rps.serie), rps.numero, emissao_id)

    def _series(self, empresa: Empresa) -> tuple[str | None, int]:
        return numbering.series_of(empresa, self._gateway.natureza)

    def _sequence(self, empresa: Empresa, serie: str) -> Sequencia:
        return numbering.in_series(empresa, self._gateway.natureza, self._gateway.ambiente, serie)

    def _counts(self, before: Any) -> bool:
        """Tell whether an earlier attempt's number was counted where ours are."""
        return before.canal == self._gateway.name and before.ambiente in {None, self._gateway.ambiente}


_SERVICO = TipoDocumento.SERVICO
ASK_SECONDS = 3.0  # for what another city agreed to; a summary waits for it
SEM_CONVENIO = (
    "{cidade} não tem convênio com o emissor nacional, e por ele a nota de um serviço feito lá não sai. "
    "Se foi em outra cidade, me diz qual"
)


class OtherChannelError(ProsaError):
    """The company issues by another channel or in another environment than the confirmed one."""

    code = "other_channel"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """An invoice as somebody confirmed it, and who ordered it.

    Number, reference and what it takes the place of are not in ``documento`` yet; an address of the customer in it
    counts before the register's. ``canal`` is that of the confirmed text, ``None`` where it named none. ``substitui``
    is the emission whose note this one takes the place of.
    """

    origin: Origin
    tentativa: int
    empresa: Empresa
    documento: Documento
    canal: str | None = None
    substitui: int | None = None

    @property
    def tipo(self) -> TipoDocumento:
        """The kind of document, which has a channel of its own."""
        return TipoDocumento.of(self.documento.modelo if isinstance(self.documento, DocumentoProduto) else None)


class Door:
    """Takes orders, each in its caller's transaction, and says beforehand what would become of them."""

    def __init__(self, channels: Channels, witness: Witness) -> None:
        self._channels = channels
        self._witness = witness

    async def blocked(self, connection: Connection, empresa: Empresa, tipo: TipoDocumento = _SERVICO) -> bool:
        """Tell whether there is no number for an invoice of this company, for services where no kind is said."""
        return await Numbers(await self._gateway_of(connection, empresa, tipo)).blocked(connection, empresa)

    async def may_number(self, connection: Connection, empresa: Empresa, tipo: TipoDocumento = _SERVICO) -> bool:
        """Tell whether an invoice of this company may be confirmed now, as far as its number goes."""
        numbers = Numbers(await self._gateway_of(connection, empresa, tipo))
        if await numbers.blocked(connection, empresa):
            return False
        return not numbers.given(empresa) or (await self._witness.look_for(connection, empresa.id)).doubt is None

    async def restored_at(
        self, connection: Connection, empresa: Empresa, tipo: TipoDocumento = _SERVICO
    ) -> datetime | None:
        """Return since when the database may lack notes under numbers of ours, ``None`` where it lacks none."""
        if not Numbers(await self._gateway_of(connection, empresa, tipo)).given(empresa):
            return None
        return (await self._witness.look(connection)).restored_at

    def certificate_elsewhere(self, empresa: Empresa) -> bool:
        """Whether all that the company issues is signed where its channel keeps its certificate."""
        return self._channels.of(empresa.canal).natureza.holds_certificate and not empresa.mercado

    def channel(self, empresa: Empresa) -> str:
        """Return the channel and environment where this company issues now, as a confirmed text holds them."""
        return _written(empresa.canal, self._channels.environment(empresa.canal))

    async def environment(self, connection: Connection, empresa: Empresa, tipo: TipoDocumento) -> Ambiente:
        """Return the environment where this company issues a kind of document now."""
        return self._channels.environment(await company_channels.chosen(connection, empresa.id, tipo))

    def page(self, guardado: Guardado) -> str | None:
        """Return where the authority shows a note to anybody, ``None`` where its channel has no such page."""
        return guardado.endereco if self._channels.of(guardado.canal).natureza.page else None

    async def complaint(self, database: Database, confirmed: Confirmed) -> Explicacao | None:
        """Return what keeps the company's channel from ever sending this invoice, ``None`` where nothing is known.

        Called outside of a transaction: the channel may take milliseconds, elsewhere.
        """
        async with database.alone() as connection:
            gateway = await self._gateway_of(connection, confirmed.empresa, confirmed.tipo)
            cadastro = await remembered(connection, confirmed.documento.tomador.documento)
            canal = Canal(gateway.name, gateway.ambiente)
            told = await cities.agreement(connection, canal, confirmed.empresa.municipio_ibge)
            substitui = await _replaced(connection, confirmed)
        if confirmed.substitui is not None and (substitui is None or not gateway.natureza.substitutes):
            return Explicacao(SEM_CANAL, None)
        if told is not None and (recusa := told[0].recusa) is not None:
            return gateway.explain(recusa)
        if (cidade := await self._without_agreement(database, canal, confirmed)) is not None:
            return Explicacao(SEM_CONVENIO.format(cidade=as_people_write(str(cidade))), Campo.LOCAL)
        rps = Numbers(gateway).example(confirmed.empresa)
        if rps is None and gateway.natureza.numbers == "we":
            return None  # no number is set up: the yes is told so
        recusa = await gateway.check(intent_of(confirmed, cadastro.endereco if cadastro else None, rps, substitui))
        return gateway.explain(recusa) if recusa else None

    async def _without_agreement(self, database: Database, canal: Canal, confirmed: Confirmed) -> EnderecoDito | None:
        """Return the other city where a normal company owes the tax, if it has no agreement: nobody tells its rate.

        It is asked for now where nobody was told for two days; a city that cannot be asked in time says nothing.
        """
        empresa, documento = confirmed.empresa, confirmed.documento
        if not isinstance(documento, DocumentoServico):
            return None
        codigo = documento.prestador.codigo_servico
        row = table().codigos.get(codigo)
        due = documento.local if row is not None and row.incide == "local" else None
        if due in {None, empresa.municipio_ibge} or empresa.regime != "normal":
            return None
        async with database.alone() as connection:
            kept = await cities.agreement(connection, canal, due)
        convenio: Convenio | CannotTell | None = kept[0] if kept else None
        if convenio is None and (asked := self._channels.cities(canal)) is not None:
            question = CityQuestion(empresa.cnpj, due, codigo, documento.competencia)
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_SECONDS), aclosing(asked):
                    convenio, _ = await ask(database, asked, canal, question)
        return city_of(due) if isinstance(convenio, Convenio) and not convenio.aderente else None

    async def accept(self, connection: Connection, confirmed: Confirmed, correlacao: str) -> int:
        """Store the order, due at once, and return its id; all of it or nothing is in the caller's transaction.

        Raises ``OtherChannelError`` and ``NumeracaoBloqueadaError``.
        """
        origin, empresa = confirmed.origin, confirmed.empresa
        cadastro = await remembered(connection, confirmed.documento.tomador.documento)
        gateway = self._channels.of(await company_channels.chosen(connection, empresa.id, confirmed.tipo))
        if confirmed.canal not in {None, _written(Canal(gateway.name), gateway.ambiente)}:
            raise OtherChannelError(origin.id)
        numbers = Numbers(gateway)
        seen = await numbers.seen(connection, empresa, origin, confirmed.tentativa)
        if seen is None:
            rps = await numbers.take(connection, empresa, origin, confirmed.tentativa)
        else:  # asked for by the name that its note has; other content under it is a conflict, which people solve
            rps, revisao, tentativa = seen
            confirmed = replace(confirmed, origin=replace(origin, revisao=revisao), tentativa=tentativa)
        substitui = await _replaced(connection, confirmed)
        if confirmed.substitui is not None and (substitui is None or not gateway.natureza.substitutes):
            raise ValueError("an invoice was about to be issued beside the one that it takes the place of")
        intent = intent_of(confirmed, cadastro.endereco if cadastro else None, rps, substitui)
        chave = str(gateway.key_for(intent))
        tomador_id = await intents.upsert_tomador(connection, empresa.id, _customer(intent.tomador, cadastro))
        emissao_id = await intents.create(
            connection,
            NovaEmissao(
                origin=origin,
                tentativa=confirmed.tentativa,
                prestador_id=empresa.id,
                tomador_id=tomador_id,
                id_integracao=intent.id_integracao,
                conteudo=intent.conteudo,
                payload=gateway.payload(intent),
                correlacao=correlacao,
                serie_rps=rps.serie if rps else None,
                numero_rps=rps.numero if rps else None,
                canal=gateway.name,
                a_preparar=gateway.natureza.prepares,
                ambiente=gateway.ambiente,
                chave=chave if chave != intent.id_integracao else None,
                substitui=confirmed.substitui,
                perguntar=seen is not None,
            ),
        )
        await numbers.bind(connection, empresa, rps, emissao_id)
        return emissao_id

    async def _gateway_of(
        self, connection: Connection, empresa: Empresa, tipo: TipoDocumento = _SERVICO
    ) -> FiscalGateway:
        """Return the company's channel for a kind of document; that of services was read with the company."""
        chosen = empresa.canal if tipo is _SERVICO else await company_channels.chosen(connection, empresa.id, tipo)
        return self._channels.of(chosen)


async def remembered(connection: Connection, documento: str) -> CompanyEntry | None:
    """Return the register's entry of a customer as far as it is remembered; asks nobody."""
    entry = await outside.cached_company(connection, documento)
    return company(entry.dados, documento) if entry and entry.dados else None


def _written(canal: Canal, ambiente: Ambiente) -> str:
    return f"{canal.nome}/{ambiente}"


async def _replaced(connection: Connection, confirmed: Confirmed) -> Substituicao | None:
    """Return what the authority is told of the note that this one takes the place of, where it has a key there."""
    if confirmed.substitui is None:
        return None
    chave = await issued.access_key(connection, confirmed.empresa.id, confirmed.substitui)
    return Substituicao(chave, MOTIVO) if chave else None


def intent_of(
    confirmed: Confirmed, endereco: Endereco | None, rps: Rps | None, substitui: Substituicao | None = None
) -> Documento:
    """Return what the gateway is to issue: what was confirmed, under our reference and number.

    ``endereco``: the customer's in the register, which counts where nobody said one.
    """
    documento, origin = confirmed.documento, confirmed.origin
    return replace(
        documento,
        id_integracao=integration_id(origin.id, origin.revisao, confirmed.tentativa),
        tomador=replace(documento.tomador, endereco=documento.tomador.endereco or endereco),
        rps=rps,
        substitui=substitui,
    )


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
