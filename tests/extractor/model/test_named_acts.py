from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from bot.conversation.inbound import Palavras
from bot.subjects.invoice.plan import plan
from extractor.contract import Ato, RequestKind
from extractor.hybrid import HybridExtractor
from extractor.utterance import understand
from proofs.diagrams.session import example
from proofs.sandbox.model import ModelSimulator, Reply
from state_machine.catalogue.requests import NotaListada
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Estado
from state_machine.machine.events import Confirmou, Informou, Negou, PediuAjuda
from state_machine.protocol.emission import StatusEmissao
from tests.bot.subjects.invoice.test_plan import NOW, Remembered
from tests.extractor.model.test_hybrid import answer, client_of

SHOWN = example(Estado.AGUARDANDO_CONFIRMACAO)
ORDER = "nota de R$ 900, pintura, 05.804.473/0001-65"
OTHER = "tem outra também: zíper de jaqueta 45 cpf 529.982.247-25"


class WithNotes(Remembered):
    """Two issued notes, the newest first."""

    async def notes(self, *_: Any, numero: str | None = None, **__: Any) -> list[NotaListada]:
        """Those of this number."""
        notes = ((13, "Maré Nova", "900"), (12, "Bella Lua", "450"))
        listed = [
            NotaListada(n, str(n), StatusEmissao.CONCLUIDO, Decimal(v), "12345678000195", nome, "x", NOW)
            for n, nome, v in notes
        ]
        return [nota for nota in listed if numero in {None, nota.numero}]


@pytest.fixture
async def server():
    async with ModelSimulator() as simulator:
        yield simulator


@pytest.fixture
async def said(server):
    """What a turn says where the model answers this."""

    async def read(texto: str, contexto: Any, **spans: Any) -> Any:
        server.answer_with(lambda _: Reply(answer(**spans)))
        async with HybridExtractor(client_of(server)) as hybrid:
            dita = await understand(texto, contexto, hybrid, drafting=bool(contexto.conhecidos))
        assert len(server.asked) == 1
        return dita

    return read


@pytest.mark.parametrize(
    ("texto", "ato", "alvo", "tipo", "names"),
    [
        ("nota emitida? cliente tá na porta", "situacao", None, RequestKind.STATUS, {}),
        ("soma o que saiu pra mim em outubro, faz favor", "total", "outubro", RequestKind.TOTAL, {"mes": 10}),
        (
            "me diga o que fiz de nota da Maré Nova",
            "listar",
            "da Maré Nova",
            RequestKind.MINHAS_NOTAS,
            {"cliente": "Maré"},
        ),
        (
            "a moça perdeu o papel da nota 214, manda",
            "reenviar",
            "da nota 214",
            RequestKind.SEGUNDA_VIA,
            {"numero": "214"},
        ),
        ("tem gente de carne e osso aí?", "pessoa", None, RequestKind.ATENDENTE, {}),
        ("quero uma pessoa. faxina 300 reais cpf 529.982.247-25", "pessoa", None, RequestKind.ATENDENTE, {}),
        ("quanto falta pra bater os 81 mil?", "limite", None, RequestKind.LIMITE_MEI, {}),
    ],
)
async def test_a_request_that_a_model_names_has_its_object(said, fresh, texto, ato, alvo, tipo, names):
    """The registers are asked for it, from words that the person wrote; nothing of it is an invoice's."""
    dita = await said(texto, fresh, ato=ato, alvo=alvo)
    pedido = dita.pedido
    assert (pedido.tipo, dita.dados.informs) == (tipo, False)
    assert pedido.numero == names.get("numero")
    assert names.get("cliente", "") in (pedido.cliente or "")
    assert (pedido.quando.mes if pedido.quando else None) == names.get("mes")


async def test_a_total_for_a_document_is_its_customers(said, fresh):
    """The document of the words is kept for the registers, and opens no draft."""
    texto = "diga aí o que já saiu pra Ana Lima, 05.804.473/0001-65"
    dita = await said(texto, fresh, ato="total", documento="[DOC1]", nome="Ana Lima")
    assert [c.campo for c in dita.dados.candidates] == [Campo.DOCUMENTO]
    assert dita.pedido.tipo is RequestKind.TOTAL
    assert not (await plan(Palavras(dita.texto, NOW), dita, Remembered(), NOW)).eventos


@pytest.mark.parametrize(
    ("ato", "alvo"), [("total", None), ("pergunta", None), ("esperar", None), ("negar", None), ("outra", None)]
)
async def test_an_act_that_loses_an_order_does_not_hold(said, fresh, ato, alvo):
    """An order is one, whatever else a model calls it: its fields are read, and shown."""
    dados = (await said(ORDER, fresh, ato=ato, alvo=alvo, valor="R$ 900", documento="[DOC1]")).dados
    assert dados.pede is None
    assert {c.campo for c in dados.candidates} | {d.campo for d in dados.doubts} >= {Campo.DOCUMENTO, Campo.VALOR}


@pytest.mark.parametrize(
    ("texto", "shown", "ato", "spans", "holds"),
    [
        ("ficou esquisito esse trem, tem que mexer", True, "refazer_nota", {}, False),
        ("a 12 ficou com o cliente de outra obra, tem que mexer", True, "refazer_nota", {"alvo": "a 12"}, True),
        ("dá pra pôr o lance maneiro na nota?", False, "pergunta", {}, True),
        ("dá pra pôr o lance maneiro na nota?", False, "pergunta", {"descricao": "lance maneiro"}, False),
        (ORDER, False, "pergunta", {}, False),
        ("so isso msm fexa la", True, "negar", {}, True),
        ("so isso msm fexa la", False, "negar", {}, False),
        ("põe aquele lance maneiro ali", True, "negar", {"descricao": "lance maneiro"}, False),
    ],
)
async def test_an_act_holds_where_it_loses_nothing(said, fresh, summary, texto, shown, ato, spans, holds):
    """Of a note that is issued it names which over a draft; no question and no no has data of an invoice."""
    dita = await said(texto, summary if shown else fresh, ato=ato, **spans)
    assert (dita.dados.pede is not None) is holds


async def test_words_that_nobody_wrote_are_no_object(said, fresh):
    """An invented note is not looked for."""
    dita = await said("a moça perdeu o papel da nota, manda", fresh, ato="reenviar", alvo="nota 99")
    assert (dita.dados.alvo, dita.pedido.numero) == (None, None)


@pytest.mark.parametrize(
    ("texto", "ato", "event"),
    [
        ("Jamais autorizei essa emissão. Não emita nada.", "desistir", Negou),
        ("so isso msm fexa la", "negar", Negou),
        ("É possível pôr o protocolo na descrição depois de emitida?", "pergunta", PediuAjuda),
        (OTHER, "outra", PediuAjuda),
        ("não quero mais essa, faz outra: berço 130 cpf 529.982.247-25", "outra", PediuAjuda),
    ],
)
async def test_over_a_summary_an_act_changes_nothing_of_it(said, summary, texto, ato, event):
    """It is answered; the draft stays as it is shown, and nothing is issued or given up."""
    dita = await said(texto, summary, ato=ato)
    plano = await plan(Palavras(texto, NOW), dita, Remembered(SHOWN), NOW)
    assert [type(each) for each in plano.eventos] == [event]


@pytest.mark.parametrize(
    ("alvo", "offered"),
    [
        ("a nota de 450", ["cancelar_nota:12"]),
        ("essa nota", ["cancelar_nota:13", "cancelar_nota:12"]),
        ("a última", ["cancelar_nota:13"]),
        ("a nota 12", ["cancelar_nota:12"]),
        ("da Maré Nova", ["cancelar_nota:13"]),
        ("a nota 99", []),
        (None, ["cancelar_nota:13", "cancelar_nota:12"]),
    ],
)
async def test_a_cancellation_that_a_model_hears_is_a_button(said, fresh, alvo, offered):
    """The very note that was meant is offered, and a tap begins; no words of a model cancel."""
    texto = f"o casamento foi desmarcado, é pra anular {alvo or ''} de vez"
    dita = await said(texto, fresh, ato="cancelar_nota", alvo=alvo)
    plano = await plan(Palavras(texto, NOW), dita, WithNotes(), NOW)
    assert plano.resposta is not None
    assert [botao.id for botao in plano.resposta.botoes] == offered
    assert (plano.eventos, "Nada foi cancelado" in plano.resposta.texto) == ((), True)
    assert alvo is None or offered or "99" in plano.resposta.texto


@pytest.mark.parametrize(("alvo", "numero"), [("a 12", "12"), (None, "13")])
async def test_a_note_that_is_made_anew_is_the_one_that_was_said(said, fresh, alvo, numero):
    """By the number of the model's object; without one it is the newest."""
    texto = "a 12 ficou com o cliente de outra obra, tem que mexer"
    dita = await said(texto, fresh, ato="refazer_nota", alvo=alvo)
    plano = await plan(Palavras(texto, NOW), dita, WithNotes(), NOW)
    assert plano.resposta is not None
    assert f"nota {numero}" in plano.resposta.texto


@pytest.mark.parametrize(
    ("ato", "alvo", "asked"),
    [
        ("corrigir", "esse preço", Campo.VALOR),
        ("corrigir", "o tomador", Campo.DOCUMENTO),
        ("corrigir", "o que foi feito", None),
        ("corrigir", "o valor", None),  # nobody wrote it
        ("corrigir", None, None),
        ("conversa", "esse preço", None),
    ],
)
async def test_a_correction_that_only_names_its_field_asks_for_it(said, summary, ato, alvo, asked):
    """As the button of that field does; where it names none of ours, the question is which."""
    texto = "tá esquisito esse preço aí, o tomador e o que foi feito, olha direito"
    dita = await said(texto, summary, ato=ato, alvo=alvo)
    plano = await plan(Palavras(texto, NOW), dita, Remembered(SHOWN), NOW)
    assert plano.eventos == ((Informou(clear=frozenset({asked})),) if asked else plano.eventos)
    assert asked or not any(isinstance(each, Informou | Confirmou) for each in plano.eventos)


async def test_a_correction_with_its_new_value_takes_nothing_else_back(said, summary):
    """The field that its object names is one of those that it gives."""
    dita = await said("tá esquisito esse preço aí, é 1.700", summary, ato="corrigir", alvo="esse preço", valor="1.700")
    assert (dita.dados.clear, [c.valor for c in dita.dados.candidates]) == (frozenset(), ["1700.00"])


async def test_no_answer_of_a_model_confirms(said, summary):
    """Whatever it names for words that are no plain yes."""
    dita = await said("so isso msm fexa la", summary, ato="confirmar")
    eventos = (await plan(Palavras(dita.texto, NOW), dita, Remembered(SHOWN), NOW)).eventos
    assert not any(isinstance(each, Confirmou) for each in eventos)


async def test_another_order_beside_one_that_is_collected_is_not_merged(said, fresh):
    """It waits for its turn: no field of it goes into the draft."""
    collecting = replace(fresh, conhecidos={Campo.VALOR: "180.00"})
    dita = await said(OTHER, collecting, ato="outra", valor="45", documento="[DOC1]", descricao="zíper de jaqueta")
    assert (dita.ato, dita.outra) == (Ato.VARIAS, OTHER)
    plano = await plan(Palavras(OTHER, NOW), dita, Remembered(example(Estado.DADOS_INCOMPLETOS)), NOW)
    assert not any(isinstance(each, Informou) for each in plano.eventos)


async def test_what_the_model_read_stands_in_the_doubt(said, fresh):
    """An amount in doubt is asked with the model's reading first, and with theirs."""
    texto = "1500 ou 1600 pra 05.804.473/0001-65, pintura, e 40 de tinta"
    doubts = {d.campo: d.leituras for d in (await said(texto, fresh, ato="informar", valor="40")).dados.doubts}
    assert doubts[Campo.VALOR][0] == "40.00"
