"""Says what a step read and in which message, for the journal; the words themselves stay in the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_machine.fields import Campo

if TYPE_CHECKING:
    from state_machine.rascunho import Rascunho


def evidence(antes: Rascunho, depois: Rascunho) -> dict[str, Any]:
    """Return ``{"campos": {campo: evidence}}`` of the fields that a step changed, ``{}`` when it changed none.

    The evidence has ``valor`` (normalised) and ``escrito`` (as typed), who read it (``origem``), how sure
    (``confianca``, ``status``), and ``mensagem``: the wamid of the message, which is its inbox row's ``chave``.
    """
    lidos = zip(Campo, antes.lidos, depois.lidos, strict=True)
    mudados = [(campo, novo) for campo, velho, novo in lidos if novo is not velho and novo != velho]
    campos = {
        campo.value: {
            "status": lido.status,
            "valor": lido.valor,
            "escrito": lido.escrito,
            "origem": lido.origem,
            "confianca": lido.confianca,
            "mensagem": lido.mensagem,
            **({"recusa": {"escrito": lido.recusa.trecho, "mensagem": lido.recusa.mensagem}} if lido.recusa else {}),
        }
        for campo, lido in mudados
    }
    return {"campos": campos} if campos else {}
