"""What can happen to a session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from state_machine.invoice.choices import Costume, NotaIgual
from state_machine.invoice.draft import Cadastro, Rascunho
from state_machine.invoice.fields import Campo, Candidate, Doubt
from state_machine.invoice.session import Emissor, Mensagem
from state_machine.values.text import Escrita


@dataclass(frozen=True, slots=True)
class Abriu:
    """The first message of a new session; ``base`` is the draft of an ended session repaired or repeated."""

    base: Rascunho | None = None
    corrigir: Campo | None = None  # the field that the authority refused
    igual_a: str | None = None  # the number of the issued invoice whose data ``base`` has
    proposta: bool = False  # ``base`` is what another system proposes


@dataclass(frozen=True, slots=True)
class Informou:
    """The user said something about the invoice; ``cadastro`` is the register's word on a document in it.

    ``escritas`` are the messages that were read together, oldest first; ``comum`` is the company's usual amount in BRL.
    ``costume`` is what is usually invoiced to the client: it is offered, never taken over.
    """

    candidates: tuple[Candidate, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    clear: frozenset[Campo] = frozenset()
    cadastro: Cadastro | None = None
    escritas: tuple[Escrita, ...] = ()
    comum: Decimal | None = None
    costume: Costume | None = None


@dataclass(frozen=True, slots=True)
class Confirmou:
    """The user said yes: by a button bound to ``revisao``, or in words (``None``) written at ``escrita_em``.

    ``visto`` is false when neither summary nor question of the present revision had reached WhatsApp before the words
    were written. ``igual`` is an invoice of the same content that the company confirmed not long ago, or that is still
    undecided. ``cadastro`` is the register's word on a document that the yes takes, ``costume`` what is usual with it.
    ``leitura`` is the reading of the amount that the button named, where the summary showed two.
    ``esquecida``: the database may have forgotten since that the summary was confirmed. ``outra`` are the words that
    order one more invoice behind the yes.
    """

    revisao: int | None
    escrita_em: datetime | None = None
    visto: bool = True
    igual: NotaIgual | None = None
    cadastro: Cadastro | None = None
    costume: Costume | None = None
    esquecida: bool = False
    leitura: str | None = None
    outra: str | None = None


@dataclass(frozen=True, slots=True)
class Escolheu:
    """The user pressed a reading of the field in doubt, or that it is another one (``valor`` is ``None``).

    ``revisao`` is the one at which it was shown; ``cadastro`` is the register's word on a document that it takes,
    ``costume`` what is usual with it.
    """

    campo: Campo
    valor: str | None
    revisao: int | None
    cadastro: Cadastro | None = None
    costume: Costume | None = None


@dataclass(frozen=True, slots=True)
class Negou:
    """The user said no to the summary, or to the only reading of a field."""


@dataclass(frozen=True, slots=True)
class Cancelou:
    """The user gave the invoice up, by a button or in words (``escrita_em``: when they were written)."""

    escrita_em: datetime | None = None


@dataclass(frozen=True, slots=True)
class PediuCorrecao:
    """The user pressed *Corrigir*, or said that something is wrong without saying what."""


@dataclass(frozen=True, slots=True)
class Conversou:
    """Small talk, or words that we could not place; nothing about the invoice.

    ``saudacao`` is the first question of an empty draft that it opens.
    """

    saudacao: Mensagem | None = None


@dataclass(frozen=True, slots=True)
class PediuAjuda:
    """The user asked something that changes no invoice; ``resposta`` answers it, ``None``: what can be done here.

    ``retem``: it asked for something that the invoice would lack, so that no summary shown so far may be confirmed;
    ``sem`` is what, where known.
    ``aberto``: the answer ends with what is open, the question or the summary.
    """

    resposta: Mensagem | None = None
    retem: bool = False
    aberto: bool = False
    sem: str | None = None


@dataclass(frozen=True, slots=True)
class MandouArquivo:
    """Audio, photo, sticker or another message without words; ``tipo`` is Meta's name for it."""

    tipo: str


@dataclass(frozen=True, slots=True)
class Encaminhou:
    """Words that the user forwarded or edited and that give no data: whatever they are, they are no yes and no no."""


@dataclass(frozen=True, slots=True)
class Editou:
    """A message that was read before was edited: ``mensagem`` is its wamid, ``dito`` what it says now.

    Either is ``None`` when the notice did not tell it.
    """

    mensagem: str | None
    dito: Informou | None = None


@dataclass(frozen=True, slots=True)
class Apagou:
    """The user deleted a message that was read before."""

    mensagem: str


@dataclass(frozen=True, slots=True)
class MudouEmissor:
    """The user's number issues for another company than the session's, or that one's data or channel changed.

    ``None``: the number issues for no company any more.
    """

    emissor: Emissor | None


@dataclass(frozen=True, slots=True)
class NaoCabe:
    """The company's channel could never send the invoice as it stands: ``porque`` in plain words, no full stop.

    ``campo`` is what the user can change; ``None``: it is the company's registration that has to be repaired.
    """

    porque: str
    campo: Campo | None = None


@dataclass(frozen=True, slots=True)
class PerdeuMensagem:
    """A message of the user could not be read and was set aside: what they said with it is not in the data."""


@dataclass(frozen=True, slots=True)
class PrazoVencido:
    """The deadline passed while the session waited for the user."""


@dataclass(frozen=True, slots=True)
class NotaAutorizada:
    """The authority issued the invoice; ``outras`` are the numbers of notes that stand for the same confirmation.

    ``aviso`` is what else its person should know now; it is part of the caption of the PDF.
    """

    numero: str
    emissao_id: int
    outras: tuple[str, ...] = ()
    aviso: str | None = None


@dataclass(frozen=True, slots=True)
class NotaRejeitada:
    """The authority refused; ``motivo`` in plain words, ``campo`` the field to mend where one is to blame.

    ``troca``: it takes no other note in the place of the one that the invoice names.
    """

    motivo: str
    campo: Campo | None
    troca: bool = False


@dataclass(frozen=True, slots=True)
class EmissaoFalhou:
    """A definite technical failure, or reconciliation handed to a human."""

    mensagem: str


@dataclass(frozen=True, slots=True)
class EmissaoParada:
    """Nothing is sent until the invoice's person says that it is wanted: for a day nobody accepted it, for certain.

    With ``outra``, the number of a note: the refused invoice that this one mends was authorised after all.
    """

    outra: str | None = None


@dataclass(frozen=True, slots=True)
class QuisAinda:
    """The person, or staff, want the invoice that waits for their word; ``parada`` is false when it no longer does.

    ``autorizado`` is false when the person may no longer issue for the invoice's company.
    """

    parada: bool = True
    autorizado: bool = True


@dataclass(frozen=True, slots=True)
class NaoQuisMais:
    """The person gave the invoice up that waits for their word; ``parada`` and ``autorizado`` as above."""

    parada: bool = True
    autorizado: bool = True


@dataclass(frozen=True, slots=True)
class EmissaoDemorou:
    """The authority takes longer than people wait without a word.

    ``motivo`` is what the company must repair before anything goes out, in plain words; ``None`` where it is only slow.
    ``incerta``: the note may exist.
    """

    motivo: str | None = None
    incerta: bool = False


@dataclass(frozen=True, slots=True)
class NumeroTomado:
    """The authority has another's note under the invoice's number: it is sent under the next, as ``tentativa``."""

    tentativa: int


@dataclass(frozen=True, slots=True)
class Reprocessou:
    """Staff repaired what was ours to repair: the refused revision is to be tried again as ``tentativa`` (from 2)."""

    tentativa: int


@dataclass(frozen=True, slots=True)
class EquipeAssumiu:
    """Somebody of the staff speaks with the user from now on; the bot is silent. ``quem`` is their name."""

    quem: str


@dataclass(frozen=True, slots=True)
class NotaQueEspera:
    """A confirmed invoice that is not issued yet; ``com_a_equipe``: people repair it, else the authority has it."""

    valor: Decimal | None
    cliente: str
    com_a_equipe: bool


@dataclass(frozen=True, slots=True)
class EquipeDevolveu:
    """The staff gave the conversation back; what was said meanwhile is not in the data. ``esperam``: what waits."""

    esperam: tuple[NotaQueEspera, ...] = ()


@dataclass(frozen=True, slots=True)
class EquipeEncerrou:
    """The staff closed an invoice that waited for its user."""


EventoConversa = Abriu | Informou | Conversou | PediuAjuda | MandouArquivo
EventoDecisao = Confirmou | Escolheu | Negou | Cancelou | PediuCorrecao
EventoUsuario = EventoConversa | EventoDecisao
EventoMensagem = Encaminhou | Editou | Apagou
EventoPerda = PerdeuMensagem | NaoCabe | PrazoVencido | MudouEmissor
EventoEmissao = NotaAutorizada | NotaRejeitada | EmissaoFalhou | EmissaoDemorou | EmissaoParada | NumeroTomado
EventoVontade = QuisAinda | NaoQuisMais
EventoEquipe = EquipeAssumiu | EquipeDevolveu | EquipeEncerrou | Reprocessou
Evento = EventoUsuario | EventoMensagem | EventoPerda | EventoEmissao | EventoVontade | EventoEquipe

EVENTOS: tuple[type[Evento], ...] = (
    Abriu,
    Informou,
    Confirmou,
    Escolheu,
    Negou,
    Cancelou,
    PediuCorrecao,
    Conversou,
    PediuAjuda,
    MandouArquivo,
    Encaminhou,
    Editou,
    Apagou,
    NaoCabe,
    PerdeuMensagem,
    MudouEmissor,
    PrazoVencido,
    NotaAutorizada,
    NotaRejeitada,
    EmissaoFalhou,
    EmissaoDemorou,
    EmissaoParada,
    NumeroTomado,
    QuisAinda,
    NaoQuisMais,
    Reprocessou,
    EquipeAssumiu,
    EquipeDevolveu,
    EquipeEncerrou,
)
