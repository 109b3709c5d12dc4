"""The words around an amount, as alternatives for the patterns that give it its roles."""

from __future__ import annotations

from typing import Final

A: Final = r"(?P<a>[VN])"
LABEL_WORDS: Final = r"(?:valor|valores|preco|quantia|importancia|cache|amount|value|price|importe|precio)"
FILLERS: Final = (
    r"(?: (?:total|da|do|de|desta|dessa|deste|desse|nota|servico|trabalho|bruto|final|cobrado|combinado|certo|correto|"
    r"fechado|novo|dela|dele|mensal|que|eh|e|foi|fica|ficou|sera|vai|ser|pra|para|por|em|so|apenas|mesmo|agora|is|of|"
    r"at|to|es|acertado|pago|pode|por|colocar|botar|passa|passou|mudou|muda|ta|esta|para|ele|ela|aqui|deu|anota|ai|dos|"
    r"honorarios|inteiro|exato|atualizado|liquido)){0,12}"
)
HOURS: Final = r"(?:horas?|hrs?|h)"
UNIT_WORD: Final = (
    r"(?:horas?|hrs?|h|km|quilometros?|unidades?|un|metros?|m2|m²|m|pecas?|itens|item|pessoas?|kg|quilos?|litros?)"
)
SESSION_WORD: Final = (
    r"(?:dias?|diarias?|visitas?|aulas?|sess(?:ao|oes)|consultas?|semanas?|mes|meses|pontos?|funcionarios?|alunos?|"
    r"cadeiras?|mesas?|fotos?|videos?|posts?|artigos?|paginas?|laudas?|cabecas?|pares|par|"
    r"viagens|viagem|turno|plantao|plantoes|"
    r"vez|entrega|entregas|atendimento|atendimentos|procedimento|licenca|usuario|usuarios|maquina|maquinas)"
)
PART_WORDS: Final = (
    r"(?:taxa|iss|issqn|impostos?|retencao|retido|inss|irrf|irf|pis|cofins|multa|juros|deslocamento|"
    r"gasolina|combustivel|"
    r"pedagio|materia(?:l|is)|pecas?|produtos?|mao de obra|reembolso|entrada|sinal|caucao|"
    r"gorjeta|adiantamento|comissao|"
    r"frete|estacionamento|alimentacao|hospedagem|passagem|despesas?|custos?|insumos|ferramentas?)"
)
OLD_WORDS: Final = (
    r"(?:limite(?: (?:eh|de))?|meta|divida|dev(?:o|endo)|gast(?:ei|amos|ou)|paguei|pagamos|"
    r"era|eram|seria|seriam|antes|tava|estava|inicial|inicialmente|original|orcei|orcado|orcamos|"
    r"pediu|pedi|pedia|"
    r"em vez de|ao inves de|inves de|no lugar de|tinha (?:dito|falado|colocado|passado|sido|"
    r"pedido|cobrado)|ia ser|ia cobrar|"
    r"instead of|not|was|anterior|antigo|errado|previsto)"
)
NEW_WORDS: Final = (
    r"(?:fechamos|fechei|fechou|fechado|combinamos|acertamos|negociamos|acordamos|ficou|fica|"
    r"ficamos|ficara|deixei|deixamos|"
    r"deixa|saiu|baixei|baixamos|subi|subiu|aumentei|agora|passou|passa|mudou|vai ser|sera|virou|cobrei|correto|certo|"
    r"verdade|na real|final|settled|agreed|corrigido)"
)
REPAIR: Final = (
    r"(?:ops|opa|digo|quer dizer|alias|minto|corrigindo|correcao|errei|perdao|desculpa\w*|"
    r"na verdade|na real|pensando bem|"
    r"melhor dizendo|ou melhor|sorry|actually|i mean|errado|enganei|engano|nao perai|vixe|xi)"
)
CHANGE: Final = (
    r"(?:mud\w+|troc\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|coloc\w+|poe|ponha|por|bot\w+|"
    r"pass\w+|deix\w+|aument\w+|baix\w+|diminu\w+|sub\w+|reduz\w*)"
)
RENEW: Final = r"(?:mud\w+|troc\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|refa[cz]\w*)"
DELTA_WORDS: Final = (
    r"(?:mais|acrescent\w+|acresc\w+|adicion\w+|som\w+|aument\w+|inclu\w+|tir\w+|diminu\w+|"
    r"reduz\w*|menos|subtra\w+|plus|retir\w+)"
)

SAID_BARE: Final = (
    r"(?:^|[,.;!\n] ?)(?:(?:sim|ok|mas|so que|porem|e|na nota|agora|entao|ai|ah|opa|nao) ?,? ){0,12}"
    rf"(?:eh|sao|foi|deu|com|por|de|fica|ficou) (?:de |por |so |apenas )?{A}(?=\W*$)"
)
FRACTION_WORDS: Final = r"(?:metade|dobro|triplo|terca parte|tercos?|quarta parte|fracao|restante|saldo|sobra)"
