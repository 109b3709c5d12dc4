"""What states, reasons, events and outcomes are called on the staff's pages, and how each is coloured.

Names of cities by IBGE code: the state capitals by name, every other by its state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.field_table import field_named
from state_machine.invoice.session import Estado, SnapshotReason
from state_machine.invoice.summary import fim
from state_machine.protocol.emission import COM_PESSOAS, StatusEmissao

ESTADOS: Final[Mapping[str, tuple[str, str]]] = {
    Estado.COLETA: ("começou", "off"),
    Estado.DADOS_INCOMPLETOS: ("faltam dados", "busy"),
    Estado.AGUARDANDO_CONFIRMACAO: ("espera o sim", "busy"),
    Estado.PROCESSANDO: ("em emissão", "busy"),
    Estado.APROVADO: ("autorizada", "good"),
    Estado.REJEITADO: ("recusada", "bad"),
    Estado.ERRO: ("erro", "bad"),
    Estado.CANCELADO_USUARIO: ("desistência", "off"),
    Estado.EXPIRADO: ("expirada", "off"),
}
# What the list is narrowed to: the states, and what may become of an authorised note.
SITUACOES: Final[Mapping[str, tuple[str, str]]] = {
    **ESTADOS,
    "cancelada": ("cancelada", "off"),
    "substituida": ("substituída", "off"),
}
MOTIVOS: Final[Mapping[str, str]] = {
    SnapshotReason.MANUAL: "aberta",
    SnapshotReason.DATA_COMPLETE: "dados completos",
    SnapshotReason.CONFIRMED: "confirmada",
    SnapshotReason.CANCELLED: "desistiu",
    SnapshotReason.EXPIRED: "expirou",
    SnapshotReason.ERROR: "erro",
    SnapshotReason.WEBHOOK_SUCCESS: "autorizada",
    SnapshotReason.WEBHOOK_REJECTED: "recusada",
}
CANAIS: Final[Mapping[str, str]] = {
    "plugnotas": "PlugNotas",
    "nacional": "Emissor Nacional",
    "paulistana": "Nota Paulistana",
    "nfe": "NF-e",
    "nfce": "NFC-e",
}
CAUSAS: Final[Mapping[str, tuple[str, str]]] = {
    "erro": ("com a equipe", "bad"),
    "recusa_nossa": ("recusa que a equipe resolve", "bad"),
    "desconhecido": ("resposta perdida", "busy"),
    "conflito": ("conflito no gateway", "bad"),
    "demora": ("resposta demora", "busy"),
    "nao_entregue": ("mensagem não chegou", "bad"),
    "assumida": ("assumida", "busy"),
    "pediu_pessoa": ("pediu uma pessoa", "bad"),
    "espera_pessoa": ("espera a pessoa", "busy"),
    "duas_notas": ("duas notas", "bad"),
}
# How an emission stands (``StatusEmissao``), as staff say it.
EMISSOES: Final[Mapping[str, str]] = {
    StatusEmissao.PENDENTE: "por enviar",
    StatusEmissao.ENVIANDO: "saindo",
    StatusEmissao.ENVIADO: "com o gateway",
    StatusEmissao.DESCONHECIDO: "resposta perdida",
    StatusEmissao.CONCLUIDO: "autorizada",
    StatusEmissao.REJEITADO: "recusada",
    StatusEmissao.CONFLITO: "conflito no gateway",
    StatusEmissao.ERRO: "com a equipe",
    StatusEmissao.DISPENSADO: "dispensada",
}
# What a row of the inbox is (``persistence.rows``).
LINHAS: Final[Mapping[str, str]] = {
    "mensagem": "mensagem",
    "mudou_de_id": "mudança de número",
    "deixou_numero": "número que a pessoa deixou",
    "status": "recibo de mensagem",
    "aviso_meta": "aviso da Meta",
    "ilegivel": "mensagem que não se lê",
    "gateway": "aviso do gateway",
    "emissao": "notícia da emissão",
    "prazo": "prazo vencido",
    "retomar": "nota retomada",
    "ordem": "ordem da equipe",
    "cancelamento": "notícia do cancelamento",
    "prazo_cancelamento": "prazo do cancelamento",
    "equipe": "pedido da equipe",
    "certificado": "notícia do certificado",
    "proposta": "proposta de outro sistema",
}
MIDIAS: Final[Mapping[str, str]] = {
    "audio": "áudio",
    "button": "botão",
    "contacts": "contato",
    "document": "arquivo",
    "image": "foto",
    "interactive": "toque",
    "location": "localização",
    "order": "pedido",
    "reaction": "reação",
    "sticker": "figurinha",
    "video": "vídeo",
}
TIQUES: Final[Mapping[str, tuple[str, str]]] = {
    "pendente": ("na fila de envio", ""),
    "enviando": ("saindo", ""),
    "incerto": ("pode ter saído", ""),
    "enviado": ("✓ enviada", ""),
    "entregue": ("✓✓ entregue", ""),
    "lido": ("✓✓ lida", "read-tick"),
    "falhou": ("não entregue", "failed"),
}
EVENTOS: Final[Mapping[str, str]] = {
    "Abriu": "abriu a nota",
    "Informou": "deu dados",
    "Confirmou": "confirmou",
    "Escolheu": "escolheu entre as leituras",
    "Negou": "disse não",
    "Cancelou": "desistiu",
    "PediuCorrecao": "quis corrigir",
    "Conversou": "conversou",
    "PediuAjuda": "pediu ajuda",
    "MandouArquivo": "mandou um arquivo",
    "Encaminhou": "encaminhou palavras que não confirmam",
    "Editou": "editou uma mensagem",
    "Apagou": "apagou uma mensagem",
    "MudouEmissor": "o emissor mudou",
    "NaoCabe": "um dado não cabe na nota",
    "PerdeuMensagem": "uma mensagem falhou e ficou parada",
    "PrazoVencido": "o prazo venceu",
    "NotaAutorizada": "a nota foi autorizada",
    "NotaRejeitada": "a nota foi recusada",
    "EmissaoFalhou": "a emissão ficou com a equipe",
    "EmissaoDemorou": "a resposta demora",
    "EmissaoParada": "ninguém aceitou a nota em um dia",
    "NumeroTomado": "o número da nota já tinha dono",
    "QuisAinda": "a nota ainda é desejada",
    "NaoQuisMais": "desistiu da nota que ninguém aceitou",
    "Reprocessou": "a equipe mandou tentar de novo",
    "EquipeAssumiu": "a equipe assumiu",
    "EquipeDevolveu": "a equipe devolveu",
    "EquipeEncerrou": "a equipe encerrou",
}
RESULTADOS: Final[Mapping[str, tuple[str, bool]]] = {
    "Accepted": ("recebida, em processamento", False),
    "NotSent": ("não saiu daqui", True),
    "Postponed": ("pediu para esperar", True),
    "Misconfigured": ("recusou as nossas credenciais", True),
    "Unknown": ("a resposta se perdeu", True),
    "Raised": ("falhou aqui dentro", True),
    "Rejected": ("recusou", True),
    "Duplicate": ("já existia sob esta referência", False),
    "Found": ("encontrada", False),
    "Issued": ("autorizada", False),
    "Cancelled": ("cancelada", False),
    "Refused": ("recusado", True),
    "InProcess": ("em andamento", False),
    "Stands": ("continua valendo", False),
    "AlreadyCancelled": ("já estava cancelada", False),
    "Absent": ("não existe lá", True),
    "Unreadable": ("não conseguiu ler o pedido", True),
    "CannotTell": ("não soube dizer", True),
}
OPERACOES: Final[Mapping[str, str]] = {
    "submit": "envio",
    "find": "consulta",
    "cancel": "cancelamento",
    "emitir_nfse": "emissão",  # as the records of idempotency call it
    "cancelar": "cancelamento",
}

# What the program notes about itself in English, as staff read it; anything else is somebody's own words.
_ANULADA: Final = re.compile(r"the authority voided note (\S+) for this one")
_NOTADOS: Final[Mapping[str, str]] = {
    "no result within 24 h": "24 horas sem resultado",
    "24 h window closed": "a janela de 24 horas da Meta fechou",
    "too many tries": "tentativas demais",
    "absent at the gateway": "não existe no gateway",
    "absent once": "o gateway disse uma vez que não existe",
    "absent": "o gateway diz que não existe",
    "absent too long ago": "não existia, mas faz tempo: a Prosa pergunta de novo antes de enviar",
    "absent twice: sending the stored bytes again": "não existe, com certeza: os mesmos dados saem de novo",
    "accepted by nobody for 24 h": "24 horas sem que ninguém aceitasse o envio",
    "no longer wanted; accepted by nobody": "a pessoa não quer mais, e ninguém tinha aceitado",
    "the authority has a note already": "a autoridade diz que já existe uma nota: a Prosa pergunta qual",
    "authorised, its content not shown yet": "autorizada, e o XML ainda não apareceu",
    "the note was cancelled outside of Prosa": "a nota foi cancelada por fora da Prosa",
    "the gateway gave this note's id to another invoice": "o gateway deu o número desta nota a outra",
    "the idempotency key was used before with other bytes": "a mesma referência já tinha saído com outros dados",
    # what the network does, by the names of its exceptions
    "ReadError": "a conexão caiu antes de a resposta chegar",
    "ReadTimeout": "a resposta não chegou a tempo",
    "RemoteProtocolError": "a resposta chegou cortada",
    "BodyTooLargeError": "a resposta era grande demais",
    "CloseError": "a conexão não fechou direito",
    "WriteError": "a conexão caiu durante o envio",
    "WriteTimeout": "o envio não terminou a tempo",
    "ConnectError": "não foi possível conectar",
    "ConnectTimeout": "a conexão não abriu a tempo",
    "PoolTimeout": "não havia conexão livre aqui",
    # what the gateway answered
    "the answer does not describe our note": "a resposta não descreve a nossa nota",
    "the gateway does not know the note": "o gateway não conhece a nota",
    "another note stands under our key": "há outra nota sob a nossa referência",
    "a refusal that names another note": "uma recusa que fala de outra nota",
}
# The ends of what begins with the gateway's own status, such as "HTTP 502 without a JSON object".
_FINAIS: Final[Mapping[str, str]] = {
    " without a JSON object": ", sem uma resposta que se leia",
    " that does not speak of our note": ", sem falar da nossa nota",
    " that does not speak of a cancellation": ", sem falar de cancelamento",
    " about another note": ", sobre outra nota",
    ": a cancellation is under way": ": um cancelamento está em andamento",
}
_OUTRO: Final[Mapping[str, str]] = {
    "prestador": "outro emitente",
    "tomador": "outro cliente",
    "valor": "outro valor",
    "codigo_servico": "outro código de serviço",
    "competencia": "outra competência",
    "descricao": "outro texto de serviço",
    "id_integracao": "outra referência",
    "impressao": "um conteúdo que não bate com o que guardamos",
}
_CHAVES: Final = ("Codigo", "codigo", "code"), ("Descricao", "descricao", "mensagem", "message")
_DIFERE: Final = "the gateway's note under our key differs in "
RETIDAS: Final = {
    "circuito": "o gateway não respondia: a Prosa o deixa em paz e tenta de tempos em tempos",
    "credencial": "o gateway recusa a credencial da empresa",
    "tentativa_anterior": "falta saber de uma tentativa anterior",
    "historia": "o banco pode ter esquecido notas enviadas",
    "leiaute": "a SEFIN recusa o leiaute em vigor",
    "registro": "falta o registro de quem já pediu o mesmo",
    "pessoa": "ninguém aceitou em um dia: falta a pessoa dizer se ainda quer",
}

DESTINOS: Final[Mapping[str, str]] = {
    "gateway": "gateway fiscal",  # of processes that have one breaker for everything
    "gateway_envio": "gateway fiscal: envios",
    "gateway_consulta": "gateway fiscal: consultas",
    "gateway_cancelamento": "gateway fiscal: cancelamentos",
    "gateway_documento": "gateway fiscal: PDF e XML",
    "modelo": "modelo de linguagem",
}
URGENT_DAYS: Final = 7  # before a certificate ends: less than it takes to get a new one


def certificado(dias: int) -> tuple[str, str]:
    """Return how a certificate stands that ends in so many days, and its tone."""
    if dias < 0:
        return (f"venceu há {-dias} {'dia' if dias == -1 else 'dias'}", "bad")
    if dias == 0:
        return ("vence hoje", "bad")
    return (f"vence em {dias} {'dia' if dias == 1 else 'dias'}", "bad" if dias <= URGENT_DAYS else "busy")


def motivo(texto: str | None) -> str | None:
    """Return a stored reason in pt-BR where it is one of the program's own."""
    if texto is None:
        return None
    if texto.startswith(_DIFERE):
        campo = texto.removeprefix(_DIFERE)
        return f"a nota no gateway tem {_OUTRO.get(campo, f'outro {campo}')}"
    if numero := anulada(texto):
        return por_esta(numero)
    for final, dito in _FINAIS.items():
        if texto.endswith(final):
            return texto.removesuffix(final) + dito
    return _NOTADOS.get(texto) or legivel(texto)


def causa(codigo: str | None, mensagem: str | None) -> str:
    """Return why an authority or the gateway refused: its words, with the code that it gave behind them."""
    dito = motivo(mensagem) or motivo(codigo) or "sem código"
    cabeca, _, palavras = dito.partition(": ")
    if palavras and " " not in cabeca:
        codigo, dito = cabeca, palavras
    dito = dito.rstrip(". ")
    return f"{dito} ({codigo})" if codigo and _CODIGO.fullmatch(codigo) and codigo not in dito else dito


_CODIGO: Final = re.compile(r"(?=\D{0,11}\d)[\w.-]{1,12}")


def anulada(texto: str | None) -> str | None:
    """Return the number of the note that was cancelled for this one, of a stored reason; ``None`` where none was."""
    found = _ANULADA.fullmatch(texto or "")
    return found[1] if found else None


def por_esta(numero: str) -> str:
    """Say that the city cancelled another note for this one; its number is ``?`` where it named none."""
    qual = "outra nota" if numero == "?" else f"a nota {numero}"
    return f"com ela a prefeitura cancelou {qual}, do mesmo RPS"


def da_equipe(texto: str) -> str:
    """Return a reason that was written for its person as staff say it: the company is another's, the repair theirs."""
    for dito, nosso in _PARA_A_PESSOA:
        texto = texto.replace(dito, nosso)
    return texto


_PARA_A_PESSOA: Final = (
    ("; isso quem ajusta é o suporte", ""),
    ("da sua empresa", "da empresa"),
    ("de sua empresa", "da empresa"),
    ("sua empresa", "a empresa"),
    ("sua cidade", "a cidade da empresa"),
    ("no seu cadastro", "no cadastro da empresa"),
)


def legivel(texto: str) -> str:
    """Return ``E0314: O código…`` of what an authority said as JSON; anything else stays as it is."""
    try:
        said = orjson.loads(texto) if texto[:1] in {"[", "{"} else None
    except orjson.JSONDecodeError:
        said = None  # cut off in the middle
        if found := _CORTADO.search(texto):
            return f"{found['codigo']}: {found['palavras']}…" if found["palavras"] else found["codigo"]
    parts = [_frase(item) for item in (said if isinstance(said, list) else [said]) if isinstance(item, dict)]
    return "; ".join(part for part in parts if part) or texto


_CORTADO: Final = re.compile(
    r'"[Cc]odigo"\s*:\s*"(?P<codigo>[^"]{1,40})"(?:\s*,\s*"[Dd]escricao"\s*:\s*"(?P<palavras>[^"]{1,300}))?'
)


def _frase(item: dict[str, Any]) -> str:
    codigo, palavras = (next((str(item[name]) for name in names if item.get(name)), "") for names in _CHAVES)
    return f"{codigo}: {palavras}" if codigo and palavras else codigo or palavras


def estado(nome: str) -> tuple[str, str]:
    """Return a state's label and tone; an unknown one is called by its name."""
    return ESTADOS.get(nome, (nome.replace("_", " "), "off"))


def situacao(nome: str, nota: str | None, substituta: str | None = None) -> tuple[str, str]:
    """Return the label and tone of a session whose note stands as ``nota``: one that counts no more is not authorised.

    ``substituta`` is the number of the note that took its place.
    """
    if nome == Estado.APROVADO and nota == StatusNota.CANCELADO:
        return (fim(substituta), "off")
    if nome == Estado.APROVADO and nota == StatusNota.CANCELAMENTO_PENDENTE:
        return ("cancelamento pedido", "busy")
    return estado(nome)


def emissao(nome: str) -> tuple[str, str]:
    """Return the label and tone of an emission."""
    return (EMISSOES.get(nome, nome.replace("_", " ")), "bad" if nome in COM_PESSOAS else "busy")


def linha(tipo: str) -> str:
    """Return what a row of the inbox is called."""
    return LINHAS.get(tipo, tipo.replace("_", " "))


def midia(tipo: str) -> str:
    """Return what a WhatsApp message is called that is no text, in brackets."""
    return f"[{MIDIAS.get(tipo, 'mensagem que a Prosa não lê')}]"


def evento(nome: str) -> str:
    """Return what an event is called."""
    return EVENTOS.get(nome, nome)


def resultado(nome: str) -> tuple[str, bool]:
    """Return what a gateway's outcome is called, and whether it is bad news."""
    return RESULTADOS.get(nome, (nome, False))


def operacao(nome: str) -> str:
    """Return what a gateway call is called."""
    return OPERACOES.get(nome, nome)


def por_que_pediu(motivo: str) -> str:
    """Return why somebody asked for the staff, as ``persistence.conversations.handoff`` stores it."""
    pedido, _, campo = motivo.partition(":")
    match pedido:
        case "palavras":
            return "escreveu que quer falar com uma pessoa"
        case "reclamacao":
            return "reclamou de uma nota"
        case "trocou_numero":
            return "trocou de número e não emite mais deste; confirme quem está no novo antes de liberar"
        case _:
            row = field_named(campo)
            return f"não saiu da pergunta sobre {row.staff_name}" if row else "não saiu de uma pergunta"


# The first two digits of a city's code are its state's (IBGE, DTB).
UFS: Final[Mapping[str, str]] = {
    "11": "RO", "12": "AC", "13": "AM", "14": "RR", "15": "PA", "16": "AP", "17": "TO", "21": "MA", "22": "PI",
    "23": "CE", "24": "RN", "25": "PB", "26": "PE", "27": "AL", "28": "SE", "29": "BA", "31": "MG", "32": "ES",
    "33": "RJ", "35": "SP", "41": "PR", "42": "SC", "43": "RS", "50": "MS", "51": "MT", "52": "GO", "53": "DF",
}  # fmt: skip
CAPITAIS: Final[Mapping[str, str]] = {
    "1100205": "Porto Velho",
    "1200401": "Rio Branco",
    "1302603": "Manaus",
    "1400100": "Boa Vista",
    "1501402": "Belém",
    "1600303": "Macapá",
    "1721000": "Palmas",
    "2111300": "São Luís",
    "2211001": "Teresina",
    "2304400": "Fortaleza",
    "2408102": "Natal",
    "2507507": "João Pessoa",
    "2611606": "Recife",
    "2704302": "Maceió",
    "2800308": "Aracaju",
    "2927408": "Salvador",
    "3106200": "Belo Horizonte",
    "3205309": "Vitória",
    "3304557": "Rio de Janeiro",
    "3550308": "São Paulo",
    "4106902": "Curitiba",
    "4205407": "Florianópolis",
    "4314902": "Porto Alegre",
    "5002704": "Campo Grande",
    "5103403": "Cuiabá",
    "5208707": "Goiânia",
    "5300108": "Brasília",
}


def cidade(codigo: str) -> str:
    """Return ``São Paulo/SP``, ``município de MG`` where only the state is known, else the code itself."""
    uf = UFS.get(codigo[:2])
    if uf is None:
        return codigo
    return f"{CAPITAIS[codigo]}/{uf}" if codigo in CAPITAIS else f"município de {uf}"
