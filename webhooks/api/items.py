"""Items of a proposal of goods: what callers send, and what the company's products make of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from persistence.db.connection import Connection
from persistence.people import companies, goods
from state_machine.goods import COLUNAS, Item, ProdutoInvalido, checked, dump, itens, preco, quantidade, resumida, total
from state_machine.invoice.draft import CPF_DIGITS
from webhooks.api.call import ApiCall, Corpo
from webhooks.api.problems import ProblemError, field

_QUANTITY: Final = r"(?=.*[1-9])[0-9]{1,6}(?:\.[0-9]{1,4})?"
_PRICE: Final = r"(?=.*[1-9])[0-9]{1,10}(?:\.[0-9]{1,2})?"


def _shaped(pattern: str) -> AfterValidator:
    """Return a check of a text's shape; pydantic's own patterns look neither ahead nor behind."""
    shape = re.compile(pattern)

    def check(text: str) -> str:
        if not shape.fullmatch(text):
            raise PydanticCustomError("forma", "é um número acima de zero, com ponto antes das casas")
        return text

    return AfterValidator(check)


Codigo = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z._/\-]{1,60}$")]
Quantidade = Annotated[str, _shaped(_QUANTITY), Field(json_schema_extra={"pattern": f"^{_QUANTITY}$"})]
Preco = Annotated[str, _shaped(_PRICE), Field(json_schema_extra={"pattern": f"^{_PRICE}$"})]


class ItemNovo(Corpo):
    """Some of a product: of the company's own by its code, or with all that the invoice says of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {
                    "required": ["produto"],
                    "properties": {
                        "produto": {"type": "string"},
                        **{name: {"type": "null"} for name in COLUNAS if name != "preco"},
                    },
                },
                {
                    "required": [*COLUNAS],
                    "properties": {"produto": {"type": "null"}, **{key: {"type": "string"} for key in COLUNAS}},
                },
            ]
        }
    )

    produto: Codigo | None = None
    quantidade: Quantidade
    codigo: Codigo | None = None
    texto: Annotated[str, StringConstraints(pattern="^[!-~¡-ÿ](?:[ -~¡-ÿ]{0,118}[!-~¡-ÿ])?$")] | None = None
    ncm: Annotated[str, StringConstraints(pattern="^[0-9]{8}$")] | None = None
    cfop: Annotated[str, StringConstraints(pattern="^5[0-9]{3}$")] | None = None
    csosn: Annotated[str, StringConstraints(pattern="^[0-9]{3}$")] | None = None
    unidade: Annotated[str, StringConstraints(pattern="^[0-9A-Za-z]{1,6}$")] | None = None
    preco: Preco | None = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        told = [name for name in COLUNAS if getattr(self, name) is not None]
        if self.produto is None and len(told) < len(COLUNAS):
            missing = ", ".join(name for name in COLUNAS if name not in told)
            raise PydanticCustomError("item", f"diga o produto, ou todos os campos dele; falta {missing}")
        if self.produto is not None and told not in ([], ["preco"]):
            raise PydanticCustomError("item", "com o produto, só o preço pode ser outro")
        return self


MOST_ITEMS: Final = 150  # of one body, which has 64 KB
PLACE: Final = frozenset({"local_prestacao", "obra", "evento", "iss_retido"})
OF_SERVICE: Final = PLACE | {"valor", "descricao", "competencia"}
OF_ONE_KIND: Final[dict[str, Any]] = {
    "anyOf": [
        {
            "required": ["valor"],
            "properties": {
                "documento_fiscal": {"const": "nfse"},
                "itens": {"type": "null"},
                "valor": {"not": {"type": "null"}},
            },
        },
        {
            "required": ["documento_fiscal", "itens"],
            "properties": {
                "documento_fiscal": {"enum": ["nfe", "nfce"]},
                "itens": {"type": "array"},
                **{name: {"type": "null"} for name in sorted(OF_SERVICE)},
            },
        },
    ]
}
"""A proposal as JSON Schema says it: an amount of a service, or items."""


def amount_or_items(valor: Any, info: ValidationInfo) -> Any:
    """Return an amount, which only a proposal of a service must have. Raises ``PydanticCustomError``."""
    if valor is None and info.data.get("documento_fiscal") == "nfse":
        raise PydanticCustomError("valor_invalido", 'é um número em reais, como 1500.00 ou "1500.00"')
    return valor


def of_one_kind(modelo: str, wanted: Sequence[ItemNovo] | None, of_service: Sequence[Any]) -> None:
    """Raise ``PydanticCustomError`` for a proposal that is neither of a service nor of goods alone."""
    if modelo == "nfse":
        if wanted is not None:
            raise PydanticCustomError("proposta", "uma nota de serviço tem valor, e não itens")
    elif wanted is None:
        raise PydanticCustomError("proposta", "uma nota de produto tem itens")
    elif any(each is not None for each in of_service):
        raise PydanticCustomError("proposta", "o valor e o texto de uma nota de produto vêm dos itens")


async def sold(
    connection: Connection, call: ApiCall, modelo: str, wanted: Sequence[ItemNovo], documento: str | None
) -> dict[str, Any]:
    """Return the columns that the items make. Raises ``ProblemError`` for what the company does not sell."""

    def refused(where: tuple[str | int, ...], codigo: str, why: str) -> ProblemError:
        return ProblemError("corpo_invalido", "Nada foi guardado.", erros=[field(where, codigo, why)])

    empresa, _ = await companies.get_company(connection, call.empresa_id)
    if modelo not in empresa.mercado:
        raise refused(("documento_fiscal",), "sem_canal", f"a empresa não emite {modelo}")
    if modelo == "nfce" and documento and len(documento) != CPF_DIGITS:
        raise refused(("documento_fiscal",), "so_pessoa", "uma nfce é de pessoa ou de quem não deu o nome; use nfe")
    known = await goods.named(connection, call.empresa_id, [each.produto for each in wanted if each.produto])
    made: list[Item] = []
    for n, each in enumerate(wanted):
        where: tuple[str | int, ...] = ("itens", n)
        if each.produto is not None and each.produto not in known:
            raise refused((*where, "produto"), "desconhecido", f"{each.produto} não é um produto desta empresa")
        try:
            if each.produto is not None:
                one = known[each.produto]
                one = replace(one, preco=preco(each.preco)) if each.preco else one
            else:
                one = checked(each.model_dump(include={*COLUNAS}), empresa.regime)
            told = {name: getattr(one, name) for name in COLUNAS}
            made.append(Item(**told, quantidade=quantidade(each.quantidade)))
        except ProdutoInvalido as error:
            raise refused((*where, error.campo), "invalido", str(error)) from error
    try:
        todos = itens(made)
    except ProdutoInvalido as error:
        raise refused((error.campo,), "invalido", str(error)) from error
    return {"itens": json.loads(dump(todos)), "valor": total(todos), "descricao": resumida(todos)}
