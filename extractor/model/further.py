"""What a model says beside the fields, as far as the user's words hold it: roles of amounts, and several invoices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extractor.model.grounding import amounts, client, money, prices
from extractor.requests.several import around

if TYPE_CHECKING:
    from extractor.contract import Context
    from extractor.model.prompt import Question, Resposta
    from extractor.rules import RulesReading


def roles(resposta: Resposta, reading: RulesReading) -> dict[str, str]:
    """Return what amounts of the text are beside the price, by their value."""
    named = ((money(mark), outro.papel) for outro in resposta.outros for mark in amounts(outro.trecho, reading))
    return {valor: papel for valor, papel in named if valor is not None}


def sees_several(resposta: Resposta, reading: RulesReading) -> bool:
    """Say whether an answer names two invoices or more, and an amount of the text for one of them."""
    return len(resposta.notas) > 1 and any(amounts(nota.valor, reading) for nota in resposta.notas)


def pieces(
    texto: str, resposta: Resposta, question: Question, reading: RulesReading, contexto: Context
) -> tuple[str, ...]:
    """Return a piece of the text for each invoice that an answer names.

    None unless each has a customer's document of its own and an amount, and ends before the next one begins.
    """
    text = reading.skeleton.text
    spans: list[tuple[int, int]] = []
    customers: set[str] = set()
    for nota in resposta.notas:
        begin = spans[-1][1] if spans else 0
        documento = client(nota.documento, question, reading, contexto)
        valor = next((mark for mark in prices(nota.valor, reading) if text.starts[mark.start] >= begin), None)
        if documento is None or documento.value in customers or valor is None:
            return ()
        customers.add(documento.value)
        said = [(text.starts[mark.start], text.ends[mark.end - 1]) for mark in (documento, valor)]
        found = ((words, text.original.find(words, begin)) for words in (nota.descricao, nota.nome) if words)
        said += [(at, at + len(words)) for words, at in found if at >= 0]
        spans.append((min(at for at, _ in said), max(end for _, end in said)))
    return around(texto, spans)
