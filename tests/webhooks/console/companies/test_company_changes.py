"""What can be mended on a company's page: the commands' own checks, a reason, the audit, and once each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from operations.company import CompanyForm, add_company
from persistence.access.accounts import Papel
from persistence.people import goods
from tests.narrowing import group
from tests.webhooks.console.conftest import COMPANIES

if TYPE_CHECKING:
    from typing import Any

    from tests.webhooks.console.conftest import Browser, Office

CNPJ = "99.000.003/0001-92"
FORM = CompanyForm(
    cnpj=CNPJ,
    razao_social="OFICINA DO LARGO LTDA",
    inscricao_municipal="456",
    municipio="5208707",
    usuarios=("5511987657777",),
    codigo_servico="170101",
)


@pytest.fixture
async def company(office: Office) -> int:
    """A company of this test's database, as it was registered."""
    empresa_id = await add_company(office.database, FORM)
    await office.database.pool.execute("DELETE FROM empresa_servico WHERE empresa_id = $1", empresa_id)
    await office.database.pool.execute("DELETE FROM empresa_canal WHERE empresa_id = $1", empresa_id)
    return empresa_id


async def _change(who: Browser, company: int, change: str, **fields: str) -> tuple[int, str]:
    where = f"/console/empresas/{company}"
    status, page, _ = await who.post(f"{where}/{change}", {"motivo": "a prefeitura pediu", **fields}, form=where)
    return status, page


async def _audited(office: Office, company: int) -> list[tuple[Any, ...]]:
    rows = await office.database.pool.fetch(
        "SELECT acao, motivo, detalhe FROM auditoria WHERE empresa_id = $1 AND staff_id IS NOT NULL ORDER BY id",
        company,
    )
    return [(row["acao"], row["motivo"], row["detalhe"]) for row in rows]


async def test_codes_people_and_channel_are_mended_on_the_page(office: Office, company: int) -> None:
    """Each change shows at once, is in the audit with who and why, and a form that is sent twice changes once."""
    async with office.at_work(Papel.SUPERVISOR) as rita:
        where = f"/console/empresas/{company}"
        form = (await rita.get(where))[1]
        own = {"csrf": group(r'name="csrf" value="([0-9a-f]+)"', form), "chave": "uma-chave", "motivo": "outro ramo"}
        sent = {**own, "codigo": "01.07.01", "descricao": "plano ouro", "principal": "sim"}
        for _ in range(2):
            status, page, _ = await rita.post(f"{where}/dar-codigo", sent)
            assert (status, "01.07.01 – plano ouro (principal)" in page) == (200, True)
        status, page = await _change(rita, company, "tirar-codigo", codigo="170101")
        grouped = {
            "codigo": "01.07.01",
            "descricao": "plano ouro",
            "nbs": "115061000",
            "ind_op": "030101",
            "cst": "200",
        }
        status, page = await _change(rita, company, "dar-codigo", **grouped)
        assert (status, "cIndOp 030101, CST 200, cClassTrib 000001" in page) == (200, True)
        assert (status, "17.01.01" in page) == (200, False)
        status, page = await _change(rita, company, "dar-direito", telefone="+55 62 91234-5678")
        assert (status, "•••••-5678" in page) == (200, True)
        person = await office.database.pool.fetchval("SELECT id FROM usuario WHERE telefone = '5562912345678'")
        assert (await _change(rita, company, "tirar-direito", pessoa=str(person)))[0] == 200
        await office.database.pool.execute("UPDATE empresa SET serie_rps = '900' WHERE id = $1", company)
        status, page = await _change(rita, company, "mudar-canal", canal="nacional", ambiente="homologacao")
        assert (status, "Emissor Nacional: em produção, até quando se sabe." in page) == (200, True)
        before = await office.database.pool.fetchval("SELECT versao FROM empresa WHERE id = $1", company)
        mended = {"razao_social": "PADARIA NOVA LTDA", "inscricao_municipal": "99-1", "regime": "simples"}
        mended["email_contador"] = "Contas@Escritorio.com.br"
        status, page = await _change(rita, company, "mudar-cadastro", **mended)
        assert (status, "carga aproximada de tributos" in page) == (409, True)  # the channel's own rule
        await office.database.pool.execute("UPDATE empresa SET tributos_sn = 6 WHERE id = $1", company)
        status, page = await _change(rita, company, "mudar-cadastro", **mended)
        assert (status, "PADARIA NOVA LTDA" in page, "Simples Nacional" in page) == (200, True, True)
        assert "contas@escritorio.com.br" in page
        mended["email_contador"] = "contas@escritorio.com.br"
        assert "nada mudou" in (await _change(rita, company, "mudar-cadastro", **mended))[1]
        status, page = await _change(rita, company, "mudar-cadastro", **{**mended, "email_contador": "contas@"})
        assert (status, "o e-mail do contador não é um endereço" in page) == (409, True)
    stored = await office.database.pool.fetchrow("SELECT * FROM empresa WHERE id = $1", company)
    assert {**mended, "versao": before + 1}.items() <= dict(stored).items()
    done = await _audited(office, company)
    assert [row[0] for row in done] == [
        "deu código de serviço",
        "tirou código de serviço",
        "deu código de serviço",
        "deu direito de emitir",
        "removeu usuário",
        "mudou o canal",
        "mudou o cadastro",
    ]
    assert [row[1] for row in done] == ["outro ramo", *["a prefeitura pediu"] * 6]
    assert "PADARIA" not in json.dumps([str(row) for row in done])
    assert "12345678" not in json.dumps([str(row) for row in done])


async def test_what_the_command_refuses_the_page_refuses(office: Office, company: int) -> None:
    """A wrong code, the main one, a channel that does not fit, another's phone and no reason: said, nothing changed."""
    before = await office.database.pool.fetchrow("SELECT * FROM empresa WHERE id = $1", company)
    count = len(await _audited(office, company))
    async with office.at_work(Papel.SUPERVISOR) as rita:
        for change, fields, said in (
            ("dar-codigo", {"codigo": "99.99.99"}, "não está na lista nacional"),
            ("dar-codigo", {"codigo": "01.07.01", "nbs": "7"}, "O NBS tem 9 dígitos"),
            ("tirar-codigo", {"codigo": "170101"}, "é o código principal"),
            ("mudar-canal", {"canal": "nada", "ambiente": ""}, "Não há canal nada"),
            ("mudar-canal", {"canal": "plugnotas", "ambiente": "producao"}, "tem um ambiente só"),
            ("dar-direito", {"telefone": "551198765432" + "0"}, "já emite por outra empresa"),
            ("dar-direito", {"telefone": "12"}, "Diga o telefone com o país"),
            ("tirar-direito", {"pessoa": "1"}, "Nada mudou"),
            ("mudar-cadastro", {"razao_social": "A", "inscricao_municipal": "1", "regime": "rico"}, "Nada foi gravado"),
            ("tirar-codigo", {"codigo": "170101", "motivo": ""}, "Falta dizer por quê"),
        ):
            status, page = await _change(rita, company, change, **fields)
            assert (status in {409, 422}, said in page) == (True, True), (change, fields)
        assert (await _change(rita, company, "nada"))[0] == 404
    assert await office.database.pool.fetchrow("SELECT * FROM empresa WHERE id = $1", company) == before
    assert len(await _audited(office, company)) == count


async def test_a_stopped_company_sends_again_from_its_page(office: Office, company: int) -> None:
    """The page says why it is stopped and lets it go on, audited; one of the support may look but not press."""
    stop = "UPDATE empresa SET envio_suspenso = 'HTTP 401', suspenso_em = now() WHERE id = $1"
    await office.database.pool.execute(stop, company)
    async with office.at_work(Papel.SUPORTE) as sara:
        page = (await sara.get(f"/console/empresas/{company}"))[1]
        assert "HTTP 401" in page
        assert "/liberar" not in page
    async with office.at_work(Papel.SUPERVISOR) as rita:
        status, page = await _change(rita, company, "liberar")
        assert (status, "volta a enviar agora" in page) == (200, True)
    assert (await _audited(office, company))[-1][:2] == ("liberou os envios", "a prefeitura pediu")
    assert await office.database.pool.fetchval("SELECT envio_suspenso FROM empresa WHERE id = $1", company) is None


async def test_who_sees_some_companies_learns_of_no_phone(office: Office, company: int) -> None:
    """Another company's phone, an unknown one, an own one and none at all are answered alike, and none is stored."""
    pool = office.database.pool
    cnpj = await pool.fetchval("SELECT cnpj FROM empresa WHERE id = $1", company)
    theirs = await pool.fetchval("SELECT telefone FROM usuario WHERE empresa_id <> $1 LIMIT 1", company)
    before = await pool.fetch("SELECT id, telefone, empresa_id FROM usuario ORDER BY id")
    async with office.at_work(Papel.SUPERVISOR, (cnpj,)) as rita:
        assert "dar-direito" not in (await rita.get(f"/console/empresas/{company}"))[1]
        asked = [theirs, "+55 62 91234-5678", "12"]
        asked += [row["telefone"] for row in before if row["empresa_id"] == company]
        answers = [await _change(rita, company, "dar-direito", telefone=each) for each in asked]
    said = {(status, "Quem deixa um telefone emitir é quem vê todas as empresas" in page) for status, page in answers}
    assert said == {(409, True)}
    assert not any("por outra empresa" in page for _, page in answers)
    assert await pool.fetch("SELECT id, telefone, empresa_id FROM usuario ORDER BY id") == before


async def test_nobody_changes_another_company(office: Office, company: int) -> None:
    """A supervisor of one company finds nothing to change at another's address."""
    async with office.at_work(Papel.SUPERVISOR, (COMPANIES[1],)) as other:
        sent = {"motivo": "x", "chave": "k", "telefone": "+55 62 91234-5678"}
        assert (await other.post(f"/console/empresas/{company}/dar-direito", sent, form="/console/senha"))[0] == 404
    assert await office.database.pool.fetchval("SELECT count(*) FROM usuario WHERE telefone = '5562912345678'") == 0


async def test_products_are_kept_on_the_page_of_who_sells(office: Office, company: int) -> None:
    """A wrong field is named and changes nothing; who sells no goods has no such list."""
    told = {"codigo": "B1", "texto": "Bolo de pote", "cfop": "5102", "csosn": "102", "unidade": "un", "preco": "12,00"}
    async with office.at_work(Papel.SUPERVISOR) as rita:
        where = f"/console/empresas/{company}"
        assert 'data-testid="produtos"' not in (await rita.get(where))[1]
        async with office.database.transaction() as connection:
            await goods.save_seller(connection, company, {"inscricao_estadual": "110042490114"})
        status, page = await _change(rita, company, "dar-produto", **told, ncm="99999999")
        assert (status, "ncm 99999999" in page, "Nada mudou" in page) == (409, True, True)
        status, page = await _change(rita, company, "dar-produto", **told, ncm="1905.90.90")
        assert (status, "Bolo de pote" in page, "NCM 19059090" in page) == (200, True, True)
        status, page = await _change(rita, company, "tirar-produto", codigo="B1")
        assert (status, "Nenhum produto" in page) == (200, True)
    assert [each[0] for each in (await _audited(office, company))[-2:]] == ["guardou produtos", "tirou produto"]
