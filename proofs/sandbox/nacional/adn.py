"""The simulated ADN: what cities have agreed to, and the distribution of documents to who stands in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from proofs.sandbox.nacional.documents import VERSION
from proofs.sandbox.nacional.model import CANCELAMENTO, SUBSTITUICAO, same_company
from proofs.sandbox.nacional.mutual import MutualTls, company
from proofs.sandbox.nacional.register import City
from proofs.sandbox.plugnotas.model import BRASILIA, number
from proofs.sandbox.server import answer, cut

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from proofs.sandbox.nacional.model import Note
    from proofs.sandbox.nacional.sefin import SefinSimulator

_TYPES: Final = {CANCELAMENTO: "CANCELAMENTO", SUBSTITUICAO: "CANCELAMENTO_POR_SUBSTITUICAO"}
_SERVICE: Final = re.compile(r"([0-9]{2})\.?([0-9]{2})\.?([0-9]{2})\.?([0-9]{3})")  # with the city's own three digits
_FOUND, _NONE, _REFUSED = "DOCUMENTOS_LOCALIZADOS", "NENHUM_DOCUMENTO_LOCALIZADO", "REJEICAO"


class AdnSimulator(MutualTls):
    """Reads SEFIN's books; a document's NSU is the ``seq`` of its record there, so it has gaps and never changes.

    The ledger has one ``call`` for every API call.
    """

    name = "adn"

    def __init__(self, sefin: SefinSimulator, **server: Any) -> None:
        super().__init__(sefin.authority, **server)
        self.sefin = sefin

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the routes that a taxpayer has."""
        table = [
            ("/parametrizacao/{ibge}/convenio", self._agreement),
            ("/parametrizacao/{ibge}/{servico}/{competencia}/aliquota", self._rate),
            ("/contribuintes/DFe/{nsu}", self._distribution),
            ("/contribuintes/NFSe/{chave}/Eventos", self._events),
            ("/danfse/{chave}", self._danfse),
        ]
        return [web.get(where, self._written(handler)) for where, handler in table]

    def error_body(self, status: int) -> dict[str, Any]:
        """Return what the framework below the real one says of its own trouble."""
        return self.sefin.error_body(status)

    def uncertified(self, request: web.Request) -> web.Response:
        """Cut the connection: the real one ends the handshake."""
        return cut(request)

    def _written(
        self, handler: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def call(request: web.Request) -> web.Response:
            response = await handler(request)
            said = {"method": request.method, "path": request.path, "status": response.status}
            self.ledger.append("call", **said, company=company(request))
            return response

        return call

    def _city(self, request: web.Request) -> City:
        return self.sefin.config.cities.get(request.match_info["ibge"], City())

    async def _agreement(self, request: web.Request) -> web.Response:
        """``GET /parametrizacao/{ibge}/convenio``: the misspelt name is the published one."""
        city = self._city(request)
        if not city.registered:
            return answer({"mensagem": "Convênio não encontrado.", "parametrosConvenio": None}, 404)
        said = {
            "aderenteAmbienteNacional": int(city.active),
            "aderenteEmissorNacional": int(city.issues),
            "situacaoEmissaoPadraoContribuintesRFB": int(city.issues),
            "aderenteMAN": 0,
            "permiteAproveitametoDeCreditos": False,
        }
        return answer({"mensagem": "Parâmetros do convênio recuperados com sucesso.", "parametrosConvenio": said})

    async def _rate(self, request: web.Request) -> web.Response:
        """``GET /parametrizacao/{ibge}/{servico}/{competencia}/aliquota``: nine digits, with or without dots."""
        found = _SERVICE.fullmatch(request.match_info["servico"])
        if not found:
            words = "O código do serviço deve ser composto por nove dígitos."
            return answer({"mensagem": words, "aliquotas": None}, 400)
        city = self._city(request)
        if not city.registered or not city.active:
            return answer({"mensagem": "Nenhuma alíquota encontrada.", "aliquotas": None}, 404)
        rate = {"Incidencia": None, "Aliq": number(city.rate), "DtIni": f"{city.since}T00:00:00", "DtFim": None}
        return answer(
            {"mensagem": "Alíquotas recuperadas com sucesso.", "aliquotas": {".".join(found.groups()): [rate]}}
        )

    async def _distribution(self, request: web.Request) -> web.Response:
        """``GET /contribuintes/DFe/{nsu}``: what comes after ``nsu``, or that very document with ``lote=false``.

        The end of the list is a 404 that says so. That a lot begins after the number is how published clients read it.
        """
        asked = request.match_info["nsu"]
        mine, wanted = company(request), request.query.get("cnpjConsulta") or company(request)
        if not asked.isdigit() or not same_company(mine, wanted):
            erro = {"Codigo": None, "Descricao": "Consulta recusada para este certificado ou NSU."}
            return answer(self._lot(_REFUSED, [], erros=[erro]), 400)
        whole = sorted(
            (row for note in self.sefin.notes.values() if _concerns(note, str(wanted)) for row in _documents(note)),
            key=lambda row: int(row["NSU"]),
        )
        if request.query.get("lote", "true") == "true":
            lot = [row for row in whole if row["NSU"] > int(asked)][: self.sefin.config.page]
        else:
            lot = [row for row in whole if row["NSU"] == int(asked)]
        return answer(self._lot(_FOUND, lot)) if lot else answer(self._lot(_NONE, []), 404)

    async def _events(self, request: web.Request) -> web.Response:
        """``GET /contribuintes/NFSe/{chave}/Eventos``."""
        note = self.sefin.notes.get(request.match_info["chave"])
        rows = [row for row in _documents(note) if row["TipoEvento"]] if note else []
        return answer(self._lot(_FOUND, rows)) if rows else answer(self._lot(_NONE, []), 404)

    async def _danfse(self, _: web.Request) -> web.Response:
        """``GET /danfse/{chave}``: suspended since August 2026 (NT 008)."""
        return web.Response(status=503, text="Service Unavailable")

    def _lot(
        self, status: str, rows: list[dict[str, Any]], *, erros: list[dict[str, Any]] | None = None
    ) -> dict[str, Any]:
        return {
            "StatusProcessamento": status,
            "LoteDFe": rows,
            "Alertas": [],
            "Erros": erros or [],
            "TipoAmbiente": self.sefin.config.ambiente.name,
            "VersaoAplicativo": VERSION,
            "DataHoraProcessamento": self.ledger.now().astimezone(BRASILIA).isoformat(),
        }


def _concerns(note: Note, cnpj: str) -> bool:
    return any(same_company(cnpj, actor) for actor in (note.prestador, note.tomador))


def _documents(note: Note) -> Iterator[dict[str, Any]]:
    yield _row(note.nsu, note.chave, "NFSE", None, note.packed, note.at.isoformat())
    for event in note.events:
        yield _row(event.nsu, note.chave, "EVENTO", _TYPES[event.tipo], event.packed, event.at.isoformat())


def _row(nsu: int, chave: str, kind: str, event: str | None, packed: str, at: str) -> dict[str, Any]:
    return {
        "NSU": nsu,
        "ChaveAcesso": chave,
        "TipoDocumento": kind,
        "TipoEvento": event,
        "ArquivoXml": packed,
        "DataHoraGeracao": at,
    }
