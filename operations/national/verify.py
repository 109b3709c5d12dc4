"""``prosa empresa verificar``: says in sentences whether a company of the national channel, or São Paulo's, can issue.

Asks for what cities agreed to and their rates, and keeps the answers; one that does not come changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from gateway.nacional.adapter import Nacional
from gateway.nacional.adn import CityParameters
from gateway.nacional.payload import unfit
from gateway.paulistana.adapter import Paulistana
from gateway.paulistana.adapter import unfit as paulistana_unfit
from gateway.port import FiscalGateway
from gateway.registry import Channels
from operations.channel import company_of
from operations.person import issuer_of
from operations.protocol import CommandRefusedError
from persistence.db.engine import Database
from persistence.fiscal import numbering
from persistence.fiscal.numbering import Sequencia
from persistence.national import cities as kept
from persistence.national import elsewhere
from persistence.national.cities import CityQuestion
from persistence.people.companies import Empresa, get_company
from state_machine.documents import DocumentoServico, Rps, Tomador
from state_machine.protocol.channel import Ambiente, Canal, Convenio
from state_machine.protocol.emission import Absent, CannotTell, Found
from state_machine.values.local_time import SAO_PAULO, local_day


async def ask(
    database: Database, cities: CityParameters, canal: Canal, question: CityQuestion
) -> tuple[Convenio | CannotTell, Decimal | CannotTell | None]:
    """Ask for agreement and rate, and keep what was told; ``canal`` names its environment."""
    convenio = await cities.agreement(question.cnpj, question.municipio)
    aliquota = await cities.rate(question.cnpj, question.municipio, question.codigo, question.dia)
    async with database.transaction() as connection:
        await kept.keep(connection, canal, question, convenio, aliquota)
    return convenio, aliquota


async def ask_due(database: Database, channels: Channels) -> int:
    """Ask for what is due on all channels that have it; returns how many cities' codes were told of."""
    told = 0
    for nome in channels.with_any("cities"):
        padrao = channels.environment(Canal(nome))
        for ambiente in Ambiente:
            told += await _ask_due_of(database, channels, Canal(nome, ambiente), padrao)
    return told


async def _ask_due_of(database: Database, channels: Channels, canal: Canal, padrao: Ambiente) -> int:
    async with database.transaction() as connection:
        due = await kept.due(connection, canal, padrao)
    cities = channels.cities(canal) if due else None
    if cities is None:
        return 0
    told = 0
    try:
        for question in due:
            convenio, _ = await ask(database, cities, canal, question)
            if isinstance(convenio, Convenio):
                told += 1
            elif convenio.texto is None:  # no certificate's fault: the next run asks whether ADN is back
                break
    finally:
        await cities.aclose()
    return told


_NOBODYS_CPF: Final = "00000000191"  # its check digits are right; nothing of the example is sent


@dataclass(frozen=True, slots=True)
class Conferido:
    """One sentence, and whether the company can issue as far as it goes."""

    dito: str
    serve: bool


async def verify(database: Database, channels: Channels, cnpj: str, *, canario: bool = False) -> list[Conferido]:
    """Look at registration and layout, certificate and city, code, series. Raises ``CommandRefusedError``.

    ``canario``: the authority is asked which layout it takes too, by documents that can become no note.
    """
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        empresa, agora = await get_company(connection, company.id)
        known = await numbering.sequences(connection)
    cities = channels.cities(empresa.canal)
    gateway, hoje = channels.of(empresa.canal), local_day(empresa.municipio_ibge, agora)
    if cities is None and not isinstance(gateway, Paulistana):
        raise CommandRefusedError(
            f"{empresa.razao_social} emite pelo canal {empresa.canal.nome}; só confiro o nacional e o paulistana."
        )
    canal = Canal(gateway.name, gateway.ambiente)
    sequencia = Sequencia(empresa.id, empresa.municipio_ibge, empresa.serie_rps or "", gateway.ambiente)
    ours = next((each for each in known if each.sequencia == sequencia), None)
    bloqueado = ours.bloqueado if ours else None
    rps = Rps(sequencia.serie, ours.ultimo + 1 if ours else empresa.primeiro_rps)
    lacks = channels.left_out(empresa.canal, company, empresa.servicos)
    intent = _example(empresa, rps, hoje)
    if isinstance(gateway, Paulistana):
        return [
            await _document(gateway, intent, paulistana_unfit(company)),
            *await _of_the_city(gateway, intent, agora),
            await _series(gateway, intent, rps, bloqueado),
        ]
    assert cities is not None  # noqa: S101 - refused above
    try:
        return [
            await _document(gateway, intent, unfit(company)),
            *([Conferido(f"IBS/CBS: {lacks}.", serve=True)] if lacks else []),
            *([await _canary(gateway, intent, agora)] if canario else []),
            *await _city(database, cities, canal, empresa, hoje),
            await _shared(database, canal, sequencia) or await _series(gateway, intent, rps, bloqueado),
        ]
    finally:
        await cities.aclose()


def _example(empresa: Empresa, rps: Rps, hoje: date) -> DocumentoServico:
    """Return an invoice of which nothing is sent: its DPS is made, and the note under its number is asked for."""
    return DocumentoServico(
        id_integracao="verificar",
        prestador=issuer_of(empresa, empresa.principal),
        tomador=Tomador(_NOBODYS_CPF, "Cliente de exemplo"),
        valor=Decimal("1.00"),
        descricao="Serviço de exemplo",
        competencia=hoje,
        rps=rps,
    )


async def _document(gateway: FiscalGateway, intent: DocumentoServico, complaint: str | None) -> Conferido:
    if complaint is not None:
        return Conferido(f"Cadastro: {complaint}.", serve=False)
    refused = await gateway.check(intent)
    if refused is None:
        return Conferido("Cadastro e leiaute: uma nota de exemplo cabe no leiaute de hoje.", serve=True)
    return Conferido(f"Cadastro e leiaute: {gateway.explain(refused).texto}.", serve=False)


async def _of_the_city(gateway: Paulistana, intent: DocumentoServico, agora: datetime) -> list[Conferido]:
    """Say which binding the host takes, and whether it would make a note of the example."""
    soap = await gateway.binding(intent.prestador.cnpj)
    if isinstance(soap, CannotTell):
        return [_unknown("Certificado e SOAP", soap)]
    if soap != gateway.soap:
        said = f"SOAP: a prefeitura responde em {soap}, não em {gateway.soap}. Defina PROSA_PAULISTANA_SOAP={soap}."
        return [Conferido(said, serve=False)]
    lines = [Conferido(f"Certificado e SOAP: a prefeitura responde em {soap}.", serve=True)]
    match await gateway.trial(intent, agora):
        case None:
            lines.append(Conferido("Teste de envio: uma nota de exemplo seria aceita; nenhuma foi feita.", serve=True))
        case CannotTell() as silent:
            lines.append(_unknown("Teste de envio", silent))
        case refused:
            lines.append(Conferido(f"Teste de envio: {gateway.explain(refused).texto}.", serve=False))
    return lines


async def _canary(gateway: FiscalGateway, intent: DocumentoServico, agora: datetime) -> Conferido:
    """Say which layout the authority takes, as far as it answers."""
    assert isinstance(gateway, Nacional)  # noqa: S101 - who has cities is it
    old, new = [await gateway.takes(intent, agora, leiaute) for leiaute in ("1.01", "nt009")]
    said = {
        (True, False): "o 1.01, e recusa o da NT 009",
        (False, True): "o da NT 009, e recusa o 1.01",
        (True, True): "os dois",
    }.get((bool(old), bool(new)))
    if old is None or new is None:
        return Conferido("Leiaute: não deu para saber qual a SEFIN aceita; nenhuma nota foi feita.", serve=True)
    if said is None:
        return Conferido("Leiaute: a SEFIN recusa os dois que a Prosa faz; nenhuma nota foi feita.", serve=False)
    return Conferido(f"Leiaute: a SEFIN aceita {said}; nenhuma nota foi feita.", serve=True)


async def _city(
    database: Database, cities: CityParameters, canal: Canal, empresa: Empresa, hoje: date
) -> list[Conferido]:
    """Ask for agreement and rate; where ADN says nothing now, and no certificate is why, what it said last counts."""
    question = CityQuestion(empresa.cnpj, empresa.municipio_ibge, empresa.codigo_servico, hoje)
    convenio, aliquota = await ask(database, cities, canal, question)
    async with database.transaction() as connection:
        before = await kept.agreement(connection, canal, question.municipio)
        rated = await kept.rate(connection, canal, question.municipio, question.codigo)
    dita, taxada = "", ""
    if isinstance(convenio, CannotTell) and convenio.texto is None and before is not None:
        convenio, dita = before[0], _of(before[1])
    if isinstance(aliquota, CannotTell) and aliquota.texto is None and rated is not None:
        aliquota, taxada = rated[0], _of(rated[1])
    return [_agreement(convenio, question.municipio, dita), _rate(aliquota, question.codigo, taxada)]


def _of(moment: datetime) -> str:
    return f" (resposta de {moment.astimezone(SAO_PAULO):%d/%m %H:%M}; o ADN não respondeu agora)"


def _agreement(found: Convenio | CannotTell, municipio: str, when: str) -> Conferido:
    city = f"a cidade {municipio}"
    if isinstance(found, CannotTell):
        return _unknown("Certificado e convênio", found)
    if not found.aderente:
        return Conferido(f"Convênio: {city} não aderiu ao ambiente nacional. Escolha outro canal{when}.", serve=False)
    if not found.emissor:
        return Conferido(
            f"Convênio: {city} não deixa emitir pelo emissor nacional. Escolha outro canal{when}.", serve=False
        )
    about = "Convênio:" if when else "Certificado e convênio: aceito pelo ADN;"
    return Conferido(f"{about} {city} deixa emitir pelo emissor nacional{when}.", serve=True)


def _rate(found: Decimal | CannotTell | None, code: str, when: str) -> Conferido:
    if len(code) != 6:  # noqa: PLR2004 - digits of the national list; the registration's line says more
        return Conferido(f"Código {code}: não é um da lista nacional, de 6 dígitos.", serve=False)
    if isinstance(found, CannotTell):
        return _unknown(f"Código {code}", found)
    if found is None:
        return Conferido(
            f"Código {code}: a cidade não tem alíquota para ele{when}. Confira o código com a contabilidade.",
            serve=False,
        )
    rate = f"{found.normalize():f}".replace(".", ",")
    return Conferido(f"Código {code}: a alíquota na cidade é {rate}%{when}.", serve=True)


async def _shared(database: Database, canal: Canal, sequencia: Sequencia) -> Conferido | None:
    """Say that another program takes numbers of this series, as far as ADN's list of documents was read."""
    async with database.transaction() as connection:
        found = await elsewhere.in_series(connection, canal, sequencia.empresa_id, sequencia.serie)
    if found is None:
        return None
    return Conferido(
        f"Série {sequencia.serie}: outro programa fez a nota {found.numero} com o número {found.numero_dps} desta "
        "série. Use uma série só da Prosa.",
        serve=False,
    )


async def _series(gateway: FiscalGateway, intent: DocumentoServico, rps: Rps, blocked: str | None) -> Conferido:
    named = f"Série {rps.serie}"
    if blocked is not None:
        return Conferido(f"{named}: bloqueada ({blocked}). Libere com: prosa numeracao --desbloquear.", serve=False)
    try:
        found = await gateway.find(gateway.key_for(intent))
    except ValueError as error:
        return Conferido(f"{named}: não serve neste canal ({error}).", serve=False)
    quem = "a prefeitura" if isinstance(gateway, Paulistana) else "a SEFIN"
    match found:
        case Absent():
            return Conferido(f"{named}: o próximo número, {rps.numero}, está livre n{quem}.", serve=True)
        case Found():
            return Conferido(
                f"{named}: {quem} já tem nota com o número {rps.numero}. Use uma série só da Prosa.", serve=False
            )
        case _:
            return _unknown(named, found)


def _unknown(about: str, found: CannotTell) -> Conferido:
    return Conferido(
        f"{about}: não deu para conferir; {found.texto or f'tente de novo ({found.motivo})'}.", serve=False
    )
