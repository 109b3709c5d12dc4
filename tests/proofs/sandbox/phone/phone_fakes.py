"""Stand-ins for what surrounds the demo page; run as a script, serves it with a told conversation for looking at."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from proofs.sandbox.phone.app import create_phone_app
from proofs.sandbox.phone.model import Attachment, Bubble, BubbleChanged, Button, Document, Row, TypingChanged
from proofs.sandbox.phone.ports import DemoUser

ANA = DemoUser("5511987654321", "Ana Souza", "dona da ANA DESIGN ME, pode emitir")
RUI = DemoUser("5521976543210", "Rui", "número que nenhuma empresa cadastrou")
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    b"trailer<</Root 1 0 R>>\n"
)
XML = b'<?xml version="1.0" encoding="UTF-8"?><nfse><numero>1042</numero></nfse>'

STATES = [
    "coleta",
    "dados_incompletos",
    "aguardando_confirmacao",
    "processando",
    "aprovado",
    "rejeitado",
    "erro",
    "cancelado_usuario",
    "expirado",
]
ARCS = [
    ["coleta", "dados_incompletos", "Mensagem"],
    ["coleta", "aguardando_confirmacao", "Mensagem"],
    ["coleta", "expirado", "Prazo"],
    ["coleta", "cancelado_usuario", "Desistencia"],
    ["dados_incompletos", "dados_incompletos", "Mensagem"],
    ["dados_incompletos", "aguardando_confirmacao", "Mensagem"],
    ["dados_incompletos", "cancelado_usuario", "Desistencia"],
    ["dados_incompletos", "expirado", "Prazo"],
    ["aguardando_confirmacao", "aguardando_confirmacao", "Mensagem"],
    ["aguardando_confirmacao", "dados_incompletos", "Mensagem"],
    ["aguardando_confirmacao", "processando", "Confirmacao"],
    ["aguardando_confirmacao", "cancelado_usuario", "Desistencia"],
    ["aguardando_confirmacao", "expirado", "Prazo"],
    ["processando", "aprovado", "NotaAutorizada"],
    ["processando", "rejeitado", "NotaRejeitada"],
    ["processando", "erro", "FalhaDefinitiva"],
    ["erro", "aprovado", "NotaAutorizada"],
    ["erro", "rejeitado", "NotaRejeitada"],
    ["rejeitado", "aguardando_confirmacao", "Mensagem"],
]


class FakeChat:
    """A phone network of one process: keeps bubbles, answers nothing by itself."""

    def __init__(self) -> None:
        self.conversations: dict[str, list[Bubble]] = {}
        self.taps: list[tuple[str, ...]] = []
        self.files: list[tuple[str, str, str, bytes]] = []
        self.documents = {
            "pdf-1": Document("NFSe-1042.pdf", "application/pdf", PDF),
            "xml-1": Document("NFSe-1042.xml", "text/plain", XML),
            "html-1": Document("oi.html", "text/html", b"<script>alert(1)</script>"),
        }
        self.listeners: dict[str, list[asyncio.Queue[Any]]] = {}
        self.is_typing: set[str] = set()

    def users(self) -> list[DemoUser]:
        """The known and the unknown one."""
        return [ANA, RUI]

    async def send_text(self, wa_id: str, text: str) -> None:
        """Keep what was typed."""
        self.add(wa_id, "out", text, status="sent")

    async def press(self, wa_id: str, button_id: str, title: str, context_wamid: str) -> None:
        """Keep the tap and its bubble."""
        self.taps.append(("button", button_id, title, context_wamid))
        self.add(wa_id, "out", title, status="sent")

    async def choose(self, wa_id: str, row_id: str, title: str, context_wamid: str) -> None:
        """Keep the choice and its bubble."""
        self.taps.append(("row", row_id, title, context_wamid))
        self.add(wa_id, "out", title, status="sent")

    async def send_file(self, wa_id: str, filename: str, mime: str, content: bytes) -> None:
        """Keep the file."""
        self.files.append((wa_id, filename, mime, content))

    def bubbles(self, wa_id: str) -> list[Bubble]:
        """The conversation so far."""
        return list(self.conversations.get(wa_id, []))

    def typing(self, wa_id: str) -> bool:
        """As set by `type`."""
        return wa_id in self.is_typing

    async def subscribe(self, wa_id: str) -> Any:
        """Whatever `tell` says from now on."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        self.listeners.setdefault(wa_id, []).append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self.listeners[wa_id].remove(queue)

    async def document(self, document_id: str) -> Document | None:
        """One of the three."""
        return self.documents.get(document_id)

    def tell(self, wa_id: str, event: Any) -> None:
        """Let every subscriber hear an event."""
        for queue in self.listeners.get(wa_id, []):
            queue.put_nowait(event)

    def add(self, wa_id: str, direction: Any, text: str = "", **parts: Any) -> Bubble:
        """Append a message and tell of it."""
        conversation = self.conversations.setdefault(wa_id, [])
        at = parts.pop("at", None) or datetime.now(UTC)
        bubble = Bubble(f"wamid.{wa_id[-3:]}{len(conversation)}", direction, at, text, **parts)
        conversation.append(bubble)
        self.tell(wa_id, BubbleChanged(bubble))
        return bubble

    def tick(self, wa_id: str, bubble: Bubble, status: Any) -> None:
        """Move the ticks of a message and tell of it."""
        moved = replace(bubble, status=status)
        conversation = self.conversations[wa_id]
        conversation[conversation.index(bubble)] = moved
        self.tell(wa_id, BubbleChanged(moved))

    def type(self, wa_id: str, *, on: bool) -> None:
        """Begin or stop typing."""
        (self.is_typing.add if on else self.is_typing.discard)(wa_id)
        self.tell(wa_id, TypingChanged(on))


class FakeInside:
    """The bot's memory: nothing, until a test says otherwise."""

    def __init__(self) -> None:
        self.views: dict[str, dict[str, Any]] = {}

    async def view(self, wa_id: str) -> dict[str, Any]:
        """What the test put there."""
        return self.views.get(wa_id, empty_view())


class FakeSwitches:
    """The switches and a book."""

    def __init__(self) -> None:
        self.on = dict.fromkeys(("lento", "rejeitar", "culpa_nossa", "perder_resposta", "sem_webhook"), False)
        self.notes: list[dict[str, Any]] = []

    def read(self) -> dict[str, bool]:
        """All of them."""
        return self.on

    async def set(self, name: str, on: bool) -> None:
        """Turn one."""
        self.on[name] = on

    def ledger(self) -> list[dict[str, Any]]:
        """What the test put there."""
        return self.notes


def empty_view() -> dict[str, Any]:
    return {
        "sessao": None,
        "campos": [],
        "transicoes": [],
        "emissoes": [],
        "contadores": {"confirmacoes": 0},
        "diagrama": {"estados": STATES, "arcos": ARCS},
    }


def field(campo: str, status: str = "null", valor: str | None = None, escrito: str | None = None) -> dict[str, Any]:
    known = status != "null"
    return {
        "campo": campo,
        "status": status,
        "valor": valor,
        "escrito": escrito,
        "origem": "regras" if known else None,
        "confianca": "certa" if known else None,
        "mensagem": "wamid.AAAA" if known else None,
    }


def told_view(estado: str, path: list[tuple[str, str, str, str]], **parts: Any) -> dict[str, Any]:
    """Return a view at ``estado`` whose journal is ``path``: (de, para, evento, motivo)."""
    start = datetime.now(UTC) - timedelta(minutes=3)
    rows = [
        {
            "em": (start + timedelta(seconds=23 * index)).isoformat(),
            "de": de,
            "para": para,
            "evento": evento,
            "motivo": motivo,
            "revisao": max(1, index),
        }
        for index, (de, para, evento, motivo) in enumerate(path)
    ]
    return {
        **empty_view(),
        "sessao": {
            "sessao_id": "211126-9f3ac07e",
            "estado": estado,
            "revisao": max(1, len(path) - 1),
            "snapshot_reason": path[-1][3],
            "data_complete": estado not in {"coleta", "dados_incompletos"},
            "missing_fields": [],
            "versao": 6,
            "empresa": "ANA DESIGN ME",
        },
        "transicoes": rows,
        **parts,
    }


SUMMARY = (
    "*Mudei o valor de R$ 1.500,00 para R$ 1.800,00.* Confere?\n\n"
    "*Cliente:* PADARIA DO ZÉ LTDA\n*CNPJ:* 12.345.678/0001-95\n"
    "*Valor:* R$ 1.800,00 (mil e oitocentos reais)\n*Serviço:* consultoria de marketing"
)
BUTTONS = (Button("c:1:2", "Confirmar"), Button("e:1:2", "Corrigir"), Button("x:1:2", "Cancelar"))


def tell_story(chat: FakeChat, inside: FakeInside, switches: FakeSwitches) -> None:
    """Fill everything as after one invoice and the middle of the next."""
    who = ANA.wa_id
    now = datetime.now(UTC) - timedelta(minutes=9)
    chat.add(who, "out", "oi, bom dia", at=now - timedelta(days=1), status="read")
    chat.add(
        who,
        "in",
        "Bom dia, Ana! Me conta: *para quem* é a nota, *quanto* e *qual serviço*?",
        at=now - timedelta(days=1),
    )
    chat.add(who, "out", "faz uma nota de 1500 pra 12.345.678/0001-99, consultoria de marketing", at=now, status="read")
    chat.add(
        who,
        "in",
        "O último dígito do CNPJ não bate: pode ter trocado um número. Confere no cartão CNPJ e me manda de novo?\n"
        "_O valor e o serviço estão guardados._",
        at=now,
    )
    chat.add(who, "out", "12.345.678/0001-95", at=now, status="read")
    chat.add(
        who,
        "in",
        SUMMARY.replace("*Mudei o valor de R$ 1.500,00 para R$ 1.800,00.* Confere?", "*Confere?*").replace(
            "R$ 1.800,00 (mil e oitocentos reais)", "R$ 1.500,00 (mil e quinhentos reais)"
        ),
        footer="Emitente: ANA DESIGN ME",
        buttons=BUTTONS,
        at=now,
    )
    chat.add(who, "out", "sim, mas o valor é 1.800", at=now, status="read")
    chat.add(who, "in", SUMMARY, footer="Emitente: ANA DESIGN ME", buttons=BUTTONS, at=now)
    chat.add(who, "out", "Confirmar", at=now, status="read")
    chat.add(
        who,
        "in",
        "NFS-e 1042 autorizada · *R$ 1.800,00* · PADARIA DO ZÉ LTDA",
        kind="document",
        attachment=Attachment("pdf-1", "NFSe-1042.pdf", "application/pdf", 86_300),
        at=now,
    )
    chat.add(
        who,
        "in",
        kind="document",
        attachment=Attachment("xml-1", "NFSe-1042.xml", "text/plain", 6_212),
        at=now,
    )
    chat.add(who, "out", "mesma nota pra padaria", status="read")
    chat.add(
        who,
        "in",
        "Encontrei duas padarias entre os seus clientes. Para qual delas?",
        list_label="Ver clientes",
        rows=(
            Row("r1", "PADARIA DO ZÉ LTDA", "12.345.678/0001-95 · última em 21/11", "Seus clientes"),
            Row("r2", "PADARIA PÃO NOSSO ME", "45.723.174/0001-10 · última em 02/09", "Seus clientes"),
            Row("r3", "Outro cliente", "Me mande o CNPJ ou CPF", "Outra pessoa"),
        ),
    )
    chat.add(who, "out", "a do Zé", status="delivered")
    inside.views[who] = told_view(
        "processando",
        [
            ("", "coleta", "MensagemRecebida", "manual"),
            ("coleta", "dados_incompletos", "MensagemRecebida", "manual"),
            ("dados_incompletos", "aguardando_confirmacao", "MensagemRecebida", "data_complete"),
            ("aguardando_confirmacao", "aguardando_confirmacao", "Correcao", "data_complete"),
            ("aguardando_confirmacao", "processando", "Confirmacao", "confirmed"),
        ],
        campos=[
            field("documento", "validated", "12345678000195", "12.345.678/0001-95"),
            field("nome", "validated", "PADARIA DO ZÉ LTDA"),
            field("valor", "extracted", "1800.00", "o valor é 1.800"),
            field("descricao", "validated", "consultoria de marketing", "consultoria de marketing"),
            field("competencia", "invalid", "2026-13", "mês 13"),
            field("email"),
        ],
        emissoes=[
            {"id_integracao": "prosa-211126-9f3ac07e-2", "status": "enviado", "valor": "1800.00", "numero": None},
            {"id_integracao": "prosa-211126-11c2d9aa-1", "status": "concluido", "valor": "1500.00", "numero": "1042"},
        ],
        contadores={"confirmacoes": 3},
    )
    switches.on["lento"] = True
    switches.notes = [
        note("prosa-211126-11c2d9aa-1", "1042", "CONCLUIDO", "1500.00", "PADARIA DO ZÉ LTDA"),
        note("prosa-211126-77b1e0f3-1", None, "REJEITADO", "900.00", "OFICINA BOM FREIO LTDA"),
        note("prosa-211126-9f3ac07e-2", None, "PROCESSANDO", "1800.00", "PADARIA DO ZÉ LTDA"),
    ]


def note(key: str, numero: str | None, situacao: str, valor: str, tomador: str) -> dict[str, Any]:
    return {"id_integracao": key, "numero": numero, "situacao": situacao, "valor": valor, "tomador": tomador}


async def serve(port: int) -> None:
    """Serve the told page until interrupted; Rui's answers come with typing and ticks."""
    chat, inside, switches = FakeChat(), FakeInside(), FakeSwitches()
    tell_story(chat, inside, switches)
    runner = web.AppRunner(create_phone_app(chat, inside, switches))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    sys.stdout.write(f"{site.name}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
