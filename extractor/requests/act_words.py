"""Names what the user is doing with a turn, by the words that give it away."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final

from extractor.contract import Ato
from extractor.requests.yes_no import is_no, is_yes
from extractor.text.folding import Cued, Text

CANCEL: Final = Cued(
    "abo anu apa can dei des enc esq for jog la mai nao nev nov par pre que rec zer",
    r"\b(?:zera(?:r)? tudo|recomecar|comecar (?:tudo )?(?:de novo|do zero))\b|"
    r"\bcancel(?:a|e|ar|o|amos|emos|it)?\b(?! (?:culum))|\bdeix[ae] (?:pra|para) la\b|\bdeix[ae] quieto\b|"
    r"\bdeix[ae] (?:isso|essa|ela)\b|^\W*deix[ae]\W*$|\besquec[ea]r?\b|\bdesist(?:o|i|ir|imos|"
    r"iu)\b|"
    r"\bnao (?:quero|precisa|preciso|vou (?:querer|emitir|precisar)|vai precisar)(?: emitir|"
    r" fazer| mandar)?(?: (?:mais|nada|essa nota|a nota))(?: nao)?\b|\baborta\w*\b|\banula(?:r)"
    r"?\b|\bnever ?mind\b|\bforget (?:it|about)\b|"
    r"\bpar[ae] (?:tudo|com isso|por aqui)\b|\bjoga fora\b|\bdescart[ae]r?\b|\bapaga tudo\b|"
    r"\bapag(?:a|ar|ue) (?:isso|ess[ae]|ela|a nota|o pedido)\b|"
    r"\bnao (?:emite|emita|faz|faca|manda) mais\b|\bnao precisa(?: nao)?\W*$|\bdeixa(?: isso)"
    r"? (?:pra|para) (?:depois|outr[ao] (?:dia|hora))\b|\bencerra(?:r)?\b|\bquero nao\b",
)
_NOT_ME: Final = r"nao fui eu(?: que (?:pedi|mandei|escrevi|falei)(?: (?:isso|nada|essa nota))?)?"
_NOTHING: Final = r"nao (?:(?:emit[aei]r?|mand[ae]) nada|(?:emit[aei]r?|faz|faca|mand[ae]) (?:nenhuma(?: nota)?|isso))"
_ERASE: Final = r"apag(?:a|ue)(?: (?:isso|tudo|ess[ae](?: nota)?|a nota))?"
_BESIDE: Final = r"nao|por favor|pelo amor de deus|par[ae]|calma|eu|cancela|mas"
# The whole turn gives the draft up, whatever else its words are used for.
DISCARDS: Final = re.compile(
    rf"\W{{0,9}}+(?:(?:{_BESIDE})\W{{1,9}}+){{0,4}}(?:{_NOT_ME}|{_NOTHING}|{_ERASE})"
    rf"(?:\W{{1,9}}+(?:{_NOT_ME}|{_ERASE}|{_BESIDE})){{0,4}}\W{{0,9}}+"
)
_ACTS: Final = (
    r"(?:(?:cancel|desist|anul|estorn|corrig|corrij|alter|emit)\w*|mud(?:a|ar|o|e)|troc(?:a|ar|o)|troque|retific\w+)"
)
_TO_DO: Final = r"(?:cancelar|desistir|anular|estornar|corrigir|alterar|emitir|mudar|trocar|retificar)"
_OF_IT: Final = r"(?: (?:uma?|as?|os?|ess[ae]|ela|ele|isso|nota|fiscal|valor|cnpj|nome|servico|dados))*"
_COST: Final = r"(?:prazo|limite|custo|multa|taxa|problema)"
# A question about an act, with or without its mark: how, until when, at what cost, what if, whether at all.
# The number of a note as it is shown: plain, with its year before or behind it, with a digit of its own.
SHOWN: Final = r"20\d\d[/-]\d{1,11}|\d{3,15}/20\d\d|\d{3,15}-\d{1,3}|\d{1,3}(?:\.\d{3})+|\d{1,15}"
ABOUT: Final = Cued(
    "alt anu can cor des emi est mud ret tro",
    rf"\b(?:(?:em )?quanto tempo|quantos dias|ate (?:quando|que (?:dia|hora))|"
    rf"(?:tem|qual|existe|ha|cobra\w*|paga\w*)(?: o| a| algum| alguma)? {_COST})\b[^.;\n]{{0,40}}?\b{_ACTS}\b"
    r"|(?<!tem )\bcomo (?:(?:que|eh que|eu|se|a gente|voces?|faco|faz|fazer|funciona|pra|para|posso) )*"
    r"(?:cancel|desist|anul|estorn|emit)\w*"
    rf"|\b{_TO_DO}{_OF_IT}(?: depois)? (?:tem|paga|custa|demora|gera|da) (?:algum |alguma |muito |muita )?"
    rf"(?:{_COST}|caro|quanto|tempo|trabalho|imposto)\b"
    rf"|\bque (?:eh que )?acontece\b[^.;\n]{{0,20}}?\b{_ACTS}\b"
    rf"|\bse (?:eu|ele|ela|a gente|(?:o |a )?(?:cliente|tomador))(?: (?:quiser|precisar|tiver que|for))? {_TO_DO}\b"
    rf"|\b(?:posso|pode|da p(?:ra|ara)|consigo|conseguimos|tem como) {_TO_DO}{_OF_IT}"
    rf" (?:mais tarde|depois(?: de (?:emiti\w+|pronta|confirmar|confirmad[ao]|autorizad[ao]))?)(?=\W*$| se\b| ne\b)"
    rf"|\bdepois de (?:emiti\w+|pronta|confirmad[ao])[^.;\n]{{0,20}}? (?:posso|da p(?:ra|ara)|consigo|tem como)"
    rf" {_TO_DO}\b"
    r"|\b(?:a prosa|voces|sistema|robo|bot) (?:tambem |ja )*(?:cancela|corrige|altera)m? (?:as )?notas?\b",
)
NOT_CANCEL: Final = re.compile(
    r"\b(?:nao|nem|sem|don't|not) (?:eh (?:pra|para) |era (?:pra|para) |quero |quis |precisa |"
    r"vou |pode |e pra |me )*(?:cancel\w*|esquec\w*|desist\w*)|\bcancelad[ao]\b|\bnota cancelada\b"
)
FORGOTTEN: Final = re.compile(
    r"\b(?:esqueci|me esqueci|nao esquec\w*|esquec\w+ de|esqueca (?:as|todas|suas|tudo|o que|das)|esqueceu)\b"
)
REPEAT: Final = Cued(
    "clo cop dup igu mes nov re rea ree rep sam sem ult",
    r"\bquero igual\b|\b(?:a|o) mesm[ao] d[aoe]s?\b|"
    r"\brepet\w+\b|\brepit\w+\b|\b(?:a )?mesma (?:nota|coisa|de sempre|do mes|da ultima|que)"
    r"\b|\b(?:nota )?igual(?:zinha)? (?:a|ao|da|do|a?quel)\w*|\bigualzinha\b|\b(?:emit\w+|"
    r"faz|faca|manda|gera|fazer) (?:a nota )?de novo\b|\bnovamente\b.{1,200}\bnota\b|\bde novo\b.{1,200}\bnota\b|"
    r"\bnota\b.{1,200}\bde novo\b|\bfaz igual\b|\bo mesmo de sempre\b|\bcomo (?:a|da) ultima\b|\bsame (?:as|"
    r"invoice|one)\b|\bcopia a ultima\b|\bre-?emit\w+|\bduplic\w+ a\b|\boutra igual\b|\bmesm[ao] (?:do|"
    r"da) (?:mes|semana|ultim\w+)|\breaproveit\w+|\bclona\w*\b|\bde sempre\b",
)
DUPLICATE_COPY: Final = re.compile(r"\b(?:segunda|2[ªa]?) via\b")
QUERY: Final = Cued(
    "cad con dan fat his ja kd lim lin lis min not num ond pdf pe qua rel sta tot ult ver via xml",
    r"\bnotas?\b[^.\n]{0,25}\b(?:saiu|foi emitida|autorizou|aprovad\w+|autorizad\w+)\W*\?|"
    r"\b(?:segunda|2[ªa]?) via\b|\b(?:minhas|ultimas|quantas|quais|listar?|lista(?:r)? as|"
    r"historico|ver as|relatorio) (?:\w+ )?(?:notas|emissoes)\b|\bstatus\b|\bhistorico\b|"
    r"\b(?:qual|quando|cade|onde|quanto|saiu|ja|me (?:manda|envia|passa|diz|fala)|manda|reenvia\w*|"
    r"mostra\w*|ve|ver|consult\w+|quero ver|quero (?:o|a)|preciso d[oa]|baixar|procur\w+|busca\w*|"
    r"envia\w*|deu certo|foi)\b[^.\n]{0,40}\b(?:numero d[ao]|ultim[ao] nota|ultimas notas|"
    r"pdf|xml|danfse?|link da nota|nota (?:saiu|foi|ja|anterior|que|do mes|da semana|de ontem|"
    r"d[ao])|nota \d+)|"
    r"\b(?:a )?(?:minha )?nota (?:ja )?(?:foi|saiu|esta|ta|deu|autoriz\w*|aprov\w*)\b|\bja (?:emitiu|"
    r"saiu|foi emitida|autorizou|aprovou)\b|\b(?:cade|kd|onde (?:ta|esta)) (?:a|o|minha|meu)"
    r"\b|"
    r"\bquanto (?:eu )?(?:ja )?(?:faturei|emiti|recebi|gastei|vendi|tenho|falta|deu (?:o|no)"
    r" mes)\b|\bfaturamento\b|\btotal (?:do mes|emitido|do ano|faturado|de notas)\b|\bqual (?:foi )"
    r"?(?:o|a) (?:numero|valor|data|status|situacao|ultim\w+)\b[^.\n]{1,200}\b(?:nota|emiti\w*|ultim\w+)"
    r"\b|\bquantas\b[^.\n]{1,200}\b(?:emiti|notas)\b|\bem que pe\b|\bconsultar\b|\bquando (?:foi|"
    r"saiu|sai|emiti)\b[^.\n]{1,200}\bnota\b|\b(?:last|my|latest) notas?\b|\blimite (?:do|anual)"
    r"\b",
)
HELP: Final = Cued(
    "ace ach aju alg ass ate cam com con da dad duv enc exp fal gen hel how hum inf iss men nao opc pas pes "
    "pos qua que oq sig soc sup tut uso vej voc wha",
    r"\bajuda\w*\b|\bajudar?\b|\bhelp\b|\bsocorro\b|\bcomo (?:que )?(?:eu )?(?:funciona|faco|"
    r"fazer|emito|emitir|uso|usar|mando|eh que|se faz|comeco|corrijo|cancelo|mudo|altero|preencho|"
    r"informo|devo|te mando|voce funciona)\b|\b(?:o que|que|quais)(?: dados| informacoes| documentos)"
    r"?(?: (?:eh que|mais|que))? ?(?:voce|eu|a gente)? ?(?:precisa|preciso|tenho que|devo|"
    r"falta|necessita|precisam|quer que eu|sabe|consegue|pode fazer|faz)\b|"
    r"\b(?:quais|que) (?:dados|informacoes|campos|comandos|opcoes)\b|\bnao (?:entendi|to entendendo|"
    r"estou entendendo|sei (?:usar|como|mexer|o que)|consigo (?:emitir|usar|entender))\b|\bmenu\b|"
    r"\bcomandos\b|\binstrucoes de uso\b|\bduvidas?\b|\bpra que serve\b|\bo que (?:voce|isso)"
    r" (?:faz|eh)\b|\bwhat (?:do you|can you|information)\b|\bhow (?:do|does|can)\b|\bque eh (?:isso|"
    r"prosa)\b|"
    r"\b(?:falar|fala|conversar|quero|passa|chama\w*|transfere) (?:com |um |pra |para |o |"
    r"a |uma )*(?:atendente|humano|pessoa|suporte|alguem|gente)\b|\batendente\b|\bo que falta\b|"
    r"\bfalta (?:mais )?(?:o que|alguma coisa|algo)\b|\bque (?:eu )?(?:mando|coloco|escrevo|"
    r"ponho)\b|\b(?:qual|onde) (?:eu )?(?:acho|encontro|vejo)\b|\b(?:me )?explic\w+\b|\btutorial\b|"
    r"\bpasso a passo\b|\b(?:posso|da pra|consigo|voce (?:emite|faz|aceita|consegue|trabalha)"
    r"|aceita)\b[^.\n]{0,200}\?|\bcomo assim\b|\b(?:o que|oq) (?:eh|significa)\b",
)
WANTS_NOTE: Final = Cued(
    "emi fis nec nee not nov qui sol wan wou",
    r"\b(?:emit\w+|fazer|faz|faca|gerar?|gere|tirar?|lanc\w+|mand[ae]r?|solt\w+|cri\w+|preciso|"
    r"precisava|quero|queria|gostaria|necessito|issue|create|nova|outra|mais uma|bora|vamos)"
    r"\b[^.?\n]{0,40}\bnotas?\b|^\W*(?:nova |outra )?nota(?: fiscal)?\W*$|\bnota (?:nova|fiscal)"
    r"\b|^\W*emitir\W*$|\b(?:emitir|emite) (?:uma|outra|mais)\b|\bsolicit\w+\b[^.\n]{0,20}\bnota\b|"
    r"\b(?:need|want|necesito|quiero|would like)\b[^.\n]{0,20}\bnota\b",
)
CHANGE: Final = Cued(
    "aju alt arr atu cha col cor dig edi eng err fix mod mud pas ret tro",
    r"\b(?:corrig\w+|corrij\w+|corre[cç]ao|corrigir|mudar?|mude|muda|alterar?|altera|altere|"
    r"trocar?|troca|troque|editar?|edita|ajustar?|ajusta|arrumar?|arruma|modificar?|atualizar?|"
    r"retificar?|change|fix|edit)\b|\b(?:errei|me enganei|passei errado|digitei errado|mandei errado|"
    r"coloquei errado)\b",
)
ABOUT_US: Final = Cued(
    "art bot com hum ia maq ond pes por pq qua que rob seu voc",
    r"^\W*(?:quanto (?:custa|cobra\w*|eh|sai|fica)|qual|quais|como|onde|por que|pq|quem)\b.*\b(?:nota|"
    r"emitir|voce|prosa|bot|robo|plano|mensalidade)\b"
    r"|\b(?:robo|humano|pessoa de verdade|inteligencia artificial|quem (?:eh|e) voce|seu nome)"
    r"\b.{0,200}\?|\b(?:voce|isso) (?:eh|e) (?:um |uma )?(?:robo|bot|pessoa|humano|ia|maquina)\b",
)
NOTE_IS_GONE: Final = re.compile(
    r"\b(?:cancel\w*|anul\w+)\b[^.\n]{0,25}\bnotas?\b|\bnotas?\b[^.\n]{0,25}\bcancel(?:ar|a|e)\b"
)
NOTHING_TO_CHANGE: Final = re.compile(
    r"\b(?:nada (?:a|pra|para)|nao (?:precisa|quero|vou|tem que|ha o que)(?: de)?|sem) (?:mudar|"
    r"alterar|corrigir|trocar|mexer|ajustar|editar)"
)
PROMISE: Final = Cued(
    "daq dep est ja to vou",
    r"\b(?:ja (?:te |lhe )?(?:mando|passo|envio|falo|vejo|volto|digo|pego)|vou (?:te )?(?:mandar|"
    r"passar|enviar|ver|pegar|procurar|confirmar|perguntar|olhar|checar|conferir)|depois (?:eu )"
    r"?(?:mando|passo|envio|falo)|daqui a pouco|(?:to|estou) (?:sem|procurando|vendo|pegando)"
    r")\b",
)
QUESTION: Final = re.compile(
    r"\?|^\W*(?:qual|quais|quanto|quantos|quem|quando|onde|como|por que|porque|pq|o que|what|"
    r"who|when|where|why|how|cade|sera que)\b"
)
TASK: Final = Cued(
    "abr aco act age aja atu boo buy cal com con dig diz emp ens esc exp fal fin ind lem lig mar me pec ped "
    "pes pia pla pre pro rec res sho sin tel tem toc tra wri",
    r"^\W*(?:me )?(?:conta|conte|fala|fale|diz|diga|recomenda|indica|ensina|explica|lembra|"
    r"acorda|empresta|escreve|escreva|traduz\w*|"
    r"calcul[ae]|toca|pede|peca|compra|reserva|agenda|marca|pesquisa|procura|liga|abre|tell me|"
    r"write|translate|sing|book|buy|play|"
    r"show me)\b|\bme (?:conta|conte|diz|diga|recomenda|indica|ensina|lembra|acorda|empresta|"
    r"da um)\b|\bpiada\b|\bprevisao do tempo\b"
    r"|\b(?:system )?prompt\b|\b(?:aja|finja|atue|act|pretend) (?:como|que|as)\b|\breceita de\b",
)
OTHER_TRADE: Final = Cued(
    "bol car doc emp fin lin pix ted tra",
    r"\b(?:faz|fazer|faca|fazendo|manda|mandar|envia|gera|gerar|emite|emitir|quero|preciso de|"
    r"transfere|paga)(?: (?:um|uma|o|a|me|esse|meu|ai))* "
    r"(?:pix|ted|doc|boleto|transferencia|emprestimo|cartao|link de pagamento)\b|\bempr[e]stimo\b|\bfinanciamento\b",
)
HOUSE_WORDS: Final = re.compile(
    r"\b(?:notas?|nfse?|cnpj|cpf|emitir|emissao|iss|aliquota|retencao|imposto|tributo|simples|"
    r"mei|tomador|prestador|valor|descricao|rps|competencia|fiscal|bot|prosa|certificado|prefeitura|"
    r"servico)\b"
)
DID: Final = Cued(
    "que",
    r"\bnota (?:d[aeo]s?|pel[ao]s?|referente)\b.{2,60}\bque (?:eu |a gente |nos )?"
    r"(?:fiz|fizemos|prestei|prestamos|realizei|executei|entreguei|terminei)\b",
)
INJECTED: Final = Cued(
    "des esq ign",
    r"\b(?:ignor[ea]|desconsider[ea]|esquec[ae])\b[^.\n]{0,40}\b(?:instruc\w+|regras|anterior\w*|prompt)\b",
)
ISSUE: Final = Cued("emi", r"\b(?:pode|manda|favor) emitir\b|\bemit[ea]\b")


def _giving_up(plain: str, stems: AbstractSet[str]) -> Ato | None:
    """Return whether the turn gives the invoice up, or only asks about an act; ``None`` where it does neither."""
    if DISCARDS.fullmatch(plain):
        return Ato.RECUSA
    asks = ABOUT.search(plain, stems)
    rest = ABOUT.pattern.sub(" ", plain) if asks else plain
    if CANCEL.search(rest, stems) and not NOT_CANCEL.search(rest) and not FORGOTTEN.search(rest):
        return Ato.RECUSA
    return Ato.PERGUNTA if asks else None


def speech_act(text: Text, *, resumo: bool) -> Ato | None:
    """Name what a turn without invoice data does; ``None`` when nothing speaks for any act."""
    plain, stems = text.plain, text.stems
    if said := _giving_up(plain, stems):
        return said
    if resumo and is_yes(plain):
        return Ato.CONFIRMA
    if is_no(plain):
        return Ato.NEGA
    if INJECTED.search(plain, stems):
        return Ato.FORA
    if REPEAT.search(plain, stems):
        return Ato.REPETE
    if (
        HELP.search(plain, stems)
        and not DUPLICATE_COPY.search(plain)
        and not re.search(r"\bnumero d[ao]\b|\bultim[ao] nota\b", plain)
    ):
        if QUESTION.search(plain) and not HOUSE_WORDS.search(plain) and TASK.search(plain, stems):
            return Ato.FORA
        return Ato.PERGUNTA
    if DID.search(plain, stems) and not QUESTION.search(plain):
        return Ato.DADOS
    if QUERY.search(plain, stems):
        return Ato.REGISTRO
    return _remaining(plain, stems, resumo=resumo)


def _remaining(plain: str, stems: AbstractSet[str], *, resumo: bool) -> Ato | None:
    if resumo and CHANGE.search(plain, stems) and not NOTHING_TO_CHANGE.search(plain):
        return Ato.CORRIGE
    if PROMISE.search(plain, stems):
        return Ato.SOCIAL
    if ABOUT_US.search(plain, stems):
        return Ato.PERGUNTA
    if not resumo and (WANTS_NOTE.search(plain, stems) or ISSUE.search(plain, stems)):
        return Ato.DADOS
    if TASK.search(plain, stems) or other_trade(plain, stems):
        return Ato.FORA
    return None


def other_trade(plain: str, stems: AbstractSet[str]) -> bool:
    """Say whether the turn orders a payment or a loan, whose amount is no invoice's."""
    return bool(OTHER_TRADE.search(plain, stems)) and not re.search(r"\bnotas?\b", plain)
