"""Says where an emission stands, and what is to be stored of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from state_machine.documents import Conteudo
from state_machine.protocol.emission import Nota, Rejected, StatusEmissao

Aviso = Literal["autorizada", "rejeitada", "falhou", "demorou", "ainda_quer", "renumera"]
Retida = Literal["circuito", "credencial", "tentativa_anterior", "registro", "pessoa", "historia", "leiaute"]
"""Why an emission waits without a call: the gateway is down, it refuses us, an earlier attempt, another's record, the
person was asked whether the invoice is still wanted, the database may have forgotten what was sent, or the authority
takes another layout than the one in force."""
CAUSAS: frozenset[Retida] = frozenset(
    {"circuito", "credencial", "historia", "leiaute"}
)  # causes of ours: they end some day


@dataclass(frozen=True, slots=True)
class Andamento:
    """Where an emission stands, and the content that the user confirmed under its stored fingerprint ``impressao``.

    ``duvida``: a call of it may have been accepted, whatever later calls were answered. ``recusa`` is a refusal that
    came meanwhile and stands once the key was seen absent often enough; ``recusas`` counts those that nobody here
    knows. ``rodadas`` counts the sendings that followed enough absences; ``ausencias`` counts those since the last
    sending, the newest of them ``ausente_desde``;
    ``desejado_em`` is when the person, or staff, last said that the invoice is still wanted; ``causa_fim_em`` when it
    was first heard although its person had not answered. ``retida`` is why it waited until now. ``chave`` is the text
    form of the natural key where that is not ``id_integracao``, our reference. ``procurada``: it was never sent, for
    the authority has a note of it already, as far as we know. ``sent_at`` is when it was last about to be sent.
    """

    id_integracao: str
    conteudo: Conteudo
    impressao: str
    status: StatusEmissao
    criado_em: datetime
    consultas: int = 0
    envios: int = 0
    ausente_desde: datetime | None = None
    avisado: bool = False
    duvida: bool = False
    recusa: Rejected | None = None
    rodadas: int = 0
    sem_conteudo_desde: datetime | None = None
    desejado_em: datetime | None = None
    causa_fim_em: datetime | None = None
    retida: Retida | None = None
    ausencias: int = 0
    chave: str | None = None
    procurada: bool = False
    recusas: int = 0
    sent_at: datetime | None = None

    @property
    def texto_da_chave(self) -> str:
        """The text form of the natural key."""
        return self.chave or self.id_integracao

    @property
    def prestador(self) -> str:
        """The issuer's CNPJ, a part of the key."""
        return self.conteudo.prestador

    @property
    def desde(self) -> datetime:
        """From when its day is counted: its confirmation, a later word that it is wanted, or the end of its cause."""
        return max(self.criado_em, self.desejado_em or self.criado_em, self.causa_fim_em or self.criado_em)

    @property
    def nobodys(self) -> bool:
        """Nobody has accepted any call of it."""
        return self.status is StatusEmissao.PENDENTE and not self.duvida

    @property
    def asked(self) -> bool:
        """Its person was asked whether it is still wanted, and has not answered."""
        return self.retida == "pessoa"

    @property
    def held_back(self) -> bool:
        """It waits for something that is not its person's, and that ends: it is tried until then."""
        return self.asked or self.envios > 0 or self.retida in CAUSAS


@dataclass(frozen=True, slots=True)
class Passo:
    """What to store: the new standing, seconds until the next action (``None``: none), the note, news for the user."""

    andamento: Andamento
    daqui: float | None
    nota: Nota | None = None
    aviso: Aviso | None = None
    motivo: str | None = None
    recusa: Rejected | None = None
    suspender: str | None = None
    retida: Retida | None = None
    outra: str | None = None  # the number of the note that an invoice repaired by this one became after all
    irma: str | None = None  # the reference of the attempt whose note stands under our number
    texto: str | None = None  # what the company's people can repair, in plain pt-BR
    refazer: bool = False  # what is sent is made anew first
    anulada: str | None = None  # the number of a note that the authority voided for this one

    @property
    def status(self) -> StatusEmissao:
        """The status that follows."""
        return self.andamento.status
