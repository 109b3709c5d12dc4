"""Owns what a sale of goods tells a note (NF-e 55, NFC-e 65), and the rules of who may tell what.

Sellers of the Simples and MEI, inside of their state. What the XSD lets pass and SEFAZ refuses is refused here, with
the rejection's number beside it where it is known. ``tpEmis`` is 1: in contingency the key would be another one.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, Literal

from gateway.keys import NFCE, NFE, ChaveInvalida, ChaveNFe
from gateway.nfe.layouts import FIM, UF, states
from state_machine.documents import DocumentoProduto, Endereco
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CNPJ, DocumentoInvalido, parse_documento
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import zone_of
from state_machine.values.text import as_latin, unfit

Regime = Literal["mei", "simples", "simples-pendente", "normal"]
Presenca = Literal["1", "2", "4", "9"]
"""indPres: in person, by internet, delivered by the shop (65 only), at a distance by other means."""

MODELS: Final[Mapping[str, str]] = {"nfe": NFE, "nfce": NFCE}
CRT: Final[Mapping[str, str]] = {"simples": "1", "mei": "4"}
_NOT_TAXED: Final = frozenset({"102", "103", "300", "400"})
PAID: Final = "500"  # CSOSN: the tax was paid before, by substitution
_SITUATIONS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("simples", NFE): _NOT_TAXED | {PAID},
    ("simples", NFCE): _NOT_TAXED | {PAID},
    ("mei", NFE): frozenset({"102", "300", "400"}),  # rejection 782
    ("mei", NFCE): frozenset({"102", "300"}),
}
_MEANS: Final = frozenset({"01", "03", "04", "05", "15", "16", "17", "18", "20", "90", "99"})
NO_PAYMENT: Final = "90"
OTHER_PAYMENT: Final = "99"  # of which nobody said how
WITH_CARD: Final = frozenset({"03", "04", "17"})  # rule YA04-10 of some states
_PRESENCE: Final[Mapping[str, frozenset[str]]] = {
    NFE: frozenset({"1", "2", "9"}),  # 794
    NFCE: frozenset({"1", "4"}),  # 717
}
DELIVERED: Final = "4"
FAR: Final = frozenset({"2", "4", "9"})  # asks for indIntermed
_MOST_ITEMS: Final = 990
_NAME: Final = 60  # letters of a name (xNome); a longer one is cut
_MOST_QUANTITY: Final = Decimal(1_000_000)
_MOST_MONEY: Final = Decimal(10) ** 13
_NAMELESS: Final = Decimal(10_000)  # BRL; an NFC-e from here on names its customer (750)
_OWN_SERIES: Final = range(1, 890)  # 0 is "no series", from 890 on they are the tax office's
_NORMAL_EMISSION: Final = 1  # tpEmis
CSC: Final = re.compile(r"[0-9]{1,6}:[0-9A-Za-z-]{16,36}")  # id and secret of an NFC-e's QR code of version 2
_NCM: Final = re.compile(r"(?!0{8})[0-9]{8}")
_CEST: Final = re.compile(r"[0-9]{7}")
_IE: Final = re.compile(r"[0-9]{2,14}")
_CEP: Final = re.compile(r"[0-9]{8}")
_EMAIL: Final = re.compile(r"[!-~]{6,60}")
_FONE: Final = re.compile(r"[0-9]{6,14}")
_CENT: Final = Decimal("0.01")
_ABROAD: Final = "EX"  # in the place of a state


class NotaInvalida(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """No such note is made: ``campo`` names the fact, ``texto`` says in pt-BR what is wrong and what to do."""

    code = "nota_invalida"

    def __init__(self, campo: str, texto: str) -> None:
        super().__init__(f"{campo}: {texto}")
        self.campo = campo
        self.texto = texto


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitente:
    """The seller: ``cnpj`` and ``inscricao_estadual`` bare."""

    cnpj: str
    razao_social: str
    inscricao_estadual: str
    regime: Regime
    endereco: Endereco
    fone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinatario:
    """The buyer: ``documento`` a bare CNPJ or CPF; a buyer abroad has "EX" as the state of the address."""

    documento: str
    nome: str
    endereco: Endereco | None = None
    inscricao_estadual: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemProduto:
    """One line: ``quantidade`` of up to 4 decimals, ``preco`` of one unit in BRL, of up to 10."""

    codigo: str
    texto: str
    ncm: str
    cfop: str
    csosn: str
    unidade: str
    quantidade: Decimal
    preco: Decimal
    origem: str = "0"
    cest: str | None = None

    @property
    def total(self) -> Decimal:
        """In BRL, to the nearest cent; half a cent goes up."""
        return (self.quantidade * self.preco).quantize(_CENT, ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class Pagamento:
    """``meio`` is the tPag (01 cash, 03 credit, 04 debit, 17 and 20 Pix, 90 none), ``valor`` in BRL."""

    meio: str
    valor: Decimal


@dataclass(frozen=True, slots=True)
class Maker:
    """Who made the program, where a state asks for it (infRespTec); ``csrt``: the id and secret of that state."""

    cnpj: str
    contato: str
    email: str
    fone: str
    csrt: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotaProduto:
    """A sale to be told to SEFAZ. ``chave`` was reserved before; ``emissao`` (aware) is of its month, in local time.

    ``referencia`` is ours, as elsewhere ``id_integracao``.
    """

    chave: ChaveNFe
    emissao: datetime
    ambiente: Ambiente
    emitente: Emitente
    destinatario: Destinatario | None
    itens: tuple[ItemProduto, ...]
    pagamentos: tuple[Pagamento, ...]
    presenca: Presenca
    referencia: str
    natureza: str = "Venda de mercadoria"
    maker: Maker | None = None

    @property
    def total(self) -> Decimal:
        """The sum of its items in BRL."""
        return sum((item.total for item in self.itens), Decimal(0))


@dataclass(frozen=True, slots=True)
class Rules:
    """What an installation sets: the first day that is not made any more, and above which BRL a buyer is named."""

    fim: date | None = FIM
    sem_nome: Decimal = _NAMELESS
    csc: tuple[str, str] | None = None  # id and secret: the QR code is of version 2


def reserved(emitente: Emitente, modelo: str, serie: int, numero: int, emissao: datetime) -> ChaveNFe:
    """Return a new key with a code (cNF) of chance, to be stored before anything is made of it.

    Raises ``ChaveInvalida``.
    """
    local = emissao.astimezone(zone_of(emitente.endereco.codigo_cidade))
    while True:
        try:
            return ChaveNFe(
                state_of(emitente).ibge,
                f"{local:%y%m}",
                emitente.cnpj,
                modelo,
                serie,
                numero,
                _NORMAL_EMISSION,
                secrets.randbelow(10**8),
            )
        except ChaveInvalida as error:
            if error.campo != "cNF":
                raise


def chave_of(what: DocumentoProduto) -> ChaveNFe:
    """Return the key of an invoice. Raises ``ValueError`` where its parts make none.

    Its code (cNF) is made of our reference, so that every attempt at one confirmation has the same key, and another
    program's note under our number another one.
    """
    if what.rps is None or not what.rps.serie.isdecimal():
        raise ValueError("an invoice for goods without its number")
    base = what.id_integracao.rpartition("-")[0]
    for salt in range(100):
        digest = hashlib.sha256(f"{base}:{what.rps.serie}:{what.rps.numero}:{salt}".encode()).digest()
        try:
            return ChaveNFe(
                what.prestador.municipio_ibge[:2],
                f"{what.competencia:%y%m}",
                what.prestador.cnpj,
                MODELS[what.modelo],
                int(what.rps.serie),
                what.rps.numero,
                _NORMAL_EMISSION,
                int.from_bytes(digest[:8], "big") % 10**8,
            )
        except ChaveInvalida as error:
            if error.campo != "cNF":
                raise ValueError(str(error)) from error
    raise ValueError("no code for this number")


def moment_of(chave: ChaveNFe, agora: datetime, what: DocumentoProduto) -> datetime:
    """Return when a document is issued: now, as far as that is in its key's month, which cannot change."""
    local = agora.astimezone(zone_of(what.prestador.municipio_ibge))
    first = local.replace(2000 + int(chave.aamm[:2]), int(chave.aamm[2:]), 1, 0, 0, 0, 0)
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(seconds=1)
    return min(max(local, first), last)


def note_of(what: DocumentoProduto, ambiente: Ambiente, emissao: datetime, maker: Maker | None = None) -> NotaProduto:
    """Return a sale as a note tells it. Raises ``NotaInvalida``."""
    if what.endereco is None:
        raise NotaInvalida(
            "emitente.endereco",
            "o cadastro do CNPJ ainda não disse o endereço da sua empresa; o suporte cadastra de novo",
        )
    who, chave = what.tomador, chave_of(what)
    buyer = Destinatario(
        documento=who.documento,
        nome=(who.razao_social or ("CONSUMIDOR" if chave.modelo == NFCE else ""))[:_NAME].rstrip(),
        endereco=who.endereco if chave.modelo == NFE or what.entrega else None,
        email=who.email,
    )
    return NotaProduto(
        chave=chave,
        emissao=emissao,
        ambiente=ambiente,
        emitente=Emitente(
            cnpj=what.prestador.cnpj,
            razao_social=what.prestador.razao_social[:_NAME].rstrip(),
            inscricao_estadual=what.inscricao_estadual,
            regime=what.prestador.regime,
            endereco=what.endereco,
        ),
        destinatario=buyer if who.documento else None,
        itens=tuple(
            ItemProduto(
                codigo=item.codigo,
                texto=item.texto,
                ncm=item.ncm,
                cfop=item.cfop,
                csosn=item.csosn,
                unidade=item.unidade,
                quantidade=item.quantidade,
                preco=item.preco,
            )
            for item in what.itens
        ),
        pagamentos=(Pagamento(OTHER_PAYMENT, what.valor),),
        presenca="2" if chave.modelo == NFE else DELIVERED if what.entrega else "1",
        referencia=what.id_integracao,
        maker=maker,
    )


def refuse(nota: NotaProduto, rules: Rules) -> None:
    """Raise ``NotaInvalida`` for the first rule that a note breaks."""
    _refuse_who(nota)
    _refuse_when(nota, rules)
    _refuse_customer(nota, rules)
    if not 0 < len(nota.itens) <= _MOST_ITEMS:
        raise NotaInvalida("itens", f"uma nota leva de 1 a {_MOST_ITEMS} itens; divida a venda em mais de uma")
    for item in nota.itens:
        _refuse_item(item, nota)
    if nota.total >= _MOST_MONEY:
        raise NotaInvalida("itens", "o total da venda não cabe numa nota; confira preços e quantidades")
    _refuse_payment(nota)


def state_of(emitente: Emitente) -> UF:
    """Return the seller's state. Raises ``NotaInvalida`` where the city is in another one."""
    estado = states().get(emitente.endereco.estado)
    if estado is None or not emitente.endereco.codigo_cidade.startswith(estado.ibge):
        raise NotaInvalida("emitente.endereco", "a cidade e o estado da sua empresa não combinam; confira o cadastro")
    return estado


def _refuse_who(nota: NotaProduto) -> None:
    emitente, chave = nota.emitente, nota.chave
    if emitente.regime not in CRT:
        raise NotaInvalida(
            "emitente.regime",
            "por enquanto só faço nota de produto para MEI e Simples Nacional; no regime normal, fale com seu contador",
        )
    if not _IE.fullmatch(emitente.inscricao_estadual):
        raise NotaInvalida(
            "emitente.inscricao_estadual",
            "falta a inscrição estadual da sua empresa, só com números; confira o cadastro",
        )
    state_of(emitente)
    if chave.serie not in _OWN_SERIES:
        raise NotaInvalida("chave.serie", f"a série precisa ficar entre 1 e {_OWN_SERIES[-1]}; confira o cadastro")
    if chave.emissao != _NORMAL_EMISSION:
        raise NotaInvalida("chave.emissao", "não faço nota em contingência; espero a Secretaria da Fazenda voltar")
    if chave.emitente != emitente.cnpj or chave.uf != state_of(emitente).ibge:
        raise NotaInvalida("chave.emitente", "o número da nota foi reservado para outra empresa; peça ajuda ao suporte")
    text("emitente.razao_social", "a razão social da sua empresa", emitente.razao_social, 2, 60)
    _refuse_address("emitente.endereco", "da sua empresa", emitente.endereco)
    if emitente.fone is not None and not _FONE.fullmatch(emitente.fone):
        raise NotaInvalida("emitente.fone", "o telefone da sua empresa precisa de 6 a 14 números; confira o cadastro")


def _refuse_when(nota: NotaProduto, rules: Rules) -> None:
    if nota.emissao.tzinfo is None:
        raise ValueError("emissao: a moment without an offset is none")
    at = local(nota)
    if f"{at:%y%m}" != nota.chave.aamm:
        raise NotaInvalida("emissao", "o número desta nota é de outro mês; a venda precisa de um número novo")
    if rules.fim is not None and at.date() >= rules.fim:
        raise NotaInvalida(
            "emissao",
            f"desde {rules.fim:%d/%m/%Y} a nota de produto leva IBS e CBS, que ainda não sei preencher; "
            "fale com seu contador",
        )


def _refuse_customer(nota: NotaProduto, rules: Rules) -> None:
    who, modelo = nota.destinatario, nota.chave.modelo
    if nota.presenca not in _PRESENCE[modelo]:
        way = "foi entregue em mãos ou pela própria loja" if modelo == NFCE else "não foi entrega da própria loja"
        raise NotaInvalida("presenca", f"este tipo de nota só serve quando a venda {way}; escolha o outro tipo")
    if who is None:
        _refuse_nameless(nota, rules)
        return
    if who.endereco is not None and who.endereco.estado == _ABROAD:
        raise NotaInvalida("destinatario", "não faço nota para cliente do exterior; fale com seu contador")
    try:
        company = isinstance(parse_documento(who.documento), CNPJ)
    except DocumentoInvalido:
        raise NotaInvalida("destinatario.documento", "o CPF ou CNPJ do cliente não confere; diga de novo") from None
    if (company or who.inscricao_estadual) and modelo == NFCE:
        raise NotaInvalida(
            "destinatario.documento", "NFC-e é só para consumidor pessoa física; para este cliente, faça uma NF-e"
        )
    text("destinatario.nome", "o nome do cliente", who.nome, 2, 60)
    if who.endereco is not None:
        _refuse_place(who.endereco, nota)
    elif modelo == NFE or nota.presenca == DELIVERED:
        raise NotaInvalida("destinatario.endereco", "falta o endereço do cliente; diga rua, número, bairro e CEP")
    if who.inscricao_estadual is not None and not _IE.fullmatch(who.inscricao_estadual):
        raise NotaInvalida("destinatario.inscricao_estadual", "a inscrição estadual do cliente tem só números, até 14")
    if who.email is not None and not _EMAIL.fullmatch(who.email):
        raise NotaInvalida("destinatario.email", "o e-mail do cliente não cabe na nota; diga outro")


def _refuse_nameless(nota: NotaProduto, rules: Rules) -> None:
    if nota.chave.modelo == NFE:
        raise NotaInvalida("destinatario", "a NF-e precisa do cliente: diga o nome e o CPF ou CNPJ")
    if nota.presenca == DELIVERED:
        raise NotaInvalida("destinatario", "para entrega, diga nome, CPF e endereço de quem recebe")
    if nota.total >= rules.sem_nome:
        raise NotaInvalida("destinatario", "neste valor a nota precisa do CPF do cliente; diga qual é")


def _refuse_place(endereco: Endereco, nota: NotaProduto) -> None:
    if endereco.estado != nota.emitente.endereco.estado:
        raise NotaInvalida(
            "destinatario.endereco",
            f"por enquanto só faço nota de produto para clientes de {nota.emitente.endereco.estado}; "
            "para outro estado, fale com seu contador",
        )
    _refuse_address("destinatario.endereco", "do cliente", endereco)
    if not endereco.codigo_cidade.startswith(nota.chave.uf):
        raise NotaInvalida("destinatario.endereco", "a cidade e o estado do cliente não combinam; diga de novo")


def _refuse_address(campo: str, whose: str, endereco: Endereco) -> None:
    if not _CEP.fullmatch(endereco.cep):
        raise NotaInvalida(campo, f"o CEP {whose} precisa de 8 números; diga de novo")
    if not re.fullmatch(r"[1-9][0-9]{6}", endereco.codigo_cidade):
        raise NotaInvalida(campo, f"não encontrei a cidade {whose}; diga de novo")
    text(campo, f"a rua {whose}", endereco.logradouro, 2, 60)
    text(campo, f"o número do endereço {whose}", endereco.numero, 1, 60)
    text(campo, f"o bairro {whose}", endereco.bairro, 2, 60)
    text(campo, f"a cidade {whose}", endereco.cidade, 2, 60)
    if endereco.complemento:
        text(campo, f"o complemento do endereço {whose}", endereco.complemento, 1, 60)


def _refuse_item(item: ItemProduto, nota: NotaProduto) -> None:
    regime, modelo = nota.emitente.regime, nota.chave.modelo
    named = f"“{item.texto[:40]}”"
    text("item.texto", "a descrição do produto", item.texto, 1, 120)
    text("item.codigo", f"o código de {named}", item.codigo, 1, 60)
    text("item.unidade", f"a unidade de {named}", item.unidade, 1, 6)
    if not _within(item.quantidade, _MOST_QUANTITY, 4):
        raise NotaInvalida(
            "item.quantidade",
            f"a quantidade de {named} precisa ser maior que zero e menor que 1.000.000, com até 4 casas; diga de novo",
        )
    if not _within(item.preco, Decimal(10) ** 11, 10) or item.total == 0:
        raise NotaInvalida("item.preco", f"o preço de {named} precisa ser maior que zero; diga de novo")
    if not _NCM.fullmatch(item.ncm):
        raise NotaInvalida("item.ncm", f"o NCM de {named} precisa de 8 números; confira com seu contador")
    if item.origem not in set("012345678"):
        raise NotaInvalida("item.origem", f"a origem de {named} é um número de 0 a 8; confira com seu contador")
    if item.cest is not None and not _CEST.fullmatch(item.cest):
        raise NotaInvalida("item.cest", f"o CEST de {named} precisa de 7 números; confira com seu contador")
    if item.csosn not in _SITUATIONS[regime, modelo]:
        allowed = ", ".join(sorted(_SITUATIONS[regime, modelo]))
        raise NotaInvalida(
            "item.csosn",
            f"o CSOSN {item.csosn} de {named} não serve aqui (serve {allowed}); confira com seu contador",
        )
    if item.cfop[:1] in {"6", "7"}:
        raise NotaInvalida(
            "item.cfop",
            f"o CFOP {item.cfop} de {named} é de venda para fora do estado, que ainda não faço; fale com seu contador",
        )
    if item.cfop not in _operations(item.csosn, regime):
        allowed = ", ".join(sorted(_operations(item.csosn, regime)))
        raise NotaInvalida(
            "item.cfop", f"o CFOP {item.cfop} de {named} não serve aqui (serve {allowed}); confira com seu contador"
        )


def _operations(csosn: str, regime: str) -> frozenset[str]:
    """Return the CFOP of a sale inside of the state: own production, resale, paid before. MEI: 337."""
    if csosn == PAID:
        return frozenset({"5405"})
    return frozenset({"5102"}) if regime == "mei" else frozenset({"5101", "5102"})


def _refuse_payment(nota: NotaProduto) -> None:
    means = [each.meio for each in nota.pagamentos]
    unpaid = means == [NO_PAYMENT]
    if not means or len(means) > 100 or not set(means) <= _MEANS or (NO_PAYMENT in means and not unpaid):  # noqa: PLR2004
        raise NotaInvalida("pagamentos", "não entendi a forma de pagamento; diga se foi Pix, dinheiro ou cartão")
    if unpaid and nota.chave.modelo == NFCE:
        raise NotaInvalida("pagamentos", "a NFC-e precisa da forma de pagamento; diga se foi Pix, dinheiro ou cartão")
    if any(not _within(each.valor, _MOST_MONEY, 2) for each in nota.pagamentos if not unpaid):
        raise NotaInvalida("pagamentos", "cada pagamento precisa de um valor maior que zero, em centavos inteiros")
    if sum(each.valor for each in nota.pagamentos) != (Decimal(0) if unpaid else nota.total):
        raise NotaInvalida("pagamentos", "os pagamentos não somam o total da nota; diga de novo quanto foi em cada um")


def _within(value: Decimal, below: Decimal, places: int) -> bool:
    return value.is_finite() and 0 < value < below and value == round(value, places)


def text(campo: str, what: str, value: str, least: int, most: int) -> str:
    """Return a text as the layout takes it; nothing of it is cut and nothing left out."""
    spelt = as_latin(value)
    if unfit(spelt):
        raise NotaInvalida(campo, f"{what} tem sinais que não cabem na nota; escreva só com letras e números")
    if not least <= len(spelt) <= most:
        raise NotaInvalida(campo, f"{what} precisa ter de {least} a {most} letras; escreva de outro jeito")
    return spelt


def local(nota: NotaProduto) -> datetime:
    """Return when a note is issued, in the time of the seller's city."""
    return nota.emissao.astimezone(zone_of(nota.emitente.endereco.codigo_cidade)).replace(microsecond=0)
