"""A city's own web service as a simulator: answers with the note at once, and a repeated key voids the note before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from proofs.sandbox.server import Simulator, answer, cut

if TYPE_CHECKING:
    from collections.abc import Iterable

STANDS, VOIDED, CANCELLED = "normal", "substituida", "cancelada"


@dataclass
class CityNote:
    """One note in the city's book; ``pedido`` is the request that made it, as it was received."""

    numero: int
    pedido: dict[str, Any]
    situacao: str = STANDS

    @property
    def chave(self) -> str:
        """The key of 45 characters."""
        return str(self.pedido["chave"])

    def as_dict(self) -> dict[str, Any]:
        """Return what the city tells of it."""
        return {"numero": self.numero, "situacao": self.situacao, **self.pedido}


class City(Simulator):
    """Sends no webhook. ``late``: the next submission is cut, and taken only when so many looks have found nothing."""

    name = "cidade"

    def __init__(self) -> None:
        super().__init__()
        self.book: list[CityNote] = []
        self.late: int | None = None
        self._under_way: list[dict[str, Any]] = []
        self._looks = 0

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the services."""
        return (
            web.put("/assinaturas", self._sign),
            web.post("/notas", self._submit),
            web.get("/notas/{chave}", self._look),
            web.post("/notas/{numero}/cancelamento", self._cancel),
            web.get("/notas/{numero}/{formato:pdf|xml}", self._document),
        )

    def error_body(self, status: int) -> dict[str, Any]:
        """Return the city's own complaint."""
        return {"erro": {"codigo": f"C{status}", "mensagem": "tente mais tarde"}}

    def under(self, chave: str) -> list[CityNote]:
        """Return all notes that were ever made under a key."""
        return [note for note in self.book if note.chave == chave]

    async def _sign(self, request: web.Request) -> web.StreamResponse:
        """Sign a request, each time otherwise."""
        pedido = await request.json()
        self.ledger.append("signed", referencia=pedido["referencia"])
        return answer({**pedido, "assinatura": len(self.ledger.of("signed"))})

    async def _submit(self, request: web.Request) -> web.StreamResponse:
        pedido = await request.json()
        self.ledger.append("submission", chave=pedido["chave"], corpo=(await request.read()).decode())
        if self.late is not None:
            self._looks, self.late = self.late, None
            self._under_way.append(pedido)
            return cut(request)
        if not pedido.get("assinatura"):
            return answer({"erro": {"codigo": "C11", "mensagem": "falta a assinatura"}}, 422)
        if not pedido["valor"]:
            return answer({"erro": {"codigo": "C10", "mensagem": "valor inválido"}}, 422)
        body = self._issue(pedido)
        self._arrive()
        return answer(body)

    def _issue(self, pedido: dict[str, Any]) -> dict[str, Any]:
        standing = [note for note in self.under(pedido["chave"]) if note.situacao == STANDS]
        for note in standing:
            note.situacao = VOIDED
            self.ledger.append("note.voided", numero=note.numero, chave=note.chave)
        note = CityNote(len(self.book) + 1, pedido)
        self.book.append(note)
        self.ledger.append("note.created", numero=note.numero, chave=note.chave, referencia=pedido["referencia"])
        return {"nota": note.as_dict(), "anulada": standing[0].numero if standing else None}

    def _arrive(self) -> None:
        """What was under way is taken now."""
        arrived, self._under_way = self._under_way, []
        for pedido in arrived:
            self._issue(pedido)

    async def _look(self, request: web.Request) -> web.StreamResponse:
        chave = request.match_info["chave"]
        found = self.under(chave)
        self.ledger.append("looked", chave=chave, found=bool(found))
        if found:
            return answer({"nota": found[-1].as_dict()})
        if self._under_way:
            self._looks -= 1
            if self._looks == 0:
                self._arrive()
        return answer({"erro": {"codigo": "AUSENTE", "mensagem": "não há nota"}, "chave": chave}, 404)

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        note = self.book[int(request.match_info["numero"]) - 1]
        self.ledger.append("cancel.asked", numero=note.numero, motivo=(await request.json())["motivo"])
        note.situacao = CANCELLED
        return answer({"cancelada": note.numero})

    async def _document(self, request: web.Request) -> web.StreamResponse:
        note, formato = self.book[int(request.match_info["numero"]) - 1], request.match_info["formato"]
        self.ledger.append("document", numero=note.numero, formato=formato)
        if formato == "pdf":
            return web.Response(body=b"%PDF-1.4\n%%EOF\n", content_type="application/pdf")
        return web.Response(
            body=f"<nota><numero>{note.numero}</numero></nota>".encode(), content_type="application/xml"
        )
