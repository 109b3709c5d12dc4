"""The codes of the national layout, each with a plain reason and the field that repairs it.

Source: Anexo I of the SEFIN manual, version 1.01 of 2026, in words of our own. A code whose rule we could read has a
sentence of its own; one of which only the subject is known shares its subject's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gateway.port import Explicacao
from gateway.refusals.plain import ALIQUOTA, CERTIFICADO, DESCONHECIDO, DOCUMENTO_AUSENTE, EMPRESA, RECUSADOS, of_staff
from state_machine.invoice.fields import Campo

_OF_THE_PERSON: Final[Mapping[str, tuple[Campo, str]]] = {
    "E0015": (Campo.COMPETENCIA, "o mês da prestação é posterior ao dia em que a nota foi emitida"),
    "E0016": (Campo.COMPETENCIA, "no mês da prestação, sua cidade ainda não estava no emissor nacional"),
    "E0190": (Campo.DOCUMENTO, "o CNPJ do cliente não existe no cadastro da Receita"),
    "E0237": (Campo.ENDERECO, "com imposto retido, a nota pede o endereço do cliente"),
    "E0202": (Campo.DOCUMENTO, "o cliente é a própria empresa que emite a nota"),
}
_OF_STAFF: Final[Mapping[str, str]] = {
    # how the document was made
    "E0004": "a identificação interna da nota não confere com os dados dela",
    "E0006": "a nota foi preparada para um ambiente e chegou a outro (teste e produção)",
    "E0008": "a hora da nota está adiantada em relação ao relógio da Receita",
    "E0010": "a série das notas da sua empresa está fora da faixa permitida a sistemas próprios",
    "E0121": "a nota repetiu o nome da sua empresa onde o emissor nacional não quer",
    "E0128": "a nota repetiu o endereço da sua empresa onde o emissor nacional não quer",
    "E0714": "a assinatura digital da nota não foi reconhecida",
    "E0717": "a nota chegou sem assinatura digital",
    "E0718": "a nota foi assinada com um certificado que não é da sua empresa",
    "E0850": "o grupo dos novos impostos (IBS e CBS) não vale para o mês da prestação",
    "E1225": "o arquivo da nota chegou ilegível à Receita",
    "E1226": "o arquivo da nota chegou incompleto à Receita",
    "E1228": "o arquivo da nota tem um prefixo que o emissor nacional não aceita",
    "E1229": "o arquivo da nota não está na codificação que o emissor nacional pede",
    "E1235": "a nota não segue o modelo que o emissor nacional aceita hoje",
    "E1242": "o emissor nacional não conhece o tipo de documento que foi enviado",
    "RNG6110": "a nota não segue o modelo que o emissor nacional aceita hoje",
    "E6155": "o arquivo da nota tem um prefixo que a cidade não aceita",
    # the company and its city
    "E0037": "sua cidade não consta no convênio do emissor nacional",
    "E0039": "sua cidade não liberou o emissor nacional para as empresas dela",
    "E0116": "a inscrição municipal no cadastro da sua empresa não confere com a da prefeitura",
    "E0120": "a prefeitura pede a nota sem a inscrição municipal, ou sem a que está no seu cadastro",
    # the service
    "E0310": "o código do serviço no cadastro da sua empresa não existe na lista nacional",
    "E0312": "a cidade não administra o código do serviço que está no cadastro da sua empresa",
    "E0314": "o código municipal do serviço no cadastro da sua empresa não é válido",
    "E0315": "a cidade não usa código municipal para o serviço que está no cadastro da sua empresa",
    "E0322": "falta no cadastro da sua empresa o código NBS do serviço",
    # rates and taxes
    "E0600": "nota de MEI não leva alíquota, e o cadastro da sua empresa tem uma",
    "E0617": "quem não é do Simples não informa alíquota nesta cidade, e o cadastro da sua empresa tem uma",
    "E0619": "esta cidade pede a alíquota, e ela falta no cadastro da sua empresa",
    "E0625": "empresa do Simples só informa alíquota com imposto retido, e o cadastro da sua empresa tem uma",
    "E0631": "empresa do Simples não informa alíquota nesta cidade, e o cadastro da sua empresa tem uma",
    "E0710": "nota de MEI não leva percentual de tributos do Simples, e o cadastro da sua empresa tem um",
    "E0712": "empresa do Simples precisa do percentual de tributos no cadastro, e ele falta no da sua",
    "E0713": "o cadastro diz Simples nos tributos da nota, e para a Receita sua empresa não é do Simples",
    # the certificate, and the authority's own day
    "E1203": "o certificado digital da sua empresa venceu",
    "E1206": "a Receita não conseguiu conferir agora o certificado digital da sua empresa",
    "E1209": "o certificado digital da sua empresa não diz de que CNPJ ele é",
    "E1217": "o emissor nacional está em manutenção",
}
# A note that takes the place of another.
_OF_SUBSTITUTION: Final[Mapping[str, str]] = {
    "E0042": "a chave da nota antiga não é válida",
    "E0044": "a nota antiga não existe no emissor nacional",
    "E0046": "a nota antiga já está cancelada",
    "E0060": "a nota nova muda o que uma troca não pode mudar",
    "E0061": "a nota de MEI ou Simples não se substitui para mudar valor, cliente ou competência",
}
# Those of which the contract names the subject alone.
_BY_SUBJECT: Final[tuple[tuple[Explicacao, str], ...]] = (
    (RECUSADOS[Campo.DOCUMENTO], "E0188 E0206"),
    (DOCUMENTO_AUSENTE, "E0207"),
    (RECUSADOS[Campo.COMPETENCIA], "E0018 E0020 E0023 E0025"),
    (RECUSADOS[Campo.VALOR], "E0427 E0428"),
    (RECUSADOS[Campo.NOME], "E0233"),
    (RECUSADOS[Campo.ENDERECO], "E0234 E0235 E0238 E0240"),
    (ALIQUOTA, "E0604 E0621 E0628"),
    (EMPRESA, "E0082 E0084 E0098 E0099 E0124 E0160 E0176 E0178"),
    (CERTIFICADO, "E1200 E1201 E1202 E1204 E1205 E1207 E1208"),
)


def _rows() -> Iterator[tuple[str, Explicacao]]:
    """Yield (code, reason), a code of two tables twice."""
    for codigo, (campo, texto) in _OF_THE_PERSON.items():
        yield codigo, Explicacao(texto, campo)
    for codigo, texto in _OF_STAFF.items():
        yield codigo, of_staff(texto)
    for codigo, texto in _OF_SUBSTITUTION.items():
        yield codigo, Explicacao(texto, None, troca=True)
    for explicacao, lista in _BY_SUBJECT:
        yield from ((codigo, explicacao) for codigo in lista.split())


ROWS: Final = tuple(_rows())
CODIGOS: Final[Mapping[str, Explicacao]] = dict(ROWS)

_DESCRICAO: Final = re.compile(r'"[Dd]escricao"\s*:\s*"([^"\\]+)"')
_QUOTE: Final = 200  # characters of the authority's words; more is a text for staff


def first(reasons: Iterable[Explicacao], codigos: Iterable[str], mensagem: str | None) -> Explicacao:
    """Return the reason to tell, of ``reasons`` and of those of the ``codigos``.

    What the user can repair comes before what only staff can. Without any, the authority is quoted from ``mensagem``.
    """
    found = [*reasons, *(CODIGOS[codigo] for codigo in codigos if codigo in CODIGOS)]
    repairable = (reason for reason in found if reason.campo)
    return next(repairable, None) or next(iter(found), None) or _in_its_words(mensagem)


def _in_its_words(mensagem: str | None) -> Explicacao:
    """Quote an authority that gave a reason which we don't know."""
    found = [" ".join(said.split()) for said in _DESCRICAO.findall(mensagem or "")]
    if not found:
        return DESCONHECIDO
    return Explicacao(f"a resposta foi “{found[0][:_QUOTE]}”", None, suporte=True)
