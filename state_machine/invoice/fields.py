"""The fields of an invoice and what was read of each; the extractor proposes in these terms, the machine decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Campo(StrEnum):
    """A field of the invoice under construction."""

    DOCUMENTO = "documento"  # the tomador's CNPJ or CPF
    VALOR = "valor"
    DESCRICAO = "descricao"
    NOME = "nome"
    EMAIL = "email"
    COMPETENCIA = "competencia"  # "AAAA-MM"
    DATA = "data"  # "AAAA-MM-DD"
    CODIGO = "codigo"  # the national service code, six digits, of the company's own
    ENDERECO = "endereco"  # the customer's, as ``EnderecoDito`` writes it
    LOCAL = "local"  # where the work was done: a city, or a whole address, likewise
    OBRA = "obra"  # the number of a building site: CNO or CEI
    EVENTO = "evento"  # what an event is called
    FIM = "fim"  # its last day, "AAAA-MM-DD"; the first is ``DATA``
    ITENS = "itens"  # of an invoice for goods, as ``goods.dump`` writes them; amount and text follow from them
    MODELO = "modelo"  # "nfe" or "nfce", of one for goods
    RETIDO = "retido"  # "sim": the customer retains the ISS; "não": as it did, and does not here


class Origem(StrEnum):
    """Who read the value."""

    REGRAS = "regras"
    MODELO = "modelo"
    CADASTRO = "cadastro"  # the company's own records: a client found by name, an earlier invoice
    PROPOSTA = "proposta"  # another system, through the API: no person said it


class Confianca(StrEnum):
    """How sure the reader is; only ``certa`` and ``provavel`` fill a field, ``duvidosa`` is asked back."""

    CERTA = "certa"
    PROVAVEL = "provavel"
    DUVIDOSA = "duvidosa"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value read in the user's own words.

    ``valor`` is normalised text: a bare document ("12345678000195", "12ABC34501DE35"), money as "1500.00", a month as
    "2026-10", a day as "2026-10-31", anything else as the user would print it. ``trecho`` is the span it was read from,
    verbatim. Of one in doubt ``detalhe`` is what is to be asked in our own words; ``novos`` are pairs of what is no
    product of the company's yet and its price ("3.50", "" where none was said).
    """

    campo: Campo
    valor: str
    trecho: str
    origem: Origem = Origem.REGRAS
    confianca: Confianca = Confianca.CERTA
    detalhe: str | None = None
    novos: tuple[tuple[str, str], ...] = ()


class Motivo(StrEnum):
    """Why a field must be asked although something about it was said."""

    DIGITO_NAO_BATE = "digito_nao_bate"  # check digits wrong
    INCOMPLETO = "incompleto"  # digits missing, or too many
    PROPRIO_DOCUMENTO = "proprio_documento"  # only the issuing company's own document was named
    VARIOS = "varios"  # two or more fit
    TELEFONE_OU_CPF = "telefone_ou_cpf"
    PARCELADO = "parcelado"
    POR_UNIDADE = "por_unidade"  # hours x price, "cada"
    DESCONTO = "desconto"
    MOEDA_ESTRANGEIRA = "moeda_estrangeira"
    NAO_POSITIVO = "nao_positivo"  # zero or negative
    AMBIGUO = "ambiguo"  # readable in two ways ("1.50"?)
    DUAS_NOTAS = "duas_notas"
    DISCORDANCIA = "discordancia"  # rules and model read different values
    RECUSADO = "recusado"  # the authority did not accept it in an earlier invoice
    NAO_CABE = "nao_cabe"  # the channel could never send it as it is


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something said about ``campo`` that must not be taken as it stands; ``detalhe``: "faltam 2 dígitos".

    ``leituras`` are the values that it may mean, normalised as in ``Candidate``, the likeliest first; ``conta`` is how
    the only one of them was reckoned from the user's numbers ("15 × R$ 70,00"), ``None`` where it was said as it is.
    ``nomes`` are pairs of a reading and whose it is: clients of the company's own records.
    """

    campo: Campo
    motivo: Motivo
    trecho: str
    detalhe: str | None = None
    leituras: tuple[str, ...] = ()
    conta: str | None = None
    nomes: tuple[tuple[str, str], ...] = ()
