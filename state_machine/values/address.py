"""A customer's address, read out of one message of a person: what it says, and what it leaves out."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from state_machine.values.text import plain

LONGEST: Final = 600  # characters: the parts of the national layout, with their labels; more is no address
_CEP: Final = re.compile(
    r"(?<![\w.-])(?:cep\W{0,3})?([0-9]{2})\.?([0-9]{3})[ -]?([0-9]{3})(?![\w-]|\.\d)", re.IGNORECASE
)
_BREAK: Final = re.compile(r"[,;|\n]|(?:^|\s)[-–—•](?=\s|$)")
_UF: Final = re.compile(  # the 26 states and DF
    r"(?:^|[\s/(-])(A[CLMP]|BA|CE|DF|ES|GO|M[AGST]|P[ABEIR]|R[JNORS]|S[CEP]|TO)\)?$", re.IGNORECASE
)
_LABEL: Final = re.compile(
    r"(?P<parte>endere[cç]o|logradouro|n[uú]mero|n[º°o.]{1,2}|complemento|bairro|cidade|munic[ií]pio|estado|uf)\s{0,3}[:=-]\s{0,3}",
    re.IGNORECASE,
)
_NUMBER: Final = r"(?:s/?n[º°o]?|(?:n[º°o.]{1,2}\s?|n[uú]mero\s|km\s)?[0-9]{1,6}(?:[.,][0-9]{1,3})?(?:[-/ ]?[a-z])?)"
_ALONE: Final = re.compile(_NUMBER, re.IGNORECASE)
_ENDING: Final = re.compile(rf"\A(?P<rua>.*\w)\s+(?P<numero>{_NUMBER})", re.IGNORECASE)
_OF_NUMBER: Final = re.compile(r"n[º°o.]{1,2}\s?|n[uú]mero\s", re.IGNORECASE)
_ROOM: Final = (  # how a part of a building or of a block is called
    r"(?:sala|sl|ap(?:to|t|artamento)?|bl(?:oco)?|andar|\d{1,3}[ºo°]? andar|conj(?:unto)?|cj|loja|lj|casa|fundos|"
    r"quadra|qd|lote|lt|torre|galp[aã]o|box|sobreloja|t[eé]rreo|pr[eé]dio|edif[ií]cio|ed)\b"
)
_INSIDE: Final = re.compile(rf"{_ROOM}\.?(?:\s.*)?", re.IGNORECASE)
_BEFORE_ROOM: Final = re.compile(rf"\s(?={_ROOM})", re.IGNORECASE)
_KIND: Final = re.compile(  # of a street, by itself no name of one
    r"(?:rua|r|av|avenida|al|alameda|travessa|tv|rodovia|rod|estrada|pra[cç]a|p[cç]a|largo|viela|beco)\b\.?",
    re.IGNORECASE,
)
_KIND_LABELLED: Final = re.compile(rf"({_KIND.pattern})\s{{0,3}}:\s{{0,3}}", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\d")
_CODE: Final = re.compile(r" \(IBGE ([0-9]{7})\)$")
_NAME: Final = re.compile(r"(?:(?:o |no )?bairro (?:é )?)?([^\W\d_][^,;|\n?!:]{2,59})", re.IGNORECASE)
_IN: Final = re.compile(r"(?:n[ãa]o,? )?(?:foi )?(?:(?:feito|feita|l[aá]) )?em ", re.IGNORECASE)
_CITY_LONGEST: Final = 60  # characters; the longest name of a city has 32
_SHORTEST: Final = 3  # letters; a shorter part is a word between others, no name
_LABELLED: Final = {
    "e": "logradouro",
    "l": "logradouro",
    "n": "numero",
    "co": "complemento",
    "b": "bairro",
    "ci": "cidade",
    "m": "cidade",
    "es": "estado",
    "u": "estado",
}  # by how the label begins; the longer beginning first where one is the other's


@dataclass(frozen=True, slots=True)
class EnderecoDito:
    """An address as somebody said it, each part in their own letters; "" is a part that they left out.

    ``cep`` has eight digits, ``estado`` two capitals. ``codigo_cidade`` is the city's IBGE code (seven digits), which
    nobody says: the CEP tells it. Its text is read back as the same address.
    """

    logradouro: str = ""
    numero: str = ""
    bairro: str = ""
    cidade: str = ""
    estado: str = ""
    cep: str = ""
    complemento: str = ""
    codigo_cidade: str = ""

    @property
    def faltam(self) -> tuple[str, ...]:
        """Return the parts that a note needs and that were left out, in the order in which people say them."""
        return tuple(name for name in OBRIGATORIAS if not getattr(self, name))

    @property
    def is_certain(self) -> bool:
        """True where its words can be about nothing but an address."""
        return bool(self.cep or self.estado or _KIND.match(self.logradouro))

    def __str__(self) -> str:
        """Write it in one line, as people do."""
        cidade = "/".join(filter(None, (self.cidade, self.estado)))
        cep = f"{self.cep[:5]}-{self.cep[5:]}" if self.cep else ""
        parts = (self.logradouro, self.numero, self.complemento, self.bairro, cidade, cep)
        return ", ".join(filter(None, parts)) + (f" (IBGE {self.codigo_cidade})" if self.codigo_cidade else "")


@cache
def _cities() -> dict[str, EnderecoDito]:
    """The 5,571 cities by their IBGE code; the table comes with the library that draws the DANFSe."""
    table = files("brazilfiscalreport.danfse").joinpath("municipios_ibge.csv").read_text("utf-8")
    rows = (line.split(";") for line in table.splitlines())
    return {code: EnderecoDito(cidade=name, estado=state, codigo_cidade=code) for code, name, state in rows}


@cache
def _by_name() -> dict[str, tuple[EnderecoDito, ...]]:
    found: dict[str, tuple[EnderecoDito, ...]] = {}
    for city in _cities().values():
        key = plain(city.cidade, _CITY_LONGEST)
        found[key] = (*found.get(key, ()), city)
    return found


def city_of(codigo: str) -> EnderecoDito | None:
    """Return a city by its IBGE code (seven digits), ``None`` for a code of none."""
    return _cities().get(codigo)


def cities_named(texto: str) -> tuple[EnderecoDito, ...]:
    """Return the cities that a text names, with its state or without; none where it says anything else."""
    dito = " ".join(texto.strip(" .!?\n").split())[:_CITY_LONGEST]
    dito = _IN.sub("", dito)
    named = _UF.search(dito)
    nome = dito[: named.start()].strip(" ,/(-") if named else dito
    whole, found = (_by_name().get(plain(each, _CITY_LONGEST), ()) for each in (dito, nome))
    return tuple(city for city in found if city.estado == named[1].upper()) if named and not whole else whole


def as_people_write(texto: str) -> str:
    """Return an address's text without the city's code, which means nothing to people."""
    return _CODE.sub("", texto)


OBRIGATORIAS: Final = ("logradouro", "numero", "bairro", "cidade", "estado", "cep")  # all or nothing: TCEndereco


def read_address(texto: str) -> EnderecoDito:
    """Read an address out of one message; a part that cannot be told from its neighbours is left out, never guessed.

    The order is that of an envelope: street, number, what is inside, quarter, city and state; the CEP anywhere. Parts
    are divided by commas, lines or dashes, or called by their names.
    """
    texto = texto.strip()[:LONGEST]
    if code := _CODE.search(texto):
        return replace(read_address(texto[: code.start()]), codigo_cidade=code[1])
    ceps = {"".join(found.groups()) for found in _CEP.finditer(texto)}
    dito = EnderecoDito(cep=ceps.pop() if len(ceps) == 1 else "")
    parts = [" ".join(part.split()).strip(" .:") for part in _BREAK.split(_CEP.sub(",", texto))]
    plain: list[str] = []
    for part in filter(None, parts):
        named = _LABEL.match(part)
        if named and (said := part[named.end() :].strip()):
            dito = _called(dito, named["parte"].lower(), said)
        elif not named:
            plain.append(part)
    dito, plain = _city(dito, plain)
    dito, plain = _street(dito, plain)
    return _between(dito, plain)


def read_more(antes: EnderecoDito, texto: str) -> EnderecoDito:
    """Return ``antes`` with what an answer adds or says otherwise; the very one where it says nothing of an address.

    Another CEP begins another address. A name alone is the only part that is missing, where that is one.
    """
    dito = read_address(texto)
    if dito == EnderecoDito():
        name = _NAME.fullmatch(texto.strip(" .\n"))
        if name is None or antes.faltam not in {("bairro",), ("logradouro",)}:
            return antes
        return replace(antes, **{antes.faltam[0]: name[1].strip()})
    if antes.cep and dito.cep not in {"", antes.cep}:
        return dito
    said = {part: value for part, value in asdict(dito).items() if value}
    inside = {"complemento": ""} if dito.logradouro else {}  # of the street said before
    return replace(antes, **(inside | said))


def _called(dito: EnderecoDito, label: str, said: str) -> EnderecoDito:
    name = _LABELLED.get(label[:2]) or _LABELLED[label[0]]
    if name == "cidade":
        return _city(dito, [said])[0] if _state(said) else replace(dito, cidade=said)
    if name == "estado":
        return replace(dito, estado=_state(said))
    if name == "logradouro":
        read, rest = _street(dito, [said])
        return replace(dito, logradouro=said) if rest else read
    return replace(dito, **{name: said})


def _state(part: str) -> str:
    found = _UF.search(part)
    return found[1].upper() if found else ""


def _city(dito: EnderecoDito, parts: list[str]) -> tuple[EnderecoDito, list[str]]:
    """Take the city and its state off the end: "São Paulo/SP", "São Paulo, SP"; a city without its state is none."""
    if dito.estado or not parts or not (estado := _state(parts[-1])):
        return dito, parts
    cidade, rest = parts[-1].rstrip(")")[:-2].rstrip(" /(-"), parts[:-1]
    if not cidade and not dito.cidade and rest:
        *rest, cidade = rest
    if _DIGIT.search(cidade):  # the whole address without a comma: where the city begins nobody can tell
        cidade = ""
    return replace(dito, cidade=cidade or dito.cidade, estado=estado), rest


def _street(dito: EnderecoDito, parts: list[str]) -> tuple[EnderecoDito, list[str]]:
    """Take the street and its number off the beginning, with what stands behind the number without a comma."""
    if dito.logradouro or not parts or _ALONE.fullmatch(parts[0]):
        return dito, parts
    rua, *rest = parts
    rua = _KIND_LABELLED.sub(r"\1 ", rua) if _KIND_LABELLED.match(rua) else rua
    if rest and not dito.numero and _ALONE.fullmatch(rest[0]):
        return replace(dito, logradouro=rua, numero=_bare(rest[0])), rest[1:]
    for end in () if dito.numero else (*(room.start() for room in _BEFORE_ROOM.finditer(rua)), len(rua)):
        found = _ENDING.fullmatch(rua, 0, end)
        if found and not _KIND.fullmatch(found["rua"]):
            inside = rua[end:].strip()
            return replace(dito, logradouro=found["rua"], numero=_bare(found["numero"]), complemento=inside), rest
    return (replace(dito, logradouro=rua), rest) if _KIND.match(rua) else (dito, parts)


def _bare(numero: str) -> str:
    return _OF_NUMBER.sub("", numero, count=1) if _OF_NUMBER.match(numero) else numero


def _between(dito: EnderecoDito, parts: list[str]) -> EnderecoDito:
    """What stands between the number and the city is the quarter, behind what is inside of a building."""
    if parts and not dito.numero and _ALONE.fullmatch(parts[0]):
        dito, parts = replace(dito, numero=_bare(parts[0])), parts[1:]
    if dito == EnderecoDito():
        return dito  # words about something else
    if not dito.bairro and parts and not _INSIDE.fullmatch(parts[-1]):
        *parts, bairro = parts
        dito = replace(dito, bairro="" if len(bairro) < _SHORTEST or _ALONE.fullmatch(bairro) else bairro)
    inside = ", ".join(filter(None, (dito.complemento, *parts)))
    return replace(dito, complemento=inside)
