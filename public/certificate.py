"""``/certificado/{token}``: shows a form to whoever holds the link, and takes one certificate by it."""

from __future__ import annotations

from typing import Final, Self

import structlog
from aiohttp import web

from operations.certificate.link import CertificateLinks, LinkEndedError, NotNowError, Simples, TooManyFilesError
from public.pages import Pages
from state_machine.services.own import APURACOES_IBSCBS, ATIVIDADES_SN
from state_machine.values.certificate import LARGEST_FILE, CertificateRefusedError
from state_machine.values.errors import ProsaError
from webhooks.bodies import READ_SECONDS, Bodies
from webhooks.forms import read_form

LINKS: Final = web.AppKey("LINKS", CertificateLinks)
BODIES: Final = web.AppKey("BODIES", Bodies)
PAGES: Final = web.AppKey("PAGES", Pages)

SENHA: Final = "senha"
# What may be said beside it, each by its field: the codes that there are.
_CHOICES: Final = {"apuracao_ibscbs": APURACOES_IBSCBS, "atividade_sn": ATIVIDADES_SN}
REST: Final = 8 * 1024  # bytes; the longest password, and what a form puts around it and the file
_KEPT: Final = "Nada foi guardado, e esta tentativa não foi contada."
# By the status of what was not read.
_UNREAD: Final = {
    400: "O formulário chegou com defeito. Abra o link de novo e tente outra vez.",
    408: "O arquivo não chegou inteiro a tempo. Confira a conexão e tente de novo.",
    413: "O arquivo passa de 64 KB, e um certificado A1 tem uns 10 KB. Confira se é o .pfx ou .p12.",
    415: "O que chegou não é o formulário desta página. Envie por ela.",
    503: "Há muitos envios neste momento. Tente de novo em um minuto.",
}


class FormRefusedError(ProsaError, ValueError):
    """The form was not read; the message says so in pt-BR. ``status``: of the answer."""

    code = "form_refused"

    def __init__(self, said: str, status: int = 422) -> None:
        super().__init__(f"{said} {_KEPT}")
        self.status = status

    @classmethod
    def unread(cls, status: int) -> Self:
        """Return the refusal of what was not read, by its status."""
        return cls(_UNREAD[status], status)


_TOO_MANY: Final = str(FormRefusedError("Foram arquivos demais desta empresa em uma hora. Tente de novo mais tarde."))

log = structlog.get_logger(__name__)


async def show(request: web.Request) -> web.StreamResponse:
    """Show the form; nothing changes, however often it is asked for."""
    pages = request.app[PAGES]
    try:
        return pages.form(await request.app[LINKS].find(request.match_info["token"]))
    except LinkEndedError:
        return pages.ended()


async def send(request: web.Request) -> web.StreamResponse:
    """Take the file and its password. Nobody who lacks an open link has a body read."""
    links, pages, token = request.app[LINKS], request.app[PAGES], request.match_info["token"]
    try:
        link = await links.find(token)
    except LinkEndedError:
        return _unread(request, pages.ended())
    try:
        arquivo, senha, simples = await _sent(request)
    except FormRefusedError as refused:
        return _unread(request, pages.form(link, status=refused.status, erro=str(refused)))
    try:
        kept = await links.send(token, arquivo, senha, simples)
    except LinkEndedError:
        return pages.ended()
    except TooManyFilesError:
        return pages.form(link, status=429, erro=_TOO_MANY)
    except NotNowError:
        return pages.form(link, status=503, erro=str(FormRefusedError.unread(503)))
    except CertificateRefusedError as refused:
        log.info("certificate_refused", motivo=refused.motivo.value)
        return await _refused(links, pages, token, refused)
    log.info("certificate_kept")
    return pages.kept(kept)


async def _sent(request: web.Request) -> tuple[bytes, str, Simples]:
    """Return file and password, neither of them empty, and what was chosen. Raises ``FormRefusedError``."""
    try:
        form = await read_form(
            request, request.app[BODIES], (SENHA, *_CHOICES), file=LARGEST_FILE, rest=REST, seconds=READ_SECONDS
        )
    except web.HTTPException as error:
        raise FormRefusedError.unread(error.status) from None
    if not form.content:
        raise FormRefusedError("Faltou escolher o arquivo do certificado.")
    if not form.fields.get(SENHA):
        raise FormRefusedError("Faltou escrever a senha do certificado.")
    try:
        chosen = {name: form.fields.get(name, b"").decode() for name in _CHOICES}
        if any(value and value not in _CHOICES[name] for name, value in chosen.items()):
            raise FormRefusedError("Escolha uma das opções da lista.")
        simples = Simples(chosen["apuracao_ibscbs"] or None, chosen["atividade_sn"] or None)
        return form.content, form.fields[SENHA].decode(), simples
    except UnicodeDecodeError:
        raise FormRefusedError("A senha chegou com caracteres que não consigo ler. Escreva de novo.", 400) from None


async def _refused(links: CertificateLinks, pages: Pages, token: str, refused: CertificateRefusedError) -> web.Response:
    try:
        now = await links.find(token)
    except LinkEndedError:
        return pages.last_try(str(refused))
    return pages.form(now, status=422, erro=str(refused))


def _unread(request: web.Request, response: web.Response) -> web.Response:
    if not request.content.is_eof():
        response.force_close()  # the rest of the body is not worth reading
    return response
