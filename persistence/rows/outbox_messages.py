"""The kinds of messages in the outbox: a text, with buttons, a list, a secret link or none, or a document; one parser.

The stored JSON is a contract with the release before and the one after: fields are added, never renamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_machine.machine.effects import Botao, EnviarArquivo, EnviarLink, Mensagem, Opcao
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Mapping

OutboxMessage = Mensagem | EnviarArquivo | EnviarLink
KINDS: dict[type[OutboxMessage], str] = {Mensagem: "texto", EnviarArquivo: "arquivo", EnviarLink: "link"}
TIPOS = frozenset(KINDS.values())  # another release's messages are those of other kinds


class MisshapenMessageError(ProsaError, ValueError):
    """An outbox row lacks what its kind needs, or has something else in that place."""

    code = "misshapen_message"


def to_payload(mensagem: OutboxMessage, de: str | None = None) -> dict[str, Any]:
    """Return the JSON to store; ``de`` is the name of the member of staff who wrote a text."""
    stored: dict[str, Any] = {"tipo": KINDS[type(mensagem)]}
    if isinstance(mensagem, EnviarArquivo | EnviarLink):
        return stored | {name: getattr(mensagem, name) for name in mensagem.__slots__}
    buttons = [{"id": botao.id, "titulo": botao.titulo} for botao in mensagem.botoes]
    rows = [{"id": linha.id, "titulo": linha.titulo, "descricao": linha.descricao} for linha in mensagem.lista]
    stored |= {"texto": mensagem.texto, "botoes": buttons} | ({"de": de} if de else {})
    return stored | ({"lista": rows} if rows else {})  # a release without lists sends the text, which names the choices


def parse(payload: Mapping[str, Any]) -> OutboxMessage:
    """Return a stored message; unknown fields are left alone. Raises ``MisshapenMessageError``."""
    match payload:
        case {"tipo": "texto", "texto": str(texto), "botoes": list(botoes)}:
            return Mensagem(texto, tuple(_button(botao) for botao in botoes), _rows(payload.get("lista", [])))
        case {"tipo": "arquivo", "emissao_id": int(emissao_id), "formato": "pdf" | "xml" as formato, "nome": str(nome)}:
            return EnviarArquivo(emissao_id, formato, nome, payload.get("legenda"))
        case {"tipo": "link", "texto": str(texto), "link": str(link), "selado": str(selado)}:
            return EnviarLink(texto, link, selado)
        case _:
            raise MisshapenMessageError(f"an outbox row of kind {payload.get('tipo')} that cannot be read")


def _button(stored: Any) -> Botao:
    match stored:
        case {"id": str(key), "titulo": str(titulo)}:
            return Botao(key, titulo)
        case _:
            raise MisshapenMessageError("a button without its id or title")


def _rows(stored: Any) -> tuple[Opcao, ...]:
    rows = []
    for row in stored if isinstance(stored, list) else [stored]:
        match row:
            case {"id": str(key), "titulo": str(titulo), "descricao": str() | None as descricao}:
                rows.append(Opcao(key, titulo, descricao))
            case _:
                raise MisshapenMessageError("a row of a list without its id or title")
    return tuple(rows)
