"""Every table of the database; what a column means is said beside it."""

from persistence.tables.api import (
    api_chave,
    api_chave_empresa,
    clientes,
    empresa_aprovador,
    idempotencia_operacoes,
    propostas,
)
from persistence.tables.arrival import MENSAGENS, MENSAGENS_ABERTAS, MENSAGENS_LIDAS, inbox, lanes
from persistence.tables.base import metadata
from persistence.tables.batches import email_suprimido, lote_fila, lote_linhas, lotes
from persistence.tables.departure import TALVEZ_SAIU, StatusSaida, outbox
from persistence.tables.fiscal.cancellations import cancelamento
from persistence.tables.fiscal.emissions import (
    gateway_tentativas,
    nfse_documento,
    nfse_emissao,
    nfse_preparo,
    nfse_processada,
)
from persistence.tables.fiscal.numbering import numeracao, numeracao_uso
from persistence.tables.idempotency import idempotency_records
from persistence.tables.national.cities import cidade_parametro, nacional_leiaute
from persistence.tables.national.distribution import distribuicao, nota_de_fora
from persistence.tables.operation import disjuntor, job_slots, modelo_uso, painel
from persistence.tables.people import (
    certificado_link,
    cliente_apelido,
    cliente_tomador,
    cnpj_cache,
    conversas,
    empresa,
    empresa_canal,
    empresa_certificado,
    empresa_certificado_anterior,
    empresa_servico,
    usuario,
)
from persistence.tables.sessions import session_snapshot, transicoes
from persistence.tables.staff import (
    anotacao,
    auditoria,
    auditoria_elo,
    grupo_resolvido,
    resolvida,
    staff,
    staff_aparelho,
    staff_atraso,
    staff_empresa,
    staff_sessao,
    staff_tentativa,
    staff_vista,
)
from persistence.tables.witness import historia, numero_visto

__all__ = [
    "MENSAGENS",
    "MENSAGENS_ABERTAS",
    "MENSAGENS_LIDAS",
    "TALVEZ_SAIU",
    "StatusSaida",
    "anotacao",
    "api_chave",
    "api_chave_empresa",
    "auditoria",
    "auditoria_elo",
    "cancelamento",
    "certificado_link",
    "cidade_parametro",
    "cliente_apelido",
    "cliente_tomador",
    "clientes",
    "cnpj_cache",
    "conversas",
    "disjuntor",
    "distribuicao",
    "email_suprimido",
    "empresa",
    "empresa_aprovador",
    "empresa_canal",
    "empresa_certificado",
    "empresa_certificado_anterior",
    "empresa_servico",
    "gateway_tentativas",
    "grupo_resolvido",
    "historia",
    "idempotencia_operacoes",
    "idempotency_records",
    "inbox",
    "job_slots",
    "lanes",
    "lote_fila",
    "lote_linhas",
    "lotes",
    "metadata",
    "modelo_uso",
    "nacional_leiaute",
    "nfse_documento",
    "nfse_emissao",
    "nfse_preparo",
    "nfse_processada",
    "nota_de_fora",
    "numeracao",
    "numeracao_uso",
    "numero_visto",
    "outbox",
    "painel",
    "propostas",
    "resolvida",
    "session_snapshot",
    "staff",
    "staff_aparelho",
    "staff_atraso",
    "staff_empresa",
    "staff_sessao",
    "staff_tentativa",
    "staff_vista",
    "transicoes",
    "usuario",
]
