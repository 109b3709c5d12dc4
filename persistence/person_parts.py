"""Names every kind of row in which a person may stand, and what an erasure makes of it; runs nothing."""

# ruff: noqa: S608 - every statement is made of words of this module alone; values are bound

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from persistence.tables import MENSAGENS

APAGADA: Final = "apagada:"  # begins the key of a conversation whose person was erased


@dataclass(frozen=True, slots=True)
class Parte:
    """Rows of one table. ``apaga`` is the statement that erases them, ``None`` where the law wants them kept.

    Every statement is bound to the values of ``persistence.person.Pessoa``; ``t`` is the table.
    """

    nome: str
    tabela: str
    onde: str
    apaga: str | None
    destino: str  # for people: what becomes of them


# The draft keeps the bare values where an emission was made of them (they stand on it), and no word of anybody.
_KEPT = "EXISTS (SELECT FROM nfse_emissao e WHERE e.session_id = t.id)"
_DRAFT = f"""(SELECT jsonb_object_agg(k, CASE WHEN k = 'cadastro' THEN 'null'::jsonb
    WHEN {_KEPT} THEN jsonb_build_object('status', v -> 'status', 'valor', v -> 'valor')
    ELSE '{{"status": "null"}}'::jsonb END) FROM jsonb_each(t.rascunho) AS f(k, v))"""
SEM_PALAVRAS: Final = f"""
    rascunho = coalesce({_DRAFT}, '{{}}'::jsonb), cnpj_extracted = NULL, valor_extracted = NULL,
    descricao_extracted = NULL, igual = NULL, versao = t.versao + 1,
    cnpj = CASE WHEN {_KEPT} THEN t.cnpj END, cnpj_razao_social = CASE WHEN {_KEPT} THEN t.cnpj_razao_social END,
    valor = CASE WHEN {_KEPT} THEN t.valor END, descricao = CASE WHEN {_KEPT} THEN t.descricao END
"""
_OF_SESSIONS = "t.sessao_id = ANY(:sessoes)"
_EMISSIONS = "SELECT id FROM nfse_emissao WHERE session_id IN (SELECT id FROM session_snapshot s WHERE {})"
_DELETED, _EMPTIED, _KEEP = "apagadas", "ficam sem as palavras e sem a pessoa", "ficam: a lei fiscal manda guardar"


def _delete(tabela: str, onde: str) -> str:
    return f"DELETE FROM {tabela} t WHERE {onde}"


def _fiscal(emissions: str) -> tuple[Parte, ...]:
    return (
        Parte("emissões", "nfse_emissao", f"t.id IN ({emissions})", None, _KEEP),
        Parte("notas", "nfse_processada", f"t.emissao_id IN ({emissions})", None, _KEEP),
        Parte("PDF e XML", "nfse_documento", f"t.emissao_id IN ({emissions})", None, _KEEP),
        Parte("chamadas ao gateway", "gateway_tentativas", f"t.emissao_id IN ({emissions})", None, _KEEP),
    )


_LANE = "t.lane = ANY(:conversas)"
_TICKS = """t.tipo = 'status' AND t.estado <> 0 AND (t.payload -> 'status' ->> 'recipient_id' = ANY(:destinos)
    OR t.payload -> 'status' ->> 'recipient_user_id' = ANY(:destinos))"""
_TALK = "t.conversa = ANY(:conversas)"
_MINE = _EMISSIONS.format("s.sessao_id = ANY(:sessoes)")

DO_TELEFONE: Final = (
    Parte(
        "mensagens recebidas",
        "inbox",
        f"{_LANE} AND {MENSAGENS}",
        _delete("inbox", f"{_LANE} AND {MENSAGENS}"),
        _DELETED,
    ),
    Parte("tiques", "inbox", _TICKS, _delete("inbox", _TICKS), _DELETED),
    Parte(
        "avisos e comandos",
        "inbox",
        f"{_LANE} AND t.tipo <> 'mensagem'",
        f"""UPDATE inbox t SET lane = '{APAGADA}' || c.codigo, payload = '{{}}', interpretacao = NULL, erro = NULL
        FROM conversas c WHERE c.conversa = t.lane AND {_LANE} AND t.tipo <> 'mensagem'""",
        _EMPTIED,
    ),
    Parte("mensagens enviadas", "outbox", _TALK, _delete("outbox", _TALK), _DELETED),
    Parte("anotações da equipe", "anotacao", _TALK, _delete("anotacao", _TALK), _DELETED),
    Parte(
        "diário",
        "transicoes",
        _OF_SESSIONS,
        f"UPDATE transicoes t SET detalhe = '{{}}', correlacao = NULL WHERE {_OF_SESSIONS}",
        _EMPTIED,
    ),
    Parte(
        "motivos da equipe",
        "resolvida",
        _OF_SESSIONS,
        f"UPDATE resolvida t SET motivo = 'apagado' WHERE {_OF_SESSIONS}",
        _EMPTIED,
    ),
    Parte(
        "sessões",
        "session_snapshot",
        _TALK,
        f"""UPDATE session_snapshot t SET {SEM_PALAVRAS}, telefone = NULL, conversa = '{APAGADA}' || c.codigo
        FROM conversas c WHERE c.conversa = t.conversa AND {_TALK}""",
        _EMPTIED,
    ),
    Parte(
        "cancelamentos",
        "cancelamento",
        _TALK,
        f"""UPDATE cancelamento t SET conversa = '{APAGADA}' || c.codigo
        FROM conversas c WHERE c.conversa = t.conversa AND {_TALK}""",
        "ficam, sem a pessoa: são de uma nota",
    ),
    Parte(
        "faixas",
        "lanes",
        "t.lane = ANY(:conversas)",
        _delete("lanes", "t.lane = ANY(:conversas)"),
        _DELETED,
    ),
    Parte("conversas", "conversas", _TALK, _delete("conversas", _TALK), "ficam só como um código"),
    Parte(
        "autorização para emitir",
        "usuario",
        "t.id = ANY(:usuarios)",
        _delete("usuario", "t.id = ANY(:usuarios)"),
        "apagada: o número volta a ser desconhecido",
    ),
    *_fiscal(_MINE),
)

_NAMED = f"""{_LANE} AND {MENSAGENS} AND (t.payload::text ~ :escrito OR EXISTS (SELECT FROM session_snapshot s
    WHERE s.conversa = t.lane AND s.sessao_id = ANY(:sessoes)
    AND coalesce(t.feito_em, t.recebido_em) BETWEEN s.created_at AND s.updated_at))"""
_SENT = f"{_OF_SESSIONS} OR ({_TALK} AND t.mensagem::text ~ :escrito)"
_NOTED = f"{_OF_SESSIONS} OR ({_TALK} AND t.texto ~ :escrito)"
_STEPS = f"""{_OF_SESSIONS} OR (t.detalhe::text ~ :escrito
    AND t.sessao_id IN (SELECT sessao_id FROM session_snapshot WHERE conversa = ANY(:conversas)))"""
_INVOICED = "EXISTS (SELECT FROM nfse_emissao e WHERE e.tomador_id = t.id)"
_CUSTOMER = "t.cnpj = :cpf"
_CONTACT = ", ".join(
    f"{name} = NULL"
    for name in (
        *("email", "cep", "logradouro", "numero", "complemento", "bairro", "cidade", "estado", "codigo_cidade"),
        "dados_receita_raw",
    )
)

DO_CPF: Final = (
    Parte("mensagens recebidas", "inbox", _NAMED, _delete("inbox", _NAMED), _DELETED),
    Parte("mensagens enviadas", "outbox", _SENT, _delete("outbox", _SENT), _DELETED),
    Parte("anotações da equipe", "anotacao", _NOTED, _delete("anotacao", _NOTED), _DELETED),
    Parte("diário", "transicoes", _STEPS, f"UPDATE transicoes t SET detalhe = '{{}}' WHERE {_STEPS}", _EMPTIED),
    Parte(
        "sessões",
        "session_snapshot",
        _OF_SESSIONS,
        f"UPDATE session_snapshot t SET {SEM_PALAVRAS} WHERE {_OF_SESSIONS}",
        _EMPTIED,
    ),
    Parte(
        "cadastros sem nota",
        "cliente_tomador",
        f"{_CUSTOMER} AND NOT {_INVOICED}",
        _delete("cliente_tomador", f"{_CUSTOMER} AND NOT {_INVOICED}"),
        "apagados",
    ),
    Parte(
        "cadastros com nota",
        "cliente_tomador",
        f"{_CUSTOMER} AND {_INVOICED}",
        f"UPDATE cliente_tomador t SET {_CONTACT} WHERE {_CUSTOMER} AND {_INVOICED}",
        "ficam com nome e CPF, como na nota; e-mail e endereço saem",
    ),
    *_fiscal("SELECT id FROM nfse_emissao WHERE tomador_documento = :cpf"),
)
