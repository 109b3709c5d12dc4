"""How moments, money and documents look on a page, masked or not; and the template environment that knows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import jinja2
from markupsafe import Markup

from persistence.staff.queue import COUNTED
from state_machine.invoice.summary import fim
from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl
from webhooks.console.render import labels, masks

SAO_PAULO: Final = ZoneInfo("America/Sao_Paulo")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def moment(value: datetime | None) -> Markup:
    """Return a moment of Brazil's clock as a ``time`` element, ``21/11/2026 14:03``."""
    if value is None:
        return Markup("–")
    local = value.astimezone(SAO_PAULO)
    return Markup('<time datetime="{}">{}</time>').format(value.astimezone(UTC).isoformat(), f"{local:%d/%m/%Y %H:%M}")


def clock(value: datetime) -> Markup:
    """Return the time of a day, with seconds; the whole moment on hovering."""
    local = value.astimezone(SAO_PAULO)
    pattern = '<time datetime="{}" title="{}">{}</time>'
    return Markup(pattern).format(value.astimezone(UTC).isoformat(), f"{local:%d/%m/%Y}", f"{local:%H:%M:%S}")  # noqa: S704 - a constant pattern; format() escapes


def day(value: datetime) -> str:
    """Return the day in Brazil."""
    return f"{value.astimezone(SAO_PAULO):%d/%m/%Y}"


def duration(seconds: float | None) -> str:
    """Return how long, in the one or two units that matter: ``45 s``, ``3 min``, ``2 h 05``, ``4 dias``."""
    if seconds is None:
        return "–"
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d}"
    days = whole // _DAY
    return f"{days} dia" if days == 1 else f"{days} dias"


def brl(value: Decimal | str | None) -> str:
    """Return an amount in reais."""
    return "–" if value is None else formata_brl(Decimal(value))


def number(value: float) -> str:
    """Return a count with dots for thousands."""
    return f"{value:,.0f}".replace(",", ".")


def count(value: int) -> str:
    """Return a count that is only counted up to 1,000."""
    return number(value) if value < COUNTED else f"{COUNTED - 1}+"


_EMPHASIS: Final = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)")


def whatsapp(text: str) -> Markup:
    """Return WhatsApp's own emphasis, ``*bold*`` and ``_italic_``, as elements; everything else is escaped."""
    out, at = Markup(), 0
    for found in _EMPHASIS.finditer(text):
        bold, italic = found.groups()
        out += Markup.escape(text[at : found.start()])
        out += Markup("<b>{}</b>").format(bold) if bold else Markup("<i>{}</i>").format(italic)
        at = found.end()
    return out + Markup.escape(text[at:])


def grouped(items: Iterable[Any]) -> list[list[Any]]:
    """Return a timeline's entries in runs: what people and Prosa said, what the machine did between."""
    return [list(run) for _, run in groupby(items, key=lambda item: item.da_maquina)]


def behind(run: Sequence[Any]) -> str:
    """Say what a run of the machine's entries did: ``leu 4 campos · 2 chamadas ao gateway · autorizada, em 2 s``."""
    read = sum(bool(leitura.aceito) for item in run for leitura in item.leituras)
    calls = sum(item.tipo == "gate" for item in run)
    ended = next((item.para for item in reversed(run) if item.para), "")
    took = (run[-1].em - run[0].em).total_seconds()
    parts = [
        f"leu {read} {'campo' if read == 1 else 'campos'}" if read else "",
        f"{calls} {'chamada' if calls == 1 else 'chamadas'} ao gateway" if calls else "",
        ended,
    ]
    return " · ".join(part for part in parts if part) + (f", em {duration(took)}" if took >= 1 else "")


PAGE: Final = 200_000  # characters of free text that one page masks and shows in full: 50 of the longest messages
TASTE: Final = 200  # characters of each text after those


class Olhar:
    """How much of a person one page shows: masked, unless it was revealed with a reason."""

    def __init__(self, *, revelado: bool = False) -> None:
        self.revelado = revelado
        self._left = PAGE

    def telefone(self, numero: str | None) -> str:
        """A phone."""
        return f"+{numero}" if self.revelado and numero else masks.phone(numero)

    def documento(self, numero: str | None) -> str:
        """A CNPJ or CPF, stored bare."""
        return formata_documento(numero) if self.revelado and numero else masks.document(numero)

    def pessoa(self, nome: str | None) -> str:
        """Somebody's name."""
        return (nome or "") if self.revelado else masks.person(nome)

    def texto(self, texto: str | None) -> str:
        """Free text; masked, it is cut short where the page holds much already."""
        if self.revelado or not texto:
            return texto or ""
        most = min(masks.MOST, max(self._left, TASTE))
        self._left -= len(texto)
        return masks.text(texto, most)

    def arvore(self, valor: Any) -> Any:
        """JSON of any shape."""
        return valor if self.revelado else masks.tree(valor)


def environment(folder: Path) -> jinja2.Environment:
    """Return the templates: everything escaped, every unknown name an error."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "momento": moment,
        "hora": clock,
        "dia": day,
        "duracao": duration,
        "brl": brl,
        "numero": number,
        "contagem": count,
        "whatsapp": whatsapp,
        "trechos": grouped,
        "nos_bastidores": behind,
    }
    env.globals["fim"] = fim
    env.globals["situacao"] = labels.situacao
    env.globals["emissao_dita"] = labels.emissao
    env.globals["linha_dita"] = labels.linha
    env.globals["por_que_pediu"] = labels.por_que_pediu
    return env
