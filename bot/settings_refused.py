"""Says in Portuguese what pydantic found wrong in the settings; it repeats no value, which may be a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

# By pydantic's kind of error; the words in braces are what it says about the bound. Those of ``value_error`` are ours.
_WORDS: Final = {
    "bool_parsing": "é true ou false",
    "int_parsing": "é um número inteiro",
    "int_from_float": "é um número inteiro",
    "float_parsing": "é um número, com ponto nos decimais",
    "decimal_parsing": "é um número, com ponto nos decimais",
    "greater_than": "precisa ser maior que {gt:g}",
    "greater_than_equal": "precisa ser pelo menos {ge:g}",
    "less_than": "precisa ser menor que {lt:g}",
    "less_than_equal": "precisa ser no máximo {le:g}",
    "literal_error": "é um destes: {expected}",
    "too_short": "tem valores de menos",
    "too_long": "tem valores de mais",
    "value_error": "{error}",
}
_SHAPES: Final = {"openai_price": "são dois preços em R$ por milhão de tokens, como 0.80,3.20"}
_ANY: Final = "tem um valor que não serve"


def refusal(error: ValidationError) -> str:
    """Return the sentence for an operator: each setting with what it should be."""
    wrong = "; ".join(f"{variable}: {said}" for variable, said in wrongs(error))
    return (
        f"Estas configurações estão erradas: {wrong}. Nada foi iniciado e nada mudou. "
        "Corrija no ambiente ou em .env; docs/settings.md explica cada uma."
    )


def wrongs(error: ValidationError) -> list[tuple[str, str]]:
    """Return each wrong setting once, with what it should be."""
    said = ((f"PROSA_{str(each['loc'][0]).upper()}", _said(each)) for each in error.errors())
    return list(dict.fromkeys(said))


def _said(each: ErrorDetails) -> str:
    shape = _SHAPES.get(str(each["loc"][0])) if each["type"] != "value_error" else None
    context = {name: _plain(value) for name, value in each.get("ctx", {}).items()}
    return shape or _WORDS.get(each["type"], _ANY).format(**context)


def _plain(value: object) -> object:
    return value.replace("' or '", "', '") if isinstance(value, str) else value
