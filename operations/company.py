"""Registers a company and the people who may issue for it, from what an operator typed; checks all of it first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

from gateway.registry import ChannelRow
from operations.protocol import CommandRefusedError
from persistence.access.accounts import Alcance
from persistence.audit import records as audit
from persistence.audit.records import Author
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people import channels, goods, services
from persistence.people import companies as people
from persistence.people.companies import Revogado
from state_machine.documents import Endereco
from state_machine.mailing.reading import NotAnAddressError, normalised
from state_machine.protocol.channel import Canal, Natureza, TipoDocumento
from state_machine.services.codes import APURACOES_IBSCBS, ATIVIDADES_SN, nbs, plain_digits
from state_machine.values.documents import CNPJ, DocumentoInvalido
from state_machine.values.text import single_line

REGIMES = ("mei", "simples", "simples-pendente", "normal")
# Most of our users are MEI; 170101 is "assessoria ou consultoria de qualquer natureza" of the national list.
DEFAULTS = {"regime": "mei", "codigo_servico": "170101"}
_IBGE = re.compile(r"(?:1[1-7]|2[1-9]|3[1235]|4[1-3]|5[0-3])\d{5}")  # the first two digits are the state's
_SERVICE = re.compile(r"\d{6}|\d{1,2}\.\d{2}")
_CITY_SERVICE = re.compile(r"\d{4,5}")  # of São Paulo's own list
_SERIES = re.compile(r"[A-Za-z0-9]{1,5}")
_CNAE = re.compile(r"\d{7}")
MAX_RATE = Decimal(5)  # percent; the ceiling of the ISS (LC 116/2003, art. 8, II)
MAX_BURDEN = Decimal(100)  # percent
MAX_SN = Decimal("99.99")  # percent; TSDec2V2 of the national layout
OUR_SERIES = "900"  # where we number and nobody says another: far from what other programs begin with


class CompanyError(CommandRefusedError):
    """Something in the form can't be right; nothing was stored."""

    code = "company"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompanyForm:
    """What an operator says of a company; ``municipio`` is the IBGE code, ``aliquota`` a percentage such as "2.5".

    ``serie_rps`` lets Prosa number the RPS in that series, from ``primeiro_rps`` on; an empty one gives the numbers
    back to the gateway.

    ``mei_transporte`` says whether a MEI's yearly limit is that of transport. ``canal`` is the channel of its invoices
    from now on. ``tributos_…``: the approximate burden, percentages such as "6". ``informa_im``: the note has its IM.
    ``apuracao_ibscbs`` (regApIBSCBSSN) and ``atividade_sn`` (cAtvSN of the main code) are of the layout of NT 009.
    ``nbs``, ``ind_op`` and ``class_trib`` are of a code of São Paulo's own list. ``mercado`` are its channels for goods
    from now on ("nfe", "nfce"), each with its series and first number. An empty ``email_contador`` is forgotten.
    What is left out keeps the value that is stored, or takes the default if the company is new.
    """

    cnpj: str
    razao_social: str
    inscricao_municipal: str
    municipio: str
    usuarios: tuple[str, ...] = ()
    regime: str | None = None
    codigo_servico: str | None = None
    cnae: str | None = None
    aliquota: str | None = None
    serie_rps: str | None = None
    primeiro_rps: int | None = None
    mei_transporte: bool | None = None
    canal: str | None = None
    tributos_sn: str | None = None
    tributos_federal: str | None = None
    tributos_estadual: str | None = None
    tributos_municipal: str | None = None
    informa_im: bool | None = None
    apuracao_ibscbs: str | None = None
    atividade_sn: str | None = None
    nbs: str | None = None
    ind_op: str | None = None
    class_trib: str | None = None
    email_contador: str | None = None
    mercado: tuple[str, ...] = ()
    inscricao_estadual: str | None = None
    serie_nfe: int | None = None
    primeiro_nfe: int | None = None
    serie_nfce: int | None = None
    primeiro_nfce: int | None = None


def checked(form: CompanyForm) -> tuple[dict[str, object], list[str]]:
    """Return the company's columns and its people's canonical phones; raises ``CompanyError``."""
    try:
        cnpj = CNPJ(form.cnpj).numero
    except DocumentoInvalido as error:
        raise _refusal(
            f"--cnpj {form.cnpj}: os dígitos verificadores não conferem, ou falta algum caractere"
        ) from error
    razao_social, inscricao_municipal = single_line(form.razao_social), single_line(form.inscricao_municipal)
    _require(bool(razao_social), "--razao-social está vazia")
    _require(bool(inscricao_municipal), "--inscricao-municipal está vazia")
    _require(
        bool(_IBGE.fullmatch(form.municipio)),
        "--municipio é o código IBGE da cidade: 7 dígitos que começam pelos do estado, como 3550308",
    )
    _require(form.regime in {None, *REGIMES}, f"--regime é um destes: {', '.join(REGIMES)}")
    _require(
        form.codigo_servico is None
        or bool((_CITY_SERVICE if form.canal == "paulistana" else _SERVICE).fullmatch(form.codigo_servico)),
        "--codigo-servico são 6 dígitos da lista nacional (170101) ou um item da LC 116 (17.01); no canal paulistana, "
        "4 ou 5 da lista da prefeitura (02658)",
    )
    _require(
        not form.serie_rps or bool(_SERIES.fullmatch(form.serie_rps)), "--serie-rps tem de 1 a 5 letras ou dígitos"
    )
    _require(form.primeiro_rps is None or form.primeiro_rps > 0, "--primeiro-rps é um número acima de zero")
    _require(
        form.apuracao_ibscbs in {None, *APURACOES_IBSCBS},
        "--reg-apuracao-ibscbs é 1 (IBS e CBS no Simples), 2 (a CBS no Simples) ou 3 (os dois fora)",
    )
    _require(form.atividade_sn in {None, *ATIVIDADES_SN}, f"--atividade-sn é uma destas: {', '.join(ATIVIDADES_SN)}")
    cnae = re.sub(r"[^0-9]", "", form.cnae) if form.cnae else None
    _require(cnae is None or bool(_CNAE.fullmatch(cnae)), "--cnae tem 7 dígitos")
    try:
        phones = [people.canonical_phone(phone) for phone in form.usuarios]
    except people.PhoneError as error:
        raise _refusal(f"--usuario: {error}") from error
    columns: dict[str, object] = {
        "cnpj": cnpj,
        "razao_social": razao_social,
        "inscricao_municipal": inscricao_municipal,
        "municipio_ibge": form.municipio,
        "regime": form.regime,
        "codigo_servico": form.codigo_servico,
        "cnae": cnae,
        "aliquota": _percent("--aliquota", form.aliquota, MAX_RATE, "0 a 5, o teto do ISS"),
        "primeiro_rps": form.primeiro_rps,
        "mei_transporte": form.mei_transporte,
        "tributos_sn": _percent("--tributos-sn", form.tributos_sn, MAX_SN),
        "tributos_federal": _percent("--tributos-federal", form.tributos_federal),
        "tributos_estadual": _percent("--tributos-estadual", form.tributos_estadual),
        "tributos_municipal": _percent("--tributos-municipal", form.tributos_municipal),
        "informa_im": form.informa_im,
        "apuracao_ibscbs": form.apuracao_ibscbs,
        "nbs": _code("--nbs", form.nbs, nbs, "9 dígitos, como 118054000"),
        "ind_op": _code("--cindop", form.ind_op, _six, "6 dígitos, como 100301"),
        "class_trib": _code("--cclasstrib", form.class_trib, _six, "6 dígitos, como 000001"),
    }
    said = {name: value for name, value in columns.items() if value is not None}
    if form.serie_rps is not None:
        said["serie_rps"] = form.serie_rps or None
    if form.email_contador is not None:
        said["email_contador"] = _address(form.email_contador)
    return said, phones


def one_series(natureza: Natureza, serie: str) -> str:
    """Return a series as its channel counts it: where we number it is a number, and 00900 is 900."""
    return str(int(serie)) if natureza.numbers == "we" and serie.isdecimal() else serie


async def left_out(connection: Connection, row: ChannelRow | None, company: Any) -> list[str]:
    """Say what the notes of a registered company (its row) will lack on a channel, although they are accepted."""
    own = await services.of_company(connection, company.id, company.codigo_servico)
    said = row.left_out(company, own) if row else None
    return [f"Saiba: {said}."] if said else []


async def add_company(
    database: Database,
    form: CompanyForm,
    canal: Canal | None = None,
    rows: Mapping[str, ChannelRow] = MappingProxyType({}),
    endereco: Endereco | None = None,
) -> int:
    """Store the company and its people, or update them; returns its id. Raises ``CompanyError``: nothing changed.

    ``canal`` is that of a new company whose form says none; a known one keeps its own. ``rows``: the known channels,
    which say what they ask of a company; where we number, a company without a series gets ``OUR_SERIES``. ``endereco``
    is that of the register, which invoices for goods carry.
    Who may issue from now on is audited in the same commit, by the ids of their rows.
    """
    columns, phones = checked(form)
    _require(form.canal in {None, *rows}, f"--canal é um destes: {', '.join(rows)}")
    try:
        async with database.transaction() as connection:
            known = await channels.company(connection, str(columns["cnpj"]))
            before = await channels.chosen(connection, known.id) if known else canal
            after = Canal(form.canal) if form.canal and (before is None or before.nome != form.canal) else before
            row = rows.get(after.nome) if after else None
            if row and row.natureza.numbers == "we" and not (known and known.serie_rps) and form.serie_rps is None:
                columns["serie_rps"] = OUR_SERIES
            elif row and form.serie_rps and not (known and known.serie_rps == form.serie_rps):
                columns["serie_rps"] = one_series(row.natureza, form.serie_rps)  # a stored one keeps its numbers
            empresa_id, novos = await people.save_company(connection, columns, DEFAULTS, phones, canal=after)
            if known and after and after != before:
                await channels.choose(connection, empresa_id, after, TipoDocumento.SERVICO)
                await audit.write(
                    connection,
                    staff_id=None,
                    quem="linha de comando",
                    acao="mudou o canal",
                    empresa_id=empresa_id,
                    detalhe={"documento": TipoDocumento.SERVICO, "canal": after.nome, "ambiente": after.ambiente},
                )
            stored = await channels.company(connection, str(columns["cnpj"]))
            if form.atividade_sn is not None:
                main = (await services.of_company(connection, empresa_id, stored.codigo_servico))[0]
                await services.keep(connection, empresa_id, replace(main, atividade_sn=form.atividade_sn))
            if row and (complaint := row.unfit(stored)) is not None:
                raise _refusal(complaint)
            await _sells(connection, stored, form, rows, endereco)
            if novos:
                await audit.write(
                    connection,
                    staff_id=None,
                    quem="linha de comando",
                    acao="deu direito de emitir",
                    empresa_id=empresa_id,
                    detalhe={"usuarios": novos},
                )
            return empresa_id
    except people.PhoneTakenError as error:
        raise _refusal(f"--usuario {error}: este número já emite por outra empresa") from error


def _seller_columns(
    inscricao_estadual: str | None,
    series: Mapping[str, int | None],
    primeiros: Mapping[str, int | None],
    endereco: Endereco | None,
) -> dict[str, Any]:
    """Return the columns of what was said of a seller, by model ("nfe", "nfce"). Raises ``CompanyError``."""
    ie = "".join(c for c in inscricao_estadual or "" if c.isalnum()).upper()
    if inscricao_estadual is not None and not (2 <= len(ie) <= 14 and ie.isdigit()):  # noqa: PLR2004 - TIe
        raise CompanyError("--inscricao-estadual são 2 a 14 algarismos, como no cadastro da Sefaz. Nada foi gravado.")
    for modelo, serie in series.items():
        if serie is not None and not 1 <= serie <= 889:  # noqa: PLR2004 - 890 on are the authority's own
            raise CompanyError(f"--serie-{modelo} é um número de 1 a 889, e só da Prosa. Nada foi gravado.")
    for modelo, primeiro in primeiros.items():
        if primeiro is not None and not 1 <= primeiro < 10**9:
            raise CompanyError(f"--primeiro-{modelo} é um número de 1 a 999999999. Nada foi gravado.")
    return {
        "inscricao_estadual": ie or None,
        **{f"serie_{modelo}": serie for modelo, serie in series.items()},
        **{f"primeiro_{modelo}": primeiro for modelo, primeiro in primeiros.items()},
        "endereco": asdict(endereco) if endereco else None,
    }


async def _sells(
    connection: Connection, company: Any, form: CompanyForm, rows: Mapping[str, ChannelRow], endereco: Endereco | None
) -> None:
    """Keep what was said of a company as a seller of goods, and its channels for them. Raises ``CompanyError``."""
    said = _seller_columns(
        form.inscricao_estadual,
        {"nfe": form.serie_nfe, "nfce": form.serie_nfce},
        {"nfe": form.primeiro_nfe, "nfce": form.primeiro_nfce},
        endereco,
    )
    known = await goods.seller(connection, company.id)
    if not form.mercado and (known is None or not any(value is not None for value in said.values())):
        _require(form.inscricao_estadual is None, "--inscricao-estadual é de quem emite nota de produto: --canal nfe")
        return
    _require(known is not None or said["inscricao_estadual"] is not None, "--canal nfe pede --inscricao-estadual")
    for nome in form.mercado:
        if (complaint := rows[nome].unfit(company)) is not None:
            raise _refusal(complaint)
    await goods.save_seller(connection, company.id, said)
    for nome in form.mercado:
        tipo = rows[nome].natureza.documento
        before = await channels.chosen(connection, company.id, tipo)
        if before.nome == nome:
            continue
        await channels.choose(connection, company.id, Canal(nome), tipo)
        detalhe = {"documento": tipo, "canal": nome, "ambiente": None}
        await audit.write(
            connection,
            staff_id=None,
            quem="linha de comando",
            acao="mudou o canal",
            empresa_id=company.id,
            detalhe=detalhe,
        )


async def change_company(
    connection: Connection, company: Any, form: CompanyForm, rows: Mapping[str, ChannelRow], author: Author
) -> list[str]:
    """Change what a company is, by the command's rules and its channel's. Raises ``CompanyError``: nothing changed.

    The audit names the columns and no value: a MEI's name is a person's.
    """
    columns, _ = checked(form)
    campos = sorted(name for name, value in columns.items() if value != getattr(company, name))
    if not campos:
        return ["Era isso mesmo que estava guardado; nada mudou."]
    await people.save_company(connection, columns, DEFAULTS, [])
    row = rows.get((await channels.chosen(connection, company.id)).nome)
    stored = await channels.company(connection, company.cnpj)
    if row and (complaint := row.unfit(stored)) is not None:
        raise _refusal(complaint)
    await audit.write_by(connection, author, "mudou o cadastro", company.id, {"campos": campos})
    told = "O cadastro mudou. Os resumos já mostrados são mostrados de novo; as notas confirmadas seguem como são."
    return [told, *await left_out(connection, row, stored)]


async def add_user(connection: Connection, company: Any, telefone: str, alcance: Alcance, author: Author) -> list[str]:
    """Let a phone issue for a company, audited by its person's id. Raises ``CompanyError``: nothing changed.

    ``alcance`` is what the asker may see. A phone issues for one company only, so whether it may tells of the others:
    who sees some of them gets one answer, whatever the phone.
    """
    if not alcance.todas:
        raise CompanyError("Quem deixa um telefone emitir é quem vê todas as empresas. Peça a essa pessoa. Nada mudou.")
    try:
        canonical = people.canonical_phone(telefone)
        novos = await people.allow(connection, company.id, canonical)
    except people.PhoneError as error:
        raise CompanyError("Diga o telefone com o país, como +5511912345678. Nada mudou.") from error
    except people.PhoneTakenError as error:
        raise CompanyError("Este número já emite por outra empresa. Nada mudou.") from error
    if not novos:
        return [f"Este telefone já emite por {company.razao_social}; nada mudou."]
    await audit.write_by(connection, author, "deu direito de emitir", company.id, {"usuarios": novos})
    return [f"O telefone emite por {company.razao_social} a partir de agora."]


async def remove_user(
    connection: Connection, telefone: str, motivo: str, alcance: Alcance, *, quem: str, staff_id: int | None
) -> Revogado:
    """Take a phone's right to issue away, with the audit in the same commit. Raises ``CompanyError``: nothing changed.

    ``alcance`` is what the asker may see; a phone of another company is as unknown as one that never issued.
    """
    try:
        canonical = people.canonical_phone(telefone)
    except people.PhoneError as error:
        raise CompanyError("Diga o telefone com o país, como +5511912345678. Nada mudou.") from error
    done = await people.revoke(connection, canonical, alcance)
    if done is None:
        raise CompanyError("Este telefone não emite por nenhuma empresa. Nada mudou.")
    await audit.write(
        connection,
        staff_id=staff_id,
        quem=quem,
        acao="removeu usuário",
        alvo=done.codigos[0] if done.codigos else None,
        empresa_id=done.empresa_id,
        motivo=motivo,
        detalhe={"conversas": list(done.codigos), "abertas": done.abertas, "em_emissao": done.em_emissao},
    )
    return done


def told(done: Revogado) -> str:
    """Say in pt-BR what became of a phone's right to issue and of what it had begun."""
    said = [f"O telefone não emite mais por {done.razao_social}."]
    if done.abertas:
        said.append(f"Notas que esperavam a pessoa e não serão emitidas: {done.abertas}.")
    if done.em_emissao:
        said.append(f"Notas já confirmadas, que seguem até o resultado: {done.em_emissao}.")
    return " ".join(said)


def _percent(option: str, texto: str | None, most: Decimal = MAX_BURDEN, span: str = "0 a 100") -> Decimal | None:
    if texto is None:
        return None
    try:
        rate = Decimal(texto.replace(",", "."))
    except InvalidOperation as error:
        raise _refusal(f"{option} é uma porcentagem, como 2.5") from error
    _require(rate.is_finite() and Decimal(0) <= rate <= most, f"{option} é uma porcentagem de {span}")
    return rate


def _address(texto: str) -> str | None:
    try:
        return normalised(texto) if texto.strip() else None
    except NotAnAddressError as error:
        raise _refusal(f"o e-mail do contador {error}, como contato@exemplo.com.br") from error


def _six(codigo: str) -> str:
    return plain_digits(codigo, 6)


def _code(option: str, texto: str | None, read: Callable[[str], str], shape: str) -> str | None:
    try:
        return None if texto is None else read(texto)
    except ValueError as error:
        raise _refusal(f"{option} tem {shape}; a contabilidade sabe") from error


def _require(fits: bool, complaint: str) -> None:
    if not fits:
        raise _refusal(complaint)


def _refusal(complaint: str) -> CompanyError:
    return CompanyError(f"{complaint}. Nada foi gravado.")
