"""Companies, and the people who may issue for them; a phone number is an alias of a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal

import phonenumbers
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert

from persistence.access.accounts import Alcance
from persistence.db.connection import Connection
from persistence.fiscal import suspension
from persistence.people import channels, goods, services
from persistence.people.goods import Comercio
from persistence.tables import conversas, empresa, session_snapshot, usuario
from state_machine.invoice.session import ESPERAM_USUARIO, Emissor, Estado
from state_machine.protocol.channel import Canal, TipoDocumento
from state_machine.services.codes import IbsCbs, Servico
from state_machine.values.errors import ProsaError

BRAZIL = "55"
OLD_MOBILE_LENGTH = 12  # country, area code and eight digits: a mobile account from before the ninth digit
MOBILE_FIRST_DIGITS = "6789"  # landlines start with 2 to 5 and never got a ninth digit


class PhoneError(ProsaError, ValueError):
    """The text is no phone number that could exist."""

    code = "phone"


class PhoneTakenError(ProsaError, ValueError):
    """The phone number already issues for another company."""

    code = "phone_taken"


class StaleCompanyError(ProsaError):
    """Somebody else changed the company since it was read: look again, then change it."""

    code = "stale_company"


def canonical_phone(texto: str) -> str:
    """Return the digits of a phone in international form, Brazilian mobiles with their ninth digit.

    Only for comparing: nobody is ever written to at a rewritten address. Raises ``PhoneError``.
    """
    digits = "".join(c for c in texto if c.isdecimal())
    if digits.startswith(BRAZIL) and len(digits) == OLD_MOBILE_LENGTH and digits[4] in MOBILE_FIRST_DIGITS:
        digits = f"{digits[:4]}9{digits[4:]}"
    try:
        number = phonenumbers.parse(f"+{digits}")
    except phonenumbers.NumberParseException as error:
        raise PhoneError(f"{texto!r} is no phone number with country code, such as +5511912345678") from error
    if not phonenumbers.is_possible_number(number):
        raise PhoneError(f"{texto!r} is no phone number with country code, such as +5511912345678")
    return digits


Regime = Literal["mei", "simples", "simples-pendente", "normal"]


@dataclass(frozen=True, slots=True)
class Empresa:
    """A company that issues through us, with its fiscal defaults; ``aliquota`` in percent.

    ``versao`` grows with every change of its data. ``mei_transporte``: a MEI of transport, whose limit is another.
    ``serie_rps``: we number its RPS in this series, a new one from ``primeiro_rps`` on; ``None``: the gateway does.
    ``tributos_…``: the approximate burden of Lei 12.741/2012 in percent, ``tributos_sn`` of the Simples, the three of
    the normal regime. ``informa_im``: its inscription is said, since the city has it in the national register.
    ``apuracao_ibscbs``: how a company of the Simples pays IBS and CBS (regApIBSCBSSN).
    ``nbs``, ``ind_op``, ``class_trib``: cNBS, cIndOp and cClassTrib of its one code, where a city's own list has it.
    ``email_contador``: where its month goes by mail, normalised.
    ``servicos``: its codes of the national list, the main one first; none where its channel takes no such list.
    ``canal``: by which it issues its services. ``comercio``: what it says as a seller of goods, if it is one.
    """

    id: int
    cnpj: str
    razao_social: str
    inscricao_municipal: str
    municipio_ibge: str
    regime: Regime
    codigo_servico: str
    cnae: str | None
    aliquota: Decimal | None
    atualizado_em: datetime
    serie_rps: str | None = None
    primeiro_rps: int = 1
    versao: int = 1
    mei_transporte: bool = False
    tributos_sn: Decimal | None = None
    tributos_federal: Decimal | None = None
    tributos_estadual: Decimal | None = None
    tributos_municipal: Decimal | None = None
    informa_im: bool = False
    apuracao_ibscbs: str | None = None
    nbs: str | None = None
    ind_op: str | None = None
    class_trib: str | None = None
    email_contador: str | None = None
    servicos: tuple[Servico, ...] = ()
    canal: Canal = Canal()  # noqa: RUF009 - frozen
    comercio: Comercio | None = None

    @property
    def mercado(self) -> tuple[str, ...]:
        """The models of goods ("nfe", "nfce") that it issues."""
        return tuple(self.comercio.canais) if self.comercio else ()

    @property
    def emissor(self) -> Emissor:
        """The company as a session names it."""
        return Emissor(self.id, self.cnpj, self.razao_social, self.versao)

    @property
    def principal(self) -> Servico:
        """The service of the main code."""
        group = None
        if self.ind_op and self.class_trib:  # which begins with its CST
            group = IbsCbs(self.ind_op, self.class_trib[:3], self.class_trib)
        return next(iter(self.servicos), Servico(self.codigo_servico, nbs=self.nbs, ibs_cbs=group))


_BESIDE: Final = {"servicos", "canal", "comercio"}  # of other tables
COLUMNS: Final = tuple(name for name in Empresa.__slots__ if name not in _BESIDE)


def company_columns(e: str = "empresa") -> tuple[sa.ColumnElement[Any], ...]:
    """Return what a company has in other tables, for a statement in which ``e`` names its row."""
    servicos = sa.literal_column(services.column(e), ARRAY(sa.Text)).label("servicos")
    comercio = sa.literal_column(goods.column(e), JSONB).label("comercio")
    return servicos, sa.literal_column(channels.column(e), sa.Text).label("canal"), comercio


_COMPANY = sa.select(empresa, *company_columns(), sa.func.now().label("agora")).where(
    empresa.c.id == sa.bindparam("b_empresa")
)


def company_of(row: Any) -> Empresa:
    """Return the company of a row that has ``COLUMNS`` and ``company_columns`` by name, more of them or not."""
    servicos = services.read(row["codigo_servico"], row["servicos"])
    beside = servicos, channels.read(row["canal"]), goods.read(row["comercio"])
    return Empresa(*[*(row[name] for name in COLUMNS), *beside])


async def get_company(connection: Connection, empresa_id: int) -> tuple[Empresa, datetime]:
    """Return a company that is known to exist, and the moment of the transaction (aware UTC)."""
    row = (await connection.execute(_COMPANY, {"b_empresa": empresa_id})).one()
    return company_of(row), row.agora


async def save_company(
    connection: Connection,
    values: dict[str, Any],
    defaults: dict[str, Any],
    telefones: list[str],
    *,
    versao: int | None = None,
    canal: Canal | None = None,
) -> tuple[int, list[int]]:
    """Create the company or update it, and let these phones (canonical) issue for it.

    Returns its id, and the ids of the people who had no right to issue before.

    ``defaults``, and ``canal`` for its services, count only for a new company. ``versao`` is the one that the changes
    were made to, where they come from a form that showed it. Raises ``PhoneTakenError`` or ``StaleCompanyError``; then
    nothing was changed.
    """
    statement = insert(empresa).values(**{**defaults, **values})
    changed = {k: statement.excluded[k] for k in values if k != "cnpj"}
    differs = sa.or_(sa.false(), *(empresa.c[k].is_distinct_from(novo) for k, novo in changed.items()))
    known = sa.select(empresa.c.id).where(empresa.c.cnpj == values["cnpj"])
    new = (await connection.execute(known)).scalar_one_or_none() is None
    empresa_id = (
        await connection.execute(
            statement.on_conflict_do_update(
                index_elements=[empresa.c.cnpj],
                set_={
                    **changed,
                    "versao": empresa.c.versao + sa.case((differs, 1), else_=0),
                    # A colleague more is no other company: the summaries that were shown stay good.
                    "atualizado_em": sa.case((differs, sa.func.now()), else_=empresa.c.atualizado_em),
                },
                where=empresa.c.versao == versao if versao is not None else None,
            ).returning(empresa.c.id)
        )
    ).scalar_one_or_none()
    if empresa_id is None:
        raise StaleCompanyError(values["cnpj"])
    if new and canal is not None:
        await channels.choose(connection, empresa_id, canal, TipoDocumento.SERVICO)
    await suspension.lift(connection, empresa_id)  # whoever repaired the data wants to see at once whether it helped
    novos = []
    for telefone in telefones:
        novos += await allow(connection, empresa_id, telefone)
    return int(empresa_id), novos


async def allow(connection: Connection, empresa_id: int, telefone: str) -> list[int]:
    """Let a phone (canonical) issue for a company; returns its person's id if they had no right before.

    Raises ``PhoneTakenError``: nothing changed.
    """
    given = insert(usuario).values(empresa_id=empresa_id, telefone=telefone).on_conflict_do_nothing()
    novos = list((await connection.execute(given.returning(usuario.c.id))).scalars())
    owner = sa.select(usuario.c.empresa_id).where(usuario.c.telefone == telefone)
    dona = (await connection.execute(owner)).scalar_one()
    if dona != empresa_id:
        raise PhoneTakenError(telefone)
    return novos


@dataclass(frozen=True, slots=True)
class Revogado:
    """Whose right to issue was taken away: the company, the conversations' codes, and how many sessions are open.

    ``abertas`` wait for the person, and issue nothing any more; ``em_emissao`` were confirmed before, and go on.
    ``conversas`` are the conversations' own names.
    """

    empresa_id: int
    razao_social: str
    codigos: tuple[str, ...]
    abertas: int
    em_emissao: int
    conversas: tuple[str, ...] = ()


async def revoke(connection: Connection, telefone: str, alcance: Alcance) -> Revogado | None:
    """Take a phone's (canonical) right to issue away, from the commit on; ``None``: it has none that ``alcance`` holds.

    Waits for a confirmation that is being committed: it came first.
    """
    mine = sa.select(usuario.c.id, usuario.c.empresa_id).where(
        usuario.c.telefone == telefone, alcance.em(usuario.c.empresa_id)
    )
    person = (await connection.execute(mine.with_for_update())).one_or_none()
    if person is None:
        return None
    spoken = conversas.update().where(conversas.c.usuario_id == person.id).values(usuario_id=None)
    rows = (await connection.execute(spoken.returning(conversas.c.conversa, conversas.c.codigo))).all()
    await connection.execute(usuario.delete().where(usuario.c.id == person.id))
    name = sa.select(empresa.c.razao_social).where(empresa.c.id == person.empresa_id)
    s = session_snapshot.c
    theirs = sa.select(s.estado, sa.func.count().label("quantas")).group_by(s.estado)
    theirs = theirs.where(s.conversa.in_([row.conversa for row in rows]))
    count = {row.estado: row.quantas for row in await connection.execute(theirs)}
    return Revogado(
        person.empresa_id,
        (await connection.execute(name)).scalar_one(),
        tuple(str(row.codigo) for row in rows),
        sum(count.get(estado, 0) for estado in ESPERAM_USUARIO),
        count.get(Estado.PROCESSANDO, 0),
        tuple(row.conversa for row in rows),
    )
