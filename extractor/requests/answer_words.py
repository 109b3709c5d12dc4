"""The words of a plain yes and of a plain no, as data: lower case, without accents, as ``folding`` writes them."""

from __future__ import annotations

from typing import Final

_MAY: Final = ("pode", "po", "podi")  # "pó mandar" is how Minas says "pode mandar"
_DOING: Final = (
    *("mandar", "mandar ver", "mandar bala", "mandar brasa", "mandar pau", "emitir", "enviar", "fazer", "gerar"),
    *("confirmar", "ir", "soltar", "seguir", "prosseguir", "tocar", "tocar ficha", "tocar o barco", "fechar"),
    *("dar andamento", "continuar", "lancar", "despachar", "disparar", "liberar", "rodar", "meter bala", "meter ficha"),
    *("passar a regua", "bater o martelo", "sim", "ser"),
)
# A yes whatever was said before it.
FIRM: Final = frozenset(
    {
        *_MAY[::2],  # "po" alone is an interjection
        *(f"{may} {doing}" for may in _MAY for doing in _DOING),
        *("sim", "s", "ss", "sin", "si", "uhum", "aham", "ahan", "arram", "yes", "yeah", "yep", "yup"),
        *("manda", "mande", "manda ver", "manda bala", "manda brasa", "manda la", "manda bronca", "manda pau"),
        *("manda a nota", "mande ver", "mande bala", "mande brasa", "mande bronca", "emite", "emita", "emitir"),
        *("gera", "gerar", "envia", "envie", "enviar", "faz", "faca", "despacha", "dispara", "libera", "liberado"),
        *("aprovo", "aprovado", "aprovada", "aprovei", "aprovadissimo", "ta aprovado", "autorizo", "autorizado"),
        *("autorizar", "confirmo", "confirma", "confirmado", "confirmada", "confirmar", "confirmadissimo", "confirmei"),
        *("confere", "conferido", "tudo confere", "bora", "bora la", "bora nessa", "bora bill", "vamos", "vamo"),
        *("vamos la", "vamo la", "vamos nessa", "vamo nessa", "vamo que vamo", "simbora", "vambora", "vumbora"),
        *("partiu", "fechou", "fechado", "fecho", "ta fechado", "fechadissimo", "negocio fechado", "trato feito"),
        *(
            "combinado",
            "combinadissimo",
            "dale",
            "vai",
            "vai la",
            "vai fundo",
            "vai em frente",
            "vai que vai",
            "so vai",
        ),
        *("segue", "segue o baile", "segue o jogo", "segue o bonde", "toca ficha", "toca o barco", "toca pra frente"),
        *("toca o bonde", "toca fogo", "toca o pau", "mete bala", "mete ficha", "mete bronca", "mete marcha"),
        *("taca ficha", "taca le pau", "taca lhe pau", "larga brasa", "larga o pau", "senta o dedo", "senta a pua"),
        *("bota pra frente", "bota pra rodar", "bota pra quebrar", "passa a regua", "bate o martelo", "arrocha"),
        *("arrocha o no", "demorou", "demoro", "ja eh", "jae", "so se for agora", "eh pra ja", "positivo"),
        *(
            "positivo operante",
            "afirmativo",
            "claro",
            "claro que sim",
            "logico",
            "logico que sim",
            "obvio",
            "com certeza",
        ),
        *("com toda certeza", "certeza", "certeza absoluta", "sem duvida", "sem duvidas", "pode crer", "podes crer"),
        *("pode cre", "concordo", "concordo sim", "de acordo", "to de acordo", "estou de acordo", "apoiado"),
        *("assino embaixo", "opa sim", "ai sim", "quero sim", "to dentro", "ta valendo", "go", "go ahead", "sure"),
        *("confirmed", "confirm", "correct", "send it", "ship it", "lgtm"),
    }
)
_FINE: Final = (
    *("certo", "certinho", "correto", "ok", "perfeito", "otimo", "bom", "bem", "show", "joia", "conforme", "lindo"),
    *(
        "em ordem",
        "bao",
        "beleza",
        "massa",
        "tri",
        "tri bom",
        "tri legal",
        "legal",
        "arretado",
        "redondo",
        "redondinho",
    ),
    *("no ponto", "nos conformes", "de boa", "dboa", "safo", "da hora", "daora", "top", "tranquilo", "nos trinques"),
)
# A yes only as an answer: the same words greet, thank and praise.
SOFT: Final = frozenset(
    {
        *(f"{being} {fine}" for being in ("ta", "esta", "tudo", "ta tudo", "esta tudo", "tah") for fine in _FINE),
        *("isso", "isso mesmo", "isso ai", "isso memo", "eh isso", "eh isso ai", "eh isso mesmo", "eh issae"),
        *("issae", "isso ae", "eh isso ae", "eh bem isso", "bem isso", "era isso", "era isso mesmo", "isso tudo"),
        *("ok", "okay", "okey", "oki", "taok", "talkei", "blz", "beleza", "beleza pura", "chuchu beleza", "certo"),
        *("certinho", "correto", "certissimo", "corretissimo", "exato", "exatamente", "perfeito", "show"),
        *("show de bola", "top", "top demais", "joia", "joinha", "legal", "otimo", "maravilha", "tri", "trilegal"),
        *("tri legal", "tri bom", "fmz", "firmeza", "firme", "suave", "sussa", "susse", "tranquilo", "tranks"),
        *("perfect", "tmj", "tamo junto", "eh nois", "eh nos", "falou e disse", "na mosca", "em cheio", "redondo"),
        *("nos conformes", "nos trinques", "tabom", "bao", "bao demais", "bom demais", "arretado", "massa demais"),
        *("dboa", "de boa", "de boas", "da hora", "daora", "macanudo", "pai d egua", "so o mi", "so o file"),
    }
)
# Words beside a yes that change nothing about it.
FILLER: Final = frozenset(
    {
        *("por favor", "por gentileza", "favor", "obrigado", "valeu", "agora", "ja", "a nota", "as notas", "nota"),
        *("essa nota", "essa", "ela", "entao", "ai", "ae", "por mim", "amigo", "amiga", "querida", "querido", "mano"),
        *("cara", "viu", "ne", "eh", "ta", "tah", "prosa", "pra mim", "pra gente", "logo", "tudo", "e", "la", "sim"),
        *("ah", "opa", "oi", "bom dia", "boa tarde", "boa noite", "muito", "bem", "a", "o", "thanks"),
        *("gracias", "assim", "assim mesmo", "desse jeito", "os dados", "as informacoes", "dados", "esta", "estao"),
        *("tao", "aqui", "com", "isso", "meu", "minha", "rapaz", "deus", "amem", "os", "esses", "de", "boa", "hoje"),
        *("it", "is", "all", "good", "sem problema", "sem problemas", "emissao", "o envio", "envio", "fiscal"),
        *("senhor", "senhora", "moco", "moca", "tri", "oxe", "oxente", "oxi", "eita", "vixe", "bah", "tche", "uai"),
        *("uai so", "visse", "guri", "guria", "massa", "chefe", "chefia", "patrao", "patroa", "parceiro", "parca"),
        *("brother", "bro", "man", "fera", "tio", "homi", "homem", "macho", "mah", "bicho", "bixo", "veio", "vei"),
        *("meu rei", "meu bem", "meu filho", "minha filha", "voce", "oce", "egua", "barbaridade", "ue", "po", "poxa"),
        *(
            "porra",
            "caralho",
            "carai",
            "caraio",
            "krl",
            "cacete",
            "demais",
            "demais so",
            "da conta",
            "da conta so",
            "na hora",
            "ligeiro",
        ),
        *("rapido", "rapidinho", "sem medo", "sem do", "sem susto", "com fe", "gracas a deus", "ja conferi", "conferi"),
        *("li tudo", "vi tudo", "nada mais"),
        *(
            f"{nothing} {to_do}"
            for nothing in ("nada a", "nada pra", "nada para")
            for to_do in ("mudar", "corrigir", "alterar", "acrescentar", "trocar")
        ),
        *("sem alteracoes", "sem mudancas", "sem correcoes"),
    }
)
_WRONG: Final = ("errado", "errada", "incorreto", "incorreta")
_SOME: Final = ("algo", "coisa", "uma coisa", "um erro", "erro")
_DONE: Final = ("emitir", "mandar", "enviar", "confirmar", "fazer", "gerar", "prosseguir", "continuar", "seguir")
_NOT: Final = (
    *("certo", "isso", "correto", "bem isso", "assim", "esse", "essa", "emite", "emita", "emitir", "manda", "mande"),
    *(
        "envia",
        "envie",
        "confirmo",
        "confirma",
        "pode",
        "concordo",
        "autorizo",
        "aprovo",
        "faz",
        "faca",
        "gera",
        "gere",
    ),
    *("quero", "bate", "confere"),
)
# A no, or a request to wait.
NO: Final = frozenset(
    {
        *(f"{do} nao" for do in ("pode", "precisa", "manda", "emite", "faz", "faz isso", "confirma")),
        *("nao", "nah", "naum", "n", "nn", "nop", "nops", "no", "negativo", "nunca", "de jeito nenhum", "jamais"),
        *("claro que nao", "nem pensar", "ainda nao", "agora nao", "nao ainda", "nada disso", "de forma alguma"),
        *(
            "de forma nenhuma",
            "espera",
            "espera ai",
            "espera um pouco",
            "espera um momento",
            "pera",
            "perai",
            "pera ai",
        ),
        *("calma", "calma ai", "segura", "segura ai", "aguarda", "aguarda ai", "aguarde", "um momento", "momento"),
        *("so um minuto", "um minuto", "wait", "hold on", "not yet", "stop", "algo errado", *_WRONG),
        *(f"{being} {wrong}" for being in ("ta", "esta", "tem", "eh", "ficou") for wrong in _WRONG),
        *(f"{being} tudo {wrong}" for being in ("ta", "esta", "tem", "eh", "ficou") for wrong in _WRONG),
        *(f"tem {some}" for some in _SOME),
        *(f"tem {some} {wrong}" for some in _SOME for wrong in (*_WRONG[:2], "estranho", "estranha")),
        *(f"nao {being}{what}" for being in ("", "ta ", "esta ", "eh ", "era ") for what in _NOT),
        *(f"nao {being}{what} {do}" for being in ("", "ta ", "eh ", "era ") for what in _NOT for do in _DONE),
    }
)
# Words beside a no that change nothing about it.
NO_FILLER: Final = frozenset(
    {
        *(FILLER - {"voce", "oce", "po", "nada mais", "veio", "homem", "nada a mudar"}),
        *("ainda", "nao", "mas", "que", "eu", "vou", "ver", "deixa eu ver", "deixa eu conferir", "vou conferir"),
        *("conferir", "primeiro", "antes", "preciso", "confirmar", "algo", "coisa", "tem", "um", "uma", "pouco"),
        *("vou checar", "desculpa", "sorry", "hm", "hmm", "melhor", "quero nao", "to vendo"),
    }
)
# What sounds like a yes and is none: (what is meant, how it is said).
NO_YES: Final = (
    ("a greeting", r"^(?:oi+|ola|opa|e ai|eai|prosa|bom dia|boa tarde|boa noite)(?: \w+)? (?:ta )?tudo \w+$"),
    ("a yes to come", r"\b(?:ja|logo|hoje|depois) (?:te |eu )?(?:confirmo|aprovo|autorizo)\b|\bja vai\b"),
    ("a yes to come", r"\b(?:confirmo|aprovo|autorizo) (?:ja|logo|hoje|amanha)\b"),
    ("asks for the data", r"\b(?:mand\w+|envi\w+|pass\w+|segue)\b.*\b(?:dados|informacoes)\b"),
    ("too much, too slow", r"\bmuito\b(?! (?:bem|bom|boa|obrigado|certo|show|legal|top|massa))"),
    ("too slow", r"\bdemoro(?:u)? (?!mano|cara|amig|chefe|parc|bro|pode|bora|manda|ja eh|entao|porra|meu\b)\w+"),
    ("too slow", r"\b(?!ja|sim|ok|opa|bora|fechou|isso)\w+ (?:demorou|demoro)\b"),
    ("asks to look", r"\bconfere (?!sim\b|pode\b|manda\b|emite\b|certinho\b|tudo certo\b)\w+"),
    ("waits", r"\b(?:segura|guenta|aguenta|devagar|calma|um minuto|um momento)\b"),
)
