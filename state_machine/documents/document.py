"""What an order is about, whatever its kind: everything that passes one on knows only this union."""

from __future__ import annotations

from typing import TypeAlias

from state_machine.documents.service import DocumentoServico

Documento: TypeAlias = DocumentoServico
"""Each kind knows its content, its fingerprint, and how a note at the authority differs from it."""
