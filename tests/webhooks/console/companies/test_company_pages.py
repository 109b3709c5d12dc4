"""The console's pages of companies: what they show, and to whom."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import TYPE_CHECKING

from gateway.registry import REGISTRY
from operations.channel import choose
from operations.company import CompanyForm, add_company
from operations.services import ServiceForm, add
from persistence.access.accounts import Papel
from persistence.national import elsewhere
from persistence.national.elsewhere import NotaDeFora
from state_machine.protocol.channel import Ambiente, Canal
from tests import stored_work
from tests.narrowing import group
from tests.webhooks.console.conftest import COMPANIES

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Desk, Office

NATURES = {name: row.natureza for name, row in REGISTRY.items()}
FORM = CompanyForm(
    cnpj="99.000.003/0001-92",
    razao_social="PADARIA DO BAIRRO LTDA",
    inscricao_municipal="456",
    municipio="5208707",
    usuarios=("5511987657777",),
    codigo_servico="170101",
    serie_rps="900",
)
LOJAS = """
INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
SELECT 'loja ' || n, 'LOJA ' || to_char(51 - n, 'FM00'), '1', '3550308', 'mei', '170101' FROM generate_series(0, 51) n
"""


async def test_a_supervisor_takes_the_month_for_the_accountant(office: Office) -> None:
    """In three forms, audited; who sees another company finds nothing."""
    _, empresa_id = await stored_work.issued(office.database, "1")
    page = f"/console/empresas/{empresa_id}"
    async with office.at_work(Papel.SUPERVISOR) as supervisor:
        assert f'href="{page}/fechamento/' in (await supervisor.get(page))[1]
        status, text = await supervisor.get(f"{page}/fechamento/2026-11.csv")
        assert (status, "TOTAL" in text) == (200, True)
        assert (await supervisor.get(f"{page}/fechamento/2026-13.csv"))[0] == HTTPStatus.NOT_FOUND
        assert (await supervisor.get(f"/console/empresas/{empresa_id + 999}/fechamento/2026-11.csv"))[
            0
        ] == HTTPStatus.NOT_FOUND
    async with office.at_work(Papel.SUPORTE) as support:
        assert "/fechamento/" not in (await support.get(page))[1]
        assert (await support.get(f"{page}/fechamento/2026-11.csv"))[0] == HTTPStatus.FORBIDDEN
    told = "SELECT acao, alvo FROM auditoria WHERE empresa_id = $1"
    assert [tuple(each) for each in await office.database.pool.fetch(told, empresa_id)] == [
        ("exportou", "novembro de 2026, csv")
    ]


async def test_a_company_is_shown_whole(office: Office) -> None:
    """The list leads to the page, which says channel, environment, codes, certificate, people and the month, masked."""
    empresa_id = await add_company(office.database, FORM)
    await choose(office.database, NATURES, cnpj=FORM.cnpj, documento="servico", nome="nacional", ambiente="homologacao")
    await add(office.database, FORM.cnpj, ServiceForm(codigo="01.07.01", descricao="plano ouro", nbs="1.1506.10.00"))
    await office.database.pool.execute(
        "UPDATE empresa SET certificado_vence = (now() AT TIME ZONE 'America/Sao_Paulo')::date + 5 WHERE id = $1",
        empresa_id,
    )
    async with office.at_work(Papel.LEITURA) as reader:
        listed = (await reader.get("/console/empresas?nome=padaria"))[1]
        assert f'href="/console/empresas/{empresa_id}"' in listed
        assert "EMPRESA 0 LTDA" not in listed
        assert "vence em 5 dias" in listed
        page = (await reader.get(f"/console/empresas/{empresa_id}"))[1]
    for said in ("Emissor Nacional", "homologação", "17.01.01", "01.07.01", "plano ouro", "vence em 5 dias"):
        assert said in page, said
    assert "•••••-7777" in page
    assert "5511987657777" not in page
    assert "99000003000192" not in page


async def test_what_others_issued_is_shown_and_a_series_of_ours_that_they_use_is_alarmed(office: Office) -> None:
    """Newest first, without its key (which holds the CNPJ); one learnt to be ours since is nobody else's."""
    first, second = office.companies[:2]
    canal = Canal("nacional", Ambiente.HOMOLOGACAO)
    async with office.database.transaction() as connection:
        for number in range(1, 23):
            nota = NotaDeFora(
                chave=f"9900000300019{number:02}",
                id_dps="",
                numero=str(number),
                valor=Decimal("71.50"),
                emitida_em=datetime(2026, 11, number, 12, tzinfo=UTC),
                serie="900" if number in {20, 21} else None,
                numero_dps=number + 100 if number in {20, 21} else None,
            )
            await elsewhere.keep(connection, canal, first, nota)
        await elsewhere.ended(connection, canal, "990000030001922", "cancelada")
    async with office.at_work(Papel.LEITURA) as reader:
        page = (await reader.get(f"/console/empresas/{first}"))[1]
        assert 'data-testid="de-fora"' not in (await reader.get(f"/console/empresas/{second}"))[1]
    assert "Outro programa usa a nossa série 900 em homologação: 2 notas, até o número 121." in page
    assert "número 120 da nossa série 900" in page
    assert page.index("Nota 22 ") < page.index("cancelada") < page.index("Nota 21 ") < page.index("Nota 3 ")
    assert "Nota 2 " not in page
    assert "As mais novas." in page
    assert "9900000300019" not in page


async def test_another_company_does_not_exist(office: Office) -> None:
    """Who works for one company neither finds another in the list nor opens it."""
    first, second = office.companies[:2]
    async with office.at_work(Papel.ADMIN, (COMPANIES[1],)) as other:
        listed = (await other.get("/console/empresas"))[1]
        assert f'href="/console/empresas/{second}"' in listed
        assert f'href="/console/empresas/{first}"' not in listed
        assert (await other.get(f"/console/empresas/{first}"))[0] == 404


async def test_the_list_is_paged_by_name(office: Office) -> None:
    """A page more than one shows the rest, each company once."""
    await office.database.pool.execute(LOJAS)
    async with office.at_work(Papel.LEITURA) as reader:
        first = (await reader.get("/console/empresas?nome=loja"))[1]
        assert first.index("LOJA 00") < first.index("LOJA 49")
        assert "LOJA 50" not in first
        last = group(r'href="(/console/empresas\?[^"]+antes=[^"]+)"', first).replace("&amp;", "&")
        rest = (await reader.get(last))[1]
    assert [name for name in ("LOJA 49", "LOJA 50", "LOJA 51") if name in rest] == ["LOJA 50", "LOJA 51"]


async def test_what_tells_of_a_fault_leads_to_the_company(desk: Desk) -> None:
    """From a refused note's page, from its group and from its conversation the company is one click away."""
    sessao_id = await desk.refused("1811")
    where = f'href="/console/empresas/{desk.office.companies[0]}"'
    async with desk.office.at_work(Papel.SUPERVISOR) as rita:
        case = (await rita.get(f"/console/sessoes/{sessao_id}"))[1]
        assert where in case
        assert where in (await rita.get(group(r'href="(/console/contatos/[^"]+)"', case)))[1]
        failures = (await rita.get("/console/falhas"))[1]
        assert where in failures
        grupo = group(r'href="(/console/falhas/grupo[^"]+)"', failures).replace("&amp;", "&")
        assert where in (await rita.get(grupo))[1]
        company = (await rita.get(f"/console/empresas/{desk.office.companies[0]}"))[1]
    assert sessao_id in company
