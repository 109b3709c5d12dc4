"""The printed page of a simulated note, one sheet of A4, stamped as a demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fpdf import FPDF

from proofs.sandbox.plugnotas.model import BRASILIA, CANCELLED
from proofs.sandbox.plugnotas.nfse_xml import STAMP

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from proofs.sandbox.plugnotas.model import Note

_WIDTH: Final = 190.0  # mm between margins of 10 on A4
_INK: Final = (32, 36, 44)
_PALE: Final = (243, 244, 247)
_GREY: Final = (110, 116, 128)
_ALERT: Final = (176, 32, 32)


def render_pdf(note: Note) -> bytes:
    """Return the PDF; raises ``ValueError`` for a note without number."""
    if note.numero is None or note.settled_at is None:
        raise ValueError(f"a nota {note.id} não foi autorizada")
    sheet = _Sheet()
    sheet.stamp()
    sheet.head("NFS-e", f"Nota fiscal de serviço eletrônica nº {note.numero}")
    sheet.row(
        ("Número", note.numero),
        ("Série", note.serie),
        ("Emissão", _when(note.created_at)),
        ("Autorização", _when(note.settled_at)),
    )
    sheet.row(("Chave de acesso", note.chave or ""))
    sheet.row(("Protocolo", note.autorizacao or ""), ("Município (IBGE)", note.municipio), ("Identificação", note.id))
    sheet.head("Prestador de serviços")
    issuer = note.payload["prestador"]
    sheet.row(("Nome", note.prestador_nome or "não informado"))
    registration = issuer.get("inscricaoMunicipal") or (note.payload.get("emitente") or {}).get("inscricaoMunicipal")
    sheet.row(("CNPJ / CPF", masked(note.prestador)), ("Inscrição municipal", str(registration or "não informada")))
    sheet.head("Tomador de serviços")
    customer = note.payload.get("tomador") or {}
    sheet.row(("Nome", str(customer.get("razaoSocial") or "não identificado")))
    sheet.row(("CNPJ / CPF", masked(note.tomador)), ("E-mail", str(customer.get("email") or "não informado")))
    sheet.head("Serviço")
    sheet.row(
        ("Código", str(note.servico.get("codigo", ""))), ("CNAE", str(note.servico.get("cnae") or "não informado"))
    )
    sheet.paragraph("Discriminação", str(note.servico.get("discriminacao", "")))
    sheet.total("Valor do serviço", reais(note.valor))
    if note.situacao == CANCELLED:
        sheet.alert("NOTA CANCELADA")
    sheet.foot()
    return bytes(sheet.output())


def masked(document: str) -> str:
    """Return a CNPJ or CPF with its usual punctuation."""
    if len(document) == 14:  # noqa: PLR2004 - the length of a CNPJ
        return f"{document[:2]}.{document[2:5]}.{document[5:8]}/{document[8:12]}-{document[12:]}"
    if len(document) == 11:  # noqa: PLR2004 - the length of a CPF
        return f"{document[:3]}.{document[3:6]}.{document[6:9]}-{document[9:]}"
    return document or "não informado"


def reais(value: Decimal) -> str:
    """Return BRL as it is printed in Brazil: R$ 1.234,56."""
    return "R$ " + f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def _when(at: datetime) -> str:
    return at.astimezone(BRASILIA).strftime("%d/%m/%Y %H:%M:%S")


class _Sheet(FPDF):
    """A small set of boxes; the built-in Helvetica with Windows-1252, so no font file is needed."""

    def __init__(self) -> None:
        super().__init__(format="A4")
        self.core_fonts_encoding = "windows-1252"  # has the dash and the curly quotes that Latin-1 lacks
        self.set_title("NFS-e de demonstração")
        self.set_creator("Prosa, ambiente de demonstração")
        self.set_margin(10)
        self.set_auto_page_break(auto=False)
        self.add_page()
        self.set_draw_color(*_GREY)

    def stamp(self) -> None:
        self.set_fill_color(*_ALERT)
        self.set_text_color(255, 255, 255)
        self._font("B", 11)
        self._line(STAMP, height=9, fill=True, align="C")
        with self.local_context(fill_opacity=0.08), self.rotation(55, 105, 150):
            self.set_text_color(*_ALERT)
            self._font("B", 72)
            self.text(5, 165, "SEM VALOR FISCAL")
        self.ln(3)

    def head(self, title: str, beside: str = "") -> None:
        self.ln(2)
        self.set_fill_color(*_INK)
        self.set_text_color(255, 255, 255)
        self._font("B", 11)
        self._line(f"  {title}" + (f"  ·  {beside}" if beside else ""), height=8, fill=True)

    def row(self, *cells: tuple[str, str]) -> None:
        width = _WIDTH / len(cells)
        left, top = self.l_margin, self.get_y()
        for place, (label, value) in enumerate(cells):
            self.set_xy(left + place * width, top)
            self._label(label, width)
            self.set_xy(left + place * width, top + 4)
            self._font("", self._fitting(value, width))
            self.cell(width, 6, " " + _printable(value), border="LRB")
        self.set_xy(left, top + 10)

    def paragraph(self, label: str, text: str) -> None:
        self._label(label, _WIDTH)
        self.set_xy(self.l_margin, self.get_y() + 4)
        self._font("", 10 if len(text) < 700 else 7)  # noqa: PLR2004 - what fits on the one sheet
        self.multi_cell(_WIDTH, 5 if len(text) < 700 else 3.2, _printable(text), border="LRB", align="L")  # noqa: PLR2004 - as above
        self.set_x(self.l_margin)

    def total(self, label: str, value: str) -> None:
        self.ln(3)
        self.set_fill_color(*_PALE)
        self.set_text_color(*_INK)
        self._font("B", 14)
        self.cell(_WIDTH / 2, 12, f"  {label}", border="LTB", fill=True)
        self.cell(_WIDTH / 2, 12, f"{value}  ", border="RTB", fill=True, align="R")
        self.ln(15)

    def alert(self, text: str) -> None:
        self.set_text_color(*_ALERT)
        self._font("B", 20)
        self._line(text, height=12, align="C")

    def foot(self) -> None:
        self.set_y(-22)
        self.set_text_color(*_GREY)
        self._font("", 8)
        self._line("Emitida no ambiente de demonstração do Prosa por uma autoridade simulada.", height=5, align="C")
        self._line(STAMP, height=5, align="C")

    def _label(self, text: str, width: float) -> None:
        self.set_text_color(*_GREY)
        self._font("", 7)
        self.cell(width, 4, f" {text}", border="LTR")
        self.set_text_color(*_INK)

    def _line(self, text: str, *, height: float, fill: bool = False, align: str = "L") -> None:
        self.cell(_WIDTH, height, _printable(text), fill=fill, align=align, new_x="LMARGIN", new_y="NEXT")

    def _fitting(self, value: str, width: float) -> float:
        """Return the largest size, of 10 points at most, at which ``value`` stays inside its box."""
        self._font("", 10)
        needed = self.get_string_width(_printable(value)) + 4
        return max(5.0, 10.0 * min(1.0, width / needed))

    def _font(self, style: str, size: float) -> None:
        self.set_font("helvetica", style, size)


def _printable(text: str) -> str:
    """Replace what the built-in font cannot draw (emoji, say) by a question mark."""
    return text.encode("windows-1252", errors="replace").decode("windows-1252")
