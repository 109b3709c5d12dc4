from __future__ import annotations

import pytest

from bot.conversation.inbound import Palavras
from bot.subjects.invoice.acts import said
from extractor.contract import Ato, Extraction
from extractor.learned.reader import LearnedReader, LearnedReading
from extractor.requests.yes_no import DENIES, FILLER, NO, NO_FILLER, SOFT, YES, is_firm_yes, is_no, is_yes
from extractor.rules import extract
from extractor.text.folding import read
from extractor.two_readers import read_by_both
from extractor.utterance import Utterance
from state_machine.machine.events import Confirmou, Encaminhou
from tests.adversaries import cpu_ms
from tests.extractor.test_two_readers import SUMMARY

YESES = (
    *("emite ae 😡 to esperando faz 1h", "emite ae, faz 1h que tô esperando", "so isso msm fecha ai"),
    *("emite logo essa porcaria 😡", "vai, manda ver de uma vez", "já falei que sim, emite!", "tá certo caramba"),
    *("pó mandar", "sim porra", "bora", "manda ver", "pode tocar", "fechou", "arrocha", "tá joia", "demorô", "simmm"),
    *("pode emitir sim", "ôxe, pode", "é isso aí", "mete bala", "positivo", "isso mesmo uai", "tri", "bah pode"),
    *("bah tchê, tri legal, manda", "issoooo", "ta dboa pode fazer", "booora", "já é", "só se for agora"),
    *("toca o barco", "taca-lhe pau", "taca ficha", "mete marcha", "pode crer", "claro que sim", "com certeza", "uhum"),
    *("égua, pode mandar", "tá massa, manda", "vixe tá certinho, emite", "pode passar a régua", "bate o martelo"),
    *("assino embaixo", "de acordo", "confere", "confere sim, pode emitir", "tudo nos conformes", "vai fundo"),
    *("vamo que vamo", "vumbora", "beleza pura", "podi mandá", "pode sim meu rei", "na mosca"),
    *(
        "isso aí véi",
        "show de bola, manda bala",
        "joinha",
        "👍",
        "pode, sem medo",
        "tudo certo pode soltar",
        "top demais",
    ),
    *(
        "opa pode sim parceiro",
        "oxe bora",
        "tamo junto, pode mandar",
        "só vai",
        "firmeza, toca ficha",
        "fechado patrão",
    ),
)
WAITS = (
    *("peraí", "guenta aí", "aguenta as ponta", "segura as pontas", "segura a onda", "péra um tico", "só um cadim"),
    *(
        "um tiquim só",
        "xô vê aqui",
        "dexa eu vê",
        "deixa eu conferir",
        "já volto",
        "já já",
        "jajá confirmo",
        "calma lá",
    ),
    *("daqui a pouco eu confirmo", "tô dirigindo", "carma aí", "agorinha", "num instante", "ôxe pera", "já confirmo"),
    *("bah guenta um pouco", "vou ver com o contador", "me dá um minutinho", "stand by", "devagar", "não manda ainda"),
    *("ainda não", "agora não", "mais tarde eu vejo", "depois eu confirmo", "já vai", "confirmo logo", "péra lá tchê"),
)
NO_YESES = (
    *("tô esperando faz 1h", "emite ae? to esperando faz 1h", "emite ae, faz 2h", "manda to esperando faz 1h a de 500"),
    *("não emite, to esperando faz 1h", "emite ae to esperando faz 1h mas muda o valor", "não, só isso", "fecha o mês"),
    *("emite ae to esperando faz 1h " * 5, "so isso msm fecha ai? ", "só isso fecha aí e faz outra igual"),
    *("que porcaria", "já falei", "tô esperando", "já falei que não", "que merda", "anda"),
    *("pode não", "sim mas o valor tá errado", "ok mas espera", "pode mandar o xml?", "pode cancelar", "pode deixar"),
    *("demorou demais", "demorou hein", "já demorou muito", "isso é muito", "manda os dados", "segue os dados", "sim?"),
    *(
        "oi tudo bem",
        "bom dia, tudo certo",
        "bora ver",
        "tá tri errado",
        "tri caro",
        "positivo e negativo",
        "uai",
        "tá",
    ),
    *(
        "fechou o mês",
        "fechou a padaria",
        "pode ser amanhã",
        "sim depois eu confirmo",
        "claro que não",
        "manda de novo",
    ),
    *(
        "manda ver o valor",
        "bora mudar o valor",
        "isso aí tá errado",
        "vai dar errado",
        "pode apagar",
        "confere o valor",
    ),
    *(
        "confere aí pra mim",
        "confere?",
        "vai se foder",
        "porra",
        "ok entendi",
        "bah",
        "valeu",
        "legal hein",
        "já mandei",
    ),
    *(
        "faz a de ontem também",
        "manda a nota pro meu contador",
        "pode esperar",
        "bora almoçar",
        "só vai depois",
        "só isso",
    ),
    *("quero sim o pdf", "vai demorar", "sim senhor, mas o nome", "fechou em 1.200", "pode mandar 1500", "capaz"),
)
OBJECTIONS = (Ato.RECUSA, Ato.CORRIGE, Ato.PERGUNTA, Ato.ESPERA, Ato.CANCELA_NOTA, Ato.FISCAL, Ato.RECLAMA, Ato.DEPOIS)


class Certain(LearnedReader):
    """The reader of this version, in one respect certain of another act."""

    def __init__(self, ato: Ato) -> None:
        super().__init__()
        self._certain = ato

    def read(self, texto: str, situacao: str) -> LearnedReading:
        """Return what is read, with the act."""
        return LearnedReading(self._certain, 0.99, super().read(texto, situacao).mencoes)


def read_with(texto: str, ato: Ato) -> Extraction:
    return read_by_both(texto, SUMMARY, Certain(ato)).extraction


@pytest.mark.parametrize("texto", YESES)
def test_a_yes_of_any_region_confirms(texto: str) -> None:
    """The whole message is a yes over the summary, for the grammar and for both readers together."""
    assert is_yes(read(texto).plain)
    found = read_by_both(texto, SUMMARY).extraction
    assert (found.ato, found.agreed in {None, Ato.CONFIRMA}) == (Ato.CONFIRMA, True)


@pytest.mark.parametrize("texto", NO_YESES)
def test_what_looks_like_a_yes_does_not_confirm(texto: str) -> None:
    """A question, a condition, a greeting, a complaint about the time: nothing of it issues."""
    assert extract(texto, SUMMARY).ato is not Ato.CONFIRMA
    assert read_by_both(texto, SUMMARY).extraction.ato is not Ato.CONFIRMA


@pytest.mark.parametrize("texto", ["emite ae 😡 to esperando faz 1h", "so isso msm fecha ai"])
def test_a_yes_of_somebody_else_decides_nothing(texto: str) -> None:
    """Forwarded words are of whoever wrote them."""
    dita = Utterance(texto, read_by_both(texto, SUMMARY).extraction)
    assert isinstance(said(Palavras(texto, None), dita, None), Confirmou)
    assert isinstance(said(Palavras(texto, None, proprias=""), dita, None), Encaminhou)


@pytest.mark.parametrize("texto", WAITS)
def test_a_wait_of_any_region_is_neither_yes_nor_no(texto: str) -> None:
    """It changes nothing; "já confirmo" is a yes to come, and none now."""
    assert not is_yes(read(texto).plain)
    assert Utterance(texto, read_by_both(texto, SUMMARY).extraction).ato is Ato.ESPERA


@pytest.mark.parametrize("ato", OBJECTIONS)
@pytest.mark.parametrize("texto", ["pó mandar", "sim", "tá joia", "arrocha", "fechou"])
def test_a_yes_that_the_learned_reader_objects_to_decides_nothing(texto: str, ato: Ato) -> None:
    """A denial, a correction, a question that one reader sees is a doubt, and a doubtful yes issues nothing."""
    assert read_with(texto, ato).ato is Ato.SOCIAL


@pytest.mark.parametrize("texto", ["pó mandar", "arrocha", "tri", "na mosca"])
def test_a_yes_that_the_learned_reader_takes_for_an_order_stands(texto: str) -> None:
    """The words give no data, so that there is nothing that it could order."""
    found = read_with(texto, Ato.DADOS)
    assert (found.ato, found.agreed) == (Ato.CONFIRMA, None)


@pytest.mark.parametrize(
    ("texto", "intent"),
    [("sim porra", Ato.CONFIRMA), ("pode mandar, valeu", Ato.CONFIRMA), ("tudo bem", Ato.SOCIAL)],
)
def test_a_yes_that_may_be_a_greeting_needs_both_readers(texto: str, intent: Ato) -> None:
    """Where the learned reader hears a greeting or thanks, only words that are a yes by themselves are one."""
    assert read_with(texto, Ato.SOCIAL).ato is intent


def test_no_yes_of_the_table_is_a_no() -> None:
    """A phrase is in one of the grammars, and none of the yeses has a word that denies."""
    assert not YES & NO
    assert not [phrase for phrase in YES | FILLER if DENIES.search(phrase)]
    assert not [phrase for phrase in SOFT if is_firm_yes(phrase)]


@pytest.mark.parametrize("phrase", sorted(YES | FILLER | NO | NO_FILLER))
def test_the_table_is_written_as_messages_are_folded(phrase: str) -> None:
    """A phrase with an accent, or with an abbreviation that is spelled out, would never be found."""
    assert read(phrase).plain == phrase


@pytest.mark.parametrize(
    "words", ["tudo bem e o a de com isso " * 3, "sim e " * 9 + "x", "nao " * 19 + "x", "a " * 2000]
)
def test_words_that_are_nearly_an_answer_cost_no_time(words: str) -> None:
    """The grammars are read in time proportional to the words."""
    assert not is_yes(f"{words}x")
    assert not is_no(f"{words}x")
    assert cpu_ms(lambda: (is_yes(f"{words}x"), is_no(f"{words}x")), 50.0) < 50.0
