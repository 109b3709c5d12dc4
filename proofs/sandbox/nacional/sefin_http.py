"""The HTTP face of the simulated SEFIN Nacional: its routes, answers and the switches of its portal."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from aiohttp import web

from proofs.sandbox.faults import Fault
from proofs.sandbox.nacional.errors import Absence, Erro, RefusedError
from proofs.sandbox.nacional.model import same_company
from proofs.sandbox.nacional.mutual import company
from proofs.sandbox.server import ADMIN, answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from proofs.sandbox.nacional.model import Event, Note
    from proofs.sandbox.nacional.sefin import SefinSimulator


def routes(sefin: SefinSimulator, base: str) -> Iterable[web.AbstractRouteDef]:
    """Return every route, bound to one simulator."""
    api = _Api(sefin)
    table = [
        ("POST", "/nfse", api.submit),
        ("GET", "/nfse/{chave}", api.note),
        ("GET", "/dps/{id}", api.dps),
        ("HEAD", "/dps/{id}", api.exists),
        ("POST", "/nfse/{chave}/eventos", api.register),
        ("GET", "/nfse/{chave}/eventos", api.events),
        ("GET", "/nfse/{chave}/eventos/{tipo}", api.events),
        ("GET", "/nfse/{chave}/eventos/{tipo}/{sequencia}", api.event),
    ]
    switches = [
        web.post(ADMIN + "portal/nfse", api.portal_issue),
        web.post(ADMIN + "portal/cancelar", api.portal_cancel),
    ]
    bound = [_route(method, base + where, api.guarded(handler)) for method, where, handler in table]
    return [*bound, web.route("*", base + "/{wrong:.*}", _wrong_path), *switches]


def _route(method: str, where: str, handler: Callable[[web.Request], Awaitable[web.Response]]) -> web.RouteDef:
    """Bind one method alone: a HEAD that answers as GET would tell more than HEAD may."""
    return web.get(where, handler, allow_head=False) if method == "GET" else web.route(method, where, handler)


async def _wrong_path(request: web.Request) -> web.Response:  # noqa: ARG001 - the same for every path
    """Answer with the page of the web server before the authority."""
    return web.Response(status=404, text="<html><body><h2>404 - Not Found</h2></body></html>", content_type="text/html")


class _Api:
    """What the bot calls."""

    def __init__(self, sefin: SefinSimulator) -> None:
        self.sefin = sefin

    def guarded(
        self, handler: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Ask who it is, answer refusals, and write every call into the ledger."""

        async def call(request: web.Request) -> web.Response:
            who = company(request)
            try:
                self.sefin.door(who, request.method, request.path)
                response = await handler(request)
            except RefusedError as error:
                response = answer(self.sefin.refusal(error, request.path), error.status)
            self.sefin.ledger.append(
                "call", method=request.method, path=request.path, status=response.status, company=who
            )
            return response

        return call

    async def submit(self, request: web.Request) -> web.Response:
        """``POST /nfse``: the answer has the note."""
        packed = _field(await request.read(), "dpsXmlGZipB64")
        await asyncio.sleep(self.sefin.config.processing)
        note = self.sefin.submit(packed)
        said = self._note(note) | {"alertas": None}
        if self.sefin.faults.strike(Fault.OTHER_REFERENCE, note.id_dps):
            said["idDps"] = f"{note.id_dps[:-1]}{(int(note.id_dps[-1]) + 1) % 10}"
        return answer(said, 201)

    async def note(self, request: web.Request) -> web.Response:
        """``GET /nfse/{chave}``."""
        note = self._one(request)
        return self._absent("E2401") if note is None else answer(self._note(note))

    async def dps(self, request: web.Request) -> web.Response:
        """``GET /dps/{id}``: the key of the note, to those who stand in it."""
        note = self._of_dps(request)
        if note is None:
            return self._no_note()
        if not any(same_company(company(request), actor) for actor in (note.prestador, note.tomador)):
            return answer({**self.sefin.envelope(), "mensagem": "O certificado não é de um ator da NFS-e."}, 403)
        return answer({**self.sefin.envelope(), "idDps": note.id_dps, "chaveAcesso": note.chave})

    async def exists(self, request: web.Request) -> web.Response:
        """``HEAD /dps/{id}``: whether there is a note, to anybody."""
        return web.Response(status=404 if self._of_dps(request) is None else 200)

    async def register(self, request: web.Request) -> web.Response:
        """``POST /nfse/{chave}/eventos``."""
        packed = _field(await request.read(), "pedidoRegistroEventoXmlGZipB64")
        await asyncio.sleep(self.sefin.config.processing)
        event = self.sefin.register(request.match_info["chave"], packed)
        return answer({**self.sefin.envelope(), "eventoXmlGZipB64": event.packed}, 201)

    async def events(self, request: web.Request) -> web.Response:
        """``GET /nfse/{chave}/eventos[/{tipo}]``; the names of a row are those of the published client libraries."""
        note, tipo = self._one(request), request.match_info.get("tipo")
        found = [event for event in (note.events if note else ()) if tipo in {None, event.tipo}]
        if note is None or not found:
            return self._absent()
        return answer({**self.sefin.envelope(), "eventos": [_row(note, event) for event in found]})

    async def event(self, request: web.Request) -> web.Response:
        """``GET /nfse/{chave}/eventos/{tipo}/{sequencia}``."""
        note, where = self._one(request), request.match_info
        found = [event for event in (note.events if note else ()) if event.tipo == where["tipo"]]
        if not found or where["sequencia"].lstrip("0") != "1":
            return self._absent()
        return answer({**self.sefin.envelope(), "eventoXmlGZipB64": found[0].packed})

    async def portal_issue(self, request: web.Request) -> web.Response:
        """``POST /_sandbox/portal/nfse`` with ``prestador``, ``tomador``, ``valor`` and what else the portal asks."""
        try:
            asked = await request.json()
            note = self.sefin.issue_elsewhere(**{**asked, "valor": Decimal(str(asked["valor"]))})
        except (ValueError, TypeError, KeyError, InvalidOperation) as error:
            return answer({"error": str(error)}, 400)
        return answer({"chave": note.chave, "numero": note.numero}, 201)

    async def portal_cancel(self, request: web.Request) -> web.Response:
        """``POST /_sandbox/portal/cancelar`` with ``chave``."""
        try:
            self.sefin.cancel_elsewhere((await request.json())["chave"])
        except (ValueError, TypeError, KeyError, RefusedError) as error:
            return answer({"error": str(error)}, 400)
        return answer({}, 201)

    def _one(self, request: web.Request) -> Note | None:
        note = self.sefin.notes.get(request.match_info["chave"])
        return note if note is not None and self.sefin.seen(note) else None

    def _of_dps(self, request: web.Request) -> Note | None:
        return next((note for note in self.sefin.of_dps(request.match_info["id"]) if self.sefin.seen(note)), None)

    def _note(self, note: Note) -> dict[str, Any]:
        found = {"idDps": note.id_dps, "chaveAcesso": note.chave, "nfseXmlGZipB64": note.packed}
        return {**self.sefin.envelope(), **found}

    def _no_note(self) -> web.Response:
        """Say that no note was made of a DPS, in a form that clients of the real one have seen."""
        form = self.sefin.absence()
        if form is Absence.ENVELOPE:
            return self._absent()
        said = self.sefin.envelope() | {"erro": Erro("E2404").lower()}
        del said["versaoAplicativo"]
        return answer(said | ({"tipoAmbiente": 0} if form is Absence.NOWHERE else {}), 404)

    def _absent(self, codigo: str | None = None) -> web.Response:
        said = {"erro": Erro(codigo).lower()} if codigo else {"mensagem": "Documento não encontrado."}
        return answer({**self.sefin.envelope(), **said}, 404)


def _field(raw: bytes, name: str) -> Any:
    """Return the one field of an order; what is no JSON object has none."""
    try:
        asked = json.loads(raw)
    except ValueError:
        return None
    return asked.get(name) if isinstance(asked, dict) else None


def _row(note: Note, event: Event) -> dict[str, Any]:
    return {
        "chaveAcesso": note.chave,
        "tipoEvento": int(event.tipo),
        "numeroPedidoRegistroEvento": 1,
        "dataHoraRecebimento": event.at.isoformat(),
        "arquivoXml": event.packed,
    }
