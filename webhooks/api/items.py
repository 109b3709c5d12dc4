"""Goods: the company's products, and the items of a proposal that callers send of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Final, Self

from aiohttp import web
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from operations import goods as operations
from operations.protocol import CommandRefusedError
from persistence.audit.records import Author
from persistence.db.connection import Connection
from persistence.people import companies, goods
from state_machine.goods import COLUNAS, Item, ProdutoInvalido, checked, dump, itens, preco, quantidade, resumida, total
from state_machine.invoice.draft import CPF_DIGITS
from state_machine.protocol.channel import TipoDocumento
from webhooks.api.call import ApiCall, Corpo, as_json, check_environment, validated
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
Texto = Annotated[str, StringConstraints(pattern="^[!-~¡-ÿ](?:[ -~¡-ÿ]{0,118}[!-~¡-ÿ])?$")]
Ncm = Annotated[str, StringConstraints(pattern="^[0-9]{8}$")]
Cfop = Annotated[str, StringConstraints(pattern="^5[0-9]{3}$")]
Csosn = Annotated[str, StringConstraints(pattern="^[0-9]{3}$")]
Unidade = Annotated[str, StringConstraints(pattern="^[0-9A-Za-z]{1,6}$")]
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
    texto: Texto | None = None
    ncm: Ncm | None = None
    cfop: Cfop | None = None
    csosn: Csosn | None = None
    unidade: Unidade | None = None
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


class ProdutoNovo(Corpo):
    """A product of the company; its code is in the address."""

    texto: Texto
    ncm: Ncm
    cfop: Cfop
    csosn: Csosn
    unidade: Unidade
    preco: Preco


class ProdutoResposta(BaseModel):
    """A product as it is kept: ``preco`` of one ``unidade``, in BRL."""

    model_config = ConfigDict(from_attributes=True)

    codigo: str
    texto: str
    ncm: str
    cfop: str
    csosn: str
    unidade: str
    preco: Decimal


class ProdutosResposta(BaseModel):
    """All products of the company, by their code."""

    itens: list[ProdutoResposta]


async def show_products(call: ApiCall) -> web.Response:
    """Show the company's products by their code."""
    async with call.deps.database.alone() as connection:
        known = await goods.of_company(connection, call.empresa_id)
    shown = ProdutosResposta(itens=[ProdutoResposta.model_validate(each) for each in known])
    return as_json(shown.model_dump(mode="json"))


async def keep_product(call: ApiCall) -> web.Response:
    """Keep a product under its code, anew where it is known. The same request twice leaves the same product."""
    codigo = call.request.match_info["codigo"]
    body, refused = validated(ProdutoNovo, await call.body())
    if body is None:
        raise refused
    async with call.deps.database.transaction() as connection:
        empresa, _ = await companies.get_company(connection, call.empresa_id)
        await check_environment(connection, call, TipoDocumento.of(next(iter(empresa.mercado), None)))
        try:
            novo = checked({"codigo": codigo, **body.model_dump()}, empresa.regime)
            await operations.keep(connection, empresa, [novo], Author(call.quem))
        except ProdutoInvalido as error:
            raise ProblemError(
                "corpo_invalido", "Nada foi guardado.", erros=[field((error.campo,), "invalido", str(error))]
            ) from error
        except CommandRefusedError as error:
            raise ProblemError("produto_recusado", str(error)) from error
    return as_json(ProdutoResposta.model_validate(novo).model_dump(mode="json"))


async def remove_product(call: ApiCall) -> web.Response:
    """Take a product away; invoices keep their copy. Raises ``ProblemError`` 404."""
    async with call.deps.database.transaction() as connection:
        empresa, _ = await companies.get_company(connection, call.empresa_id)
        await check_environment(connection, call, TipoDocumento.of(next(iter(empresa.mercado), None)))
        try:
            await operations.remove_from(connection, empresa, call.request.match_info["codigo"], Author(call.quem))
        except CommandRefusedError:
            raise ProblemError("nao_encontrado", "A empresa não tem este produto.") from None
    return web.Response(status=204)


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
