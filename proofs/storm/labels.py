"""What storm and bench call a thing in Portuguese where a person reads it; JSON keeps the names on the left."""

from __future__ import annotations

from proofs.storm.plan import Kind

LABELS = {  # of the verdict: its lists of faults, and its counts
    "duplicates": "notas em dobro",
    "lost": "notas perdidas",
    "unconfirmed": "notas sem confirmação",
    "wrong": "notas com dado errado",
    "misnumbered": "números em dobro ou sem explicação",
    "unsound": "documentos que não conferem",
    "stuck": "sessões paradas",
    "untold": "notas não avisadas",
    "misfiled": "arquivos errados",
    "untrue": "mensagens falsas",
    "uncancelled": "cancelamentos errados",
    "misrecorded": "notas mal registradas",
    "unmailed": "e-mails perdidos ou em dobro",
    "unstored": "webhooks não guardados",
    "unaccounted": "webhooks sem explicação",
    "outbound_duplicates": "mensagens em dobro",
    "people": "pessoas",
    "people beside a loss": "pessoas ao lado de um esquecimento",
    "confirmed revisions": "revisões confirmadas",
    "fields of notes": "campos de notas",
    "files": "arquivos",
    "sessions": "sessões",
    "webhooks of Meta answered 2xx": "webhooks da Meta: respondidos com 2xx",
    "webhooks of Meta given up": "webhooks da Meta: abandonados",
    "webhooks of Meta swallowed": "webhooks da Meta: engolidos pela prova",
    "webhooks of Meta tries without an answer": "webhooks da Meta: tentativas sem resposta",
    "webhooks of the gateway answered 2xx": "webhooks do gateway: respondidos com 2xx",
    "webhooks of the gateway given up": "webhooks do gateway: abandonados",
    "webhooks of the gateway swallowed": "webhooks do gateway: engolidos pela prova",
    "webhooks of the gateway tries without an answer": "webhooks do gateway: tentativas sem resposta",
    "corrections": "correções",
    "taps on an outdated summary": "toques em um resumo antigo",
    "taps beyond the first": "toques repetidos",
    "confirmations in words": "confirmações por palavras",
    "refusals with a second attempt": "recusas com segunda tentativa",
    "cancellations": "cancelamentos",
    "substitutions": "substituições",
    "RPS numbers of our own": "números de RPS nossos",
    "gaps with their refusal": "lacunas com a sua recusa",
    "late acceptances": "aceites atrasados",
    "lost answers": "respostas perdidas",
    "orders that met a duplicate": "pedidos que encontraram duplicata",
    "notes heard of by webhook": "notas avisadas por webhook",
}
KINDS: dict[str, str] = {
    Kind.KILL_WORKER: "kill -9 em worker",
    Kind.KILL_WEB: "kill -9 em web",
    Kind.FREEZE: "worker congelado",
    Kind.DATABASE: "queda do banco",
    Kind.FLUSH: "FLUSHALL no Redis",
    Kind.CERTIFICATE: "certificado vencido",
    Kind.RESTORE: "banco voltou de uma cópia",
    Kind.FAILOVER: "réplica sem os últimos commits",
}


def written(value: float, form: str = "g") -> str:
    """Return a number in a format of Python's (``form``), with the signs of Brazil: 1.234,5."""
    return f"{value:{form}}".translate(str.maketrans(",.", ".,"))
