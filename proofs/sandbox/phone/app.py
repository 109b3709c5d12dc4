"""The demo page as an aiohttp application: its routes and limits."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import jinja2
from aiohttp import web
from pydantic import BaseModel, ValidationError

from proofs.sandbox.phone.assets import Assets, document_answer
from proofs.sandbox.phone.content import SAMPLES, SWITCHES
from proofs.sandbox.phone.events import Live
from proofs.sandbox.phone.model import Document
from proofs.sandbox.phone.ports import NoMails
from proofs.sandbox.phone.security import guard, harden, refusal
from proofs.sandbox.phone.wire import ProposalRequest, SwitchesRequest, TapRequest, TextRequest, dump

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proofs.sandbox.phone.ports import Chat, DemoCertificate, Erp, Inside, Mails, Switches

HERE: Final = Path(__file__).parents[1]
JSON_LIMIT: Final = 32 * 1024  # bytes: a text of 4096 characters at 4 bytes, escaped, with room
FILE_LIMIT: Final = 5 * 1024 * 1024  # bytes: Meta's limit for images


Wanted = TypeVar("Wanted", bound=BaseModel)


class Phone:
    """The handlers of the page."""

    def __init__(
        self,
        chat: Chat,
        inside: Inside,
        switches: Switches,
        *,
        console: str | None = None,
        certificates: Sequence[DemoCertificate] = (),
        mails: Mails | None = None,
        erp: Erp | None = None,
    ) -> None:
        """Show a link to ``console``, a path, where somebody serves one, each of ``certificates``, mails and ERP."""
        self._has_mails = mails is not None
        self._erp = erp
        self._console = console
        self._certificates = {certificate.arquivo: certificate for certificate in certificates}
        self._chat = chat
        self._switches = switches
        self._live = Live(chat, inside, switches, mails or NoMails(), erp)
        self._assets = Assets(HERE / "phone_static")
        self._page = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "phone_templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
        ).get_template("phone.html")

    def mount(self, app: web.Application) -> None:
        """Add the routes to ``app`` and end the streams when it shuts down."""
        get, post = app.router.add_get, app.router.add_post
        get("/", self.page)
        get("/events", self.events)
        get("/api/state", self.state)
        get("/documents/{id}", self.document)
        get("/certificados/{arquivo}.pfx", self.certificate)
        post("/api/messages", self.messages)
        post("/api/press", self.press)
        post("/api/choose", self.choose)
        post("/api/files", self.files)
        post("/api/switches", self.turn)
        if self._erp is not None:
            post("/api/propostas", partial(self.propose, self._erp))
        get("/static/{name}", self._assets.asset)
        get("/favicon.ico", self._assets.icon)  # a tab with a PDF or XML asks for it by itself

        async def close(_: web.Application) -> None:
            await self._live.close()

        app.on_shutdown.append(close)

    async def page(self, request: web.Request) -> web.Response:
        """``GET /``: the page itself; ``?user=`` chooses who speaks."""
        users = self._chat.users()
        chosen = request.query.get("user", "")
        if chosen not in {user.wa_id for user in users}:
            chosen = users[0].wa_id
        html = self._page.render(
            users=users,
            chosen=chosen,
            samples=SAMPLES,
            switches=SWITCHES,
            console=self._console,
            certificates=tuple(self._certificates.values()),
            mails=self._has_mails,
            erp=self._erp is not None,
        )
        response = web.Response(text=html, content_type="text/html")
        response.enable_compression()
        return response

    async def state(self, request: web.Request) -> web.Response:
        """``GET /api/state?user=``: everything at once, for pages without a stream."""
        return web.json_response(await self._live.state(self._user(request.query.get("user", ""))), dumps=dump)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """``GET /events?user=``: server-sent events ``state``, ``bubble``, ``typing``, ``inside``."""
        return await self._live.stream(request, self._user(request.query.get("user", "")))

    async def messages(self, request: web.Request) -> web.Response:
        """``POST /api/messages``."""

        async def send(wanted: TextRequest) -> None:
            await self._chat.send_text(self._user(wanted.user), wanted.text)

        return await _accept(request, TextRequest, send)

    async def press(self, request: web.Request) -> web.Response:
        """``POST /api/press``."""

        async def press(tap: TapRequest) -> None:
            await self._chat.press(self._user(tap.user), tap.id, tap.title, tap.context)

        return await _accept(request, TapRequest, press)

    async def choose(self, request: web.Request) -> web.Response:
        """``POST /api/choose``."""

        async def choose(tap: TapRequest) -> None:
            await self._chat.choose(self._user(tap.user), tap.id, tap.title, tap.context)

        return await _accept(request, TapRequest, choose)

    async def turn(self, request: web.Request) -> web.Response:
        """``POST /api/switches``: the answer is how they all stand now."""

        async def turn(wanted: SwitchesRequest) -> dict[str, bool]:
            for name, on in wanted.switches.items():
                await self._switches.set(name, on)
            self._live.touch()
            return dict(self._switches.read())

        return await _accept(request, SwitchesRequest, turn)

    async def propose(self, erp: Erp, request: web.Request) -> web.Response:
        """``POST /api/propostas``: what an ERP proposes; a refusal is the API's own."""
        refused: list[str] = []

        async def propose(wanted: ProposalRequest) -> None:
            why = await erp.propose(wanted.valor, wanted.descricao)
            if why is not None:
                refused.append(why)
            self._live.touch()

        answer = await _accept(request, ProposalRequest, propose)
        return refusal(422, refused[0]) if refused else answer

    async def files(self, request: web.Request) -> web.Response:
        """``POST /api/files?user=&name=``: the file as raw body, its type in Content-Type."""
        content = bytearray()
        async for part in request.content.iter_chunked(64 * 1024):
            content += part
            if len(content) > FILE_LIMIT:
                return refusal(413, "O arquivo passa de 5 MB.")
        name = Path(request.query.get("name", "")).name[:120] or "arquivo"
        if not content:
            return refusal(422, "O arquivo está vazio.")
        await self._chat.send_file(
            self._user(request.query.get("user", "")), name, request.content_type, bytes(content)
        )
        return web.json_response({})

    async def document(self, request: web.Request) -> web.Response:
        """``GET /documents/{id}``: a document of the conversation, shown by the browser where it can."""
        document = await self._chat.document(request.match_info["id"])
        if document is None:
            raise web.HTTPNotFound
        return document_answer(document)

    async def certificate(self, request: web.Request) -> web.Response:
        """``GET /certificados/{arquivo}.pfx``: a made-up A1 file, another one each time."""
        certificate = self._certificates.get(request.match_info["arquivo"])
        if certificate is None:
            raise web.HTTPNotFound
        content = await asyncio.to_thread(certificate.make)  # a key of 2048 bits takes a while
        return document_answer(Document(f"{certificate.arquivo}.pfx", "application/x-pkcs12", content))

    def _user(self, wa_id: str) -> str:
        if wa_id not in {user.wa_id for user in self._chat.users()}:
            raise web.HTTPNotFound
        return wa_id


def create_phone_app(chat: Chat, inside: Inside, switches: Switches) -> web.Application:
    """Return the demo page over the given parts; serves ``/`` and what belongs to it."""
    app = web.Application(middlewares=[guard], client_max_size=JSON_LIMIT)
    app.on_response_prepare.append(harden)
    Phone(chat, inside, switches).mount(app)
    return app


async def _accept(request: web.Request, kind: type[Wanted], act: Callable[[Wanted], Awaitable[Any]]) -> web.Response:
    """Validate the body, act on it, answer its result (``{}`` for none)."""
    try:
        wanted = kind.model_validate_json(await request.read())
    except ValidationError:
        return refusal(422, "Não entendi esse pedido.")
    return web.json_response(await act(wanted) or {})
