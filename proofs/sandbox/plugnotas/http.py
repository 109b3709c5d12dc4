"""The HTTP face of the simulated PlugNotas: its routes, answers and error shapes."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from aiohttp import web

from proofs.sandbox.faults import Fault
from proofs.sandbox.plugnotas.danfse import render_pdf
from proofs.sandbox.plugnotas.model import BRASILIA, CANCELLED, ISSUED, Note, bare
from proofs.sandbox.plugnotas.nfse_xml import render_xml
from proofs.sandbox.plugnotas.rules import missing
from proofs.sandbox.server import answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from proofs.sandbox.plugnotas.plugnotas import PlugNotasSimulator

MOTIVO_MIN = 15  # characters of xMotivo in the national layout
_ABSENT = "Não localizamos qualquer NFSe com os parâmetros informados"


def routes(gateway: PlugNotasSimulator) -> Iterable[web.AbstractRouteDef]:
    """Return every route, bound to one simulator."""
    api = _Api(gateway)
    table = [
        ("POST", "/nfse", api.submit),
        ("GET", "/nfse/consultar/periodo", api.period),
        ("GET", "/nfse/consultar/{wanted}", api.summaries),
        ("GET", "/nfse/consultar/{id_integracao}/{cnpj}", api.by_key),
        ("GET", "/nfse/pdf/{wanted}", api.pdf),
        ("GET", "/nfse/pdf/{id_integracao}/{cnpj}", api.pdf),
        ("GET", "/nfse/xml/{wanted}", api.xml),
        ("GET", "/nfse/xml/{id_integracao}/{cnpj}", api.xml),
        ("GET", "/nfse/cancelar/status/{protocol}", api.cancel_status),
        ("POST", "/nfse/cancelar/{wanted}", api.cancel),
        ("POST", "/nfse/cancelar/{id_integracao}/{cnpj}", api.cancel),
        ("GET", "/nfse/{wanted}", api.document),
        ("GET", "/webhook", api.webhook),
    ]
    return [web.route(method, path, api.guarded(handler)) for method, path, handler in table]


class _Api:
    """What the bot calls."""

    def __init__(self, gateway: PlugNotasSimulator) -> None:
        self.gateway = gateway

    def guarded(
        self, handler: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Check the token, and write every call into the ledger."""

        async def call(request: web.Request) -> web.Response:
            if request.headers.get("x-api-key") != self.gateway.config.api_key:
                response = _error(401, "O token informado é inválido")
            else:
                response = await handler(request)
            self.gateway.ledger.append("call", method=request.method, path=request.path, status=response.status)
            return response

        return call

    async def webhook(self, _request: web.Request) -> web.Response:
        """``GET /webhook``: where the account's events go."""
        url = self.gateway.courier.url
        if url is None:
            return _error(404, "Nenhum webhook cadastrado")
        return web.json_response({"url": url, "method": "POST"})

    async def submit(self, request: web.Request) -> web.Response:
        """``POST /nfse`` with an array of notes."""
        try:
            notes = json.loads(await request.read())
        except ValueError:
            return _error(400, "JSON inválido")
        if not isinstance(notes, list) or not notes:
            return _error(400, "Falha na validação do JSON de NFSe", fields={"nfse": "Deve ser uma lista de notas"})
        nameless = self.gateway.config.nameless
        wrong = {path: complaint for note in notes for path, complaint in missing(note, nameless=nameless).items()}
        if wrong:
            return _error(400, "Falha na validação do JSON de NFSe", fields=wrong)
        if any(bare(note["prestador"]["cpfCnpj"]) in self.gateway.refused for note in notes):
            return _error(403, "Sem permissão para emitir por este prestador")
        first = str(notes[0].get("idIntegracao") or "")
        if refusal := self.gateway.faults.strike(Fault.REFUSE, first):
            return _error(refusal.status, refusal.message or "Falha na validação do JSON de NFSe")
        for note in notes:
            taken = self._taken(note)
            if taken is not None:
                return taken
        return self._accept(notes)

    def _taken(self, note: dict[str, Any]) -> web.Response | None:
        cnpj, key = bare(note["prestador"]["cpfCnpj"]), str(note.get("idIntegracao") or "")
        standing = self.gateway.under(cnpj, key) if key else []
        if not standing or not self.gateway.unique(cnpj, key):
            return None
        if not self._seen(standing):
            return _error(400, "Já existe um(a) NFSe com os parâmetros informados")
        return _error(
            409,
            "Já existe um(a) NFSe com os parâmetros informados",
            new={"idIntegracao": key, "cnpj": cnpj},
            current=self._summary(standing[0]),
        )

    def _accept(self, payloads: list[dict[str, Any]]) -> web.Response:
        protocol, notes = self.gateway.accept(payloads)
        documents = [{"idIntegracao": note.id_integracao, "prestador": note.prestador, "id": note.id} for note in notes]
        key = notes[0].id_integracao
        if self.gateway.faults.strike(Fault.OTHER_REFERENCE, key):
            documents[0] |= {"idIntegracao": "de-outra-pessoa-1", "id": "0" * 24}
        if self.gateway.faults.strike(Fault.BAD_REQUEST_ACCEPTED, key):
            error = {"message": "Não foi possível enviar a nota agora, tentaremos novamente"}
            return answer({"error": error, "documents": documents, "protocol": protocol}, 400)
        return answer({"documents": documents, "message": "Nota(as) em processamento", "protocol": protocol})

    async def summaries(self, request: web.Request) -> web.Response:
        """``GET /nfse/consultar/{idOrProtocol}``."""
        wanted = request.match_info["wanted"]
        notes = self.gateway.by_id_or_protocol(wanted)
        return answer([self._summary(note) for note in notes]) if notes else _error(404, _ABSENT, idOrProtocol=wanted)

    async def by_key(self, request: web.Request) -> web.Response:
        """``GET /nfse/consultar/{idIntegracao}/{cnpj}``: by our key."""
        key, cnpj = request.match_info["id_integracao"], bare(request.match_info["cnpj"])
        notes = self._seen(self.gateway.under(cnpj, key))
        if not notes:
            return _error(404, _ABSENT, idIntegracao=key, cnpj=cnpj)
        return answer([self._summary(note) for note in notes])

    async def document(self, request: web.Request) -> web.Response:
        """``GET /nfse/{id}``: everything."""
        wanted = request.match_info["wanted"]
        note = self.gateway.notes.get(wanted)
        return answer(note.document(self.gateway.url)) if note else _error(404, _ABSENT, id=wanted)

    async def period(self, request: web.Request) -> web.Response:
        """``GET /nfse/consultar/periodo``: oldest first; ``hashProximaPagina`` is null on the last page."""
        query = request.query
        try:
            first = date.fromisoformat(query.get("dataInicial", "0001-01-01"))
            last = date.fromisoformat(query.get("dataFinal", "9999-12-31"))
        except ValueError:
            return _error(400, "Datas devem estar no formato AAAA-MM-DD")
        cnpj = bare(query.get("cpfCnpj"))
        if not cnpj:
            return _error(400, "O parâmetro cpfCnpj é obrigatório")
        notes = [
            note
            for note in self.gateway.notes.values()
            if note.prestador == cnpj and first <= note.created_at.astimezone(BRASILIA).date() <= last
        ]
        ids = [note.id for note in notes]
        cursor = query.get("hashProximaPagina")
        if cursor and cursor not in ids:
            return _error(400, "hashProximaPagina inválido")
        start = ids.index(cursor) if cursor else 0
        end = start + self.gateway.config.page
        following = ids[end] if end < len(ids) else None
        return answer({"notas": [self._summary(note) for note in notes[start:end]], "hashProximaPagina": following})

    async def pdf(self, request: web.Request) -> web.Response:
        """``GET /nfse/pdf/…``: 202 while it is being made."""
        return self._file(request, lambda note: web.Response(body=render_pdf(note), content_type="application/pdf"))

    async def xml(self, request: web.Request) -> web.Response:
        """``GET /nfse/xml/…``: 202 while it is being made."""
        return self._file(request, lambda note: web.Response(body=render_xml(note), content_type="application/xml"))

    def _file(self, request: web.Request, render: Callable[[Note], web.Response]) -> web.Response:
        note = self._one(request)
        if note is None:
            return _error(404, _ABSENT, id=request.match_info.get("wanted"))
        if not self.gateway.rendered(note):
            return answer({"message": "O documento ainda não está disponível", "data": {"id": note.id}}, 202)
        return render(note)

    async def cancel(self, request: web.Request) -> web.Response:
        """``POST /nfse/cancelar/…`` with ``{motivo, codigo}``."""
        note = self._one(request)
        if note is None:
            return _error(404, _ABSENT, id=request.match_info.get("wanted"))
        raw = await request.read()
        try:
            asked = json.loads(raw) if raw else {}
        except ValueError:
            return _error(400, "JSON inválido")
        if note.situacao == CANCELLED:
            return _error(409, "A NFSe já está cancelada", current=self._summary(note))
        if note.situacao != ISSUED:
            return _error(400, f"Não é possível cancelar uma NFSe na situação {note.situacao}", id=note.id)
        if len(str(asked.get("motivo") or "")) < MOTIVO_MIN:
            return _error(400, "Falha na validação", fields={"motivo": f"Tamanho mínimo: {MOTIVO_MIN}"})
        running = note.cancel_protocol if note.cancel_answer is None else None
        protocol = running or self.gateway.ask_cancel(note, str(asked.get("motivo", "")), str(asked.get("codigo", "")))
        return answer({"message": "Cancelamento em processamento", "data": {"protocol": protocol}})

    async def cancel_status(self, request: web.Request) -> web.Response:
        """``GET /nfse/cancelar/status/{protocol}``; its ``data`` beyond response and protocol is our guess."""
        protocol = request.match_info["protocol"]
        for note in self.gateway.notes.values():
            if note.cancel_protocol == protocol:
                done = note.cancel_answer or "Cancelamento em processamento"
                situacao = "PROCESSANDO" if note.cancel_answer is None else "CONCLUIDO"
                situacao = "REJEITADO" if note.cancel_answer and note.situacao != CANCELLED else situacao
                data = {"response": done, "protocol": protocol, "id": note.id, "situacao": situacao}
                return answer({"message": done, "data": data})
        return _error(404, "Não localizamos qualquer cancelamento com os parâmetros informados", protocol=protocol)

    def _one(self, request: web.Request) -> Note | None:
        where = request.match_info
        if "wanted" in where:
            return self.gateway.notes.get(where["wanted"])
        return next(iter(self.gateway.under(bare(where["cnpj"]), where["id_integracao"])), None)

    def _seen(self, notes: list[Note]) -> list[Note]:
        """Return those that reading shows already."""
        lag = self.gateway.faults.setting(Fault.READ_LAG)
        if lag is None:
            return notes
        since = self.gateway.ledger.now() - timedelta(seconds=lag.seconds)
        return [note for note in notes if note.created_at <= since]

    def _summary(self, note: Note) -> dict[str, Any]:
        shown = note.summary(self.gateway.url)
        if note.situacao == ISSUED and self.gateway.faults.strike(Fault.NO_NUMBER, note.id_integracao):
            for name in ("numeroNfse", "numero", "codigoVerificacao", "autorizacao"):
                shown.pop(name, None)
        return shown


def _error(status: int, message: str, **data: Any) -> web.Response:
    return answer({"error": {"message": message, **({"data": data} if data else {})}}, status)
