"""Companies, the people who may issue for them, and conversations; a phone number is only an alias of a person."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import phonenumbers
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence import suspension
from persistence.tables import cancelamento, conversas, empresa, usuario
from state_machine.cancelamento import CONVERSANDO

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from persistence.connection import Connection

BRAZIL = "55"
APAGADO = "apagado"  # the address of a conversation whose person was erased: nothing goes there
OLD_MOBILE_LENGTH = 12  # country, area code and eight digits: a mobile account from before the ninth digit
PHONES = 4096  # numbers remembered: each turn asks twice what its own is called
MOBILE_FIRST_DIGITS = "6789"  # landlines start with 2 to 5 and never got a ninth digit


class PhoneError(ValueError):
    """The text is no phone number that could exist."""


class PhoneTakenError(ValueError):
    """The phone number already issues for another company."""


class StaleCompanyError(Exception):
    """Somebody else changed the company since it was read: look again, then change it."""


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


Regime = Literal["mei", "simples", "normal"]


@dataclass(frozen=True, slots=True)
class Empresa:
    """A company that issues through us, with its fiscal defaults; ``aliquota`` in percent.

    ``serie_rps``: we number its RPS in this series, a new one from ``primeiro_rps`` on; ``None``: the gateway does.
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


@dataclass(frozen=True, slots=True)
class Conversa:
    """A conversation as stored, at ``agora``; ``empresa`` is ``None`` for a number that we don't know."""

    conversa: str
    endereco: str
    empresa: Empresa | None
    orientada_em: datetime | None
    agora: datetime
    atendida: bool = False  # by staff: the bot is silent
    cancelando: bool = False  # a cancellation waits for its next word


@dataclass(frozen=True, slots=True)
class Contato:
    """Who writes, as a webhook tells: ``endereco`` is the exact address to answer to."""

    conversa: str
    phone_number_id: str
    endereco: str
    wa_id: str | None
    nome_perfil: str | None


async def greet(connection: Connection, contato: Contato, mensagens: int) -> datetime:
    """Note that this conversation spoke; its person is found by phone, or stays the one that it was.

    Returns the moment of the transaction, by the database's clock (aware UTC).
    """
    agora: datetime = (await connection.execute(*_greeting(contato, mensagens))).scalar_one()
    return agora


def greet_later(connection: Connection, contato: Contato, mensagens: int) -> None:
    """Do the same at the end of the transaction."""
    connection.later(*_greeting(contato, mensagens))


def _greeting(contato: Contato, mensagens: int) -> tuple[Any, dict[str, Any]]:
    telefone = _canonical_or_none(contato.wa_id)
    return _GREET[telefone is not None], {
        "b_conversa": contato.conversa,
        "b_phone_number_id": contato.phone_number_id,
        "b_endereco": contato.endereco,
        "b_wa_id": contato.wa_id,
        "b_nome_perfil": contato.nome_perfil,
        "b_mensagens": mensagens,
        "b_telefone": telefone,
    }


def _greet(*, by_phone: bool) -> Any:
    told: dict[str, Any] = {name: sa.bindparam(f"b_{name}") for name in ("endereco", "wa_id", "nome_perfil")}
    told["ultima_entrada_em"] = sa.func.now()
    if by_phone:
        told["usuario_id"] = (
            sa.select(usuario.c.id).where(usuario.c.telefone == sa.bindparam("b_telefone")).scalar_subquery()
        )
    new: dict[str, Any] = {name: sa.bindparam(f"b_{name}") for name in ("conversa", "phone_number_id", "mensagens")}
    return (
        insert(conversas)
        .values(**new, **told)
        .on_conflict_do_update(
            index_elements=[conversas.c.conversa],
            set_={**told, "mensagens": conversas.c.mensagens + sa.bindparam("b_mensagens")},
        )
        .returning(sa.func.now())
    )


# Made once: composing a statement costs more than running it.
_GREET = {by_phone: _greet(by_phone=by_phone) for by_phone in (True, False)}


async def find_conversation(connection: Connection, contato: Contato) -> Conversa:
    """Return what we know of who writes: by phone when Meta gives one, else by what the conversation was before."""
    telefone = _canonical_or_none(contato.wa_id)
    values = {"b_conversa": contato.conversa, "b_telefone": telefone}
    row = (await connection.execute(_FIND[telefone is not None], values)).one()
    return Conversa(
        contato.conversa,
        contato.endereco,
        _empresa(row) if row.id else None,
        row.orientada_em,
        row.agora,
        row.atendida,
        row.cancelando,
    )


def _find(*, by_phone: bool) -> Any:
    this = conversas.c.conversa == sa.bindparam("b_conversa")
    por_conversa = sa.select(conversas.c.usuario_id).where(this).scalar_subquery()
    quem = usuario.c.telefone == sa.bindparam("b_telefone") if by_phone else usuario.c.id == por_conversa
    orientada = sa.select(conversas.c.orientada_em).where(this).scalar_subquery()
    atendida = sa.exists().where(this, conversas.c.atendente_id.is_not(None))
    one = sa.select(sa.literal(1).label("one")).subquery()
    cancelando = sa.exists().where(
        cancelamento.c.conversa == sa.bindparam("b_conversa"), cancelamento.c.estado.in_(CONVERSANDO)
    )
    columns = (
        orientada.label("orientada_em"),
        atendida.label("atendida"),
        cancelando.label("cancelando"),
        sa.func.now().label("agora"),
    )
    return sa.select(*columns, empresa).select_from(
        one.outerjoin(usuario, quem).outerjoin(empresa, empresa.c.id == usuario.c.empresa_id)
    )


_FIND = {by_phone: _find(by_phone=by_phone) for by_phone in (True, False)}

_ORIENTED = (
    conversas.update().where(conversas.c.conversa == sa.bindparam("b_conversa")).values(orientada_em=sa.func.now())
)
_COMPANY = sa.select(empresa, sa.func.now().label("agora")).where(empresa.c.id == sa.bindparam("b_empresa"))


def _empresa(row: Any) -> Empresa:
    return Empresa(
        row.id,
        row.cnpj,
        row.razao_social,
        row.inscricao_municipal,
        row.municipio_ibge,
        row.regime,
        row.codigo_servico,
        row.cnae,
        row.aliquota,
        row.atualizado_em,
        row.serie_rps,
        row.primeiro_rps,
    )


@lru_cache(PHONES)
def _canonical_or_none(wa_id: str | None) -> str | None:
    try:
        return canonical_phone(wa_id) if wa_id else None
    except PhoneError:
        return None


def mark_oriented(connection: Connection, conversa: str) -> None:
    """Note at the end of the transaction that an unknown number got its kind answer just now."""
    connection.later(_ORIENTED, {"b_conversa": conversa})


async def get_company(connection: Connection, empresa_id: int) -> tuple[Empresa, datetime]:
    """Return a company that is known to exist, and the moment of the transaction (aware UTC)."""
    row = (await connection.execute(_COMPANY, {"b_empresa": empresa_id})).one()
    return _empresa(row), row.agora


async def save_company(
    connection: Connection,
    values: dict[str, Any],
    defaults: dict[str, Any],
    telefones: list[str],
    *,
    versao: int | None = None,
) -> int:
    """Create the company or update it, and let these phones (canonical) issue for it; returns its id.

    ``defaults`` count only for a new company. ``versao`` is the one that the changes were made to, where they come from
    a form that showed it. Raises ``PhoneTakenError`` or ``StaleCompanyError``; then nothing was changed.
    """
    statement = insert(empresa).values(**{**defaults, **values})
    changed = {k: statement.excluded[k] for k in values if k != "cnpj"}
    differs = sa.or_(sa.false(), *(empresa.c[k].is_distinct_from(novo) for k, novo in changed.items()))
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
    await suspension.lift(connection, empresa_id)  # whoever repaired the data wants to see at once whether it helped
    for telefone in telefones:
        await connection.execute(
            insert(usuario).values(empresa_id=empresa_id, telefone=telefone).on_conflict_do_nothing()
        )
        dona = (
            await connection.execute(sa.select(usuario.c.empresa_id).where(usuario.c.telefone == telefone))
        ).scalar_one()
        if dona != empresa_id:
            raise PhoneTakenError(telefone)
    return int(empresa_id)


async def unknown_contacts(connection: Connection, limit: int = 100) -> list[Any]:
    """List conversations of numbers that belong to no company, the most recent first."""
    statement = (
        sa.select(
            conversas.c.wa_id,
            conversas.c.endereco,
            conversas.c.nome_perfil,
            conversas.c.mensagens,
            conversas.c.criado_em,
            conversas.c.ultima_entrada_em,
        )
        .where(conversas.c.usuario_id.is_(None), conversas.c.endereco != APAGADO)
        .order_by(conversas.c.ultima_entrada_em.desc())
        .limit(limit)
    )
    return list(await connection.execute(statement))
