"""What a decision wants done, as data; the turn carries it out in its one commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from state_machine.machine.session import Sessao


@dataclass(frozen=True, slots=True)
class Botao:
    """A reply button: ``id`` comes back when pressed (at most 256 characters), ``titulo`` is shown (at most 20)."""

    id: str
    titulo: str


@dataclass(frozen=True, slots=True)
class Opcao:
    """A row of a list: ``id`` comes back when chosen (at most 200 characters), ``titulo`` at most 24 characters.

    ``descricao``, at most 72, says what the title could not hold.
    """

    id: str
    titulo: str
    descricao: str | None = None


@dataclass(frozen=True, slots=True)
class Mensagem:
    """One message to the user: WhatsApp-formatted text, and up to three buttons or a list of up to ten rows.

    ``outras`` say the same in other, shorter words, for when the text would be what the person read last.
    """

    texto: str
    botoes: tuple[Botao, ...] = ()
    lista: tuple[Opcao, ...] = ()
    outras: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """What comes back when one of its buttons is pressed or one of its rows is chosen."""
        return (*(botao.id for botao in self.botoes), *(linha.id for linha in self.lista))


@dataclass(frozen=True, slots=True)
class Responder:
    """Send one message; with ``unica`` at most one message of that key ever leaves."""

    mensagem: Mensagem
    unica: str | None = None


@dataclass(frozen=True, slots=True)
class Emitir:
    """Issue the invoice of this session's ``revisao``, which the user confirmed; again as another ``tentativa``."""

    revisao: int
    tentativa: int = 1


@dataclass(frozen=True, slots=True)
class RetomarEnvio:
    """Let the stored bytes of this ``revisao`` go again: certainly nobody accepted them, and they are wanted."""

    revisao: int


@dataclass(frozen=True, slots=True)
class Dispensar:
    """Never send the stored bytes of this ``revisao``: certainly nobody accepted them, and they are not wanted."""

    revisao: int


@dataclass(frozen=True, slots=True)
class EnviarArquivo:
    """Send the invoice's PDF or XML as a document."""

    emissao_id: int
    formato: Literal["pdf", "xml"]
    nome: str
    legenda: str | None = None


def file_name(numero: str, formato: str) -> str:
    """Return what a note's file is called; numbers of some cities have a slash."""
    return f"NFSe-{numero.replace('/', '-')}.{formato}"


@dataclass(frozen=True, slots=True)
class EnviarLink:
    """Send a text with an address below it that only who reads it may know: its token is opened as it leaves.

    ``link`` is the id of the link's row, ``selado`` the token, sealed.
    """

    texto: str
    link: str
    selado: str


Efeito = Responder | Emitir | RetomarEnvio | Dispensar | EnviarArquivo


@dataclass(frozen=True, slots=True)
class Decision:
    """The session after an event, and what is to be done; ``aplicado`` is false for a deliberate no-op."""

    sessao: Sessao
    efeitos: tuple[Efeito, ...] = ()
    aplicado: bool = True
