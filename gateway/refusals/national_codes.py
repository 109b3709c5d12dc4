"""The codes of the national layout, each with a plain reason and the field that repairs it.

Source: Anexo I of the SEFIN manual, version 1.01 of 2026, in words of our own. A code whose rule we could read has a
sentence of its own; one of which only the subject is known shares its subject's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gateway.port import Explicacao
from gateway.refusals.plain import CERTIFICADO, DESCONHECIDO, DOCUMENTO_AUSENTE, RECUSADOS, of_staff
from state_machine.invoice.fields import Campo

_OF_THE_PERSON: Final[Mapping[str, tuple[Campo, str]]] = {
    "E0188": (Campo.DOCUMENTO, "o CNPJ do cliente não é válido"),
    "E0190": (Campo.DOCUMENTO, "o CNPJ do cliente não existe no cadastro da Receita"),
    "E0202": (Campo.DOCUMENTO, "o cliente é a própria empresa que emite a nota"),
    "E0204": (Campo.DOCUMENTO, "com imposto retido, a nota pede o CNPJ ou CPF do cliente"),
    "E0206": (Campo.DOCUMENTO, "o CPF do cliente não é válido"),
    "E0427": (Campo.VALOR, "o valor do serviço é menor que a soma dos descontos e das deduções"),
    "E0428": (Campo.VALOR, "o valor do serviço é menor que a soma dos descontos e dos impostos retidos"),
    "E1508": (Campo.VALOR, "os descontos e os impostos retidos passam do valor do serviço"),
    "E0233": (Campo.NOME, "falta na nota o nome do cliente"),
    "E0247": (Campo.EMAIL, "o e-mail do cliente não é válido"),
    "E0015": (Campo.COMPETENCIA, "o mês da prestação é posterior ao dia em que a nota foi emitida"),
    "E0016 E1270": (Campo.COMPETENCIA, "no mês da prestação, sua cidade ainda não estava no emissor nacional"),
    "E0018 E0020": (Campo.COMPETENCIA, "o mês da prestação é anterior ao registro da sua empresa na Receita"),
    "E0023": (Campo.COMPETENCIA, "o mês da prestação é anterior ao registro da sua empresa na prefeitura"),
    "E0234": (Campo.ENDERECO, "neste serviço o imposto é da cidade do cliente, e a nota pede o endereço dele"),
    "E0235": (Campo.ENDERECO, "a nota para um CNPJ pede o endereço do cliente"),
    "E0237": (Campo.ENDERECO, "com imposto retido, a nota pede o endereço do cliente"),
    "E0238": (Campo.ENDERECO, "a cidade do endereço do cliente não existe na tabela do IBGE"),
    "E0240": (Campo.ENDERECO, "o CEP do cliente não existe, ou é de outra cidade que a do endereço"),
    "E0302": (Campo.LOCAL, "a cidade em que o serviço foi feito não existe na tabela do IBGE"),
    "E0370": (Campo.LOCAL, "este serviço é de obra, e a nota pede o endereço ou o CNO dela"),
    "E0380": (Campo.LOCAL, "o CEP da obra falta, ou não é da cidade em que o serviço foi feito"),
    "E0390": (Campo.LOCAL, "este serviço é de evento, e a nota pede o nome, o dia e o lugar dele"),
    "E0398": (Campo.LOCAL, "o CEP do evento falta, ou não é da cidade em que ele foi"),
    "E0580": (Campo.RETIDO, "o cliente não retém ISS de um serviço que não paga ISS"),
    "E0583": (Campo.RETIDO, "ninguém retém o ISS de um MEI, que o paga no DAS"),
    "E0588": (Campo.RETIDO, "o cliente não retém o ISS de uma empresa que tem regime especial dele"),
    "E0589": (Campo.RETIDO, "o cliente não retém o ISS que uma decisão suspendeu"),
    "E0594": (Campo.RETIDO, "com isenção da cidade, não há ISS que o cliente possa reter"),
    "E0596": (Campo.RETIDO, "ninguém retém o ISS do pedágio de uma rodovia"),
    "E0667": (Campo.RETIDO, "a cidade não deixa este cliente, pessoa física, reter o ISS"),
}
_OF_STAFF: Final[Mapping[str, str]] = {
    # how the document was made
    "E0001 E1260": "o modelo em que a nota saiu já não é aceito",
    "E0004": "a identificação interna da nota não confere com os dados dela",
    "E0006": "a nota foi preparada para um ambiente e chegou a outro (teste e produção)",
    "E0008": "a hora da nota está adiantada em relação ao relógio da Receita",
    "E0010": "a série das notas da sua empresa está fora da faixa permitida a sistemas próprios",
    "E0014": "o emissor nacional já tem uma nota com este número",
    "E0078": "a troca de uma nota pede o motivo em palavras, e ele faltou",
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
    "E1235 RNG6110": "a nota não segue o modelo que o emissor nacional aceita hoje",
    "E1242": "o emissor nacional não conhece o tipo de documento que foi enviado",
    "E6155": "o arquivo da nota tem um prefixo que a cidade não aceita",
    # the company and its city
    "E0037": "sua cidade não consta no convênio do emissor nacional",
    "E0038 E1272": "o convênio da sua cidade com o emissor nacional não está ativo",
    "E0039": "sua cidade não liberou o emissor nacional para as empresas dela",
    "E0041": "para a Receita, sua empresa é de outra cidade que a do cadastro daqui, e nota de MEI sai da cidade dele",
    "E0080": "o CNPJ da sua empresa não é válido",
    "E0082": "a Receita não encontrou o CNPJ da sua empresa no mês da prestação",
    "E0084": "o CNPJ da sua empresa não tem endereço na cidade que emite a nota",
    "E0096": "o CPF de quem presta o serviço não é válido",
    "E0098": "a Receita não encontrou o CPF de quem presta o serviço no mês da prestação",
    "E0099": "o CPF de quem presta o serviço não tem endereço na cidade que emite a nota",
    "E0116": "a prefeitura pede a inscrição municipal da sua empresa, e a do cadastro falta ou não confere",
    "E0119": "a prefeitura não autorizou a inscrição municipal da sua empresa a emitir notas",
    "E0120": "a prefeitura pede a nota sem a inscrição municipal, ou sem a que está no seu cadastro",
    "E0124": "a inscrição municipal da sua empresa está inativa na prefeitura",
    "E0130 E0138": "a cidade ou o CEP do endereço da sua empresa não foi aceito",
    "E0132 E0134": "a cidade da sua empresa na nota não é a que a Receita e a prefeitura têm",
    "E0148": "o e-mail da sua empresa não é válido",
    "E0160": "o regime da sua empresa no cadastro daqui não é o que a Receita tem para o mês da prestação",
    "E0162": "a nota diz como sua empresa apura o Simples, e quem não é do Simples, ou é MEI, não diz isso",
    "E0166": "falta na nota como sua empresa, do Simples, apura os tributos",
    "E0172": "com regime especial do ISS, a nota só vale para serviço que paga ISS",
    "E0174": "um MEI não tem regime especial do ISS, e a nota diz que há um",
    "E0175": "quem paga o ISS dentro do Simples não tem regime especial dele, e a nota diz que há um",
    "E0176": "o regime especial do ISS que está na nota não vale em outra cidade",
    "E0177": "a cidade do imposto não admite o regime especial do ISS que está na nota",
    "E0178": "a cidade do imposto não dá este regime especial do ISS à sua empresa neste serviço",
    "E1281": "para a Receita, a empresa não era MEI no mês da prestação",
    # the service
    "E0304": "o país em que o serviço foi feito não foi aceito",
    "E0310": "o código do serviço no cadastro da sua empresa não existe, ou a cidade do imposto não o administra",
    "E0312": "a cidade não administra o código do serviço que está no cadastro da sua empresa",
    "E0314": "o código municipal do serviço no cadastro da sua empresa não é válido",
    "E0315": "a cidade não usa código municipal para o serviço que está no cadastro da sua empresa",
    "E0316": "o código NBS do serviço no cadastro da sua empresa não existe",
    "E0318 E0320": "um serviço com o exterior pede o código NBS, e ele falta no cadastro da sua empresa",
    "E0322": "falta no cadastro da sua empresa o código NBS do serviço",
    "E0372": "a nota levou dados de obra, e o código do serviço não é de obra",
    "E0392": "a nota levou dados de evento, e o código do serviço não é de evento",
    "E0529": "a nota diz exportação, e para a Receita o serviço é tributado aqui",
    "E0530": "a nota diz que o serviço é tributado aqui, e para a Receita ele é uma exportação",
    "E0532": "este código de serviço não paga ISS, e a nota saiu como se pagasse",
    "E0539": "a nota diz que o serviço não paga ISS, e na cidade do imposto ele paga",
    "E0540": "na cidade do imposto este serviço não paga ISS, e a nota saiu como se pagasse",
    "E1402": "este serviço de porto pede uma cidade como local, e a nota diz o mar",
    # rates and taxes
    "E0595 E1300": "a alíquota na nota passa de 5%, que é o máximo",
    "E0600": "nota de MEI não leva alíquota, e o cadastro da sua empresa tem uma",
    "E0602": "serviço que não paga ISS não leva alíquota, e o cadastro da sua empresa tem uma",
    "E0604": "com regime especial do ISS a nota não leva alíquota, e o cadastro da sua empresa tem uma",
    "E0606": "com o ISS suspenso por uma decisão a nota não leva alíquota, e o cadastro da sua empresa tem uma",
    "E0612": "com isenção ou alíquota própria dada pela cidade, a nota não leva outra alíquota",
    "E0617": "quem não é do Simples não informa alíquota nesta cidade, e o cadastro da sua empresa tem uma",
    "E0619": "esta cidade pede a alíquota, e ela falta no cadastro da sua empresa",
    "E0621": "com imposto retido, a nota do Simples pede alíquota de 1,8% ou mais, e a do cadastro não serve",
    "E0625": "empresa do Simples só informa alíquota com imposto retido, e o cadastro da sua empresa tem uma",
    "E0628": (
        "com imposto retido em cidade fora do emissor nacional, a nota do Simples pede alíquota de 1,8% ou mais, e a "
        "do cadastro não serve"
    ),
    "E0631": "empresa do Simples não informa alíquota nesta cidade, e o cadastro da sua empresa tem uma",
    "E0635": "quem paga o ISS fora do Simples não informa alíquota nesta cidade, e o cadastro da sua empresa tem uma",
    "E0640": "quem paga o ISS fora do Simples informa a alíquota nesta cidade, e ela falta no cadastro da sua empresa",
    "E0675": "quem emite com CPF não informa tributos federais, e a nota os levou",
    "E0676": "nota de MEI não leva tributos federais, e esta levou",
    "E0702 E0703 E0704": "um valor aproximado de tributos na nota não fica entre zero e o valor do serviço",
    "E0706 E0707 E0708": "um percentual aproximado de tributos no cadastro da sua empresa não fica entre 0 e 100%",
    "E0710": "nota de MEI diz os tributos de um jeito só, e a sua levou mais de um, ou o percentual do Simples",
    "E0712": "a nota do Simples pede um percentual de tributos, e um só, e o do cadastro da sua empresa não serve",
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
    "E0044 E1306": "a nota antiga não existe no emissor nacional",
    "E0046": "a nota antiga já está cancelada",
    "E0050": "acabou o prazo que a cidade dá para trocar uma nota",
    "E0056": "a nota antiga não diz quem é o cliente, e assim não pode ser trocada",
    "E0058": "a cidade não deixa trocar o cliente de uma nota",
    "E0060": "a nota nova muda o que uma troca não pode mudar",
    "E0061": "a nota de MEI ou Simples não se substitui para mudar valor, cliente ou competência",
    "E0065": "a nota antiga foi emitida em outro sistema, e só nele pode ser trocada",
    "E0068": "o cancelamento da nota antiga está em análise na prefeitura",
    "E0070": "o serviço da nota antiga já foi confirmado",
    "E0072": "passou o prazo para contestar a nota antiga, e ela conta como confirmada",
    "E0074": "o imposto da nota antiga já foi pago",
    "E0076": "a prefeitura bloqueou a troca da nota antiga",
}
# Those that share their subject's: mostly what our notes never say, or what another than we writes.
_BY_SUBJECT: Final[tuple[tuple[Explicacao, str], ...]] = (
    (DOCUMENTO_AUSENTE, "E0207"),
    (RECUSADOS[Campo.COMPETENCIA], "E0025"),
    (CERTIFICADO, "E0715 E0716 E1200 E1201 E1202 E1204 E1205 E1207 E1208"),
    (
        of_staff("a nota levou um dado que só vale quando outro que não a sua empresa a emite"),
        "E0029 E0034 E0035 E0424",
    ),
    (
        of_staff("a nota saiu como emitida pelo cliente ou por um intermediário, e quem emite aqui é a sua empresa"),
        "E0031 E0122 E0125 E0129 E0194 E0212 E0222 E0224 E0236 E0420 E0672 E9996",
    ),
    (
        of_staff("a nota descreveu sua empresa como se fosse do exterior, ou sem documento daqui"),
        "E0112 E0113 E0114 E0115 E0123 E0142 E0146",
    ),
    (of_staff("os dados de um cliente do exterior faltam na nota, ou não foram aceitos"), "E0223 E0226 E0242 E0246"),
    (
        of_staff("a inscrição municipal do cliente falta na nota, ou a prefeitura não a aceitou"),
        "E0228 E0229 E0231 E0232",
    ),
    (
        of_staff("os dados de um intermediário do serviço faltam na nota, ou não foram aceitos"),
        (
            "E0032 E0248 E0250 E0254 E0262 E0264 E0266 E0268 E0272 E0280 E0281 E0284 E0286 E0287 "
            "E0288 E0289 E0290 E0291 E0292 E0293 E0294 E0296 E0298 E0299 E0300 E0423 E0425 E0670 E0673 E1388"
        ),
    ),
    (
        of_staff("os dados de um serviço com o exterior faltam na nota, ou não foram aceitos"),
        "E0330 E0331 E0333 E0341 E0343 E0345 E0352 E0354 E0356 E0590 E0591",
    ),
    (of_staff("na importação de um serviço, o ISS é retido por quem o contrata, e a nota não diz isso"), "E0650 E0652"),
    (
        of_staff("o endereço de obra ou evento no exterior falta na nota, ou não foi aceito"),
        "E0382 E0384 E0386 E0400 E0402 E0404",
    ),
    (
        of_staff("descontos ou reduções deixam o ISS abaixo do mínimo de 2%"),
        "E0429 E0430 E0444 E0447 E0575 E0587 E1297",
    ),
    (of_staff("um desconto na nota não fica entre zero e o valor do serviço"), "E0431 E0432"),
    (
        of_staff("a nota levou uma dedução do ISS que não foi aceita"),
        "E0435 E0436 E0437 E0438 E0439 E0440 E0441 E0442 E0446 E0449 E0453 E0454",
    ),
    (
        of_staff("um documento de dedução do ISS, ou o fornecedor que está nele, não foi aceito"),
        (
            "E0455 E0456 E0458 E0460 E0462 E0464 E0466 E0468 E0470 E0472 E0474 E0476 "
            "E0477 E0478 E0482 E0484 E0488 E0490 E0492 E0494 E0496 E0498 E0499 E1538"
        ),
    ),
    (
        of_staff("o benefício da cidade que está na nota não foi aceito, ou está incompleto"),
        "E0533 E0534 E0535 E0536 E0537 E0538 E0541 E0544 E0548 E0550 E0565 E0567 E0574 E0577 E0579 E0586",
    ),
    (of_staff("a nota diz ISS suspenso por uma decisão, e o serviço não é dos que pagam ISS"), "E0585"),
    (of_staff("o tipo da imunidade falta na nota, ou não vale nela"), "E0592 E0593"),
    (
        of_staff("os dados de PIS e COFINS faltam na nota, ou não foram aceitos"),
        "E0677 E0678 E0680 E0682 E0684 E0686 E0688 E0690 E0692 E0694 E0696 E0698",
    ),
    (
        of_staff("um tributo federal retido (INSS, IR ou CSLL) não fica entre zero e o valor do serviço"),
        "E0699 E0700 E0701",
    ),
    (
        of_staff("a identificação da nota pronta, que a autoridade escreve, não confere"),
        "E1263 E1274 E1276 E1278 E1280 E1282 E1284 E1285 E1286 E1304",
    ),
    (of_staff("a nota já está no ambiente nacional"), "E1268"),
    (of_staff("as contas do imposto na nota pronta não conferem"), "E1287 E1288 E1289 E1295"),
    (of_staff("a nota pronta levou contas de imposto que não cabem nela"), "E1302 E1303 E1307 E1311"),
    (
        of_staff("a cidade a que o imposto é devido falta na nota pronta, ou não confere"),
        "E1301 E1305 E1309 E1313 E1317 E1321 E1325",
    ),
    (of_staff("a cidade entregou ao ambiente nacional uma nota que já não podia entregar"), "E0161 E1294"),
    (of_staff("a troca da nota antiga não está registrada no ambiente nacional"), "E1308 E1310"),
    (
        of_staff("a assinatura da autoridade ou da cidade na nota pronta falta, ou não foi aceita"),
        "E1630 E1632 E1634 E1636 E1638",
    ),
)


def _rows() -> Iterator[tuple[str, Explicacao]]:
    """Yield (code, reason), a code of two tables twice."""
    for lista, (campo, texto) in _OF_THE_PERSON.items():
        yield from _each(lista, Explicacao(texto, campo))
    for lista, texto in _OF_STAFF.items():
        yield from _each(lista, of_staff(texto))
    for lista, texto in _OF_SUBSTITUTION.items():
        yield from _each(lista, Explicacao(texto, None, troca=True))
    for explicacao, lista in _BY_SUBJECT:
        yield from _each(lista, explicacao)


def _each(lista: str, explicacao: Explicacao) -> Iterator[tuple[str, Explicacao]]:
    return ((codigo, explicacao) for codigo in lista.split())


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
