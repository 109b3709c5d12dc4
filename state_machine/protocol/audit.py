"""Compares what we hold with what the gateway lists, a company and some days at a time.

What the authority distributes to a company: its notes and what ended them, each under a number that only grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from state_machine.cancellation.machine import StatusNota
from state_machine.documents import Conteudo, divergencia
from state_machine.protocol.emission import EM_CURSO, CannotTell, Nota, Situacao, StatusEmissao
from state_machine.values.local_time import SAO_PAULO

Ended = Literal["cancelada", "substituida"]


@dataclass(frozen=True, slots=True)
class Distributed:
    """One document: a note, an event that ended the note ``chave``, or neither; ``nsu`` is its place in the list."""

    nsu: int
    chave: str
    nota: Nota | None = None
    ended: Ended | None = None


LAG = timedelta(hours=1)  # a listing may be older than what the gateway told us of one note; a day's audit can wait

# Reading these again may teach us something. What is pending goes out in its own time; a conflict is for people.
_RELIDAS = frozenset(
    {StatusEmissao.ENVIANDO, StatusEmissao.ENVIADO, StatusEmissao.DESCONHECIDO, StatusEmissao.ERRO}
    | {StatusEmissao.REJEITADO, StatusEmissao.CONCLUIDO}
)
_OUTRO = {
    "prestador": "outro prestador",
    "tomador": "outro tomador",
    "valor": "outro valor",
    "codigo_servico": "outro código de serviço",
    "competencia": "outra competência",
    "descricao": "outro texto de serviço",
    "impressao": "o que guardamos não é mais o que foi confirmado",
}
_EXISTE = frozenset({Situacao.AUTORIZADA, Situacao.CANCELADA})  # a cancelled note is in the books too


@dataclass(frozen=True, slots=True)
class Pagina:
    """Some notes of a listing, and the cursor of the next page (``None``: there is none).

    ``Nota.id_integracao`` is empty for a note that was made without one.
    """

    notas: tuple[Nota, ...]
    seguinte: str | None


Listagem = Pagina | CannotTell


@dataclass(frozen=True, slots=True)
class Periodo:
    """Days in São Paulo, both ends included, and the moment (aware) at which the gateway was asked for them.

    ``espera``: how long what we know may be missing in the listing.
    """

    inicio: date
    fim: date
    agora: datetime
    espera: timedelta = LAG

    @classmethod
    def ultimos(cls, dias: int, agora: datetime) -> Periodo:
        """Return the last ``dias`` days, today included."""
        hoje = agora.astimezone(SAO_PAULO).date()
        return cls(hoje - timedelta(days=dias - 1), hoje, agora)

    def contem(self, momento: datetime) -> bool:
        """Tell whether a moment (aware) is in one of the days."""
        return self.inicio <= momento.astimezone(SAO_PAULO).date() <= self.fim


@dataclass(frozen=True, slots=True)
class Nossa:
    """An emission of ours; ``nota`` is ``None`` until it was authorised, ``conhecida_em`` when we learnt of that."""

    emissao_id: int
    id_integracao: str
    pedido: tuple[str, int]  # the confirmed revision: session and number; its attempts share it
    conteudo: Conteudo
    impressao: str
    status: StatusEmissao
    enviada_em: datetime | None = None
    nota: StatusNota | None = None
    numero: str | None = None
    id_externo: str | None = None
    conhecida_em: datetime | None = None
    conteudo_visto: bool = False  # text, competence and code were compared when it was adopted, or by an audit since
    listada: bool = False  # the channel's list of documents has named it

    @property
    def valor(self) -> Decimal:
        """BRL."""
        return self.conteudo.valor

    @property
    def vista(self) -> Nota:
        """The note as a list of documents named it: that it was issued, and no more."""
        situacao = Situacao.CANCELADA if self.nota is StatusNota.CANCELADO else Situacao.AUTORIZADA
        return Nota(self.id_externo or self.id_integracao, self.id_integracao, situacao, numero=self.numero)

    @property
    def vale(self) -> bool:
        """Tell whether its note stands."""
        return self.nota in {StatusNota.AUTORIZADO, StatusNota.CANCELAMENTO_PENDENTE}


class DifferenceKind(StrEnum):
    """The kinds of difference."""

    SO_NOSSAS = "so_nossas"  # we hold it as authorised, they don't list it
    SO_DELES = "so_deles"  # they list it, and we never recorded it as issued
    DIVERGEM = "divergem"  # both know it, and say different things


@dataclass(frozen=True, slots=True)
class Diferenca:
    """One of them; ``motivo`` says in pt-BR, for staff, what differs; at least one of the two sides is there."""

    tipo: DifferenceKind
    motivo: str
    nossa: Nossa | None
    deles: Nota | None

    @property
    def referencia(self) -> str:
        """Return our reference, or the gateway's id of a note that has none of ours."""
        return self.nossa.id_integracao if self.nossa else self.deles.id_externo if self.deles else ""

    @property
    def valores(self) -> tuple[Decimal, ...]:
        """Return the values (BRL), ours first: one where both agree or only one side speaks."""
        nosso = (self.nossa.valor,) if self.nossa else ()
        deles = (self.deles.valor,) if self.deles and self.deles.valor is not None else ()
        return tuple(dict.fromkeys(nosso + deles))


@dataclass(frozen=True, slots=True)
class Conferencia:
    """What came of it. ``reler``: emissions of ours that moved at the gateway, worth an ordinary question now."""

    periodo: Periodo
    listadas: int
    em_curso: int
    diferencas: tuple[Diferenca, ...]
    reler: frozenset[int]

    def de(self, tipo: DifferenceKind) -> tuple[Diferenca, ...]:
        """Return the differences of one kind."""
        return tuple(diferenca for diferenca in self.diferencas if diferenca.tipo is tipo)


def compare(nossas: Sequence[Nossa], listadas: Iterable[Nota], periodo: Periodo) -> Conferencia:
    """Compare. ``nossas`` are the emissions sent in the period, and whichever others the listing names."""
    unicas = {nota.id_externo: nota for nota in listadas}  # a page that shifted shows a note twice: the later reading
    por_chave: defaultdict[str, list[Nota]] = defaultdict(list)
    for nota in unicas.values():
        por_chave[nota.id_integracao].append(nota)
    de_chave = {nossa.id_integracao: nossa for nossa in nossas}
    de_id = {nossa.id_externo: nossa for nossa in nossas if nossa.id_externo}

    diferencas: list[Diferenca] = []
    reler: set[int] = set()
    em_curso = 0
    for chave, notas in por_chave.items():
        nossa = de_chave.get(chave)
        if nossa is None:
            achadas = [_foreign(nota, de_id.get(nota.id_externo)) for nota in notas]
            em_curso += sum(nota.situacao is Situacao.PROCESSANDO for nota in notas)
            diferencas += filter(None, achadas)
            continue
        diferenca = _under_key(nossa, notas, periodo)
        if diferenca is not None:
            diferencas.append(diferenca)
        if nossa.status in _RELIDAS and any(_has_moved(nossa, nota) for nota in notas):
            reler.add(nossa.emissao_id)

    diferencas += _two_notes(nossas)
    for nossa in nossas:
        falta = nossa.id_integracao not in por_chave and nossa.id_externo not in unicas
        if nossa.status in EM_CURSO or (falta and _is_recent(nossa, periodo)):
            em_curso += 1
        elif falta and _should_be_listed(nossa, periodo):
            diferencas.append(
                Diferenca(DifferenceKind.SO_NOSSAS, "autorizada aqui, não aparece na lista deles", nossa, None)
            )
    return Conferencia(periodo, len(unicas), em_curso, tuple(diferencas), frozenset(reler))


def _two_notes(nossas: Sequence[Nossa]) -> list[Diferenca]:
    """Confirmed revisions of which more than one attempt became a note that stands."""
    por_pedido: defaultdict[tuple[str, int], list[Nossa]] = defaultdict(list)
    for nossa in nossas:
        if nossa.vale:
            por_pedido[nossa.pedido].append(nossa)
    return [
        Diferenca(
            DifferenceKind.DIVERGEM,
            f"{len(iguais)} notas para a mesma confirmação: {' e '.join(str(nossa.numero) for nossa in iguais)}",
            iguais[-1],
            None,
        )
        for iguais in por_pedido.values()
        if len(iguais) > 1
    ]


def _foreign(nota: Nota, nossa: Nossa | None) -> Diferenca | None:
    """A note under a reference that is not ours; one that was refused, or is not made yet, is none."""
    if nossa is not None:
        return Diferenca(DifferenceKind.DIVERGEM, "o id que guardamos tem outra referência lá", nossa, nota)
    if nota.situacao not in _EXISTE:
        return None
    motivo = "referência que não é nossa" if nota.id_integracao else "sem referência: emitida por outro programa"
    return Diferenca(DifferenceKind.SO_DELES, motivo, None, nota)


def _under_key(nossa: Nossa, notas: list[Nota], periodo: Periodo) -> Diferenca | None:
    """What stands under one reference of ours against what we hold of it: the gravest difference, if any."""
    emitidas = [nota for nota in notas if nota.situacao in _EXISTE]
    if len(emitidas) > 1:
        return Diferenca(DifferenceKind.DIVERGEM, f"{len(emitidas)} notas sob a mesma referência", nossa, emitidas[-1])
    nota = emitidas[0] if emitidas else notas[-1]
    if nossa.status in EM_CURSO:
        return None  # reconciliation is asking anyway, and compares before it adopts
    if emitidas and nossa.nota is None:
        return Diferenca(DifferenceKind.SO_DELES, f"{nota.situacao} lá, {nossa.status} aqui", nossa, nota)
    motivo = _standings(nossa, nota, periodo)
    if emitidas:
        motivo = _content(nossa, nota) or motivo
    return Diferenca(DifferenceKind.DIVERGEM, motivo, nossa, nota) if motivo else None


def _content(nossa: Nossa, nota: Nota) -> str | None:
    """Name what is not the same; silence is no difference."""
    outro = divergencia(nossa.conteudo, nossa.impressao, nota)
    if outro:
        return _OUTRO[outro]
    if nota.numero and nossa.numero and nota.numero.lstrip("0") != nossa.numero.lstrip("0"):
        return f"número {nota.numero} lá, {nossa.numero} aqui"
    if nossa.id_externo and nota.id_externo != nossa.id_externo:
        return "outra nota deles sob a mesma referência"
    return None


def _standings(nossa: Nossa, nota: Nota, periodo: Periodo) -> str | None:
    """Say how both standings contradict each other; a cancellation under way is no contradiction."""
    match nossa.nota, nota.situacao:
        case None, Situacao.REJEITADA if nossa.status is StatusEmissao.ERRO:
            return "rejeitada lá, sem resultado aqui"
        case StatusNota.AUTORIZADO, Situacao.CANCELADA:
            return "cancelada lá, autorizada aqui"
        case StatusNota.CANCELADO, Situacao.AUTORIZADA if not _is_recent(nossa, periodo):
            return "autorizada lá, cancelada aqui"
        case StatusNota(), Situacao.REJEITADA:
            return "rejeitada lá, autorizada aqui"
        case StatusNota(), Situacao.PROCESSANDO if not _is_recent(nossa, periodo):
            return "em processamento lá, autorizada aqui"
        case _:
            return None


def _has_moved(nossa: Nossa, nota: Nota) -> bool:
    """Tell whether asking again may move our emission: news that we lack, as far as the listing is to be believed."""
    match nossa.status:
        case StatusEmissao.CONCLUIDO:
            return nota.situacao is Situacao.CANCELADA and nossa.nota is not StatusNota.CANCELADO
        case StatusEmissao.REJEITADO:
            return nota.situacao in _EXISTE
        case _:
            return nota.situacao is not Situacao.PROCESSANDO


def _is_recent(nossa: Nossa, periodo: Periodo) -> bool:
    return nossa.conhecida_em is not None and periodo.agora - nossa.conhecida_em < periodo.espera


def _should_be_listed(nossa: Nossa, periodo: Periodo) -> bool:
    """Tell whether a note must be listed: it stands, and it was made within the days, whenever exactly that was.

    The gateway dates it between our sending and our knowing. One that spans midnight belongs to a longer period, as
    the next day's audit has it.
    """
    moments = (nossa.enviada_em, nossa.conhecida_em)
    return nossa.vale and all(moment is not None and periodo.contem(moment) for moment in moments)
