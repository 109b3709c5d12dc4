"""The storm's zygote with things in the product made wrong, by their names in its argument: "text-pdf"."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import Decimal
from functools import wraps
from typing import TYPE_CHECKING, Any

from aiohttp import web

import bot.delivery.mailing
import gateway.nacional.outcome
import gateway.nacional.payload
import gateway.nfe.adapter
import gateway.paulistana.adapter
import gateway.plugnotas.payload
import webhooks.gateway
from gateway.whatsapp.messages import DocumentoMidia
from proofs.storm.machines.zygote import main
from state_machine.documents import Documento, goods, service
from state_machine.protocol.emission import Issued

if TYPE_CHECKING:
    from collections.abc import Callable

    from state_machine.invoice.session import EnviarArquivo


def of_the_note(change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    """Change every note before its bytes are stored."""

    def apply() -> None:
        build = gateway.plugnotas.payload.build

        @wraps(build)
        def built(*args: Any, **kwargs: Any) -> bytes:
            [note] = json.loads(build(*args, **kwargs))
            change(note)
            return json.dumps([note]).encode()

        gateway.plugnotas.payload.build = built

    return apply


def other_text(note: dict[str, Any]) -> None:
    note["servico"][0]["discriminacao"] = "outro serviço"


def year_1999(note: dict[str, Any]) -> None:
    note["rps"]["competencia"] = "1999-01-01"


def one_pdf_for_all() -> None:
    """Everybody gets the first PDF that was ready."""
    prepare = bot.delivery.mailing.Attachments.prepare
    first: list[int] = []

    @wraps(prepare)
    async def prepared(self: Any, arquivo: EnviarArquivo) -> Any:
        if arquivo.formato != "pdf":
            return await prepare(self, arquivo)
        done = await prepare(self, replace(arquivo, emissao_id=first[0] if first else arquivo.emissao_id))
        if isinstance(done, DocumentoMidia) and not first:
            first.append(arquivo.emissao_id)
        return done

    bot.delivery.mailing.Attachments.prepare = prepared  # type: ignore[method-assign]  # what is made wrong


def deaf_to_the_gateway() -> None:
    """Every webhook of the gateway is answered 200 and dropped."""

    async def stored(*_args: Any) -> web.Response:
        return web.json_response({"status": "ok"})

    webhooks.gateway.store = stored  # type: ignore[assignment, attr-defined]  # what is made wrong


def other_dps() -> None:
    """Every invoice of the national channel is stored with another text of the service."""
    encode = gateway.nacional.payload.encode

    @wraps(encode)
    def encoded(intent: Documento) -> bytes:
        return encode(replace(service(intent), descricao="outro serviço"))

    gateway.nacional.payload.encode = encoded


def other_rps() -> None:
    """Every RPS of São Paulo is stored with another text of the service."""
    payload = gateway.paulistana.adapter.Paulistana.payload

    @wraps(payload)
    def changed(self: Any, intent: Documento) -> bytes:
        return payload(self, replace(service(intent), descricao="outro serviço"))

    gateway.paulistana.adapter.Paulistana.payload = changed  # type: ignore[method-assign]  # what is made wrong


def own_xml() -> None:
    """People get the authority's XML with a byte more."""
    submitted = gateway.nacional.outcome.submit_outcome

    @wraps(submitted)
    def changed(*args: Any) -> Any:
        told = submitted(*args)
        if not isinstance(told, Issued) or told.xml is None:
            return told
        return replace(told, xml=replace(told.xml, conteudo=told.xml.conteudo + b"\n"))

    gateway.nacional.outcome.submit_outcome = changed  # type: ignore[assignment]  # what is made wrong


def one_of_the_second() -> None:
    """Of the second item of every sale one is invoiced, whatever was said."""
    payload = gateway.nfe.adapter.Sefaz.payload

    @wraps(payload)
    def changed(self: Any, intent: Documento) -> bytes:
        what = goods(intent)
        first, second = what.itens
        second = replace(second, quantidade=Decimal(1))
        return payload(self, replace(what, itens=(first, second), valor=first.total + second.total))

    gateway.nfe.adapter.Sefaz.payload = changed  # type: ignore[method-assign]  # what is made wrong


SABOTAGES = {
    "itens": one_of_the_second,
    "none": lambda: None,
    "text": of_the_note(other_text),
    "competence": of_the_note(year_1999),
    "pdf": one_pdf_for_all,
    "webhooks": deaf_to_the_gateway,
    "dps": other_dps,
    "rps": other_rps,
    "xml": own_xml,
}

if __name__ == "__main__":
    for one in sys.argv[1].split("-"):
        SABOTAGES[one]()
    main()
