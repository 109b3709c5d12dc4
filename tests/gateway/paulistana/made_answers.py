"""Answers of the city, as its schemas have them."""

from __future__ import annotations

from html import escape

from gateway.http.wire import Answer
from gateway.keys import ChaveRPS
from tests.gateway.paulistana.made_rps import CNPJ

KEY = ChaveRPS("31000000", "PROSA", 1)
_SOAP = (
    '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><XResponse '
    'xmlns="http://www.prefeitura.sp.gov.br/nfe"><RetornoXML>{inner}</RetornoXML></XResponse></s:Body></s:Envelope>'
)


def key_xml(key: ChaveRPS) -> str:
    """A ``ChaveRPS``."""
    return (
        f"<ChaveRPS><InscricaoPrestador>{int(key.inscricao)}</InscricaoPrestador><SerieRPS>{key.serie}</SerieRPS>"
        f"<NumeroRPS>{key.numero}</NumeroRPS></ChaveRPS>"
    )


def note_key(numero: int = 42) -> str:
    """A ``ChaveNFe``."""
    return (
        f"<ChaveNFe><InscricaoPrestador>31000000</InscricaoPrestador><NumeroNFe>{numero}</NumeroNFe>"
        "<CodigoVerificacao>M2UTLZ6X</CodigoVerificacao></ChaveNFe>"
    )


def issued(key: ChaveRPS = KEY, numero: int = 42) -> str:
    """A ``ChaveNFeRPS``: the RPS became a note."""
    return f"<ChaveNFeRPS>{note_key(numero)}{key_xml(key)}</ChaveNFeRPS>"


def note(numero: int = 42, status: str = "N", key: ChaveRPS | None = KEY, texto: str = "Consultoria") -> str:
    """A ``NFe``, as far as it is read."""
    return (
        f"<NFe>{note_key(numero)}<DataEmissaoNFe>2026-11-28T10:00:00</DataEmissaoNFe>"
        f"{key_xml(key) if key else ''}<DataFatoGeradorNFe>2026-11-28T00:00:00</DataFatoGeradorNFe>"
        f"<CPFCNPJPrestador><CNPJ>{CNPJ}</CNPJ></CPFCNPJPrestador><StatusNFe>{status}</StatusNFe>"
        "<CodigoServico>2658</CodigoServico><CPFCNPJTomador><CPF>13167474254</CPF></CPFCNPJTomador>"
        f"<Discriminacao>{escape(texto)}</Discriminacao><ValorFinalCobrado>1500.00</ValorFinalCobrado></NFe>"
    )


def answer(
    root: str,
    *parts: str,
    agreed: bool = False,
    errors: tuple[str, ...] = (),
    alerts: tuple[tuple[str, str], ...] = (),
) -> Answer:
    """A whole answer: a ``Retorno…`` inside its envelope."""
    told = "".join(f"<Alerta><Codigo>{code}</Codigo><Descricao>{said}</Descricao></Alerta>" for code, said in alerts)
    told += "".join(f"<Erro><Codigo>{code}</Codigo><Descricao>diz {code}</Descricao></Erro>" for code in errors)
    inner = (
        f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="http://www.prefeitura.sp.gov.br/nfe">'
        f'<Cabecalho xmlns="" Versao="2"><Sucesso>{str(agreed).lower()}</Sucesso></Cabecalho>'
        f'<x xmlns="">{told}{"".join(parts)}</x></{root}>'
    ).replace('<x xmlns="">', "")
    for name in ("Alerta", "Erro", "NFe", "ChaveNFeRPS"):
        inner = inner.replace(f"<{name}>", f'<{name} xmlns="">')
    return Answer(200, {}, _SOAP.format(inner=escape(inner.replace("</x>", ""), quote=False)).encode())
