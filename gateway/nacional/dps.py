"""Owns the unsigned DPS of one invoice: its elements, and the rules of the manual that need no look-up.

Rules: Anexo I of the national NFS-e manual, layout 1.01 of 2026-02-09; their codes stand beside what they ask for.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import nfelib.nfse.bindings.v1_0 as nb
from lxml import etree
from xsdata.formats.dataclass.serializers import XmlSerializer
from xsdata.formats.dataclass.serializers.config import SerializerConfig

from gateway.keys import OWN_SERIES, ChaveInvalida, ChaveNFSe, IdDPS, municipality
from gateway.nacional.layouts import NS, Layout, check, has_ibs_cbs, parse, reshaped
from state_machine.documents import (
    Atividade,
    Documento,
    DocumentoServico,
    Endereco,
    Obra,
    Prestador,
    Substituicao,
    Tomador,
    Tributos,
    service,
)
from state_machine.protocol.channel import Ambiente
from state_machine.services.codes import digits
from state_machine.values.documents import CNPJ, CPF, DocumentoInvalido, parse_documento
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.text import as_latin, unfit

TP_AMB: Final = {Ambiente.PRODUCAO: "1", Ambiente.HOMOLOGACAO: "2"}
VER_APLIC: Final = "prosa"
_OP_SIMP_NAC: Final = {"normal": "1", "mei": "2", "simples": "3", "simples-pendente": "4"}
OF_THE_SIMPLES: Final = frozenset({"simples", "simples-pendente"})
_NONE, _BY_SIMPLES, _PRESTADOR, _TAXED, _NOT_RETAINED = "0", "1", "1", "1", "1"  # codes of the layout
_NOT_TAXED, _BY_CUSTOMER = "4", "2"  # likewise
NOWHERE_TAXED = "990101"  # services without ISS: E0532
_NEVER_RETAINED = frozenset({NOWHERE_TAXED, "220101"})  # roads: E0596
_OTHER_REASON: Final = "99"  # code of the layout
_REGULAR, _CUSTOMER = "0", "0"  # codes of the layout: finNFSe, indDest
_CEP: Final = re.compile(r"[0-9]{8}")
_MAX_VALOR: Final = Decimal("999999999999999.99")  # TSDec15V2
_MAX_ALIQUOTA: Final = Decimal(5)  # percent; E0595
_MAX_SN: Final = Decimal("99.99")  # percent; TSDec2V2
_ALL: Final = Decimal(100)  # percent; E0706 to E0708
_CENTAVOS: Final = -2  # exponent
_XSD_YEARS: Final = range(2000, 2100)
_REFERENCE: Final = 20  # characters of cIntContrib
_SERIALIZER: Final = XmlSerializer(config=SerializerConfig(xml_declaration=True, encoding="UTF-8"))


@dataclass(frozen=True, slots=True)
class Circunstancias:
    """What a DPS says beside the invoice: what the channel, the company's settings and the city's agreement decide.

    ``dh_emi`` is the aware moment of emission; who calls sets it a minute back, since one ahead of SEFIN's clock is
    refused (E0008). ``informar_im``: the city has the company in the national register of taxpayers (E0116, E0120).
    ``convenio_ativo``: the agreement of the city where the tax falls is active. ``p_tot_trib_sn`` in percent, for
    "simples"; one of ``p_tot_trib`` (percent) and ``v_tot_trib`` (BRL), for "normal".
    """

    layout: Layout
    ambiente: Ambiente
    dh_emi: datetime
    ver_aplic: str = VER_APLIC
    informar_im: bool = False
    convenio_ativo: bool = True
    p_tot_trib_sn: Decimal | None = None
    p_tot_trib: Tributos | None = None
    v_tot_trib: Tributos | None = None


def id_dps(intent: Documento) -> IdDPS:
    """Return the identity of the DPS of an invoice. Raises ``ValueError`` where its parts make none."""
    rps = intent.rps
    if rps is None:
        raise ValueError("rps: a DPS needs a series and a number of ours")
    if not re.fullmatch(r"[0-9]{1,5}", rps.serie) or int(rps.serie) not in OWN_SERIES:
        raise ValueError(f"rps.serie: {rps.serie!r} is not between 1 and {OWN_SERIES[-1]}")  # E0010
    try:
        return IdDPS(intent.prestador.municipio_ibge, _cnpj(intent.prestador.cnpj), int(rps.serie), rps.numero)
    except ChaveInvalida as error:
        raise ValueError(f"{'prestador.municipio_ibge' if error.campo == 'cMun' else 'rps.numero'}: {error}") from error


def short_reference(id_integracao: str) -> str:
    """Return the ``cIntContrib`` of a reference of ours: 20 letters and digits, the same for the same reference."""
    if not id_integracao:
        raise ValueError("id_integracao: it is empty")
    digest = hashlib.sha256(id_integracao.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest)[:_REFERENCE].decode()


def build(intent: Documento, facts: Circunstancias) -> bytes:
    """Return the unsigned DPS, held against the official XSD: same arguments, same bytes.

    Raises ``ValueError`` that begins with the field which is wrong.
    """
    identity, prestador, tomador = id_dps(intent), intent.prestador, _tomador(intent.tomador, facts.layout)
    what = service(intent)
    if identity.inscricao.numero == tomador.CNPJ:
        raise ValueError("tomador.documento: it is the prestador's own")  # E0202
    dh_emi = moment("dh_emi", facts.dh_emi)
    dps = nb.Dps(
        versao=facts.layout.versao,
        infDPS=nb.TcinfDps(
            Id=str(identity),
            tpAmb=TP_AMB[facts.ambiente],
            dhEmi=dh_emi,
            verAplic=text("ver_aplic", facts.ver_aplic, 20),
            serie=str(identity.serie),
            nDPS=str(identity.numero),
            dCompet=_competencia(intent.competencia, dh_emi[:10]),
            tpEmit=_PRESTADOR,
            cLocEmi=identity.municipio,
            subst=_substituted(intent.substitui),
            prest=_prestador(prestador, identity, facts),
            toma=tomador,
            serv=nb.Tcserv(
                locPrest=nb.TclocPrest(cLocPrestacao=_city("local", what.local or identity.municipio)),
                cServ=nb.Tccserv(
                    cTribNac=national_code(prestador.codigo_servico),
                    xDescServ=text("descricao", what.descricao, 2000),
                    cNBS=prestador.codigo_nbs,
                    cIntContrib=short_reference(intent.id_integracao),
                ),
                obra=_site(what.obra),
                atvEvento=_event(what.evento),
            ),
            valores=nb.TcinfoValores(
                vServPrest=nb.TcvservPrest(vServ=_amount("valor", intent.valor, _MAX_VALOR, least=Decimal("0.01"))),
                trib=nb.TcinfoTributacao(
                    tribMun=nb.TctribMunicipal(
                        tribISSQN=_NOT_TAXED if prestador.codigo_servico == NOWHERE_TAXED else _TAXED,
                        tpRetISSQN=_BY_CUSTOMER if what.iss_retido else _NOT_RETAINED,
                        pAliq=_aliquota(what, facts),
                    ),
                    totTrib=_burden(prestador.regime, facts),
                ),
            ),
            IBSCBS=_ibs_cbs(prestador, intent.competencia),
        ),
    )
    if not facts.layout.nt009:
        return checked("DPS", dps, facts.layout)
    root = parse(_SERIALIZER.render(dps, ns_map={None: NS}).encode())
    reshaped(root, apuracao=prestador.apuracao_ibscbs, atividade=prestador.atividade_sn)
    check(root, "DPS", facts.layout)
    xml: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return xml


def impossible(xml: bytes) -> bytes:
    """Return a DPS of the same layout that no authority makes a note of, for two reasons that are each enough.

    It names the other environment (E0006), and a competence after its emission (E0015).
    """
    root = parse(xml)
    info = root[0]
    environment, competence = (info.find(f"{{{NS}}}{name}") for name in ("tpAmb", "dCompet"))
    environment.text = "1" if environment.text == "2" else "2"
    competence.text = f"{int(competence.text[:4]) + 2}-01-01"
    made: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return made


def checked(document: Any, binding: Any, layout: Layout) -> bytes:
    """Write a binding as XML that the official schema accepts. Raises ``ValueError`` with what the schema says."""
    xml: bytes = _SERIALIZER.render(binding, ns_map={None: NS}).encode()
    check(parse(xml), document, layout)
    return xml


def national_code(codigo: str) -> str:
    """Return the six digits of a ``cTribNac``, given with or without its dots. Raises ``ValueError``."""
    try:
        return digits(codigo)
    except ValueError as error:
        raise ValueError(f"prestador.codigo_servico: {error}") from None


def text(field: str, value: str, most: int, *, least: int = 1) -> str:
    """Return ``value`` as the layout takes text: printable Latin-1 of ``least`` to ``most`` characters.

    Raises ``ValueError``: of a text that the person confirmed nothing is cut, and nothing is left out.
    """
    spelt = as_latin(value)
    if fora := unfit(spelt):
        raise ValueError(f"{field}: {len(fora)} of its characters are not of Latin-1")
    if not least <= len(spelt) <= most:
        raise ValueError(f"{field}: {least} to {most} characters of Latin-1 are asked for, these are {len(spelt)}")
    return spelt


def moment(field: str, at: datetime) -> str:
    """Return an aware moment as the layout writes it: São Paulo, whole seconds. Raises ``ValueError``."""
    if at.tzinfo is None:
        raise ValueError(f"{field}: a moment without an offset is none")
    local = at.astimezone(SAO_PAULO).replace(microsecond=0)
    if local.year not in _XSD_YEARS or local.utcoffset() not in (timedelta(hours=-3), timedelta(hours=-2)):
        raise ValueError(f"{field}: {local} is not of this century")
    return local.isoformat()


def _competencia(day: date, emitted: str) -> str:
    if day.year not in _XSD_YEARS:
        raise ValueError(f"competencia: {day} is not of this century")
    if day.isoformat() > emitted:
        raise ValueError(f"competencia: {day} is after the emission ({emitted})")  # E0015
    return day.isoformat()


def _cnpj(numero: str) -> CNPJ:
    try:
        return CNPJ(numero)
    except DocumentoInvalido as error:
        raise ValueError(f"prestador.cnpj: {error}") from error


def _substituted(substitui: Substituicao | None) -> Any:
    """Name the note that ends by this one; the layout's further reasons are of taxes that nobody tells us."""
    if substitui is None:
        return None
    try:
        chave = ChaveNFSe.parse(substitui.chave)
    except ChaveInvalida as error:
        raise ValueError(f"substitui.chave: {error}") from error  # E0042
    motivo = text("substitui.motivo", substitui.motivo, 255, least=15)
    return nb.Tcsubstituicao(chSubstda=str(chave), cMotivo=_OTHER_REASON, xMotivo=motivo)


def _prestador(prestador: Prestador, identity: IdDPS, facts: Circunstancias) -> Any:
    """Neither name nor address: the authority has them, and refuses them from the prestador (E0121, E0128)."""
    regime = _OP_SIMP_NAC.get(prestador.regime)
    if regime is None:
        raise ValueError(f"prestador.regime: {prestador.regime!r} is unknown")
    if prestador.regime == "simples-pendente" and not facts.layout.nt009:
        raise ValueError("prestador.regime: the layout of before NT 009 has no pending option for the Simples")
    inscricao = prestador.inscricao_municipal
    return nb.TcinfoPrestador(
        CNPJ=_letters("prestador.cnpj", identity.inscricao, facts.layout),
        IM=text("prestador.inscricao_municipal", inscricao, 15) if facts.informar_im else None,
        regTrib=nb.TcregTrib(
            opSimpNac=regime, regApTribSN=_BY_SIMPLES if prestador.regime in OF_THE_SIMPLES else None, regEspTrib=_NONE
        ),
    )


def _letters(field: str, documento: CNPJ | CPF, layout: Layout) -> str:
    if not layout.alphanumeric and not documento.numero.isdigit():
        raise ValueError(f"{field}: the layout in force takes no letters in a CNPJ")
    return documento.numero


def customer_name(tomador: Tomador) -> str:
    """Return the customer's name as the layout takes it. Raises ``ValueError``."""
    return text("tomador.razao_social", tomador.razao_social or "", 300)


def _tomador(tomador: Tomador, layout: Layout) -> Any:
    try:
        documento = parse_documento(tomador.documento)
    except DocumentoInvalido as error:
        raise ValueError(f"tomador.documento: {error}") from error
    return nb.TcinfoPessoa(
        CNPJ=_letters("tomador.documento", documento, layout) if isinstance(documento, CNPJ) else None,
        CPF=documento.numero if isinstance(documento, CPF) else None,
        xNome=customer_name(tomador),
        end=_endereco(tomador.endereco) if tomador.endereco else None,
        email=text("tomador.email", tomador.email, 80) if tomador.email else None,
    )


def _endereco(endereco: Endereco) -> Any:
    """Whole or not at all: a part that is missing is an error, for a note without the address is another note."""
    at = "tomador.endereco"
    national = nb.TcenderNac(cMun=_city(f"{at}.codigo_cidade", endereco.codigo_cidade), CEP=_cep(at, endereco))
    return nb.Tcendereco(endNac=national, **_street(at, endereco))


def _site(obra: Obra | None) -> Any:
    """Say which building site: its number counts before its address, of which the layout takes one."""
    if obra is None:
        return None
    inscricao = text("obra.inscricao", obra.inscricao, 30) if obra.inscricao else None
    if obra.cno is not None:
        return nb.TcinfoObra(inscImobFisc=inscricao, cObra=text("obra.cno", obra.cno, 30))
    if obra.endereco is None:
        raise ValueError("obra: neither its number nor its address")  # E0370
    at = "obra.endereco"
    where = nb.TcenderObraEvento(CEP=_cep(at, obra.endereco), **_street(at, obra.endereco))
    return nb.TcinfoObra(inscImobFisc=inscricao, end=where)


def _event(evento: Atividade | None) -> Any:
    if evento is None:
        return None
    if evento.fim < evento.inicio:
        raise ValueError("evento.fim: it ends before it begins")
    at = "evento.endereco"
    return nb.TcatvEvento(
        xNome=text("evento.nome", evento.nome, 255),
        dtIni=evento.inicio.isoformat(),
        dtFim=evento.fim.isoformat(),
        end=nb.TcenderecoSimples(CEP=_cep(at, evento.endereco), **_street(at, evento.endereco)),
    )


def _city(field: str, codigo: str) -> str:
    try:
        return municipality(codigo)
    except ChaveInvalida as error:
        raise ValueError(f"{field}: {error}") from error


def _cep(at: str, endereco: Endereco) -> str:
    if not _CEP.fullmatch(endereco.cep):
        raise ValueError(f"{at}.cep: {endereco.cep!r} is not eight digits")
    return endereco.cep


def _street(at: str, endereco: Endereco) -> dict[str, str | None]:
    return {
        "xLgr": text(f"{at}.logradouro", endereco.logradouro, 255),
        "nro": text(f"{at}.numero", endereco.numero, 60),
        "xCpl": text(f"{at}.complemento", endereco.complemento, 156) if endereco.complemento else None,
        "xBairro": text(f"{at}.bairro", endereco.bairro, 60),
    }


def _ibs_cbs(prestador: Prestador, competencia: date) -> Any:
    """Say how IBS and CBS see the service, whose amounts the authority makes; the customer is who receives it."""
    said = prestador.ibs_cbs
    if said is None or not has_ibs_cbs(prestador.regime, competencia):
        return None
    if prestador.codigo_nbs is None:
        raise ValueError("prestador.codigo_nbs: the group of IBS and CBS asks for it")  # E0322
    return nb.TcrtcinfoIbscbs(
        finNFSe=_REGULAR,
        cIndOp=said.ind_op,
        indDest=_CUSTOMER,
        valores=nb.TcrtcinfoValoresIbscbs(
            trib=nb.TcrtcinfoTributosIbscbs(
                gIBSCBS=nb.TcrtcinfoTributosSitClas(CST=said.cst, cClassTrib=said.class_trib)
            )
        ),
    )


def _aliquota(what: DocumentoServico, facts: Circunstancias) -> str | None:
    """The rate is the company's word where the customer retains the tax of one of the Simples (E0621, E0628).

    Else only where a "normal" one is taxed by a city without an active agreement. Elsewhere it is refused: E0600 (MEI),
    E0602 (nothing is due), E0617 (normal), E0625 and E0631 (simples without retention).
    """
    prestador = what.prestador
    if what.iss_retido:
        if prestador.regime == "mei":
            raise ValueError("iss_retido: nobody retains the ISS of a MEI")  # E0583
        if prestador.codigo_servico in _NEVER_RETAINED:
            raise ValueError("iss_retido: nobody retains it of this service")  # E0580, E0596
        if prestador.regime in OF_THE_SIMPLES:
            if prestador.aliquota is None:
                raise ValueError("prestador.aliquota: with the ISS retained the rate must be said")
            return _amount("prestador.aliquota", prestador.aliquota, _MAX_ALIQUOTA)
    if prestador.codigo_servico == NOWHERE_TAXED:
        return None
    if prestador.regime != "normal" or facts.convenio_ativo:
        return None
    if prestador.aliquota is None:
        raise ValueError("prestador.aliquota: the city's agreement is not active, so the rate must be said")  # E0619
    return _amount("prestador.aliquota", prestador.aliquota, _MAX_ALIQUOTA)


def _burden(regime: str, facts: Circunstancias) -> Any:
    """Say the approximate burden as the regime must: E0710, E0712, E0713."""
    percent, money = facts.p_tot_trib, facts.v_tot_trib
    if regime == "mei":
        return nb.TctribTotal(indTotTrib=_NONE)
    if regime in OF_THE_SIMPLES:
        if facts.p_tot_trib_sn is None:
            raise ValueError("p_tot_trib_sn: a company of the Simples says its approximate burden in percent")
        return nb.TctribTotal(pTotTribSN=_amount("p_tot_trib_sn", facts.p_tot_trib_sn, _MAX_SN))
    if percent and not money:
        return nb.TctribTotal(
            pTotTrib=nb.TctribTotalPercent(
                pTotTribFed=_amount("p_tot_trib.federal", percent.federal, _ALL),
                pTotTribEst=_amount("p_tot_trib.estadual", percent.estadual, _ALL),
                pTotTribMun=_amount("p_tot_trib.municipal", percent.municipal, _ALL),
            )
        )
    if money and not percent:
        return nb.TctribTotal(
            vTotTrib=nb.TctribTotalMonet(
                vTotTribFed=_amount("v_tot_trib.federal", money.federal, _MAX_VALOR),
                vTotTribEst=_amount("v_tot_trib.estadual", money.estadual, _MAX_VALOR),
                vTotTribMun=_amount("v_tot_trib.municipal", money.municipal, _MAX_VALOR),
            )
        )
    raise ValueError("p_tot_trib: a company of the normal regime says its burden once, in percent or in BRL")


def _amount(field: str, value: Decimal, most: Decimal, *, least: Decimal = Decimal(0)) -> str:
    """Write a number with two decimals; it is not rounded."""
    if not value.is_finite() or not least <= value <= most:
        raise ValueError(f"{field}: {value} is not between {least} and {most}")
    exponent = value.normalize().as_tuple().exponent
    if not isinstance(exponent, int) or exponent < _CENTAVOS:
        raise ValueError(f"{field}: {value} has more than two decimals")
    return f"{value:.2f}"
