"""What the journal keeps of an event besides its name: what was read, in which message, and the draft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from persistence.conversations.snapshots import dump_rascunho
from state_machine.invoice.field_table import FIELDS
from state_machine.machine.events import (
    Apagou,
    Confirmou,
    Editou,
    Escolheu,
    Informou,
    MudouEmissor,
    NaoCabe,
    NotaRejeitada,
)

if TYPE_CHECKING:
    from state_machine.invoice.draft import Rascunho
    from state_machine.invoice.fields import Candidate, Doubt
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao


def trace(antes: Sessao, depois: Sessao, evento: Evento) -> dict[str, Any]:
    """Return what was read, how often the question was asked again, what will be missing, and the draft if it changed.

    Every revision can be shown again, and a session that is loaded from its snapshot words its next question anew.
    """
    kept: dict[str, Any] = {}
    match evento:
        case Informou():
            kept |= _read(evento)
        case Editou():
            kept |= {"editada": evento.mensagem, **(_read(evento.dito) if evento.dito else {})}
        case Apagou():
            kept["apagada"] = evento.mensagem
        case MudouEmissor():
            kept["empresa"] = evento.emissor.id if evento.emissor else None
        case Confirmou() | Escolheu():
            kept |= {"revisao_do_botao": evento.revisao, **_taken(antes.rascunho, depois.rascunho, evento)}
        case NaoCabe():
            kept |= {"porque": evento.porque, "campo": evento.campo}
        case NotaRejeitada():
            kept["motivo"] = evento.motivo
        case _:
            pass
    kept |= {name: of_now for name in ("insistencias", "sem") if (of_now := getattr(depois, name))}
    if depois.rascunho != antes.rascunho or antes.versao == 0:
        kept["rascunho"] = dump_rascunho(depois.rascunho)
    return kept


def _taken(antes: Rascunho, depois: Rascunho, evento: Confirmou | Escolheu) -> dict[str, Any]:
    """Return which reading of a doubt was taken, and whether by a button or by a yes in words."""
    tomados = {c.value: depois.campo(c).valor for c in FIELDS if antes.campo(c).leituras and depois.validado(c)}
    return {"escolhido": tomados, "por": "botao" if evento.revisao is not None else "palavra"} if tomados else {}


def _read(dito: Informou) -> dict[str, Any]:
    return {
        "lido": [_flat(candidate) for candidate in dito.candidates],
        "duvidas": [_flat(doubt) for doubt in dito.doubts],
        "retirado": sorted(dito.clear),
    }


def _flat(said: Candidate | Doubt) -> dict[str, Any]:
    """Return its fields; ``asdict`` would copy each of their values, which nobody changes."""
    return {name: getattr(said, name) for name in said.__slots__}


def evidence(antes: Rascunho, depois: Rascunho) -> dict[str, Any]:
    """Return ``{"campos": {campo: evidence}}`` of the fields that a step changed, ``{}`` when it changed none.

    The evidence has ``valor`` (normalised) and ``escrito`` (as typed), who read it (``origem``), how sure
    (``confianca``, ``status``), and ``mensagem``: the wamid of the message, which is its inbox row's ``chave``.
    """
    lidos = zip(FIELDS, antes.lidos, depois.lidos, strict=True)
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
