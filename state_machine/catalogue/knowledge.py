"""Short answers to what people ask about notes, taxes and Prosa, each with its source and the day it was written."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from state_machine.values.documents import formata_documento
from state_machine.values.text import apara

_NOME_MAX: Final = 80
_PROSA: Final = "funcionamento da Prosa"
_LC123: Final = "Lei Complementar 123/2006"
_CGSN140: Final = "Resolução CGSN 140/2018"
_WRITTEN: Final = date(2026, 11, 23)
_CONTADOR: Final = "No seu caso, confirma com a contabilidade."


@dataclass(frozen=True, slots=True)
class Tema:
    """Something that people ask. ``quando`` searches folded words; ``fonte`` is a law or page, as of ``escrito_em``."""

    chave: str
    quando: re.Pattern[str]
    resposta: str
    fonte: str = _PROSA
    escrito_em: date = _WRITTEN

    @property
    def texto(self) -> str:
        """The answer as people read it; a law is named, our own ways need no source."""
        return self.resposta if self.fonte == _PROSA else f"{self.resposta} ({self.fonte})"


_MEI: Final = r"\bmei\b"
_CANCEL: Final = r"\bcancel\w+|\banul\w+|\bestorn\w+"
TAXES: Final = re.compile(
    r"\b(?:impost\w+|tribut\w+|iss\w*|inss|irrf?|pis|cofins|csll|das|simples|mei|aliquot\w+|ret[ei]\w+|cnae|ibs|cbs|lei|"
    r"leis|fisc\w+|dedu\w+|declar\w+)\b"
)
OWN_CNPJ: Final = re.compile(r"\bqual (?:eh |e )?(?:o )?(?:(?:meu|nosso) cnpj|cnpj d[ae] (?:minha|nossa) empresa)\b")
# The first that fits counts: what is narrower stands before what is wider.
TEMAS: Final = (
    Tema(
        "limite_mei_transporte",
        re.compile(
            r"\b(?:limite|teto|faturar|maximo)\b.{0,60}\b(?:caminhoneir\w*|transport\w+|frete\w*)\b|"
            r"\b(?:caminhoneir\w*|transport\w+)\b.{0,60}\b(?:limite|teto|faturar)\b"
        ),
        "O MEI transportador autônomo de cargas pode faturar até R$ 251.600,00 por ano. No ano de abertura, o limite "
        "é 1/12 disso por mês. Eu só conheço as notas feitas por aqui.",
        f"{_LC123}, art. 18-F",
    ),
    Tema(
        "limite_mei",
        re.compile(
            r"\b(?:limite|teto|estour\w+|ultrapass\w+|pass\w+ d[eo]s? (?:limite|81))\b|"
            rf"(?:{_MEI}).{{0,60}}\b(?:faturar|maximo)\b|\b(?:faturar|maximo)\b.{{0,60}}(?:{_MEI})"
        ),
        "O MEI pode faturar até R$ 81.000,00 por ano. No ano de abertura, são R$ 6.750,00 por mês desde a abertura. "
        "Eu só conheço as notas feitas por aqui; se estiver perto do limite, fala com a contabilidade.",
        f"{_LC123}, art. 18-A",
    ),
    Tema(
        "das",
        re.compile(
            r"\bdas\b.{0,60}\b(?:venc\w*|dia|quando|paga\w*|prazo)\b|\b(?:venc\w*|quando|que dia|paga\w*|"
            r"prazo)\b.{0,60}\b(?:o|do|"
            r"meu) "
            r"das\b|\b(?:venc\w*|quando|que dia)\b.{0,60}\b(?:guia|boleto) (?:do|da|de) (?:mei|das|simples)\b"
        ),
        "O DAS vence no dia 20 do mês seguinte ao do faturamento, ou no dia útil depois dele. Eu não gero a guia: "
        "ela sai no Portal do Empreendedor (MEI) ou no Portal do Simples Nacional.",
        f"{_CGSN140}, art. 40",
    ),
    Tema(
        "retencao",
        re.compile(r"\b(?:ret(?:em|er|encao|encoes|ido|ida|enho)|na fonte)\b"),
        "Retenção depende do serviço, da cidade e de quem paga; o MEI, que recolhe ISS em valor fixo no DAS, em "
        "regra não tem ISS retido. Eu ainda não emito nota com retenção. " + _CONTADOR,
        f"Lei Complementar 116/2003, art. 6º; {_LC123}, art. 21, § 4º",
    ),
    Tema(
        "imposto_mei",
        re.compile(
            rf"(?:{_MEI}).{{0,60}}\b(?:impostos?|tribut\w+|taxas?|iss|desconta\w*)\b|\b(?:impostos?|tribut\w+|taxas?|iss)\b.{{0,60}}(?:{_MEI})"
        ),
        "O MEI paga um valor fixo por mês no DAS; não há imposto a mais por nota enquanto estiver dentro do limite "
        "do ano.",
        f"{_LC123}, art. 18-A",
    ),
    Tema(
        "imposto",
        re.compile(
            r"\b(?:impostos?|tribut\w+|aliquotas?|iss|issqn|simples nacional|quanto (?:eu )?(?:pago|vou pagar|fica|"
            r"desconta)|"
            r"quanto vai (?:dar|ficar|descontar))\b"
        ),
        "No Simples, o imposto é pago no DAS e o percentual depende da atividade e do faturamento dos últimos 12 "
        "meses; fora do Simples, o ISS vai de 2% a 5%, conforme a cidade. Eu não calculo imposto: a nota sai pelo "
        "valor cheio. " + _CONTADOR,
        f"{_LC123}, art. 18; Lei Complementar 116/2003, arts. 8º e 8º-A",
    ),
    Tema(
        "prazo_cancelar",
        re.compile(
            rf"\b(?:prazo|ate quando|quanto tempo|quantos dias|que dia)\b.{{0,60}}(?:{_CANCEL})|"
            rf"(?:{_CANCEL}).{{0,60}}\b(?:prazo|"
            rf"ate quando)\b"
        ),
        "Não há um prazo único: cada cidade define o seu, e depois dele só a prefeitura resolve. Se precisar, pede "
        "logo: _cancelar nota 123_, com o número.",
        "regras da cidade de quem emite",
    ),
    Tema(
        "errar",
        re.compile(
            r"\b(?:se|caso)\b.{0,60}\b(?:err\w+|engan\w+|sair errad\w+|estiver errad\w+|tiver errad\w+)|\b(?:corrigir|"
            r"consertar|arrumar|"
            r"mudar|alterar|editar|trocar)\b.{0,60}\b(?:depois|nota|emitid\w+|pronta)\b|\bcarta de correcao\b|"
            r"\bsubstitu\w+\b.{0,60}\bnota\b"
        ),
        "Antes do *Confirmar*, é só me dizer o certo. Nota emitida não se edita: cancela-se e emite-se outra. "
        "Escreve _cancelar nota 123_ com o número e depois me manda os dados certos. O prazo é o da cidade.",
        "Sistema Nacional NFS-e, evento de cancelamento",
    ),
    Tema(
        "cancelar",
        re.compile(_CANCEL + r"|\bdesist\w+"),
        "A nota em andamento se desiste pelo botão *Cancelar*, sem custo: nada foi emitido. Uma nota que já saiu dá "
        "para cancelar dentro do prazo da cidade: escreve _cancelar nota 123_ com o número.",
    ),
    Tema(
        "exterior",
        re.compile(
            r"\b(?:exterior|estrangeir\w+|gringo|fora do (?:brasil|pais)|outro pais|internaciona\w+|export\w+|"
            r"americano)\b"
        ),
        "Ainda não: por aqui o cliente precisa ter CNPJ ou CPF. Nota para cliente de fora do Brasil tem regras "
        "próprias; fala com a contabilidade sobre como emitir.",
    ),
    Tema(
        "cpf_ou_cnpj",
        re.compile(
            r"\b(?:cpf|cnpj)\b.{0,60}\b(?:serve|pode|posso|vale|aceita|precis\w+|tanto faz|ou)\b|"
            r"\b(?:serve|pode|posso|vale|aceita|precis\w+|da pra|tem que)\b.{0,60}\b(?:cpf|cnpj|pessoa fisica)\b"
        ),
        "Serve o CNPJ ou o CPF do *cliente*, de quem recebe a nota. O da sua empresa eu já tenho: ele sai como "
        "emitente. MEI não é obrigado a emitir para pessoa física, mas pode.",
        f"{_CGSN140}, art. 106",
    ),
    Tema(
        "quem_emite",
        re.compile(
            r"\bquem (?:pode|emite|consegue)\b|\b(?:mei|autonom\w+|pessoa fisica|sem cnpj)\b.{0,60}\b(?:pode|posso|"
            r"consig\w+)\b.{0,60}\b(?:emit\w+|nota)|"
            r"\b(?:pode|posso|preciso|sou obrigad\w+|obrigatorio)\b.{0,60}\b(?:emitir|ter cnpj|dar nota)"
        ),
        "Emite quem tem empresa aberta (MEI também) e foi liberado na Prosa por ela. O MEI é obrigado a emitir "
        "quando o cliente é empresa; para pessoa física, em regra, não. " + _CONTADOR,
        f"{_CGSN140}, art. 106",
    ),
    Tema(
        "preco",
        re.compile(
            r"\b(?:quanto (?:custa|(?:voces? )?cobram?|eh (?:a mensalidade|o servico))|(?:voces? )?cobram? quanto|"
            r"preco|mensalidade|plano|gratis|de graca|"
            r"gratuit\w+|"
            r"eh pago|cobra\w* (?:por|alguma|taxa))\b"
        ),
        "O preço da Prosa eu não sei dizer: quem informa é quem liberou o seu número.",
    ),
    Tema(
        "dados",
        re.compile(
            r"\b(?:lgpd|privacidade|meus dados|dados (?:ficam|estao|sao)|seguro|seguranca|golpe|confiavel|sigilo|"
            r"vaza\w*)\b"
        ),
        "Seus dados servem só para fazer as suas notas: vão para o emissor e ficam guardados para a sua empresa. "
        "Eu nunca peço senha. Para ver ou apagar os seus, fala com quem liberou o seu número.",
        "Lei 13.709/2018 (LGPD), arts. 6º e 18",
    ),
    Tema(
        "demora",
        re.compile(
            r"\b(?:quanto tempo|demora\w*|em quanto|que horas|quando) .{0,60}\b(?:sai|emit\w+|fica pronta|chega|pronta|"
            r"demora\w*|nota|leva)\b|"
            r"\bdemora\w*\b"
        ),
        "Quase sempre sai em menos de um minuto depois do *Confirmar*. Se demorar, eu aviso e continuo "
        "acompanhando: não precisa mandar de novo.",
    ),
    Tema(
        "arquivos",
        re.compile(r"\b(?:pdf|xml|danfse?|segunda via|2a via|arquivo)\b"),
        "O PDF e o XML chegam nesta conversa assim que a nota é autorizada. Para receber de novo: _segunda via da "
        "nota 123_ ou _xml da nota 123_.",
    ),
    Tema(
        "depois_do_sim",
        re.compile(
            r"\b(?:depois|quando|se|apos|assim que)\b.{0,60}\b(?:confirm\w+|sim|eu apertar|eu tocar)\b|"
            r"\bo que acontece\b|"
            r"\bja (?:emite|sai)\b"
        ),
        "Depois do *Confirmar*, eu envio a nota com os dados do resumo e te mando o PDF e o XML quando ela sai. "
        "Antes do *Confirmar*, nada é emitido.",
    ),
    Tema(
        "competencia",
        re.compile(
            r"\b(?:o que (?:que )?(?:eh|e)|oq (?:eh|e)|que (?:eh|e)|qual (?:eh|e)?|significa)\b.{0,30}\bcompetencia\b|"
            r"\bcompetencia\b.{0,20}\b(?:o que (?:eh|e)|significa)\b"
        ),
        "Competência é o mês em que o serviço foi prestado; se você não diz nada, é o mês de hoje.",
    ),
    Tema(
        "tomador",
        re.compile(r"\b(?:o que|oq|que|quem|significa)\b.{0,20}\b(?:tomador\w*|prestador\w*|emitente)\b"),
        "Tomador é o seu *cliente*, quem recebe a nota. Prestador ou emitente é a sua empresa.",
    ),
    Tema(
        "varios_servicos",
        re.compile(
            r"\b(?:dois|duas|varios|mais de um|tres|outro)\b.{0,20}\bservicos?\b.{0,30}\b(?:mesma|uma so|unica|numa|"
            r"juntos?)\b"
        ),
        "Dá, se forem do mesmo cliente e do mesmo tipo: descreve os dois e manda o valor total. De tipos diferentes, é "
        "uma nota para cada.",
    ),
    Tema(
        "certificado",
        re.compile(r"\bcertificado\b|\be-?cnpj\b|\bassinatura digital\b"),
        "Se a sua empresa emite pelo Emissor Nacional, ela precisa do certificado A1 (e-CNPJ). Escreve _certificado_ e "
        "eu digo como ele está, ou mando o link para enviar. Nunca me manda a senha por aqui.",
    ),
    Tema(
        "contador",
        re.compile(r"\b(?:precis\w+|tem que|ter|sem)\b.{0,20}\bcontador\w*\b"),
        "Para emitir comigo, não. O cadastro da sua empresa já está pronto; dúvida de imposto é com a contabilidade.",
    ),
    Tema(
        "cidade",
        re.compile(r"\b(?:atende|funciona|serve|emite|aceita)\w*\b.{0,30}\b(?:cidade|municipio|estado)\b"),
        "A nota sai pela cidade da sua empresa. Se a cidade não aceitar, eu aviso antes de você confirmar.",
    ),
    Tema(
        "aparelho",
        re.compile(r"\b(?:aplicativo|app|computador|pc|notebook|whatsapp web|baixar|instalar)\b"),
        "É só esta conversa, no celular ou no WhatsApp do computador. Não precisa instalar nada.",
    ),
    Tema(
        "quem_sou",
        re.compile(
            r"\b(?:voce|vc|tu|ce) (?:eh|e) (?:um |uma )?(?:robo|bot|humano|pessoa|gente|real|maquina|ia)\b|"
            r"\bquem (?:eh|"
            r"e) (?:voce|vc)\b|"
            r"\beh (?:um )?robo\b"
        ),
        "Sou a Prosa, um programa que emite notas por aqui. Só emito depois do seu *Confirmar*.",
    ),
)


def _tema(chave: str) -> Tema:
    return next(tema for tema in TEMAS if tema.chave == chave)


# What the company's own regime makes of a question that is answered for every regime otherwise.
_OF_REGIME: Final = {
    ("imposto", "mei"): _tema("imposto_mei"),
    ("imposto", "simples"): replace(
        _tema("imposto"),
        resposta="Sua empresa é do Simples: o imposto é pago no DAS, e o percentual depende da atividade e do "
        "faturamento de 12 meses. Eu não calculo imposto.",
        fonte=f"{_LC123}, art. 18",
    ),
    ("imposto", "normal"): replace(
        _tema("imposto"),
        resposta="Sua empresa é de fora do Simples: o ISS vai de 2% a 5%, conforme a cidade. Eu não calculo imposto. "
        + _CONTADOR,
        fonte="Lei Complementar 116/2003, arts. 8º e 8º-A",
    ),
    ("retencao", "mei"): replace(
        _tema("retencao"),
        resposta="Sua empresa é MEI e recolhe ISS em valor fixo no DAS: em regra, não tem ISS retido.",
        fonte=f"{_LC123}, art. 21, § 4º",
    ),
}


def find(plain: str, regime: str | None = None) -> Tema | None:
    """Return what folded words (lower case, no accents) ask about, ``None`` for what is not written here.

    ``regime`` is the company's own: an answer for it alone is shorter than one for all.
    """
    tema = next((tema for tema in TEMAS if tema.quando.search(plain)), None)
    return _OF_REGIME.get((tema.chave, regime or ""), tema) if tema else None


def own_cnpj(razao_social: str, cnpj: str) -> str:
    """Say in whose name the notes go out."""
    return f"As notas saem por {apara(razao_social, _NOME_MAX)}, CNPJ {formata_documento(cnpj)}."
