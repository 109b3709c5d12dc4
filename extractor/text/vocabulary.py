"""Word lists about services and small talk that the description and intent readers share."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GREETINGS: Final = """
    oi oie oii oiii oiee ola alo opa eai bom boa dia tarde noite tudo bem bao beleza blz joia fala salve hi
    hello hey good morning afternoon hola buenas buenos dias prosa amigo amiga querido querida mano cara moca
    moco chefe parceiro pessoal gente galera meu minha bot robo
"""
_POLITE: Final = """
    por favor favorzinho obrigado obrigada obrigadao agradeco valeu grato grata abraco abracos att
    atenciosamente thanks thank you gracias desde desculpa desculpe perdao foi mal licenca gentileza deus
    abencoe kkk kk kkkk rs rsrs haha hehe ta ok okay certo entao ai la ne viu ah eh hum ue uai bom tipo assim
    so soh mesmo tambem ja agora hoje ontem amanha aqui segue seguem abaixo dados
"""
_COMMAND: Final = """
    preciso precisava precisamos quero queria queremos gostaria poderia pode podem podia consegue conseguiria
    da pra vamos vou vamo bora fazer faz faca faco fazendo emitir emite emita emitindo emitida gerar gera gere
    tirar tira lancar lanca mandar manda mande mandem soltar solta criar cria preparar prepara issue create
    make send can could need want solicitar solicito favor uma um umas uns duas dois outra outro outras outros
    mais nova novo nota notas fiscal fiscais servico servicos eletronica recibo me mim para pro nos voce vc
    seguinte seguintes cobrar cobra cobre cobrei cobrando coloca colocar coloque bota botar bote poe por anota
    anotar registra registrar quanto necessito necesito emision
"""
_HOUSE: Final = """
    cnpj cpf documento doc valor valores preco custo custou total totais descricao discriminacao email cliente
    tomador nome razao social competencia mes ano data referente reais conto pila centavos desconto descontos
    parcela parcelas parcelado vezes hora horas cada unidade desse dessa deste desta disso nisso esse essa este
    isso isto aquele aquela numero codigo cod item pedido ordem cep endereco telefone celular whatsapp contato
    chave pix conta vencimento vence boleto pagamento pagar pago paga pagou recebi recebido imposto impostos iss
    taxa liquido bruto final entrada sinal empresa pessoa fisica juridica mao obra material materiais pecas vez
    menos porem concluida concluido pronto pronta primeiro primeira segundo segunda nosso nossa dele dela deles
    delas encaminhada encaminhado forwarded msg mensagem audio semana passada passado proximo prazo entrega
    vista avista dividido dividida dividir parcelar x meio metade pouco poucos tanto tantos falta faltam mensal
    mensais mensalmente via incluso inclusa incluido inclui dolar dolares euro euros amount price customer
    client invoice aluno alunos pessoas cartao credito debito dinheiro cheque filial matriz sendo
"""
_FUNCTION: Final = """
    a o as os e ou mas que igual mesma mesmo de do da dos das no na nos nas num numa em com sem ao aos pelo
    pela pelos pelas sobre ate se eh era foi foram sao ser sera seria fica ficou ficaram deu dei deram dar tem
    tinha ter tava estava esta estao ta to tao tudo todo toda todos fiz fizemos fez prestei realizei feito
    feita realizado realizada prestado prestada fechamos fechei fechou combinamos combinado certinho certa
    certo errado errada verdade real quer dizer digo alias melhor bem muito nao sim nem entre como quando qual
    quais eu ele ela eles lhe seu sua teu the of an for at is was it and from in on per el la un una los las y
    con del al es fue
"""
GREETINGS: Final = _words(_GREETINGS)
POLITE: Final = _words(_POLITE)
COMMAND: Final = _words(_COMMAND)
FUNCTION: Final = _words(_FUNCTION)
NOISE: Final = GREETINGS | POLITE | COMMAND | FUNCTION | _words(_HOUSE)

# Words of talk: a fragment with one of them and no word of work is not what stands on an invoice.
TALK: Final = _words(
    """
    eu voce voces me te lhe liga ligar ligo pega pegar pego mandei mando manda mandar mandou mandaram recebi
    recebeu receber vou vai vamos irei indo to tava tinha tem tenho temos ainda depois quando porque pq
    desculpa esqueci esqueceu nao sei sabe acho acha passa passar passo passou passei amanha espera aguarda
    obrigado valeu kkk sera quer quero queria preciso precisa precisava pode poderia consigo consegue errei
    errado errada igual mesma trocado confere conferir ver vi viu olha olhar pedir pediu pedi falou falei fala
    falar disse dizer conta contei perguntar pergunta responde confirmar confirmacao confirma emitir emite
    emita cancelar cancela anterior anteriores instrucoes instrucao ignore ignora demora demorar urgente
    rapido gostei gostou chato legal triste feliz chegar cheguei chegou saindo sair rua transito reuniao
    ocupado ocupada minuto minutinho momento pera perai calma entendi entendeu demais sempre nunca hein cade
    onde quem qual quais quanto quantos validado validados campos status sistema prompt senha copiei colei
    digitei digitar escrevi escrever mudar muda alterar altera corrigir corrige i you we my your please thanks
    send usa usar use
    """
)
TITLES: Final = _words("dona seu sr sra senhor senhora doutor doutora dr dra prezado prezada cliente")
# Words of somebody whom they do not name: "o pai", "cada sócio", "escola municipal".
NOBODY: Final = _words(
    """
    pai mae irmao irma filha filho marido esposa noiva noivo crianca aluno aluna paciente cliente senhora senhor
    socio moca moco cara rapaz menino fregues freguesa vizinho parte estrangeiro gringo pessoal tia tio avo vo familia
    ele ela eles elas gnt gente nos mim cada quem todos outro outra filial matriz secretaria fora brasil municipal
    """
)
WORK_SUFFIX: Final = re.compile(
    r"(?<![a-z])[a-z]{2,}(?:cao|coes|soes|mento|mentos|agem|agens|toria|torias|soria|sorias|grafia|grafias|"
    r"logia|terapia|acupuntura)"
)
NOT_WORK: Final = _words(
    """
    confirmacao confirmacoes instrucao instrucoes situacao situacoes informacao informacoes observacao
    observacoes opcao opcoes mensagem mensagens vantagem documento documentos momento pagamento pagamentos
    faturamento vencimento orcamento orcamentos cancelamento descricao relacao cotacao parcelamento adiantamento
    correcao coracao atencao solicitacao obrigacao operacao condicao condicoes autorizacao aprovacao porcentagem
    historia vitoria imagem tributacao retencao deducao isencao substituicao compensacao negociacao transacao
    devolucao indicacao pontuacao viagem coragem bobagem abencao inflacao populacao eleicao
    """
)
WORK_WORDS: Final = _words(
    """
    servico servicos instalei instalamos montei montamos troquei trocamos consertei consertamos pintei pintamos
    arrumei limpei limpamos aluguei editei gravei gravamos filmei criei desenvolvi traduzi revisei reformei
    reparei lavei costurei dedetizei fotografei ministrei lecionei toquei dirigi transportei entreguei podei
    soldei formatei configurei projetei desenhei atendi assessorei cozinhei garcom garconete dj cabeleireiro
    pedreiro eletricista motorista baba cuidadora diarista aula aulas curso cursos frete fretes design projeto
    projetos honorarios honorario pintura reparo reparos conserto consertos reforma reformas obra obras limpeza
    faxina diaria diarias mensalidade mensalidades anuidade aluguel site sites sistema software suporte
    assistencia pericia laudo laudos parecer consulta consultas exame exames sessao visita visitas palestra
    palestras workshop evento eventos festa buffet show shows musica foto fotos video videos ensaio cobertura
    transporte entrega entregas mudanca mudancas carreto motoboy guincho revisao troca trocas solda poda jardim
    paisagismo corte cortes costura bordado arte artes logo logotipo banner campanha anuncio anuncios trafego
    social media marketing publicidade banho tosa vacina cirurgia terapia manicure cabelo sobrancelha personal
    treino texto textos artigo artigos copy planilha relatorio contabilidade folha balanco irpf imposto abertura
    baixa gestao vigilancia portaria seguranca desenho planta render maquete torno marcenaria serralheria
    carpintaria gesso drywall piso azulejo forro telhado calha eletrica hidraulica encanador excursao passeio
    guia hotel plantao plantoes estudo pesquisa coleta analise analises ensino reforco coaching web app
    aplicativo landing page ecommerce loja virtual dev development consulting translation maintenance repair
    cleaning photography training class lessons lesson support hosting advisory editing diseno mantenimiento
    clases bolo bolos salgados doces marmitas impressao grafica panfletos cartoes convites adesivo martelinho
    funilaria mecanica freio oleo motor bateria laboratorio ultrassom podcast roteiro drone caricatura moldura
    restauro despachante registro marca patente audiencia processo acao defesa recurso inventario divorcio
    comissao certificado plano pacote assinatura backup servidor rede cameras alarme cerca portao interfone
    energia solar painel gerador ar condicionado geladeira copia copias recarga recargas xerox crachas placas
    uniformes marmita limpezas pilates
    """
)
GREETING_LINE: Final = re.compile(
    r"(?:\W{0,9}+\b(?:oi+e*|ola|alo|opa|e ?ai|eai|bom dia|boa tarde|boa noite|tudo (?:bem|bom|certo|"
    r"joia|tranquilo|em paz|na paz|otimo)(?: (?:por ai|com voce|ai|contigo|ne))?|tem alguem ai|"
    r"alguem ai|(?:voce )?(?:ta|esta) ai|td bem|tudo|blz|beleza|hi|hello|"
    r"hey|good (?:morning|afternoon)|hola|buen[oa]s (?:dias|tardes)|como vai|como (?:voce )?(?:esta|ta)|fala|salve)\b)+"
)
NOISE_MARKS: Final = re.compile(r"k{2,}|(?:ha){2,}h?|(?:he){2,}|(?:rs)+|hu(?:hu)+")


@lru_cache(maxsize=4096)  # the same few hundred words make up most messages
def is_work(word: str) -> bool:
    """Say whether a plain word names work somebody is paid for."""
    return word in WORK_WORDS or (word not in NOT_WORK and WORK_SUFFIX.fullmatch(word) is not None)
