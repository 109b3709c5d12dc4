"""Sessions, drafts and events for the tests, plain and rotten, and what any message to a user must satisfy."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import strategies as st

from state_machine.goods import Item, dump
from state_machine.invoice.draft import Cadastro, Rascunho, aplicar
from state_machine.invoice.field_table import DESCRICAO_MAX, NOME_MAX
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo, Origem
from state_machine.invoice.session import (
    ESPERAM_USUARIO,
    REASON_ON_ENTRY,
    Emissor,
    Emitir,
    Estado,
    Mensagem,
    Responder,
    Sessao,
    SnapshotReason,
)
from state_machine.machine.events import (
    EVENTOS,
    Abriu,
    Apagou,
    Confirmou,
    Editou,
    EmissaoFalhou,
    EquipeAssumiu,
    Escolheu,
    Informou,
    MandouArquivo,
    MudouEmissor,
    NaoCabe,
    NotaAutorizada,
    NotaRejeitada,
    PerdeuMensagem,
)
from state_machine.machine.transition import transition
from state_machine.values.text import latin1, tamanho
from tests.nightly import NIGHTLY

MORE = 20 if NIGHTLY else 1  # how many times the examples of an ordinary run
AGORA = datetime(2026, 11, 21, 12, tzinfo=UTC)
SEGUNDO = timedelta(seconds=1)
CNPJ, OUTRO_CNPJ, CPF = "12345678000195", "11222333000181", "52998224725"
DOCUMENTOS = (CNPJ, OUTRO_CNPJ, CPF, "12ABC34501DE35")
ENDERECO = "Rua das Flores, 100, sala 2, Centro, São Paulo/SP, 01310-100 (IBGE 3550308)"
PADARIA = Cadastro(CNPJ, "PADARIA DO ZÉ LTDA", "ATIVA")


def lido(campo, valor, trecho=None):
    return Candidate(campo, valor, trecho or valor)


DOC, VALOR, SERVICO = (
    lido(Campo.DOCUMENTO, CNPJ, "12.345.678/0001-95"),
    lido(Campo.VALOR, "1500.00", "1.500"),
    lido(Campo.DESCRICAO, "consultoria de marketing"),
)
TUDO = (DOC, VALOR, SERVICO)


def nova(**campos):
    return Sessao("211126-0a1b2c3d", "1:5511999999999", 1, "ANA DESIGN ME", versao=1, **campos)


def diz(sessao, *eventos, agora=AGORA):
    """Run events through the machine and return the last decision."""
    for evento in eventos:
        decision = transition(sessao, evento, agora)
        sessao = decision.sessao
    return decision


def no_resumo(*candidates, cadastro=PADARIA, agora=AGORA):
    """A session whose summary was just shown."""
    return diz(nova(), Abriu(), Informou(candidates or TUDO, cadastro=cadastro), agora=agora).sessao


def em_processo():
    sessao = no_resumo()
    return diz(sessao, Confirmou(sessao.revisao)).sessao


def resposta(decision) -> Mensagem:
    """The one message of a decision."""
    (efeito,) = (e for e in decision.efeitos if isinstance(e, Responder))
    return efeito.mensagem


def emissoes(decision):
    return [e for e in decision.efeitos if isinstance(e, Emitir)]


def fits(mensagem):
    """Meta's limits for a text with or without buttons; and it reads well."""
    assert mensagem.texto.strip()
    assert tamanho(mensagem.texto) <= (1024 if mensagem.ids else 4096)
    assert len(mensagem.botoes) <= 3
    assert len(mensagem.lista) <= 10
    assert not (mensagem.botoes and mensagem.lista)
    for linha in mensagem.lista:
        assert 0 < tamanho(linha.titulo) <= 24
        assert tamanho(linha.descricao or "") <= 72
        assert 0 < tamanho(linha.id) <= 200
    for botao in mensagem.botoes:
        assert 0 < tamanho(botao.titulo) <= 20
        assert 0 < tamanho(botao.id) <= 256
    assert len({b.titulo for b in mensagem.botoes}) == len(mensagem.botoes)
    assert len(set(mensagem.ids)) == len(mensagem.ids)
    reads_well(mensagem.texto)


def reads_well(texto):
    """No hole where a value should be, no stray spaces."""
    assert "None" not in texto
    assert not re.search(r"\{\w*\}", texto)
    for linha in texto.split("\n"):
        assert "  " not in linha
        assert linha == linha.strip(" ")


# --- strategies ---------------------------------------------------------------------------------------------------


def _pode(texto):
    """What would look like our own mistake is left out."""
    return "none" not in texto.lower() and not re.search(r"\{\w*\}", texto)


_BOLO = Item(
    codigo="B1",
    texto="Bolo de pote",
    ncm="19059090",
    cfop="5102",
    csosn="102",
    unidade="UN",
    preco=Decimal("12.00"),
    quantidade=Decimal(3),
)
ITENS = dump([_BOLO])

textos = st.one_of(
    st.text(max_size=60).filter(_pode),
    st.sampled_from(["consultoria  de\tmarketing ", "😀" * 400, "x" * 2500, " ", "*_~`", "a\nb", "R$ 1,00. "]),
    st.builds(lambda pedaco, vezes: pedaco * vezes, st.text("ação é😀 🇧🇷\u200d", max_size=20), st.integers(1, 120)),
)
nomes = st.one_of(textos, st.text("ZÉ 🥖", min_size=5, max_size=6).map(lambda nome: nome * 60))
quantias = st.one_of(
    st.decimals("0.01", "9999999999.99", places=2).map(str),
    st.sampled_from(["0", "-5.00", "1e9", "abc", "99999999999"]),
)
datas = st.one_of(st.dates().map(str), st.sampled_from(["2026-02-31", "ontem", ""]))
meses = st.one_of(st.dates().map(lambda d: d.isoformat()[:7]), st.sampled_from(["2026-13", "outubro"]))
emails = st.sampled_from(["ana@exemplo.com.br", "ana@", f"{'a' * 70}@x.com", f"{'a' * 200}@x.com", "a b@c.d"])
documentos = st.sampled_from([*DOCUMENTOS, "12345678000199", "123", "11111111111", "12.345.678/0001-95"])
valores = {
    Campo.DOCUMENTO: documentos,
    Campo.VALOR: quantias,
    Campo.DESCRICAO: textos,
    Campo.NOME: nomes,
    Campo.EMAIL: emails,
    Campo.COMPETENCIA: meses,
    Campo.DATA: datas,
    Campo.CODIGO: st.sampled_from(
        ["010701", "01.07.01", "170101", "999998", "17.01", "x", "070501", "121301", "071001"]
    ),
    Campo.ENDERECO: st.sampled_from([ENDERECO, "CEP 01310-100, número 100", "x", f"{'Rua ' * 99}{ENDERECO}"]),
    Campo.LOCAL: st.sampled_from([ENDERECO, "São Paulo/SP (IBGE 3550308)", "Campinas/SP", "x"]),
    Campo.OBRA: st.sampled_from(["123456789012", "12.345.67890/12", "x"]),
    Campo.EVENTO: nomes,
    Campo.FIM: datas,
    Campo.ITENS: st.sampled_from([ITENS, ITENS.replace('"3"', '"1000000"'), "[]", "x"]),
    Campo.MODELO: st.sampled_from(["nfe", "nfce", "x"]),
    Campo.RETIDO: st.sampled_from(["sim", "não", "x"]),
}
candidates = st.sampled_from(Campo).flatmap(
    lambda campo: st.builds(
        Candidate, st.just(campo), valores[campo], textos, st.sampled_from(Origem), st.sampled_from(Confianca)
    )
)
doubts = st.sampled_from(Campo).flatmap(
    lambda campo: st.builds(
        Doubt,
        st.just(campo),
        st.sampled_from(Motivo),
        textos,
        st.none() | textos,
        st.lists(valores[campo], max_size=12).map(tuple),
        st.none() | textos,
    )
)
cadastros = st.builds(
    Cadastro, st.sampled_from(DOCUMENTOS), nomes, st.sampled_from([None, "", "ATIVA", "BAIXADA", "X" * 90])
)
emissores = st.builds(
    Emissor, st.integers(1, 3), st.sampled_from(DOCUMENTOS), nomes.filter(str.strip), st.integers(1, 3)
)
informes = st.builds(
    Informou,
    st.lists(candidates, max_size=5).map(tuple),
    st.lists(doubts, max_size=2).map(tuple),
    st.frozensets(st.sampled_from(Campo), max_size=2),
    st.none() | cadastros,
)


def _rascunho(eventos):
    sessao = nova()
    for evento in eventos:
        sessao = transition(sessao, evento, AGORA).sessao
    return sessao.rascunho


rascunhos = st.lists(informes, max_size=3).map(_rascunho)


@st.composite
def completos(draw):
    """Drafts that could be issued, with anything valid in them, the longest texts included."""
    documento = draw(st.sampled_from(DOCUMENTOS))
    servico = draw(textos.map(lambda t: latin1(t)[:DESCRICAO_MAX]).filter(lambda t: len(t.strip()) > 2))
    valor = draw(st.decimals("0.01", "9999999999.99", places=2).map(str))
    ditos = [lido(Campo.DOCUMENTO, documento), lido(Campo.VALOR, valor), lido(Campo.DESCRICAO, servico)]
    extras = {
        Campo.NOME: nomes.map(lambda nome: latin1(nome)[:NOME_MAX]),
        Campo.EMAIL: st.sampled_from(["ana@exemplo.com.br", f"{'é' * 35}@x.com"]),
        Campo.DATA: st.dates().map(str),
        Campo.COMPETENCIA: st.dates().map(lambda d: d.isoformat()[:7]),
        Campo.ENDERECO: st.sampled_from([ENDERECO, ENDERECO.replace("Flores", "Flores " * 20)]),
    }
    ditos += [lido(campo, draw(de)) for campo, de in extras.items() if draw(st.booleans())]
    rascunho = aplicar(Rascunho(), ditos, (), ())
    cadastro = draw(st.none() | cadastros)
    return replace(rascunho, cadastro=replace(cadastro, documento=documento)) if cadastro else rascunho


@st.composite
def sessoes(draw, estado=None):
    """Sessions of every state, each with a draft that such a session can have."""
    estado = estado or draw(st.sampled_from(Estado))
    match estado:
        case Estado.COLETA:
            rascunho = Rascunho()
        case Estado.DADOS_INCOMPLETOS:
            rascunho = draw(rascunhos.filter(lambda r: not r.completo))
        case Estado.CANCELADO_USUARIO | Estado.EXPIRADO:
            rascunho = draw(rascunhos | completos())
        case _:
            rascunho = draw(completos())
    return nova(
        estado=estado,
        snapshot_reason=REASON_ON_ENTRY[estado] or draw(st.sampled_from(SnapshotReason)),
        rascunho=rascunho,
        pendente=draw(st.none() | st.sampled_from(Campo)),
        revisao=draw(st.integers(0, 9)),
        mostrado_em=draw(st.none() | st.just(AGORA)),
        resumos=draw(st.integers(0, 3)),
        expira_em=AGORA + timedelta(hours=1) if estado in ESPERAM_USUARIO else None,
        expired_at=AGORA if estado is Estado.EXPIRADO else None,
    )


momentos = st.timedeltas(timedelta(days=-1), timedelta(days=8)).map(lambda d: AGORA + d)
_fazem = {
    Abriu: st.builds(Abriu, st.none() | rascunhos | completos(), st.none() | st.sampled_from(Campo)),
    Informou: informes,
    Confirmou: st.builds(
        Confirmou,
        st.none() | st.integers(-1, 9),
        st.none() | momentos,
        visto=st.booleans(),
    ),
    Escolheu: st.builds(
        Escolheu, st.sampled_from(Campo), st.none() | quantias | documentos, st.none() | st.integers(0, 9), st.none()
    ),
    Editou: st.builds(Editou, st.none() | st.just("wamid.1"), st.none() | informes),
    Apagou: st.just(Apagou("wamid.1")),
    MudouEmissor: st.builds(MudouEmissor, st.none() | emissores),
    NaoCabe: st.builds(
        NaoCabe, st.sampled_from(["um dado não serve", "são 9 caracteres"]), st.none() | st.sampled_from(Campo)
    ),
    PerdeuMensagem: st.just(PerdeuMensagem()),
    MandouArquivo: st.builds(MandouArquivo, st.sampled_from(["audio", "image", "edit", "location", "zzz"])),
    NotaAutorizada: st.builds(NotaAutorizada, st.integers(1, 10**15).map(str), st.integers(1, 9)),
    NotaRejeitada: st.builds(NotaRejeitada, textos, st.none() | st.sampled_from(Campo)),
    EmissaoFalhou: st.builds(EmissaoFalhou, textos),
    EquipeAssumiu: st.builds(EquipeAssumiu, textos),
}
de_tipo = {tipo: _fazem.get(tipo, st.builds(tipo)) for tipo in EVENTOS}
eventos = st.sampled_from(EVENTOS).flatmap(de_tipo.__getitem__)
