"""The invoice under construction: what is known of each field, and how new words change it.

The issued note that an invoice under construction takes the place of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter
from typing import Any

from state_machine import goods
from state_machine.goods import ENTREGA, Item
from state_machine.invoice.field_table import EVENTO_MAX, FIELDS, INSCRICAO, SIM, TextoNaoCabe, nome_limpo
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo, Origem
from state_machine.services.codes import Onde, onde
from state_machine.values.address import read_address
from state_machine.values.documents import DocumentoInvalido
from state_machine.values.money import ValorInvalido, centavos
from state_machine.values.text import Escrita, escrita_de, tamanho


@dataclass(frozen=True, slots=True)
class Substituida:
    """``emissao_id`` is the emission that made it, ``numero`` its number.

    ``recusada``: the authority takes no other note in its place, so that it must be cancelled first.
    """

    emissao_id: int
    numero: str
    recusada: bool = False


APAGADA = "você apagou a mensagem em que isso estava"  # said with the question about it
LEITURAS_MAX = 8  # a list message has ten rows: one is for another value, one for a person
CPF_DIGITS = 11
_COM_ENDERECO = frozenset({"nfe", ENTREGA})  # models that say where the goods went
ESCOLHA = 2  # readings that one summary can show: a third button is for another value
LEITURA_MAX = 72  # UTF-16 units of a list row's description: what cannot be shown whole is not offered


class StatusCampo(StrEnum):
    """How far a field is to be trusted."""

    NULL = "null"
    EXTRACTED = "extracted"
    VALIDATED = "validated"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Recusa:
    """A value, as the user wrote it, that was not put in the place of the one that stands.

    ``antiga`` is when it was written, if it was not taken for being older than the one that stands.
    """

    trecho: str
    mensagem: str | None = None
    antiga: datetime | None = None


@dataclass(frozen=True, slots=True)
class Lido:
    """One field: ``valor`` normalised (see ``Candidate``), ``escrito`` as the user wrote it, and why it is in doubt.

    ``mensagem`` is the wamid of the very message in which it stood, ``None`` in what older versions of us stored;
    ``escrita_em`` is when that one, or a later one that said the same, was written by Meta's clock (aware UTC).
    ``leituras``, ``conta`` and ``nomes`` are the doubt's (see ``Doubt``): only values that could stand in the invoice
    as they are.
    """

    status: StatusCampo = StatusCampo.NULL
    valor: str | None = None
    escrito: str | None = None
    origem: Origem | None = None
    confianca: Confianca | None = None
    motivo: Motivo | None = None
    detalhe: str | None = None
    mensagem: str | None = None
    recusa: Recusa | None = None
    escrita_em: datetime | None = None
    leituras: tuple[str, ...] = ()
    conta: str | None = None
    nomes: tuple[tuple[str, str], ...] = ()


VAZIO = Lido()
_DITO = attrgetter(*(f.name for f in fields(Lido) if f.name not in {"mensagem", "recusa", "escrita_em"}))  # wherever
_SEM_HORA = attrgetter(*(f.name for f in fields(Lido) if f.name != "escrita_em"))


@dataclass(frozen=True, slots=True)
class Cadastro:
    """What the public CNPJ register says of a tomador."""

    documento: str
    razao_social: str
    situacao: str | None = None  # "ATIVA", "BAIXADA", …


@dataclass(frozen=True, slots=True)
class Rascunho:
    """All fields of the invoice, and the register's entry for the document that now stands."""

    documento: Lido = VAZIO
    valor: Lido = VAZIO
    descricao: Lido = VAZIO
    nome: Lido = VAZIO
    email: Lido = VAZIO
    competencia: Lido = VAZIO
    data: Lido = VAZIO
    codigo: Lido = VAZIO
    endereco: Lido = VAZIO
    local: Lido = VAZIO
    obra: Lido = VAZIO
    evento: Lido = VAZIO
    fim: Lido = VAZIO
    itens: Lido = VAZIO
    modelo: Lido = VAZIO
    retido: Lido = VAZIO
    cadastro: Cadastro | None = None
    substitui: Substituida | None = None

    def campo(self, campo: Campo) -> Lido:
        """Return what is known of ``campo``."""
        lido: Lido = FIELDS[campo].of(self)
        return lido

    @property
    def lidos(self) -> tuple[Lido, ...]:
        """What is known of every field, in the order of ``FIELDS``."""
        return tuple([row.of(self) for row in FIELDS.values()])

    def com(self, campo: Campo, lido: Lido) -> Rascunho:
        """Return a copy in which ``campo`` reads ``lido``; another document forgets what was said of the old one."""
        if campo in {Campo.VALOR, Campo.DESCRICAO} and self.produtos:
            return self  # they follow from the items
        campos: dict[str, Any] = {campo.value: lido}
        if campo is Campo.DOCUMENTO and self.documento.valor not in {None, lido.valor}:
            campos |= {"cadastro": None, **{c.value: VAZIO for c, row in FIELDS.items() if row.of_customer}}
        if campo is Campo.ITENS:
            campos |= _dos_itens(lido)
        mudado = replace(self, **campos)
        if (
            mudado.data.valor
            and mudado.competencia.valor
            and not mudado.data.valor.startswith(mudado.competencia.valor)
        ):
            # Day and month contradict each other: what was said last counts, and only that is issued.
            mudado = replace(mudado, competencia=VAZIO) if campo is Campo.DATA else replace(mudado, data=VAZIO)
        if mudado.fim.valor and not (mudado.data.valor or "9") <= mudado.fim.valor:
            mudado = replace(mudado, fim=VAZIO)  # an event that ends before it begins
        return mudado

    def validado(self, campo: Campo) -> str | None:
        """Return the validated value of ``campo`` or ``None``."""
        lido = self.campo(campo)
        return lido.valor if lido.status is StatusCampo.VALIDATED else None

    @property
    def faltam(self) -> tuple[Campo, ...]:
        """Required fields that are not validated yet, in the order in which they are asked."""
        always = [c for c, row in FIELDS.items() if row.required and row.of(self).status is not StatusCampo.VALIDATED]
        if self.itens != VAZIO:
            always = [c for c in always if c not in {Campo.VALOR, Campo.DESCRICAO}]
            return tuple(c for c in always if c is not Campo.DOCUMENTO or not self.sem_nome) + self._faltam_da_venda
        return (*always, *self._faltam_do_lugar)

    @property
    def produtos(self) -> tuple[Item, ...]:
        """The items of an invoice for goods; none of one for a service."""
        lidos = self.validado(Campo.ITENS)
        return goods.load(lidos) if lidos else ()

    @property
    def sem_nome(self) -> bool:
        """True where nobody names the consumer, which only an NFC-e of goods in hand allows."""
        return self.documento == VAZIO and self.modelo != VAZIO and self.modelo.valor not in _COM_ENDERECO

    @property
    def _faltam_da_venda(self) -> tuple[Campo, ...]:
        """What an invoice for goods asks beside: which it is, and of a person where to, unless it was in hand."""
        modelo, documento = self.validado(Campo.MODELO), self.validado(Campo.DOCUMENTO)
        if modelo is None:
            return (Campo.MODELO,) if documento else ()
        a_pessoa = documento is not None and len(documento) == CPF_DIGITS
        asks = modelo in _COM_ENDERECO and a_pessoa and self.validado(Campo.ENDERECO) is None
        return (Campo.ENDERECO,) if asks else ()

    @property
    def onde(self) -> Onde | None:
        """What the service's code asks for of the place; ``None`` for nothing."""
        return onde(self.codigo.valor) if self.codigo.status is StatusCampo.VALIDATED else None

    @property
    def tem_cno(self) -> bool:
        """True where the building site has a number, which stands for its address."""
        return (self.validado(Campo.OBRA) or INSCRICAO)[0] != INSCRICAO[0]

    @property
    def iss_retido(self) -> bool:
        """True where the customer retains the ISS."""
        return self.validado(Campo.RETIDO) == SIM

    @property
    def nome_do_evento(self) -> str:
        """What the event is called: as said, else as the service is."""
        return (self.validado(Campo.EVENTO) or self.validado(Campo.DESCRICAO) or "")[:EVENTO_MAX]

    @property
    def _faltam_do_lugar(self) -> tuple[Campo, ...]:
        """What is missing of the place, the day and the tax that this code and this customer ask for."""
        faltam = []
        pede, lugar = self.onde, self.validado(Campo.LOCAL)
        so_cidade = pede is Onde.CIDADE or (pede is Onde.OBRA and self.tem_cno)
        if pede not in {None, Onde.CLIENTE} and not (lugar and (so_cidade or read_address(lugar).logradouro)):
            faltam.append(Campo.LOCAL)
        if pede is Onde.EVENTO and self.validado(Campo.DATA) is None:
            faltam.append(Campo.DATA)
        if (pede is Onde.CLIENTE or self.iss_retido) and self.validado(Campo.ENDERECO) is None:
            faltam.append(Campo.ENDERECO)  # E0234, E0237
        return tuple(faltam)

    @property
    def completo(self) -> bool:
        """True when an invoice could be issued from it: nothing missing and nothing in doubt."""
        return not self.faltam and not self.em_duvida

    @property
    def em_duvida(self) -> tuple[Campo, ...]:
        """Fields about which something was said that can't be taken as it stands, in the order of asking.

        A name that fits no invoice is in none while the register's stands in its place.
        """
        sem_uso = self.nome.motivo is Motivo.NAO_CABE and bool(self.nome_do_cadastro)
        duvidas = (c for c, row in FIELDS.items() if row.of(self).status is StatusCampo.INVALID)
        return tuple([c for c in duvidas if c is not Campo.NOME or not sem_uso])

    @property
    def a_pedir(self) -> tuple[Campo, ...]:
        """What is to be asked, in its order: what is in doubt, then what is missing.

        An amount of which there are readings is asked last: the summary asks it.
        """
        todos = tuple(dict.fromkeys((*self.em_duvida, *self.faltam)))
        outros = tuple([c for c in todos if c is not Campo.VALOR])
        return outros if outros and self.valor.leituras else todos

    @property
    def duvida(self) -> Campo | None:
        """The doubt that is to be asked about now, if one is."""
        return next((c for c in self.a_pedir[:1] if c in self.em_duvida), None)

    @property
    def valores_a_escolher(self) -> tuple[str, ...]:
        """The two readings of the amount that one summary shows; empty unless nothing else is to be asked."""
        leituras = self.valor.leituras if self.a_pedir == (Campo.VALOR,) else ()
        return leituras if len(leituras) == ESCOLHA else ()

    @property
    def valor_a_conferir(self) -> bool:
        """True where the amount stands, and only a doubtful reading says so: the summary marks it."""
        return self.valor.status is StatusCampo.VALIDATED and self.valor.confianca is Confianca.DUVIDOSA

    @property
    def valor_servico(self) -> Decimal:
        """The validated amount in BRL; raises ``ValueError`` when there is none."""
        valor = self.validado(Campo.VALOR)
        if valor is None:
            raise ValueError("the draft has no validated amount")
        return centavos(valor)

    @property
    def tomador_nome(self) -> str | None:
        """The tomador's name: what the register says, else what the user said."""
        return self.nome_do_cadastro or self.validado(Campo.NOME)

    @property
    def nome_do_cadastro(self) -> str:
        """The register's name as an invoice carries it; empty where there is none, or none that fits."""
        try:
            return nome_limpo(self.cadastro.razao_social) if self.cadastro else ""
        except TextoNaoCabe:
            return ""


def _dos_itens(lido: Lido) -> dict[str, Lido]:
    """Return amount and text as the items make them; none without items."""
    if lido.status is not StatusCampo.VALIDATED or lido.valor is None:
        gone = (Campo.VALOR, Campo.DESCRICAO) if lido != VAZIO else (Campo.VALOR, Campo.DESCRICAO, Campo.MODELO)
        return dict.fromkeys((campo.value for campo in gone), VAZIO)  # how the goods went stays known
    produtos = goods.load(lido.valor)
    valor, texto = f"{goods.total(produtos):.2f}", goods.resumida(produtos)
    feito = replace(lido, origem=lido.origem or Origem.CADASTRO, confianca=Confianca.CERTA)
    return {Campo.VALOR.value: replace(feito, valor=valor), Campo.DESCRICAO.value: replace(feito, valor=texto)}


def ler(candidate: Candidate, escrita: Escrita | None = None) -> Lido:
    """Check a candidate by our own rules, whoever read it, and say how far it is to be trusted."""
    status, valor, motivo, detalhe = _conferido(candidate)
    return Lido(
        status,
        valor,
        candidate.trecho,
        candidate.origem,
        candidate.confianca,
        motivo,
        detalhe,
        mensagem=escrita.mensagem if escrita else None,
        escrita_em=escrita.em if escrita else None,
        nomes=candidate.novos if status is StatusCampo.INVALID else (),
    )


def _conferido(candidate: Candidate) -> tuple[StatusCampo, str | None, Motivo | None, str | None]:
    """Return how far the value is to be trusted, the value, why it is in doubt, and what of it."""
    if candidate.confianca is Confianca.DUVIDOSA:
        asked = Motivo.INCOMPLETO if candidate.detalhe else Motivo.AMBIGUO
        return StatusCampo.INVALID, candidate.valor, asked, candidate.detalhe
    try:
        return StatusCampo.VALIDATED, FIELDS[candidate.campo].check(candidate.valor.strip()), None, None
    except DocumentoInvalido as erro:
        return StatusCampo.INVALID, None, erro.motivo, None
    except ValorInvalido:
        return StatusCampo.INVALID, None, Motivo.NAO_POSITIVO, None
    except TextoNaoCabe as erro:
        return StatusCampo.INVALID, None, Motivo.NAO_CABE, str(erro)
    except ValueError:  # no month, day or e-mail
        return StatusCampo.INVALID, None, Motivo.AMBIGUO, None


def _nada_diz(candidate: Candidate) -> bool:
    """True for what is dropped without a word: a slip of the finger, or a name that is only a guess."""
    row = FIELDS[candidate.campo]
    guess = not row.asked_back and candidate.confianca is Confianca.DUVIDOSA
    return guess or len(candidate.valor.strip()) < row.shortest


def aplicar(
    rascunho: Rascunho,
    candidates: Iterable[Candidate],
    doubts: Iterable[Doubt],
    clear: Iterable[Campo],
    escritas: Sequence[Escrita] = (),
) -> Rascunho:
    """Merge one turn: take back what was negated, put in what was read, and leave in doubt what is doubtful.

    What was validated before stays unless this turn speaks of the same field, in a message that is no older.
    ``escritas`` are the turn's messages, oldest first: each field keeps the one that it was read in.
    """
    antes = rascunho
    ditos = [candidate for candidate in candidates if not _nada_diz(candidate)]
    lidos = [(dito.campo, ler(dito, escrita_de(dito.trecho, escritas))) for dito in ditos]
    duvidas = [doubt for doubt in doubts if FIELDS[doubt.campo].asked_back]
    lidos += [(duvida.campo, _duvidoso(duvida, escrita_de(duvida.trecho, escritas))) for duvida in duvidas]
    ultima = escritas[-1] if escritas else None
    for campo in clear:  # in which of the messages it was taken back, nobody can tell: at the latest in the last one
        retirada = Lido(mensagem=ultima.mensagem, escrita_em=ultima.em, escrito=ultima.texto) if ultima else VAZIO
        if _cabe(antes, campo, retirada):
            rascunho = rascunho.com(campo, VAZIO)
        elif campo not in {dito for dito, _ in lidos}:
            rascunho = rascunho.com(campo, _recusado(rascunho.campo(campo), retirada))
    # The document first: another one forgets the name that stood, not the one said in the same breath.
    for campo, lido in sorted(lidos, key=lambda par: par[0] is not Campo.DOCUMENTO):
        if _cabe(antes, campo, lido):
            rascunho = rascunho.com(campo, _no_lugar(rascunho.campo(campo), lido))
        else:
            rascunho = rascunho.com(campo, _recusado(rascunho.campo(campo), lido))
    return rascunho


def _cabe(antes: Rascunho, campo: Campo, lido: Lido) -> bool:
    """Say whether ``lido`` may be applied: it changes nothing that was written later, nor what the items make."""
    if campo in {Campo.VALOR, Campo.DESCRICAO} and antes.produtos:
        return False
    quando = lido.escrita_em
    if quando is None or _DITO(antes.campo(campo)) == _DITO(lido):
        return True
    depois = antes.com(campo, lido)
    mudados = [a for a, d in zip(antes.lidos, depois.lidos, strict=True) if a is not d and a.status != StatusCampo.NULL]
    return all(velho.escrita_em is None or velho.escrita_em <= quando for velho in mudados)


def _recusado(antigo: Lido, lido: Lido) -> Lido:
    return replace(antigo, recusa=Recusa(lido.escrito or "", lido.mensagem, lido.escrita_em))


def _no_lugar(antigo: Lido, lido: Lido) -> Lido:
    """Return what stands after ``lido`` was read: nothing changes when it is said again, or can be no amount at all."""
    if lido.motivo is Motivo.NAO_POSITIVO and antigo.status is StatusCampo.VALIDATED:
        return replace(antigo, recusa=Recusa(lido.escrito or "", lido.mensagem))
    if _DITO(lido) != _DITO(antigo):
        return lido
    quando = max((hora for hora in (antigo.escrita_em, lido.escrita_em) if hora), default=None)
    return antigo if quando == antigo.escrita_em else replace(antigo, escrita_em=quando)


def sem_editada(rascunho: Rascunho, mensagem: str, ditos: Collection[Campo]) -> Rascunho:
    """Return the draft without what the message ``mensagem`` said before, other than the fields that it still says."""
    for campo in FIELDS:
        lido = rascunho.campo(campo)
        if lido.recusa and lido.recusa.mensagem == mensagem:
            lido = replace(lido, recusa=None)
            rascunho = rascunho.com(campo, lido)
        if lido.mensagem == mensagem and campo not in ditos:
            rascunho = rascunho.com(campo, VAZIO)
    return rascunho


def sem_apagada(rascunho: Rascunho, mensagem: str) -> Rascunho:
    """Return the draft after its user deleted the message ``mensagem``.

    What is needed and stood in it is in doubt, without readings; anything else that it said is forgotten.
    """
    for campo, row in FIELDS.items():
        lido = rascunho.campo(campo)
        if lido.mensagem != mensagem:
            continue
        if row.required and lido.status is StatusCampo.VALIDATED:
            duvida = replace(lido, status=StatusCampo.INVALID, motivo=Motivo.AMBIGUO, detalhe=APAGADA)
            rascunho = rascunho.com(campo, duvida)
        elif not row.required:
            rascunho = rascunho.com(campo, VAZIO)
        elif lido.leituras:
            rascunho = sem_leituras(rascunho, campo)
    return rascunho


def com_leitura(rascunho: Rascunho, campo: Campo, leitura: str) -> Rascunho:
    """Return the draft with one of the doubt's readings as the value; the words and their message stay its source.

    The name of a client of the company's own records comes with the document.
    """
    duvida = rascunho.campo(campo)
    lido = ler(Candidate(campo, leitura, duvida.escrito or "", duvida.origem or Origem.REGRAS))
    escrito, mensagem, escrita_em = duvida.escrito, duvida.mensagem, duvida.escrita_em
    rascunho = rascunho.com(campo, replace(lido, escrito=escrito, mensagem=mensagem, escrita_em=escrita_em))
    nome = dict(duvida.nomes).get(leitura) if campo is Campo.DOCUMENTO else None
    return rascunho.com(Campo.NOME, ler(Candidate(Campo.NOME, nome, nome, Origem.CADASTRO))) if nome else rascunho


def sem_leituras(rascunho: Rascunho, campo: Campo) -> Rascunho:
    """Return the draft with the doubt as it is, and none of its readings on offer."""
    return rascunho.com(campo, replace(rascunho.campo(campo), leituras=(), conta=None, nomes=()))


def difere(antes: Rascunho, depois: Rascunho) -> bool:
    """Tell whether anything changed that is shown or issued, or that was not taken: not only when it was said."""
    if antes.cadastro != depois.cadastro:
        return True
    lidos = zip(antes.lidos, depois.lidos, strict=True)
    return any(a is not d and _SEM_HORA(a) != _SEM_HORA(d) for a, d in lidos)


def _duvidoso(doubt: Doubt, escrita: Escrita | None) -> Lido:
    leituras = _leituras(doubt)
    return Lido(
        StatusCampo.INVALID,
        None,
        doubt.trecho,
        Origem.CADASTRO if doubt.nomes else Origem.REGRAS,
        Confianca.DUVIDOSA,
        doubt.motivo,
        doubt.detalhe,
        escrita.mensagem if escrita else None,
        escrita_em=escrita.em if escrita else None,
        leituras=leituras,
        conta=" ".join((doubt.conta or "").split()) or None if len(leituras) == 1 else None,
        nomes=doubt.nomes,
    )


def _leituras(doubt: Doubt) -> tuple[str, ...]:
    """Return the readings that pass our own checks, each once, the likeliest first; of two invoices none is offered."""
    if doubt.motivo is Motivo.DUAS_NOTAS:
        return ()
    lidos = (ler(Candidate(doubt.campo, leitura, doubt.trecho)) for leitura in doubt.leituras)
    valores = [lido.valor for lido in lidos if lido.status is StatusCampo.VALIDATED and lido.valor]
    shortest = FIELDS[doubt.campo].shortest
    return tuple(dict.fromkeys(v for v in valores if shortest <= len(v) and tamanho(v) <= LEITURA_MAX))[:LEITURAS_MAX]


def mudancas(antes: Rascunho, depois: Rascunho) -> tuple[tuple[Campo, str, str], ...]:
    """List the fields whose validated value changed from one value to another: (field, old, new).

    Where the register names the client, what the user calls it is not shown, so that its change is none;
    of goods the items are named, and no service.
    """
    de_outrem = {Campo.NOME} if antes.cadastro or depois.cadastro else set()
    de_outrem |= {Campo.DESCRICAO} if antes.produtos and depois.produtos else set()
    same = goods.resumida(antes.produtos) == goods.resumida(depois.produtos)  # only a price is another one
    de_outrem |= {Campo.ITENS} if antes.produtos and same else set()
    lidos = zip(FIELDS, antes.lidos, depois.lidos, strict=True)
    outros = [c for c, velho, novo in lidos if velho is not novo and c not in de_outrem]
    pares = ((c, antes.validado(c), depois.validado(c)) for c in outros)
    return tuple((c, velho, novo) for c, velho, novo in pares if velho and novo and velho != novo)
