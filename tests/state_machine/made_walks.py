"""What may happen on a random walk through ``test_machine``, the likely more often than the rest."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from state_machine.invoice.draft import Cadastro
from state_machine.invoice.fields import Campo
from state_machine.machine.events import (
    Cancelou,
    Conversou,
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    Informou,
    MandouArquivo,
    NaoQuisMais,
    Negou,
    NotaAutorizada,
    NotaRejeitada,
    PediuAjuda,
    PediuCorrecao,
    QuisAinda,
)
from tests.state_machine.made_sessions import DOC, OUTRO_CNPJ, PADARIA, SERVICO, TUDO, VALOR, lido

# What is likely stands more often than once, so that many walks get as far as the authority and beyond.
WHOLE = (Informou(TUDO, cadastro=PADARIA), Informou(TUDO))
PARTS = (
    Informou((DOC, SERVICO)),
    Informou((VALOR,)),
    Informou((lido(Campo.VALOR, "1800", "1.800"),)),
    Informou((lido(Campo.DOCUMENTO, OUTRO_CNPJ),), cadastro=Cadastro(OUTRO_CNPJ, "OUTRA LTDA")),
    Informou((lido(Campo.NOME, "Zé"),)),
    Informou(clear=frozenset({Campo.VALOR})),
)
ASIDES = (PediuCorrecao(), Conversou(), PediuAjuda(), MandouArquivo("audio"))
openings = st.sampled_from([*WHOLE * 3, *PARTS])
words = st.sampled_from([*WHOLE * 2, *PARTS, *ASIDES * 2, Negou(), Cancelou()])
news = st.sampled_from(
    [
        NotaAutorizada("1042", 1),
        NotaRejeitada("recusada", Campo.VALOR),
        NotaRejeitada("recusada", None),
        EmissaoFalhou(""),
        EmissaoDemorou(),
        EmissaoParada(),
        QuisAinda(parada=False),
        NaoQuisMais(parada=False),
    ]
)
jumps = st.sampled_from([2, 30, 600, 3599, 3601, 86_400, 7 * 86_400]).map(lambda s: timedelta(seconds=s))
lasting = st.integers(0, 10**6)  # picks one of what there is
