"""Every table of the house; what a column means is said beside it, and no other module declares one."""

from persistence.tables.arrival import inbox, lanes
from persistence.tables.base import metadata
from persistence.tables.departure import outbox
from persistence.tables.emissions import gateway_tentativas, nfse_documento, nfse_emissao, nfse_processada
from persistence.tables.people import cliente_tomador, cnpj_cache, conversas, empresa, usuario
from persistence.tables.schedule import job_slots
from persistence.tables.sessions import session_snapshot, transicoes

__all__ = [
    "cliente_tomador",
    "cnpj_cache",
    "conversas",
    "empresa",
    "gateway_tentativas",
    "inbox",
    "job_slots",
    "lanes",
    "metadata",
    "nfse_documento",
    "nfse_emissao",
    "nfse_processada",
    "outbox",
    "session_snapshot",
    "transicoes",
    "usuario",
]
