"""The search: one box for everything that people have in hand; a single find opens at once.

Tells what somebody typed into the search: a phone, a document, a session, a message, a note, a name, an amount.
"""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, assert_never
from urllib.parse import urlencode

from aiohttp import web

from persistence.access.accounts import Alcance
from persistence.crypto import Lugar, NoMasterKeyError, UnreadableSecretError, is_sealed
from persistence.db.connection import Connection
from persistence.staff import case as staff_orders
from persistence.staff import search as staff_search
from state_machine.values.documents import DocumentoInvalido, parse_documento
from webhooks.console.access.visit import Visita, see_other
from webhooks.console.render.format import Olhar


class TermKind(StrEnum):
    """What a text may be; several at once where nobody can tell."""

    SESSAO = "sessão"
    REFERENCIA = "referência"
    WAMID = "mensagem"
    DOCUMENTO = "CNPJ ou CPF"
    TELEFONE = "telefone"
    NOTA = "número da nota"
    VALOR = "valor"
    NOME = "nome ou empresa"


_SESSAO: Final = re.compile(r"\d{6}-[0-9a-f]{8}")
_REFERENCIA: Final = re.compile(r"\d{6}-[0-9a-f]{8}-r\d+-\d+")
_PHONE_DIGITS: Final = range(8, 14)  # from a bare number to country, area and ninth digit
_NOTE_DIGITS: Final = range(1, 16)
# "R$ 640", "3.331,86", "640,00": a bare number is a note's or a phone's, and an amount too where it is short.
_VALOR: Final = re.compile(
    r"(?:r\$ ?)?(?P<inteiro>\d{1,3}(?:\.\d{3}){1,3}|\d{1,10})(?:,(?P<centavos>\d{2}))?", re.IGNORECASE
)
_NOME: Final = re.compile(r"[^\W_][\w .&'’-]{2,59}")


def terms(texto: str) -> list[tuple[TermKind, str]]:
    """Return what the text may be, each with the value to look for; an empty list: nothing that is searched for."""
    limpo = texto.strip()
    if limpo.startswith("wamid."):
        return [(TermKind.WAMID, limpo)]
    if _REFERENCIA.fullmatch(limpo.lower()):
        return [(TermKind.REFERENCIA, limpo.lower())]
    if _SESSAO.fullmatch(limpo.lower()):
        return [(TermKind.SESSAO, limpo.lower())]
    found: list[tuple[TermKind, str]] = []
    with suppress(DocumentoInvalido):
        found.append((TermKind.DOCUMENTO, parse_documento(limpo).numero))
    digits = "".join(c for c in limpo if c.isascii() and c.isdigit())
    only_digits = not re.sub(r"[\d\s()+.\-/]", "", limpo)
    if only_digits and len(digits) in _PHONE_DIGITS:
        found.append((TermKind.TELEFONE, digits))
    if limpo.isascii() and limpo.isdigit() and len(limpo) in _NOTE_DIGITS:
        found.append((TermKind.NOTA, limpo))
    if (valor := _VALOR.fullmatch(limpo)) and limpo.isascii():
        found.append((TermKind.VALOR, f"{valor['inteiro'].replace('.', '')}.{valor['centavos'] or '00'}"))
    if not found and _NOME.fullmatch(limpo) and any(letra.isalpha() for letra in limpo):
        found.append((TermKind.NOME, limpo))
    return found


TYPED: Final = 200  # characters


async def ask(visita: Visita) -> web.StreamResponse:
    """Take what was typed to an address that tells nothing: addresses stay in histories and logs, documents may not."""
    q = await visita.campo("q", TYPED)
    if not visita.deps.cofre:  # nothing to seal it with: the answer itself, at this address
        return await _found(visita, q)
    sealed = visita.deps.cofre.seal(q, _place(visita))
    return see_other(f"/console/busca?{urlencode({'b': sealed})}")


async def show(visita: Visita) -> web.StreamResponse:
    """Show what was found, or the one case itself; an address of another's search, or an old one, searches nothing."""
    sealed, q = visita.request.query.get("b", ""), ""
    if is_sealed(sealed):
        with suppress(UnreadableSecretError, NoMasterKeyError):
            q = visita.deps.cofre.open(sealed, _place(visita))
    return await _found(visita, q)


def _place(visita: Visita) -> Lugar:
    """A search opens for who typed it."""
    return Lugar("busca", "b", str(visita.staff.id))


async def _found(visita: Visita, q: str) -> web.StreamResponse:
    found: dict[str, Any] = {}
    contacts: dict[Any, Any] = {}
    pedidos: list[Any] = []
    wanted = terms(q)
    async with visita.deps.database.transaction() as connection:
        for tipo, value in wanted:
            rows = await _find(connection, visita.staff.alcance, tipo, value)
            found |= {row.sessao_id: row for row in rows if row.sessao_id not in found}
            if tipo is TermKind.TELEFONE:
                people = await staff_search.contacts_by_phone(connection, visita.staff.alcance, value)
                contacts |= {row.codigo: row for row in people}
        if q:
            pedidos = await staff_orders.named(connection, visita.staff.alcance, q, staff_search.LIMIT)
    cases = [*found, *(row.sessao_id for row in pedidos)]
    if len(cases) == 1 and not contacts:
        raise web.HTTPSeeOther(f"/console/sessoes/{cases[0]}")
    if len(contacts) == 1 and not cases:
        raise web.HTTPSeeOther(f"/console/contatos/{next(iter(contacts))}")
    return visita.pagina(
        "busca.html",
        busca=q,
        tipos=[tipo for tipo, _ in wanted],
        linhas=list(found.values()),
        contatos=list(contacts.values()),
        pedidos=pedidos,
        origens=visita.deps.origins,
        olhar=Olhar(),
    )


async def _find(connection: Connection, alcance: Alcance, tipo: TermKind, value: str) -> list[Any]:
    match tipo:
        case TermKind.SESSAO:
            return await staff_search.by_session(connection, alcance, value)
        case TermKind.REFERENCIA:
            return await staff_search.by_reference(connection, alcance, value)
        case TermKind.WAMID:
            return await staff_search.by_wamid(connection, alcance, value)
        case TermKind.DOCUMENTO:
            return await staff_search.by_document(connection, alcance, value)
        case TermKind.TELEFONE:
            return await staff_search.by_phone(connection, alcance, value)
        case TermKind.NOTA:
            return await staff_search.by_note(connection, alcance, value)
        case TermKind.VALOR:
            return await staff_search.by_amount(connection, alcance, Decimal(value))
        case TermKind.NOME:
            return await staff_search.by_name(connection, alcance, value)
        case _:
            assert_never(tipo)
