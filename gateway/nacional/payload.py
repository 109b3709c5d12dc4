"""Owns what is stored of a confirmed invoice until its DPS is made: all that the document says, as canonical JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from gateway.keys import OWN_SERIES
from gateway.nacional.dps import OF_THE_SIMPLES, Circunstancias, customer_name, id_dps, national_code
from gateway.nacional.layouts import IBS_CBS_MUST, LayoutDays, has_ibs_cbs, layout_for
from gateway.port import Explicacao
from state_machine.documents import Documento, dump
from state_machine.invoice.fields import Campo
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import Rejected
from state_machine.services.codes import Servico, dotted
from state_machine.values.local_time import SAO_PAULO

TOLD_SINCE: Final = date(2026, 12, 1)  # what the Simples will have to say in 2027
BACK: Final = timedelta(minutes=1)  # a moment ahead of SEFIN's clock is refused: E0008
_SUPORTE: Final = "isso quem ajusta é o suporte"
# Fields of which ``dps.build`` complains, and what the person may say otherwise; the rest is the registration's.
_BLAMED: Final = {
    "descricao": Explicacao(
        "o texto do serviço não cabe na nota: são até 2.000 caracteres, e alguns símbolos contam por vários",
        Campo.DESCRICAO,
    ),
    "tomador.documento": Explicacao("o CNPJ ou CPF do cliente não é aceito nesta nota", Campo.DOCUMENTO),
    "tomador.razao_social": Explicacao("falta o nome do cliente, ou ele não cabe na nota", Campo.NOME),
    "tomador.email": Explicacao("o e-mail do cliente não cabe na nota", Campo.EMAIL),
    "valor": Explicacao("o valor do serviço não cabe na nota", Campo.VALOR),
    "iss_retido": Explicacao(
        "nesta nota o cliente não retém o ISS: o MEI paga o seu no DAS, e alguns serviços não têm retenção",
        Campo.RETIDO,
    ),
    "competencia": Explicacao("o mês da prestação ainda não começou, ou não é deste século", Campo.COMPETENCIA),
}
_ENDERECO: Final = Explicacao("o endereço do cliente não cabe na nota", Campo.ENDERECO)
_LUGAR: Final = Explicacao("faltam dados do lugar do serviço, ou eles não cabem na nota", Campo.LOCAL)
_IBS_CBS: Final = "ibs_cbs"
_GRUPO: Final = Explicacao(
    "a nota de uma empresa do regime normal agora leva o grupo dos novos impostos (IBS e CBS), e faltam os códigos "
    "dele no cadastro deste serviço; quem os diz é a contabilidade, e quem os guarda é o suporte",
    None,
    suporte=True,
)
_CADASTRO: Final = Explicacao(
    f"um dado do cadastro da sua empresa não serve para o emissor nacional; {_SUPORTE}", None, suporte=True
)


def encode(intent: Documento) -> bytes:
    """Return the invoice as it is stored until its DPS is made. Raises ``ValueError`` where it names no DPS."""
    id_dps(intent)
    return dump(intent)


def circumstances(intent: Documento, ambiente: Ambiente, agora: datetime, nt009: date | None = None) -> Circunstancias:
    """Return what a DPS made at ``agora`` (aware) says beside the invoice; ``nt009``: the first day of that shape.

    Its moment lies a minute back, but not before the day of the competence, which it must not precede (E0015).
    """
    midnight = datetime.combine(intent.competencia, time(), SAO_PAULO)
    dh_emi = max(agora - BACK, min(midnight, agora))
    prestador = intent.prestador
    return Circunstancias(
        layout=layout_for(ambiente, dh_emi.astimezone(SAO_PAULO).date(), nt009),
        ambiente=ambiente,
        dh_emi=dh_emi.astimezone(UTC),
        informar_im=prestador.informa_im,
        p_tot_trib_sn=prestador.tributos_sn,
        p_tot_trib=prestador.tributos,
    )


def unfit(company: Mapping[str, Any]) -> str | None:
    """Say in pt-BR what of a company's registration makes no DPS, and what to do; ``company``: its columns by name."""
    serie, regime = company["serie_rps"] or "", company["regime"]
    if not re.fullmatch(r"[0-9]{1,5}", serie) or int(serie) not in OWN_SERIES:
        return f"a série é um número de 1 a {OWN_SERIES[-1]} no emissor nacional, como em --serie-rps 900"
    try:
        national_code(company["codigo_servico"])
    except ValueError:
        return "o emissor nacional pede o código de serviço de 6 dígitos, como em --codigo-servico 170101"
    if regime in OF_THE_SIMPLES and company["tributos_sn"] is None:
        return (
            "a nota de uma empresa do Simples diz a carga aproximada de tributos: informe a alíquota efetiva do "
            "Simples, em %, como em --tributos-sn 6 (quem cuida da contabilidade sabe)"
        )
    if regime == "normal" and None in {company[f"tributos_{who}"] for who in ("federal", "estadual", "municipal")}:
        return (
            "a nota de uma empresa do regime normal diz a carga aproximada de tributos: informe as três, em %, como em "
            "--tributos-federal 13.45 --tributos-estadual 0 --tributos-municipal 2 (tabela do IBPT)"
        )
    return None


def left_out(
    company: Mapping[str, Any], servicos: Sequence[Servico], settings: Any = None, hoje: date | None = None
) -> str | None:
    """Say in pt-BR what a company's notes will lack, although they are accepted; ``company``: its columns by name.

    What 2027 asks of the Simples is said from December of 2026 on; of a MEI only where a setting says so.
    """
    regime = company["regime"]
    lacking = ", ".join(dotted(servico.codigo) for servico in servicos if servico.grupo is None)
    if regime != "normal":
        asked = regime in OF_THE_SIMPLES or bool(settings and settings.nacional_nt009_mei)
        told = asked and (hoje or datetime.now(SAO_PAULO).date()) >= TOLD_SINCE
        return _of_the_simples(company, servicos, lacking) if told else None
    if not lacking:
        return None
    must = (settings and settings.nacional_ibs_cbs_obrigatorio) or IBS_CBS_MUST
    return (
        f"no regime normal a nota leva o grupo IBS/CBS, devido desde 03/08/2026, e faltam os dados dele em {lacking}; "
        f"a nota sai sem o grupo até {must - timedelta(days=1):%d/%m/%Y} (orientação do CGNFS-e de 07/08/2026), e a "
        f"partir de {must:%d/%m/%Y} nada é confirmado sem ele. Peça à contabilidade NBS, cIndOp, CST e cClassTrib, e "
        "guarde com prosa empresa servico ou no console"
    )


def _of_the_simples(company: Mapping[str, Any], servicos: Sequence[Servico], lacking: str) -> str | None:
    mei = company["regime"] == "mei"
    activity = ", ".join(dotted(servico.codigo) for servico in servicos if servico.atividade_sn is None)
    missing = [
        *([f"NBS, cIndOp, CST e cClassTrib em {lacking}"] if lacking and not mei else []),
        *([f"a atividade no Simples (cAtvSN) em {activity}"] if activity else []),
        *(["como apura IBS e CBS (regApIBSCBSSN)"] if company["apuracao_ibscbs"] is None and not mei else []),
    ]
    if not missing:
        return None
    return (
        f"falta até 01/01/2027, quando a nota do Simples leva IBS e CBS: {'; '.join(missing)}. Por ora a nota sai sem "
        "isso. Quem diz é a contabilidade; guarde com prosa empresa servico e prosa empresa add, ou no console"
    )


def refused_by_day(intent: Documento, days: LayoutDays, agora: datetime) -> Rejected | None:
    """Return the refusal of an invoice that must have the group of IBS and CBS on its day, and has none."""
    hoje, prestador = agora.astimezone(SAO_PAULO).date(), intent.prestador
    due = prestador.regime == "normal" and has_ibs_cbs(prestador.regime, intent.competencia)
    if due and prestador.ibs_cbs is None and days.ibs_cbs is not None and hoje >= days.ibs_cbs:
        return refusal(f"{_IBS_CBS}: the normal regime must say it since {days.ibs_cbs}")
    return None


def unfit_at_once(intent: Documento, days: LayoutDays, agora: datetime) -> Rejected | None:
    """Return the refusal that takes no document to know: a busy machine that makes none in time says it too."""
    try:
        customer_name(intent.tomador)
    except ValueError as error:
        return refusal(str(error))
    return refused_by_day(intent, days, agora)


def refusal(complaint: str) -> Rejected:
    """Return what ``dps.build`` complained of as a refusal of the field that its words begin with."""
    field, _, words = complaint.partition(":")
    return Rejected(complaint, campos=((field.strip(), words.strip()),))


def explained(campos: tuple[tuple[str, str], ...]) -> Explicacao:
    """Say in plain pt-BR what of an invoice fits into no DPS."""
    field = campos[0][0]
    if field == _IBS_CBS:
        return _GRUPO
    if field.startswith("tomador.endereco"):
        return _ENDERECO
    if field.startswith(("local", "obra", "evento")):
        return _LUGAR
    return _BLAMED.get(field, _CADASTRO)
