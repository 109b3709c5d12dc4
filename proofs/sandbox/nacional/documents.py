"""The XML that the simulated authority makes: notes and events with its seal, and what its web portal writes."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import nfelib.nfse.bindings.v1_0 as nb
from lxml import etree
from xsdata.formats.dataclass.serializers import XmlSerializer
from xsdata.formats.dataclass.serializers.config import SerializerConfig

from gateway.nacional.layouts import NS, check, parse, reshaped
from gateway.nacional.signature import sign
from proofs.sandbox.cnpj_register import any_company, companies
from proofs.sandbox.nacional.model import MEI, NORMAL, SUBSTITUICAO, path, text
from proofs.sandbox.plugnotas.model import BRASILIA
from state_machine.services.codes import table

if TYPE_CHECKING:
    from datetime import date, datetime

    from gateway.nacional.layouts import Document, Layout
    from proofs.sandbox.nacional.authority import Made
    from proofs.sandbox.nacional.model import Dps

VERSION: Final = "SefinSimulada_1.0"
PORTAL_SERIE: Final = "70000"  # 70000 to 79999: the web portal's
_SERIALIZER: Final = XmlSerializer(config=SerializerConfig(xml_declaration=True, encoding="UTF-8"))
_CENT: Final = Decimal("0.01")
_STATES: Final = dict(
    zip(
        map(str, (*range(11, 18), *range(21, 30), *range(31, 34), 35, *range(41, 44), *range(50, 54))),
        "RO AC AM RR PA AP TO MA PI CE RN PB PE AL SE BA MG ES RJ SP PR SC RS MS MT GO DF".split(),  # noqa: SIM905 - a list of 27 literals is no easier to read
        strict=True,
    )
)  # by the first two digits of a city's IBGE code


@cache
def services() -> dict[str, str]:
    """Return the national list of services: ``cTribNac`` and its text, Anexo I."""
    return {codigo: row.texto for codigo, row in table().codigos.items()}


@cache
def city_name(ibge: str) -> str:
    """Return a city's name, where a company of the invented register is from there."""
    known = (row["municipio"] for row in companies().values() if str(row["codigo_municipio_ibge"]) == ibge)
    return str(next(known, f"Município {ibge}"))


def local(at: datetime) -> str:
    """Return a moment as the layout writes it."""
    return at.astimezone(BRASILIA).isoformat(timespec="seconds")


def note(
    dps: Dps,
    document: Any,
    *,
    chave: str,
    numero: int,
    sequence: int,
    at: datetime,
    rate: Decimal,
    layout: Layout,
    seal: Made,
    portal: bool = False,
) -> bytes:
    """Return the NFS-e of a DPS: its own element inside, signed by the authority, held against the schema.

    ``sequence`` counts all documents of the authority; ``rate`` is the city's, in percent. Amounts of IBS and CBS are
    not computed.
    """
    city = city_name(dps.municipio)
    info = nb.TcinfNfse(
        Id=f"NFS{chave}",
        xLocEmi=city,
        xLocPrestacao=city_name(text(document, "infDPS/serv/locPrest/cLocPrestacao") or dps.municipio),
        nNFSe=str(numero),
        cLocIncid=dps.municipio,
        xLocIncid=city,
        xTribNac=services()[dps.codigo],
        verAplic=VERSION,
        ambGer="2",
        tpEmis="1",
        procEmi="2" if portal else "1",
        cStat="107" if dps.regime == MEI else "100",
        dhProc=local(at),
        nDFSe=str(sequence),
        emit=_issuer(dps),
        valores=_amounts(dps, document, rate),
    )
    root = parse(_SERIALIZER.render(nb.Nfse(versao=layout.versao, infNFSe=info), ns_map={None: NS}).encode())
    root.find(path("infNFSe")).append(document)
    return _sealed(root, f"NFS{chave}", "NFSe", layout, seal)


def event(chave: str, tipo: str, request: Any, *, sequence: int, at: datetime, layout: Layout, seal: Made) -> bytes:
    """Return the event that the authority makes of a request, which stands inside of it."""
    identity = f"EVT{chave}{tipo}001"
    info = nb.TcinfEvento(
        Id=identity, verAplic=VERSION, ambGer="2", nSeqEvento="1", dhProc=local(at), nDFSe=str(sequence)
    )
    root = parse(_SERIALIZER.render(nb.Evento(versao=layout.versao, infEvento=info), ns_map={None: NS}).encode())
    root.find(path("infEvento")).append(request)
    return _sealed(root, identity, "evento", layout, seal)


def own_request(
    chave: str, tipo: str, autor: str, motivo: str, *, tp_amb: str, at: datetime, layout: Layout, substituta: str = ""
) -> Any:
    """Return the request that the authority writes itself: the portal's cancellation, or a substitution's."""
    told: dict[str, Any]
    if tipo == SUBSTITUICAO:
        told = {
            "e105102": nb.Te105102(
                xDesc=nb.Te105102XDesc.CANCELAMENTO_DE_NFS_E_POR_SUBSTITUI_O,
                cMotivo="99",
                xMotivo=motivo,
                chSubstituta=substituta,
            )
        }
    else:
        told = {"e101101": nb.Te101101(xDesc=nb.Te101101XDesc.CANCELAMENTO_DE_NFS_E, cMotivo="9", xMotivo=motivo)}
    info = nb.TcinfPedReg(
        Id=f"PRE{chave}{tipo}",
        tpAmb=tp_amb,
        verAplic=VERSION,
        dhEvento=local(at),
        chNFSe=chave,
        **{"CNPJAutor" if len(autor) == 14 else "CPFAutor": autor},  # noqa: PLR2004 - the length of a CNPJ
        **told,
    )
    return parse(_SERIALIZER.render(nb.PedRegEvento(versao=layout.versao, infPedReg=info), ns_map={None: NS}).encode())


def portal_dps(
    *,
    prestador: str,
    tomador: str,
    tomador_nome: str,
    municipio: str,
    serie: str,
    numero: int,
    codigo: str,
    valor: Decimal,
    descricao: str,
    competencia: date,
    tp_amb: str,
    at: datetime,
    layout: Layout,
) -> Any:
    """Return the DPS of somebody who issues on the web portal: the portal signs nothing of theirs."""
    identity = f"DPS{municipio}2{prestador}{serie:0>5}{numero:015d}"
    person = {"CNPJ" if len(tomador) == 14 else "CPF": tomador}  # noqa: PLR2004 - the length of a CNPJ
    info = nb.TcinfDps(
        Id=identity,
        tpAmb=tp_amb,
        dhEmi=local(at),
        verAplic=VERSION,
        serie=serie,
        nDPS=str(numero),
        dCompet=competencia.isoformat(),
        tpEmit="1",
        cLocEmi=municipio,
        prest=nb.TcinfoPrestador(CNPJ=prestador, regTrib=nb.TcregTrib(opSimpNac="3", regApTribSN="1", regEspTrib="0")),
        toma=nb.TcinfoPessoa(**person, xNome=tomador_nome),
        serv=nb.Tcserv(
            locPrest=nb.TclocPrest(cLocPrestacao=municipio),
            cServ=nb.Tccserv(cTribNac=codigo, xDescServ=descricao),
        ),
        valores=nb.TcinfoValores(
            vServPrest=nb.TcvservPrest(vServ=f"{valor:.2f}"),
            trib=nb.TcinfoTributacao(
                tribMun=nb.TctribMunicipal(tribISSQN="1", tpRetISSQN="1"),
                totTrib=nb.TctribTotal(pTotTribSN="6.00"),
            ),
        ),
    )
    root = parse(_SERIALIZER.render(nb.Dps(versao=layout.versao, infDPS=info), ns_map={None: NS}).encode())
    if layout.nt009:
        reshaped(root, apuracao="1", atividade="07")
    check(root, "DPS", layout)
    return root


def _sealed(root: Any, reference: str, document: Document, layout: Layout, seal: Made) -> bytes:
    xml = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    signed = sign(xml, reference, seal.rsa, seal.certificate, layout.digest)
    check(parse(signed), document, layout)
    return signed


def _issuer(dps: Dps) -> Any:
    """Return name and address from the register: the prestador may not say them."""
    known = companies().get(dps.prestador) or any_company(dps.prestador)
    person = {"CNPJ" if len(dps.prestador) == 14 else "CPF": dps.prestador}  # noqa: PLR2004 - the length of a CNPJ
    return nb.Tcemitente(
        **person,
        xNome=known["razao_social"],
        enderNac=nb.TcenderecoEmitente(
            xLgr=known["logradouro"],
            nro=known["numero"] or "S/N",
            xBairro=known["bairro"],
            cMun=dps.municipio,
            UF=_STATES[dps.municipio[:2]],
            CEP=known["cep"],
        ),
    )


def _amounts(dps: Dps, document: Any, rate: Decimal) -> Any:
    """Return the tax as the city's rate makes it; of a MEI and of the Simples it is not computed here."""
    values = f"infDPS/valores/{'{}'}"
    less = Decimal(text(document, values.format("vDescCondIncond/vDescIncond")) or 0)
    base = dps.valor - less
    if dps.regime != NORMAL:
        return nb.TcvaloresNfse(vBC=f"{base:.2f}", vLiq=f"{base:.2f}")
    percent = Decimal(text(document, values.format("trib/tribMun/pAliq")) or rate)
    tax = (base * percent / 100).quantize(_CENT, ROUND_HALF_UP)
    kept = tax if text(document, values.format("trib/tribMun/tpRetISSQN")) != "1" else Decimal(0)
    return nb.TcvaloresNfse(
        vBC=f"{base:.2f}",
        pAliqAplic=f"{percent:.2f}",
        vISSQN=f"{tax:.2f}",
        vTotalRet=f"{kept:.2f}" if kept else None,
        vLiq=f"{base - kept:.2f}",
    )
