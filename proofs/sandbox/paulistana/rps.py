"""What the simulated city reads of an RPS and remembers of a note: keys, the strings that are signed, ``NFe``."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from lxml import etree

from proofs.sandbox.cnpj_register import any_company, companies
from proofs.sandbox.paulistana.wire import note_fields
from proofs.sandbox.plugnotas.model import BRASILIA, access_check_digit

if TYPE_CHECKING:
    from proofs.sandbox.ledger import Record

CITY: Final = "3550308"
NORMAL, SIMPLES, MEI = "normal", "simples", "mei"
_CENT: Final = Decimal("0.01")
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ123456789"  # of a verification code
_SIMPLES_DAS: Final = "4"  # OpcaoSimples of who pays by DAS


class Chave(NamedTuple):
    """What names an RPS."""

    ccm: str  # without zeros on the left
    serie: str
    numero: int

    @classmethod
    def of(cls, element: Any) -> Self:
        """Read ``ChaveRPS``."""
        return cls(
            ccm_of(element), " ".join((element.findtext("SerieRPS") or "").split()), int(element.findtext("NumeroRPS"))
        )

    def element(self, versao: int) -> Any:
        """Return ``ChaveRPS``."""
        made = etree.Element("ChaveRPS")
        etree.SubElement(made, "InscricaoPrestador").text = written_ccm(self.ccm, versao)
        if self.serie:
            etree.SubElement(made, "SerieRPS").text = self.serie
        etree.SubElement(made, "NumeroRPS").text = str(self.numero)
        return made


def ccm_of(element: Any) -> str:
    """Return ``InscricaoPrestador`` without zeros on the left: layouts 1 and 2 write the same one in other widths."""
    return (element.findtext("InscricaoPrestador") or "").strip().lstrip("0") or "0"


def written_ccm(ccm: str, versao: int) -> str:
    """Return a CCM as an answer has it: eight digits in layout 1."""
    return ccm.zfill(8) if versao == 1 or len(ccm) <= 8 else ccm  # noqa: PLR2004 - digits of a CCM


def document(element: Any) -> str | None:
    """Return the CPF or CNPJ inside an element, ``None`` for no element and for who has neither."""
    return None if element is None else element.findtext("CNPJ") or element.findtext("CPF")


@dataclass(frozen=True, slots=True)
class Rps:
    """An RPS that the schema accepts."""

    chave: Chave
    versao: int
    emissao: date
    tributacao: str
    valor: Decimal  # BRL
    deducoes: Decimal
    codigo: str
    aliquota: Decimal  # a fraction
    retido: bool
    tomador: str | None  # CPF or CNPJ
    descricao: str
    element: Any

    @classmethod
    def of(cls, element: Any, versao: int) -> Self:
        """Read ``RPS``."""

        def must(name: str) -> str:
            return element.findtext(name) or ""

        return cls(
            chave=Chave.of(element.find("ChaveRPS")),
            versao=versao,
            emissao=date.fromisoformat(must("DataEmissao")),
            tributacao=must("TributacaoRPS"),
            valor=Decimal(must("ValorServicos") or must("ValorFinalCobrado") or must("ValorInicialCobrado")),
            deducoes=Decimal(must("ValorDeducoes") or "0"),
            codigo=must("CodigoServico").lstrip("0"),
            aliquota=Decimal(must("AliquotaServicos")),
            retido=must("ISSRetido") in {"true", "1"},
            tomador=document(element.find("CPFCNPJTomador")),
            descricao=" ".join(must("Discriminacao").split()),
            element=element,
        )

    @property
    def signed_string(self) -> str:
        """What ``Assinatura`` signs, written from the document's own text: 86 characters, or 90 in layout 2, and more.

        Sixteen more with an intermediary; without document abroad the NIF, or the digit of its absence, ends it.
        """
        nif = self._of_tomador("NIF") or self._of_tomador("NaoNIF")
        kind = {0: "3", 11: "1", 14: "2"}[len(self.tomador or "")]
        wide = 8 if self.versao == 1 else 12
        parts = [
            self.chave.ccm.zfill(wide),
            (self.element.findtext("ChaveRPS/SerieRPS") or "").ljust(5),
            str(self.chave.numero).zfill(12),
            f"{self.emissao:%Y%m%d}",
            self.tributacao,
            self.element.findtext("StatusRPS"),
            "S" if self.retido else "N",
            _cents(self.valor),
            _cents(self.deducoes),
            self.codigo.zfill(5),
            "4" if nif else kind,
            (self.tomador or "").zfill(14),
        ]
        between = self.element.find("CPFCNPJIntermediario")
        if between is not None:
            named = document(between) or ""
            held = self.element.findtext("ISSRetidoIntermediario") in {"true", "1"}
            parts += [{11: "1", 14: "2"}.get(len(named), "3"), named.zfill(14), "S" if held else "N"]
        return "".join((*parts, nif or ""))

    def has(self, path: str) -> bool:
        """Say whether something stands at a path."""
        return bool((self.element.findtext(path) or "").strip())

    def _of_tomador(self, name: str) -> str | None:
        said: str | None = self.element.findtext(f"CPFCNPJTomador/{name}")
        return said


def cancel_string(ccm: str, numero: int, length: int) -> str:
    """Return what ``AssinaturaCancelamento`` signs: 20 characters, or 24."""
    return ccm.zfill(length - 12) + str(numero).zfill(12)


def _cents(valor: Decimal) -> str:
    return str(int(valor * 100)).zfill(15)


def verification_code(ccm: str, numero: int) -> str:
    """Return the eight characters of a note."""
    seed = hashlib.sha256(f"{ccm}|{numero}".encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in seed[:8])


def national_key(cnpj: str, numero: int, at: datetime) -> str:
    """Return the 50 characters that the national system knows the note by."""
    random = int(hashlib.sha256(f"{cnpj}|{numero}".encode()).hexdigest(), 16) % 10**9
    base = f"{CITY}22{cnpj:0>14}{numero:013d}{at.astimezone(BRASILIA):%y%m}{random:09d}"
    return base + access_check_digit(base)


@dataclass(frozen=True, slots=True)
class Note:
    """A note of the books; ``by`` is "ws" or "site", ``mark`` the code of why the city does not undo it."""

    seq: int
    at: datetime
    numero: int
    ccm: str
    prestador: str
    serie: str | None
    rps: int | None
    valor: Decimal
    iss: Decimal
    aliquota: Decimal
    tomador: str | None
    descricao: str
    regime: str
    versao: int
    verificacao: str
    chave_nacional: str | None
    sha256: str
    by: str
    packed: str  # the RPS
    cancelled: datetime | None = None
    cancelled_by: str | None = None  # "substituicao", "ws" or "site"
    mark: str | None = None

    @classmethod
    def of(cls, record: Record) -> Self:
        """Read it from the ledger."""
        amounts = {name: Decimal(record.data[name]) for name in ("valor", "iss", "aliquota")}
        return cls(seq=record.seq, at=record.at, **{**record.data, **amounts})

    @property
    def chave(self) -> Chave | None:
        """The RPS that it was made of."""
        return None if self.rps is None else Chave(self.ccm, self.serie or "", self.rps)

    def key(self, versao: int, *, whole: bool = True) -> Any:
        """Return ``ChaveNFe``; layout 1 has no national key."""
        made = etree.Element("ChaveNFe")
        etree.SubElement(made, "InscricaoPrestador").text = written_ccm(self.ccm, versao)
        etree.SubElement(made, "NumeroNFe").text = str(self.numero)
        if whole:
            etree.SubElement(made, "CodigoVerificacao").text = self.verificacao
        if whole and versao > 1 and self.chave_nacional:
            etree.SubElement(made, "ChaveNotaNacional").text = self.chave_nacional
        return made

    def element(self, versao: int) -> Any:
        """Return ``NFe``: its own facts, and beside them what the RPS says under the same names."""
        rps, made = etree.fromstring(self.packed), etree.Element("NFe")
        own = self._facts(rps, versao)
        for name in note_fields(versao):
            said = own.get(name)
            if said is None and name not in own:
                said = rps.find(name)
                if said is not None and name == "CPFCNPJTomador" and versao == 1 and document(said) is None:
                    said = None  # layout 1 knows no NIF
            if said is None:
                continue
            if isinstance(said, str):
                etree.SubElement(made, name).text = said
            else:
                made.append(copy.deepcopy(said))
        return made

    def _facts(self, rps: Any, versao: int) -> dict[str, Any]:
        """Return what the RPS does not say; a name with ``None`` is not written."""
        known = companies().get(self.prestador) or any_company(self.prestador)
        day = rps.findtext("DataEmissao")
        facts: dict[str, Any] = {
            "ChaveNFe": self.key(versao),
            "DataEmissaoNFe": _local(self.at),
            "ChaveRPS": None if self.chave is None else self.chave.element(versao),
            "TipoRPS": None if self.chave is None else "RPS",
            "DataEmissaoRPS": None if self.chave is None else day,
            "DataFatoGeradorNFe": f"{day}T00:00:00",
            "CPFCNPJPrestador": _person("CPFCNPJPrestador", self.prestador),
            "RazaoSocialPrestador": known["razao_social"][:75],
            "EnderecoPrestador": _address(known),
            "StatusNFe": "C" if self.cancelled else "N",
            "DataCancelamento": _local(self.cancelled) if self.cancelled else None,
            "TributacaoNFe": rps.findtext("TributacaoRPS"),
            "OpcaoSimples": _SIMPLES_DAS if self.regime == SIMPLES else "0",
            "ValorServicos": f"{self.valor:.2f}",
            "AliquotaServicos": f"{self.aliquota.normalize():f}",
            "ValorISS": _money(self.iss),
            "ValorCredito": "0",
        }
        if versao > 1:
            facts["PagamentoParceladoAntecipado"] = rps.findtext("PagamentoParceladoAntecipado") or "0"
            facts["ExigibilidadeSuspensa"] = rps.findtext("ExigibilidadeSuspensa") or "0"
            facts["ValorFinalCobrado"] = f"{self.valor:.2f}"
            facts["ValorInicialCobrado"] = None
        return facts


def tax(valor: Decimal, deducoes: Decimal, aliquota: Decimal) -> Decimal:
    """Return the ISS in BRL."""
    return ((valor - deducoes) * aliquota).quantize(_CENT, ROUND_HALF_UP)


def _money(valor: Decimal) -> str:
    return f"{valor:.2f}" if valor else "0"


def _local(at: datetime) -> str:
    """Return a moment as the city writes it: its own time, without offset."""
    return at.astimezone(BRASILIA).replace(tzinfo=None).isoformat(timespec="seconds")


def _person(name: str, number: str) -> Any:
    made = etree.Element(name)
    etree.SubElement(made, "CNPJ" if len(number) == 14 else "CPF").text = number  # noqa: PLR2004 - the length of a CNPJ
    return made


def _address(known: dict[str, Any]) -> Any:
    made = etree.Element("EnderecoPrestador")
    for name, said, most in (
        ("Logradouro", known["logradouro"], 50),
        ("NumeroEndereco", known["numero"] or "S/N", 10),
        ("Bairro", known["bairro"], 30),
    ):
        etree.SubElement(made, name).text = said[:most]
    etree.SubElement(made, "Cidade").text = CITY
    etree.SubElement(made, "UF").text = "SP"
    return made
