"""An earlier invoice of the same content: what it is called when asking for a second one.

What a company's earlier invoices tell of its clients: how each is called, and what is usually invoiced.

Chooses the service code of an invoice among the company's own by its description; where none wins, it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from state_machine.goods import ENTREGA
from state_machine.invoice.draft import CPF_DIGITS, LEITURAS_MAX, VAZIO, Lido, Rascunho, StatusCampo
from state_machine.invoice.field_table import NAO, SIM
from state_machine.invoice.fields import Campo, Confianca, Motivo, Origem
from state_machine.services.codes import Onde, Servico
from state_machine.services.search import among
from state_machine.values.address import city_of
from state_machine.values.text import plain

_OFERECIDO: Final = 180  # characters of a place that a button carries, beside session and revision
_LIDO: Final = 4000  # characters of a service text; no layout takes more than 2,000


@dataclass(frozen=True, slots=True)
class NotaIgual:
    """An invoice for the same customer, amount and text, confirmed at ``criada_em`` (aware).

    ``indecisa``: nobody knows yet whether it will be issued.
    """

    id_integracao: str
    criada_em: datetime
    indecisa: bool = False


def mesmo_texto(um: str, outro: str) -> bool:
    """Tell whether two service texts say the same, whatever their case, accents, punctuation and spacing."""
    return _essencia(um) == _essencia(outro)


def _essencia(texto: str) -> str:
    return " ".join("".join(letra if letra.isalnum() else " " for letra in plain(texto, _LIDO)).split())


MOST: Final = 1000  # clients among which a name is looked for; with more of them none is clear: another may fit better


@dataclass(frozen=True, slots=True)
class Cliente:
    """A company's own client; ``nome`` stands on its invoices, ``outros`` are trade name and remembered nicknames."""

    documento: str
    nome: str | None
    outros: tuple[str, ...] = ()

    @property
    def nomes(self) -> tuple[str, ...]:
        """Every name by which people may call it."""
        return (self.nome, *self.outros) if self.nome else self.outros


@dataclass(frozen=True, slots=True)
class Costume:
    """What is usually invoiced to a client; ``valor`` (BRL, "1500.00") is ``None`` where the amounts differ.

    ``descricao`` is ``None`` where the services do.
    """

    documento: str
    descricao: str | None
    valor: str | None
    cidade: str | None = None  # where the newest of it was done, as a draft holds it
    obra: str | None = None  # the address of the newest building site, likewise
    retido: bool = False  # this client retained the ISS of the newest

    @property
    def marca(self) -> str:
        """What a button carries of it: another habit than the one that was shown has another mark."""
        return sha256(f"{self.valor}:{self.descricao}".encode()).hexdigest()[:16]

    def preenche(self, rascunho: Rascunho) -> dict[Campo, str]:
        """Return which missing fields of a draft it can offer; none beside another client or another service."""
        if rascunho.validado(Campo.DOCUMENTO) != self.documento:
            return {}
        servico = rascunho.validado(Campo.DESCRICAO)
        if servico is not None and self.descricao and not mesmo_texto(servico, self.descricao):
            return {}
        oferta = {Campo.DESCRICAO: self.descricao, Campo.VALOR: self.valor}
        return {campo: valor for campo, valor in oferta.items() if valor and campo in rascunho.faltam}


def com_servico(antes: Rascunho, depois: Rascunho, servicos: Sequence[Servico]) -> Rascunho:
    """Return ``depois`` with the code that it is issued with: what stands, the only one, or the clear winner.

    ``antes`` is the draft before the turn: a code that was chosen for another description counts no more, unless this
    turn names it. A code that is not the company's is never taken. Where nobody wins it is in doubt, once all else
    stands, with the company's codes as readings. The very draft is returned where nothing changes; ``servicos`` is
    empty where the company's channel knows no list.
    """
    lido = depois.codigo
    if not servicos or depois.produtos:
        return depois if lido == VAZIO else depois.com(Campo.CODIGO, VAZIO)
    novo = _escolhido(antes, depois, servicos)
    return depois if novo == lido else depois.com(Campo.CODIGO, novo)


def com_local(depois: Rascunho, cidade: str | None, costume: Costume | None) -> Rascunho:
    """Return ``depois`` with the place that its code asks for offered, where nobody said one.

    Offered is where this customer's work was done before, else for a code that asks for a city the company's own
    (``cidade``, its IBGE code). What was offered for another code goes.
    """
    lido = depois.local
    oferecido = lido.status is StatusCampo.INVALID and lido.origem is Origem.CADASTRO
    if depois.onde is None or Campo.LOCAL not in depois.faltam:
        return depois.com(Campo.LOCAL, VAZIO) if oferecido else depois
    if lido != VAZIO:
        return depois
    antes = costume if costume and costume.documento == depois.validado(Campo.DOCUMENTO) else None
    leitura = antes.obra if antes and depois.onde is Onde.OBRA else None
    if depois.onde is Onde.CIDADE or (depois.onde is Onde.OBRA and depois.tem_cno):
        aqui = city_of(cidade or "")
        leitura = (antes.cidade if antes else None) or (str(aqui) if aqui else None)
    if leitura is None or len(leitura) > _OFERECIDO:
        return depois
    oferta = Lido(
        StatusCampo.INVALID,
        origem=Origem.CADASTRO,
        confianca=Confianca.DUVIDOSA,
        motivo=Motivo.VARIOS,
        leituras=(leitura,),
    )
    return depois.com(Campo.LOCAL, oferta)


def com_retencao(antes: Rascunho, depois: Rascunho, costume: Costume | None) -> Rascunho:
    """Return ``depois`` with the question whether the ISS is retained, where this customer did so the last time.

    It is asked once, as the customer comes, unless somebody said so.
    """
    cliente = depois.validado(Campo.DOCUMENTO)
    asks = (
        costume is not None
        and not depois.produtos
        and costume.retido
        and costume.documento == cliente
        and depois.retido == VAZIO
    )
    if not asks or antes.validado(Campo.DOCUMENTO) == cliente:
        return depois
    oferta = Lido(
        StatusCampo.INVALID,
        origem=Origem.CADASTRO,
        confianca=Confianca.DUVIDOSA,
        motivo=Motivo.VARIOS,
        leituras=(SIM, NAO),
    )
    return depois.com(Campo.RETIDO, oferta)


def com_modelo(depois: Rascunho, mercado: Sequence[str]) -> Rascunho:
    """Return ``depois`` with the model of an invoice for goods, as far as customer and channels leave one.

    ``mercado`` are the company's channels for goods. A company gets an NF-e; a person too, unless the goods were
    handed over or brought by the shop, which is asked.
    """
    lido = depois.modelo
    if not depois.produtos:
        return depois if lido == VAZIO or depois.itens != VAZIO else depois.com(Campo.MODELO, VAZIO)
    documento = depois.validado(Campo.DOCUMENTO)
    if documento is None and not depois.sem_nome:
        return depois
    de_empresa = documento is not None and len(documento) != CPF_DIGITS
    nota = {"nfce": "nfce", ENTREGA: "nfce", "nfe": "nfe"}  # by the channel that makes it
    podem = [each for each, canal in nota.items() if canal in mercado and not (canal == "nfce" and de_empresa)]
    if lido.status is StatusCampo.VALIDATED and lido.valor in podem:
        return depois
    if len(podem) == 1:
        return depois.com(Campo.MODELO, Lido(StatusCampo.VALIDATED, podem[0], None, Origem.CADASTRO, Confianca.CERTA))
    oferta = Lido(
        StatusCampo.INVALID,
        origem=Origem.CADASTRO,
        confianca=Confianca.DUVIDOSA,
        motivo=Motivo.VARIOS,
        leituras=tuple(podem),
    )
    return depois if lido == oferta or not podem else depois.com(Campo.MODELO, oferta)


def _escolhido(antes: Rascunho, depois: Rascunho, servicos: Sequence[Servico]) -> Lido:
    lido, own = depois.codigo, {servico.codigo: servico for servico in servicos}
    descricao = depois.validado(Campo.DESCRICAO)
    said_now = lido != antes.codigo
    another = antes.descricao.valor not in {None, depois.descricao.valor} and not said_now
    if lido.status is StatusCampo.VALIDATED and lido.valor in own and not another:
        return lido
    resto = replace(depois, codigo=VAZIO)
    if descricao is None or not (resto.completo or resto.valores_a_escolher):
        return VAZIO
    if len(own) == 1:
        return _taken(servicos[0].codigo, descricao)
    hits, clear = among(descricao, {codigo: servico.descricao for codigo, servico in own.items()})
    taken_back = antes.codigo.status is StatusCampo.VALIDATED and lido == VAZIO and antes.codigo.valor in own
    if clear and not taken_back:
        return _taken(hits[0].codigo, descricao)
    likely = {hit.codigo for hit in hits[:LEITURAS_MAX]}
    shown = [(number, servico) for number, servico in enumerate(servicos, 1) if servico.codigo in likely]
    return Lido(
        StatusCampo.INVALID,
        None,
        descricao,
        Origem.CADASTRO,
        Confianca.DUVIDOSA,
        Motivo.VARIOS,
        leituras=tuple(servico.codigo for _, servico in shown),
        nomes=tuple((servico.codigo, f"{number}. {servico.nome}") for number, servico in shown),
    )


def _taken(codigo: str, descricao: str) -> Lido:
    return Lido(StatusCampo.VALIDATED, codigo, descricao, Origem.CADASTRO, Confianca.PROVAVEL)
