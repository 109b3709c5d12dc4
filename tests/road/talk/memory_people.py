"""People of companies of their own, so that no other test's invoices are remembered for them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from stdnum.br.cnpj import calc_check_digits

from operations.company import add_company
from proofs.demo.world import COMPANY
from tests.road.road_people import Person, new_phone

if TYPE_CHECKING:
    from operations.company import CompanyForm
    from tests.road.road_people import Scene

ZE = "12.345.678/0001-95"  # PADARIA DO ZÉ LTDA
CAFE = "99.000.002/0001-48"  # CAFÉ DA ESQUINA INVENTADA LTDA
MARIA = "529.982.247-25"

_roots = itertools.count(77_000_001)


def new_cnpj() -> str:
    """Return the CNPJ of a company that nobody registered."""
    base = f"{next(_roots)}0001"
    return base + calc_check_digits(base)


def company_form(*phones: str, **values: object) -> CompanyForm:
    """Return a company that has issued nothing; ``values`` are fields of its form."""
    return replace(COMPANY, **{"cnpj": new_cnpj(), "usuarios": phones, **values})  # type: ignore[arg-type]  # fields by name


async def of_new_company(scene: Scene, how_many: int = 1, /, **values: object) -> list[Person]:
    """Return people who may issue for such a company."""
    phones = tuple(new_phone() for _ in range(how_many))
    await add_company(scene.database, company_form(*phones, **values))
    return [Person(scene.world, phone) for phone in phones]
