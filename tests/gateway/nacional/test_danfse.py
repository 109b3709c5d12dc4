"""The PDF of a national note: what it says, who draws it, and how little that process may do."""

from __future__ import annotations

import asyncio
import re
import sys
import time
import zlib
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from gateway.keys import ChaveNFSe
from gateway.nacional.dps import build, id_dps
from gateway.nacional.layouts import MAX_BYTES, Layout, check, parse
from gateway.nacional.note import read
from gateway.nacional.processes import danfse_process
from gateway.nacional.processes.danfse import PROCESSES, DanfseError, DanfsePool
from gateway.nacional.signature import sign
from state_machine.documents import Tomador
from state_machine.protocol.channel import Ambiente
from tests import children
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa

    from gateway.nacional.dps import Circunstancias
    from state_machine.documents import DocumentoServico

CHAVE = ChaveNFSe("3550308", "2", "2", "12ABC34501DE35", 42, "2611", 123456789)
NOTE = """<NFSe xmlns="http://www.sped.fazenda.gov.br/nfse" versao="1.01"><infNFSe Id="NFS{chave}">
<xLocEmi>São Paulo</xLocEmi><xLocPrestacao>São Paulo</xLocPrestacao><nNFSe>42</nNFSe><xTribNac>Análise</xTribNac>
<verAplic>SefinNac_Pre_1.5.0</verAplic><ambGer>2</ambGer><tpEmis>1</tpEmis><cStat>100</cStat>
<dhProc>2026-11-21T10:01:05-03:00</dhProc><nDFSe>99</nDFSe><emit><CNPJ>12ABC34501DE35</CNPJ><xNome>ANA DESIGN</xNome>
<enderNac><xLgr>Rua A</xLgr><nro>1</nro><xBairro>Centro</xBairro><cMun>3550308</cMun><UF>SP</UF><CEP>01001000</CEP>
</enderNac></emit><valores><vBC>1500.00</vBC><vLiq>1500.00</vLiq></valores>{dps}</infNFSe></NFSe>"""
LAYOUT = Layout()
NO_VALUE = "NFS-e SEM VALIDADE JURÍDICA"

# Made-up processes answer with a page unless something stops them before: an error is the work of a limit.
BEGIN = "import sys, os, socket, subprocess, time\nimport gateway.nacional.processes.danfse_process as d\n"


@pytest.fixture
def made(
    intent: DocumentoServico, facts: Circunstancias, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]
) -> Callable[..., bytes]:
    """A note as SEFIN makes it of our invoice, which the arguments change; held against the official XSD."""

    def note(
        ambiente: Ambiente = Ambiente.HOMOLOGACAO, *, layout: Layout = LAYOUT, totals: str = "", **changes: Any
    ) -> bytes:
        dps = build(replace(intent, **changes), replace(facts, ambiente=ambiente, layout=layout))
        inner = sign(dps, str(id_dps(intent)), *identity).partition(b"?>\n")[2].decode()
        whole = sign(NOTE.format(chave=CHAVE, dps=totals + inner).encode(), f"NFS{CHAVE}", *identity)
        check(parse(whole), "NFSe", layout)
        return whole

    return note


@pytest.fixture
async def pool() -> AsyncIterator[DanfsePool]:
    """The processes of the product; none is left behind."""
    pool = DanfsePool(deadline=PATIENCE)
    yield pool
    await pool.aclose()
    assert children.apart() == []


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def text(pdf: bytes) -> str:
    """All that a PDF of one page shows, in the order in which it was drawn."""
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 1
    shown = []
    for stream in re.findall(rb"stream\n(.*?)\nendstream", pdf, re.DOTALL):
        try:
            drawn = zlib.decompress(stream)
        except zlib.error:
            continue
        shown += [
            re.sub(rb"\\(.)", rb"\1", found) for found in re.findall(rb"\(((?:\\.|[^\\()])*)\) Tj", drawn, re.DOTALL)
        ]
    return b" ".join(shown).decode("cp1252")


def told_by(pdf: bytes, name: str) -> str:
    """A property of the file: in hexadecimal where it has a letter beyond ASCII, else as it is."""
    plain = re.search(rb"/%s \((.*)\)" % name.encode(), pdf)
    if plain:
        return plain[1].decode("ascii")
    (wide,) = re.findall(rb"/%s <([0-9a-f]+)>" % name.encode(), pdf)
    return bytes.fromhex(wide.decode()).decode("utf-16")


async def test_a_page_says_what_the_note_says(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """Number, key, who issues and who pays, value and text; and that homologation has no value."""
    said = text(await pool.render(made()))
    for word in (
        f"CHAVE DE ACESSO DA NFS-e {CHAVE} ",
        "NÚMERO DA NFS-e 42 ",
        "COMPETÊNCIA DA NFS-e 20/11/2026 ",
        "DATA E HORA DA EMISSÃO DA NFS-e 21/11/2026 10:01:05 ",
        "PRESTADOR / FORNECEDOR CNPJ / CPF / NIF 12.ABC.345/01DE-35 ",
        "Nome / Nome Empresarial ANA DESIGN ",
        "TOMADOR / ADQUIRENTE CNPJ / CPF / NIF 111.444.777-35 ",
        "Nome / Nome Empresarial João da Silva & Cia ",
        'Descrição do Serviço Consultoria - "novembro" ',
        "Valor da Operação / Serviço R$ 1.500,00 ",
        NO_VALUE,
    ):
        assert word in said, said


OF_THE_SIMPLES = (
    "<IBSCBS><totCIBS><vTotNF>1515.00</vTotNF><gIBS/><gCBS/><gTribSN><pIBSSN>0.17</pIBSSN><vIBSSN>1.23</vIBSSN>"
    "<pCBSSN>15.43</pCBSSN><vCBSSN>13.77</vCBSSN></gTribSN></totCIBS></IBSCBS>"
)


async def test_a_note_of_nt_009_says_as_much(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """Its finality and the taxes of the Simples stand elsewhere in it, and on the page where they always do."""
    note = made(layout=Layout(nt009=True), totals=OF_THE_SIMPLES)
    told = read(note)
    assert told is not None
    assert (told.nota.valor, told.nota.descricao) == (Decimal(1500), 'Consultoria - "novembro"')
    said = text(await pool.render(note))
    for word in (
        "NFS-e regular",
        "R$ 1,23",
        "R$ 13,77",
        "R$ 15,00",
        "R$ 1.515,00",
        'Serviço Consultoria - "novembro" ',
    ):
        assert word in said, said


async def test_the_file_says_whose_note_it_is(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """Its properties name who issued, the number, the key and the language: a forwarded file tells them apart."""
    pdf = await pool.render(made())
    told = {name: told_by(pdf, name) for name in ("Title", "Author", "Subject")}
    assert told == {"Title": "NFS-e 42 · ANA DESIGN", "Author": "ANA DESIGN", "Subject": f"DANFSe da NFS-e {CHAVE}"}
    assert b"/Lang (pt-BR)" in pdf


async def test_a_note_of_production_has_no_banner(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """What it says of its validity is true."""
    assert NO_VALUE not in text(await pool.render(made(Ambiente.PRODUCAO)))


async def test_a_note_that_holds_no_longer_says_so(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """Cancelled and substituted are what the caller knows, for they do not stand in the note."""
    note = made()
    assert not re.search("CANCELADA|SUBSTITUÍDA", text(await pool.render(note)))
    assert "CANCELADA" in text(await pool.render(note, watermark="cancelada"))
    assert "SUBSTITUÍDA" in text(await pool.render(note, watermark="substituida"))


@pytest.mark.parametrize(
    "descricao", ["Consultoria (fase \\ 1) " * 87, "x" * 2000, "çãÕ§ª°½ÿ " * 222], ids=["words", "one-word", "latin"]
)
async def test_a_long_description_stays_on_the_page(
    pool: DanfsePool, made: Callable[..., bytes], descricao: str
) -> None:
    """NT 008 shows 1,297 characters and marks that more follow."""
    said = text(await pool.render(made(descricao=descricao)))
    shown = said.partition("Descrição do Serviço ")[2].partition(" TRIBUTAÇÃO MUNICIPAL")[0]
    assert shown.endswith("...")
    letters = "".join(shown.removesuffix("...").split())
    assert len(letters) > 1000
    assert "".join(descricao.split()).startswith(letters)


async def test_a_long_name_and_a_company_with_letters(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """The name is cut at 77 characters, as NT 008 says; both CNPJ keep their letters."""
    note = made(tomador=Tomador("34XYZ789000123", "Indústria de Água Mineral " * 5, None))
    said = text(await pool.render(note))
    assert "Nome / Nome Empresarial Indústria de Água Mineral Indústria de Água Mineral" in said
    assert "TOMADOR / ADQUIRENTE CNPJ / CPF / NIF 34.XYZ.789/0001-23 " in said


async def test_what_the_font_has_not_is_spelt_plainly(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """A note that another program made may hold any character; the page is drawn all the same."""
    note = made().replace(b"ANA DESIGN", "Ação → “Źdźbło” 😀 Ωμέγα".encode())
    said = text(await pool.render(note))
    assert 'Nome / Nome Empresarial Ação -> "Zdzblo"' in said


async def test_the_same_note_is_the_same_file(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """Drawn by two processes, in two seconds; the date in it is the note's."""
    note = made()
    pages = set(await asyncio.gather(*(pool.render(note) for _ in range(2 * PROCESSES))))
    assert len(children.apart()) == PROCESSES
    await asyncio.sleep(1.0 - time.time() % 1.0)  # into the next second: the library's own date has seconds
    pages.add(await pool.render(note))
    assert len(pages) == 1
    assert b"/CreationDate (D:20261121100105-03'00')" in pages.pop()


async def test_what_is_no_note_is_refused_and_the_next_is_drawn(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """Another document, entities, a cut, too much of it: an error, by a process that goes on."""
    note = made()
    await pool.render(note)
    before = children.apart()
    entity = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>' + note.partition(b"?>\n")[2]
    for wrong in (b"", b"<html>", note[:-3], entity, note.replace(b"<nNFSe>42", b"<nNFSe>43"), bytes(MAX_BYTES + 1)):
        with pytest.raises(DanfseError):
            await pool.render(wrong)
    await pool.render(note)
    assert children.apart() == before


async def _fails(program: str, deadline: float = PATIENCE) -> str:
    pool = DanfsePool(words=(sys.executable, "-P", "-s", "-B", "-c", BEGIN + program), deadline=deadline)
    with pytest.raises(DanfseError) as error:
        await pool.render(b"x")
    await pool.aclose()
    assert children.apart() == []
    return str(error.value)


def _drawing(program: str) -> str:
    """A process that runs a line where it should draw."""
    return f"def draw(xml, watermark):\n    {program}\n    return b'page'\nd.draw = draw\nd.main()\n"


async def test_a_process_within_its_limits_is_believed() -> None:
    """The made-up process of these tests answers when nothing stops it."""
    pool = DanfsePool(words=(sys.executable, "-P", "-s", "-B", "-c", BEGIN + _drawing("pass")), deadline=PATIENCE)
    assert await pool.render(b"x") == b"page"
    await pool.aclose()


async def test_who_eats_memory_is_ended() -> None:
    """The limit on its address space refuses what no page needs, and the process ends."""
    assert "IncompleteReadError" in await _fails(_drawing("x = bytearray(10**9)"))


async def test_who_computes_without_end_is_ended() -> None:
    """Each page has its seconds of CPU, which end long before the deadline does."""
    begun = time.monotonic()
    assert "IncompleteReadError" in await _fails("d.CPU_SECONDS = 1\n" + _drawing("while True: pass"), deadline=600)
    assert time.monotonic() - begun < 600


async def test_the_seconds_of_a_page_are_its_own() -> None:
    """A process draws more pages than the seconds of one allow."""
    burn = "end = time.process_time() + 0.6\n    while time.process_time() < end: pass"
    words = (sys.executable, "-P", "-s", "-B", "-c", BEGIN + "d.CPU_SECONDS = 1\n" + _drawing(burn))
    pool = DanfsePool(words=words, deadline=PATIENCE)
    assert [await pool.render(b"x") for _ in range(4)] == [b"page"] * 4
    assert len(children.apart()) == 1
    await pool.aclose()


async def test_who_waits_is_ended() -> None:
    """At the deadline it is killed, and nothing of it is left."""
    assert "TimeoutError" in await _fails(_drawing("time.sleep(600)"), deadline=1.0)


async def test_who_draws_writes_no_file_and_knows_no_network(tmp_path: Path) -> None:
    """Neither a byte nor an empty file, no socket, no other process."""
    target = tmp_path / "page"
    for program in (f"open({str(target)!r}, 'wb')", "socket.socket()", "subprocess.run(['true'])", "os.system('true')"):
        assert "PermissionError" in await _fails(_drawing(program))
    assert not target.exists()
    limits = "assert d.resource.getrlimit(d.resource.RLIMIT_FSIZE) == d.resource.getrlimit(d.resource.RLIMIT_CORE)"
    assert "AssertionError" in await _fails(_drawing(limits + " == (1, 1)"))
    pool = DanfsePool(
        words=(sys.executable, "-P", "-s", "-B", "-c", BEGIN + _drawing(limits + " == (0, 0)")), deadline=PATIENCE
    )
    assert await pool.render(b"x") == b"page"
    await pool.aclose()


@pytest.mark.parametrize(
    "program",
    ["", "sys.exit(3)", "os.kill(os.getpid(), 9)", "sys.stdout.write('x' * 10**5)", "d.HEADER = d.struct.Struct('>B')"],
)
async def test_any_other_end_is_an_error(program: str) -> None:
    """A crash, no answer, garbage, half an answer."""
    await _fails(program + ("\nd.main()" if "HEADER" in program else ""))


async def test_what_is_printed_is_no_answer() -> None:
    """A library that prints does not spoil the page."""
    words = (sys.executable, "-P", "-s", "-B", "-c", BEGIN + _drawing("print('hello', flush=True)"))
    pool = DanfsePool(words=words, deadline=PATIENCE)
    assert await pool.render(b"x") == b"page"
    await pool.aclose()


async def test_no_secret_of_ours_is_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither master key nor password: a hostile note that takes the process over finds nothing."""
    monkeypatch.setenv("PROSA_MASTER_KEY", "secret")
    only = "assert set(os.environ) - {'LC_CTYPE'} == {'PYTHONPATH'}, os.environ"
    pool = DanfsePool(words=(sys.executable, "-P", "-s", "-B", "-c", BEGIN + _drawing(only)), deadline=PATIENCE)
    assert await pool.render(b"x") == b"page"
    await pool.aclose()


async def test_a_dead_process_is_replaced(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """Killed at rest, known or not yet, nobody notices; its caller cancelled, the next process owes no answer."""
    note = made()
    page = await pool.render(note)
    for known in (True, False):
        (child,) = children.apart()
        child.kill()
        if known:
            await until(lambda: not psutil.pid_exists(child.pid))  # noqa: B023
        assert await pool.render(note) == page
    other = asyncio.create_task(pool.render(note, watermark="cancelada"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other
    assert await pool.render(note) == page


async def test_who_waits_is_served_in_order(pool: DanfsePool, made: Callable[..., bytes]) -> None:
    """At most so many processes, and no page overtakes those that wait before it."""
    note, done = made(), []

    async def ask(number: int) -> None:
        await pool.render(note)
        done.append(number)

    await asyncio.gather(*(ask(number) for number in range(12)))
    assert len(children.apart()) == PROCESSES
    for place, number in enumerate(done):  # whoever is still unfinished then is being drawn, however slowly
        overtaken = [later for later in done[place + 1 :] if later < number]
        assert len(overtaken) < PROCESSES, done


async def test_a_closed_pool_draws_nothing() -> None:
    """It says so, instead of waiting for a process that no longer comes."""
    pool = DanfsePool(deadline=PATIENCE)
    await pool.aclose()
    with pytest.raises(DanfseError, match="closed"):
        await pool.render(b"x")


async def test_the_event_loop_draws_nothing(
    pool: DanfsePool, made: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty pages are drawn although this process cannot; it answers others meanwhile."""
    note, beats = made(), 0
    monkeypatch.setattr(danfse_process, "draw", None)
    monkeypatch.setattr(danfse_process, "parse", None)

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    heart = asyncio.create_task(beat())
    pages = await asyncio.gather(*(pool.render(note) for _ in range(50)))
    heart.cancel()
    assert all(page.startswith(b"%PDF") for page in pages)
    assert beats > 50  # at least one a page
