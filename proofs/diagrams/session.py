"""Draws the state diagram from the rules themselves, by asking them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from proofs.diagrams.generated import INICIO, between, rewrite_pages, state_diagram
from state_machine.invoice.draft import Cadastro, Rascunho, aplicar
from state_machine.invoice.fields import Campo, Candidate, Doubt, Motivo
from state_machine.invoice.session import ESPERAM_USUARIO, FINAIS, Emissor, Estado, Sessao
from state_machine.machine.events import (
    Abriu,
    Apagou,
    Cancelou,
    Confirmou,
    Conversou,
    Editou,
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    Encaminhou,
    EquipeAssumiu,
    EquipeDevolveu,
    EquipeEncerrou,
    Escolheu,
    Informou,
    MandouArquivo,
    MudouEmissor,
    NaoCabe,
    NaoQuisMais,
    Negou,
    NotaAutorizada,
    NotaRejeitada,
    NumeroTomado,
    PediuAjuda,
    PediuCorrecao,
    PerdeuMensagem,
    PrazoVencido,
    QuisAinda,
    Reprocessou,
)
from state_machine.machine.transition import transition
from state_machine.values.text import Escrita

if TYPE_CHECKING:
    from collections.abc import Iterator

    from state_machine.machine.events import Evento

COMMAND = "python -m proofs.diagrams.session docs/estados.md"
_BEGIN, _END = "<!-- diagrama: gerado, não edite -->\n", "<!-- fim do diagrama -->\n"

_AGORA = datetime(2026, 1, 1, tzinfo=UTC)
_TUDO = (
    Candidate(Campo.DOCUMENTO, "12345678000195", "12.345.678/0001-95"),
    Candidate(Campo.VALOR, "1500.00", "1.500"),
    Candidate(Campo.DESCRICAO, "consultoria", "consultoria"),
)
_DUVIDA = (Doubt(Campo.DESCRICAO, Motivo.DISCORDANCIA, "consultoria", leituras=("consultoria",)),)
_ESCRITAS = (Escrita("wamid.1", "12.345.678/0001-95, 1.500, consultoria"),)
_PADARIA = Cadastro("12345678000195", "PADARIA DO ZÉ LTDA")
_COMPLETO = replace(aplicar(Rascunho(), _TUDO, (), (), _ESCRITAS), cadastro=_PADARIA)

# One or more examples of each event, chosen so that every way it can go is seen.
EXEMPLOS: tuple[Evento, ...] = (
    Abriu(),
    Informou(_TUDO),
    Informou(_TUDO[:1]),
    Informou(clear=frozenset({Campo.VALOR})),
    Confirmou(1),
    Confirmou(0),
    Confirmou(None, _AGORA),
    Confirmou(0, leitura="1500.00"),
    Escolheu(Campo.DESCRICAO, "consultoria", 0),
    Negou(),
    Cancelou(),
    PediuCorrecao(),
    Conversou(),
    PediuAjuda(),
    MandouArquivo("audio"),
    Encaminhou(),
    Editou("wamid.1", Informou(_TUDO, escritas=_ESCRITAS)),
    Editou("wamid.1", Informou()),
    Apagou("wamid.1"),
    PerdeuMensagem(),
    MudouEmissor(Emissor(2, "11222333000181", "OUTRA LTDA", 1)),
    MudouEmissor(Emissor(2, "12345678000195", "OUTRA LTDA", 1)),
    MudouEmissor(None),
    NaoCabe("o texto não cabe", Campo.DESCRICAO),
    NaoCabe("um dado do cadastro não serve"),
    PrazoVencido(),
    NotaAutorizada("1", 1),
    NotaRejeitada("recusada", None),
    EmissaoFalhou(""),
    EmissaoDemorou(),
    EmissaoParada(),
    NumeroTomado(2),
    QuisAinda(),
    NaoQuisMais(),
    Reprocessou(2),
    EquipeAssumiu("Ana"),
    EquipeDevolveu(),
    EquipeEncerrou(),
)


def example(estado: Estado) -> Sessao:
    """Return a session as it would stand in ``estado``."""
    sessao = Sessao("010126-00000000", "1:5511900000000", 1, "ANA DESIGN ME", estado=estado, versao=1, resumos=1)
    if estado is Estado.DADOS_INCOMPLETOS:
        rascunho = aplicar(Rascunho(), _TUDO[:2], _DUVIDA, (), _ESCRITAS)
        sessao = replace(sessao, rascunho=rascunho, pendente=Campo.DESCRICAO, mostrado_em=_AGORA)
    elif estado is not Estado.COLETA:
        sessao = replace(sessao, rascunho=_COMPLETO, revisao=1, mostrado_em=_AGORA)
    if estado in ESPERAM_USUARIO:
        sessao = replace(sessao, expira_em=_AGORA + timedelta(hours=1))
    return sessao


def _two_amounts() -> Sessao:
    """Return a session whose summary shows two amounts."""
    duas = Doubt(Campo.VALOR, Motivo.VARIOS, "1.500", leituras=("1500.00", "30.00"))
    rascunho = aplicar(Rascunho(), (_TUDO[0], _TUDO[2]), (duas,), (), _ESCRITAS)
    return replace(example(Estado.DADOS_INCOMPLETOS), rascunho=rascunho, pendente=Campo.VALOR)


def arcs() -> Iterator[tuple[str, str, str]]:
    """Yield (from, to, event) for every transition that the rules can make, once; staying put is left out."""
    seen = {(INICIO, Estado.COLETA.value, Abriu.__name__): None}
    for sessao in (*map(example, Estado), _two_amounts()):
        estado = sessao.estado
        for evento in EXEMPLOS:
            agora = _AGORA + timedelta(hours=2) if isinstance(evento, PrazoVencido) else _AGORA
            para = transition(sessao, evento, agora).sessao.estado
            if para is not estado:
                seen[estado.value, para.value, type(evento).__name__] = None
    return iter(seen)


def mermaid() -> str:
    """Return the diagram as Mermaid text, the same for the same rules."""
    return state_diagram(arcs(), (estado.value for estado in Estado if estado in FINAIS))


def refreshed(page: str) -> str:
    """Return ``page`` with the diagram of today's rules between its markers; raises ``ValueError`` without markers."""
    return between(page, _BEGIN, _END, f"```mermaid\n{mermaid()}```\n")


if __name__ == "__main__":
    rewrite_pages(refreshed)
