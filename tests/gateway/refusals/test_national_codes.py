"""Each code of the national layout has one plain reason, and who can repair it is told."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from gateway.nacional.outcome import explain
from gateway.port import Explicacao
from gateway.refusals import plain
from gateway.refusals.national_codes import CODIGOS, ROWS
from proofs.sandbox.nacional.errors import Erro
from state_machine.invoice.fields import Campo
from state_machine.machine.events import Abriu
from state_machine.machine.transition import transition
from state_machine.protocol.emission import Rejected
from tests.state_machine.made_sessions import AGORA, em_processo, nova

# Every code of the sheet of rules of a DPS and its NFS-e, version 1.01 of 2026, SEFIN's and the shared environment's.
_SHEET = """
E0001 E0004 E0006 E0008 E0010 E0014 E0015 E0016 E0018 E0020 E0023 E0029 E0031 E0032 E0034 E0035 E0037 E0038 E0041
E0042 E0044 E0046 E0050 E0056 E0058 E0060 E0065 E0068 E0070 E0072 E0074 E0076 E0078 E0080 E0082 E0084 E0096 E0098
E0099 E0112 E0113 E0114 E0115 E0116 E0119 E0120 E0121 E0122 E0123 E0124 E0125 E0128 E0129 E0130 E0132 E0134 E0138
E0142 E0146 E0148 E0160 E0161 E0162 E0166 E0172 E0174 E0175 E0176 E0177 E0178 E0188 E0190 E0194 E0202 E0204 E0206
E0207 E0212 E0222 E0223 E0224 E0226 E0228 E0229 E0231 E0232 E0233 E0234 E0235 E0236 E0237 E0238 E0240 E0242 E0246
E0247 E0248 E0250 E0254 E0262 E0264 E0266 E0268 E0272 E0280 E0281 E0284 E0286 E0287 E0288 E0289 E0290 E0291 E0292
E0293 E0294 E0296 E0298 E0299 E0300 E0302 E0304 E0310 E0314 E0316 E0318 E0320 E0330 E0331 E0333 E0341 E0343 E0345
E0352 E0354 E0356 E0370 E0372 E0380 E0382 E0384 E0386 E0390 E0392 E0398 E0400 E0402 E0404 E0420 E0423 E0424 E0425
E0427 E0428 E0429 E0430 E0431 E0432 E0435 E0436 E0437 E0438 E0439 E0440 E0441 E0442 E0444 E0446 E0447 E0449 E0453
E0454 E0455 E0456 E0458 E0460 E0462 E0464 E0466 E0468 E0470 E0472 E0474 E0476 E0477 E0478 E0482 E0484 E0488 E0490
E0492 E0494 E0496 E0498 E0499 E0529 E0530 E0532 E0533 E0534 E0535 E0536 E0537 E0538 E0539 E0540 E0541 E0544 E0548
E0550 E0565 E0567 E0574 E0575 E0577 E0579 E0580 E0583 E0585 E0586 E0587 E0588 E0589 E0590 E0591 E0592 E0593 E0594
E0595 E0596 E0600 E0602 E0604 E0606 E0612 E0617 E0619 E0621 E0625 E0628 E0631 E0635 E0640 E0650 E0652 E0667 E0670
E0672 E0673 E0675 E0676 E0677 E0678 E0680 E0682 E0684 E0686 E0688 E0690 E0692 E0694 E0696 E0698 E0699 E0700 E0701
E0702 E0703 E0704 E0706 E0707 E0708 E0710 E0712 E0714 E0715 E0716 E0717 E0718 E1260 E1263 E1268 E1270 E1272 E1274
E1276 E1278 E1280 E1281 E1282 E1284 E1285 E1286 E1287 E1288 E1289 E1294 E1295 E1297 E1300 E1301 E1302 E1303 E1304
E1305 E1306 E1307 E1308 E1309 E1310 E1311 E1313 E1317 E1321 E1325 E1388 E1402 E1508 E1538 E1630 E1632 E1634 E1636
E1638 E9996
"""
SHEET = _SHEET.split()
# Those that a document of ours can break, or an answer in the chat.
_REACHED = """
E0050 E0237 E0302 E0310 E0312 E0370 E0372 E0380 E0390 E0392 E0398 E0532 E0539 E0540 E0580 E0583 E0588 E0667 E0600 E0602
E0604 E0617 E0619 E0621 E0625 E0628 E0631 E0635 E0640
"""
REACHED = _REACHED.split()
SHARED = [value for value in vars(plain).values() if isinstance(value, Explicacao)]
ALL = {explicacao.texto: explicacao for explicacao in (*SHARED, *plain.RECUSADOS.values(), *CODIGOS.values())}


@pytest.mark.parametrize("explicacao", ALL.values(), ids=lambda e: e.texto[:40])
def test_every_phrase_is_plain_and_fits_into_a_sentence(explicacao: Explicacao) -> None:
    """A phrase has no codes and no jargon, starts small, ends open, and names support exactly when it must."""
    assert not re.search(r"E\d|XML|JSON|DPS|payload|cTrib", explicacao.texto)
    assert explicacao.texto[0].islower()
    assert not explicacao.texto.endswith(".")
    assert explicacao.suporte == explicacao.texto.endswith("isso quem ajusta é o suporte")
    assert explicacao.suporte == (explicacao.campo is None and not explicacao.troca)


def test_no_code_is_listed_twice() -> None:
    """Each code has one reading."""
    assert [codigo for codigo, count in Counter(codigo for codigo, _ in ROWS).items() if count > 1] == []


def test_each_code_of_the_sheet_has_a_reason() -> None:
    """Nobody reads the authority's own sentence, nor that the reason is unknown."""
    assert len(SHEET) == 325
    assert set(SHEET) - set(CODIGOS) == set()


def test_a_code_that_is_reached_has_a_sentence_of_its_own() -> None:
    """A sentence that says the rule is worth more than one that many rules share; so have 100 codes and more."""
    texts = Counter(explicacao.texto for explicacao in CODIGOS.values())
    assert [codigo for codigo in REACHED if texts[CODIGOS[codigo].texto] > 1] == []
    assert sum(texts[CODIGOS[codigo].texto] == 1 for codigo in SHEET) >= 100


@pytest.mark.parametrize("campo", sorted({e.campo for e in CODIGOS.values() if e.campo}))
def test_a_field_that_is_blamed_can_be_asked_again(campo: Campo) -> None:
    """The session that repairs the note asks for it first."""
    decision = transition(nova(), Abriu(em_processo().rascunho, campo), AGORA)
    assert decision.sessao.pendente is campo


@pytest.mark.parametrize("codigo", sorted(CODIGOS))
def test_the_authoritys_own_words_are_replaced_by_the_plain_reason(codigo: str) -> None:
    """A refusal as SEFIN words it is told by its code, whatever stands around it."""
    said = f'[{{"Codigo": "{codigo}", "Descricao": "{Erro(codigo).descricao.replace(chr(34), chr(39))}"}}]'
    assert explain(Rejected(said, (codigo,))) == CODIGOS[codigo]


def test_of_two_codes_the_one_that_the_person_can_repair_is_told() -> None:
    """The company's own trouble waits: the person is asked for the document."""
    assert explain(Rejected("x", ("E0312", "E0190"))).campo is Campo.DOCUMENTO
