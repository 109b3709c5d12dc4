"""Names every kind of row in which a person may stand, and what an erasure makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from persistence.api.keys import SUBMIT
from persistence.tables import MENSAGENS
from persistence.tables.base import literals
from state_machine.invoice.field_table import FIELDS
from state_machine.mailing.delivery import EstadoLinha
from state_machine.proposal import EstadoProposta

# ruff: noqa: S608 - every statement is made of words of this module alone; values are bound


APAGADA: Final = "apagada:"  # begins the key of a conversation whose person was erased
FORGOTTEN: Final = "O cliente pediu para ser esquecido."  # why what was proposed for them ended


@dataclass(frozen=True, slots=True)
class Parte:
    """Rows of one table. ``apaga`` is the statement that erases them, ``None`` where the law wants them kept.

    Every statement is bound to the values of ``persistence.people.person.Pessoa``; ``t`` is the table.
    """

    nome: str
    tabela: str
    onde: str
    apaga: str | None
    destino: str  # for people: what becomes of them


# The draft keeps the bare values where an emission was made of them (they stand on it), and no word of anybody.
_KEPT = "EXISTS (SELECT FROM nfse_emissao e WHERE e.session_id = t.id)"
_COLUMNS = tuple(row.column for row in FIELDS.values() if row.column)
_NOT_INVOICED = literals(campo for campo, row in FIELDS.items() if not row.on_invoice)
_DRAFT = f"""(SELECT jsonb_object_agg(k, CASE WHEN k IN ('cadastro', 'substitui') THEN 'null'::jsonb
    WHEN {_KEPT} AND k NOT IN ({_NOT_INVOICED}) THEN jsonb_build_object('status', v -> 'status', 'valor', v -> 'valor')
    ELSE '{{"status": "null"}}'::jsonb END) FROM jsonb_each(t.rascunho) AS f(k, v))"""
SEM_PALAVRAS: Final = f"""
    rascunho = coalesce({_DRAFT}, '{{}}'::jsonb), {", ".join(f"{column}_extracted = NULL" for column in _COLUMNS)},
    igual = NULL, versao = t.versao + 1,
    {", ".join(f"{column} = CASE WHEN {_KEPT} THEN t.{column} END" for column in (*_COLUMNS, "cnpj_razao_social"))}
"""
_SESSIONS = "t.sessao_id = ANY(:sessoes)"
_EMISSIONS = "SELECT id FROM nfse_emissao WHERE session_id IN (SELECT id FROM session_snapshot s WHERE {})"
_DELETED, _EMPTIED, _KEEP = "apagadas", "ficam sem as palavras e sem a pessoa", "ficam: a lei fiscal manda guardar"
_WITHOUT = f"{_KEEP}; as respostas do gateway saem"


def _delete(tabela: str, onde: str) -> str:
    return f"DELETE FROM {tabela} t WHERE {onde}"


def _empty(tabela: str, onde: str, *colunas: str) -> str:
    return f"UPDATE {tabela} t SET {', '.join(f'{coluna} = NULL' for coluna in colunas)} WHERE {onde}"


def _fiscal(emissions: str) -> tuple[Parte, ...]:
    """What is an invoice stays: the request as it was sent, the note, its files. What was only said about it goes."""
    own, of = f"t.id IN ({emissions})", f"t.emissao_id IN ({emissions})"
    # A webhook names the notes that it is about; the key, by which a repetition is known, stays.
    told = f"""t.tipo = 'gateway' AND t.payload ? 'corpo' AND EXISTS (SELECT FROM nfse_emissao e
        WHERE e.id IN ({emissions}) AND (strpos(t.payload::text, e.id_integracao) > 0
            OR strpos(t.payload::text, e.id_externo) > 0))"""
    bare = f"UPDATE inbox t SET payload = payload - 'corpo' WHERE {told}"
    return (
        Parte("avisos do gateway", "inbox", told, bare, _EMPTIED),
        Parte(
            "respostas sobre cancelamentos",
            "cancelamento",
            of,
            _empty("cancelamento", of, "resposta_gateway", "erro_mensagem", "recusa"),
            "o pedido e seu motivo ficam, como a lei fiscal manda; as respostas do gateway saem",
        ),
        Parte(
            "chamadas ao gateway",
            "gateway_tentativas",
            of,
            _empty("gateway_tentativas", of, "pedido", "resposta", "detalhe"),
            _EMPTIED,
        ),
        Parte("notas", "nfse_processada", of, _empty("nfse_processada", of, "webhook_payload"), _WITHOUT),
        Parte("PDF e XML", "nfse_documento", of, None, _KEEP),
        Parte(
            "emissões",
            "nfse_emissao",
            own,
            _empty(
                "nfse_emissao", own, "resposta_gateway", "leitura_gateway", "webhook_payload", "erro_mensagem", "recusa"
            ),
            _WITHOUT,
        ),
    )


_LANE = "t.lane = ANY(:conversas)"
_TICKS = """t.tipo = 'status' AND t.estado <> 0 AND (t.payload -> 'status' ->> 'recipient_id' = ANY(:destinos)
    OR t.payload -> 'status' ->> 'recipient_user_id' = ANY(:destinos))"""
# Of bodies that nobody could read, and of notices about the account, nobody knows whose they are but by what they say.
# A message to a number that we do not serve belongs to no conversation; it names who wrote it.
_FOREIGN = """t.tipo = 'mensagem' AND t.estado <> 0
    AND NOT EXISTS (SELECT FROM conversas c WHERE c.conversa = t.lane)"""
_ASIDE = f"""(t.tipo IN ('ilegivel', 'aviso_meta') AND t.estado <> 0 AND EXISTS (
    SELECT FROM unnest(:destinos) AS d WHERE length(d) >= 8 AND strpos(t.payload::text, d) > 0)
) OR ({_FOREIGN} AND (split_part(t.lane, ':', 2) = ANY(:destinos)
    OR t.payload -> 'mensagem' ->> 'from' = ANY(:destinos) OR t.payload -> 'contato' ->> 'wa_id' = ANY(:destinos)))"""
_EMPTY_LANE = (
    """split_part(t.lane, ':', 2) = ANY(:destinos) AND NOT EXISTS (SELECT FROM inbox i WHERE i.lane = t.lane)"""
)
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
    Parte("mensagens sem conversa e avisos da Meta", "inbox", _ASIDE, _delete("inbox", _ASIDE), _DELETED),
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
        _SESSIONS,
        f"UPDATE transicoes t SET detalhe = '{{}}', correlacao = NULL WHERE {_SESSIONS}",
        _EMPTIED,
    ),
    Parte(
        "motivos da equipe",
        "resolvida",
        _SESSIONS,
        f"UPDATE resolvida t SET motivo = 'apagado' WHERE {_SESSIONS}",
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
        f"{_LANE} OR {_EMPTY_LANE}",
        _delete("lanes", f"{_LANE} OR {_EMPTY_LANE}"),
        _DELETED,
    ),
    Parte("apelidos de clientes", "cliente_apelido", _TALK, _delete("cliente_apelido", _TALK), _DELETED),
    Parte("conversas", "conversas", _TALK, _delete("conversas", _TALK), "ficam só como um código"),
    Parte(
        "links para enviar o certificado",
        "certificado_link",
        "t.usuario_id = ANY(:usuarios)",
        _delete("certificado_link", "t.usuario_id = ANY(:usuarios)"),
        _DELETED,
    ),
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
_ASIDE_NAMED = "t.tipo IN ('ilegivel', 'aviso_meta') AND t.estado <> 0 AND t.payload::text ~ :escrito"
_NEWS = f"{_LANE} AND t.tipo NOT IN ('mensagem', 'gateway') AND t.estado <> 0 AND t.payload::text ~ :escrito"
_SENT = f"{_SESSIONS} OR ({_TALK} AND t.mensagem::text ~ :escrito)"
_NOTED = f"{_SESSIONS} OR ({_TALK} AND t.texto ~ :escrito)"
_STEPS = f"""{_SESSIONS} OR (t.detalhe::text ~ :escrito
    AND t.sessao_id IN (SELECT sessao_id FROM session_snapshot WHERE conversa = ANY(:conversas)))"""
_INVOICED = "EXISTS (SELECT FROM nfse_emissao e WHERE e.tomador_id = t.id)"
_CUSTOMER = "t.cnpj = :cpf"
_NICKNAMED = "t.documento = :cpf"
_CONTACT = ", ".join(
    f"{name} = NULL"
    for name in (
        *("email", "cep", "logradouro", "numero", "complemento", "bairro", "cidade", "estado", "codigo_cidade"),
        "dados_receita_raw",
    )
)

_COPY = "t.cnpj IN (SELECT c.cnpj FROM cnpj_cache c WHERE c.dados::text ~ :escrito)"  # a MEI's name ends in a CPF


def _clients(onde: str) -> tuple[Parte, ...]:
    """The clients that other systems sent, with what hangs on them; ``onde`` finds them in ``clientes t``."""
    proposed = "EXISTS (SELECT FROM propostas p WHERE p.cliente_id = t.id)"
    of = f"t.cliente_id IN (SELECT t.id FROM clientes t WHERE {onde})"
    done = f"t.tipo_operacao = '{SUBMIT}' AND t.entidade_id IN (SELECT t.id FROM propostas t WHERE {of})"
    bare = "resultado = resultado - 'descricao' - 'motivo'"
    waits = f"sessao_id IS NULL AND estado IN ({literals((EstadoProposta.RASCUNHO, EstadoProposta.ENVIADA))})"
    return (
        Parte(
            "o que outros sistemas mandaram fazer",
            "idempotencia_operacoes",
            done,
            f"UPDATE idempotencia_operacoes t SET {bare}, idempotencia_key = '{APAGADA}' || t.id WHERE {done}",
            _EMPTIED,
        ),
        Parte(
            "propostas de outros sistemas",
            "propostas",
            of,
            f"""UPDATE propostas t SET descricao = NULL, prestacao = NULL, corpo_sha256 = NULL, idempotencia_key = NULL,
            versao = versao + 1, motivo = CASE WHEN {waits} THEN '{FORGOTTEN}' END,
            estado = CASE WHEN {waits} THEN '{EstadoProposta.CANCELADA}' ELSE estado END WHERE {of}""",
            _EMPTIED,
        ),
        Parte(
            "clientes de outros sistemas sem proposta",
            "clientes",
            f"{onde} AND NOT {proposed}",
            _delete("clientes", f"{onde} AND NOT {proposed}"),
            _DELETED,
        ),
        Parte(
            "clientes de outros sistemas com proposta",
            "clientes",
            f"{onde} AND {proposed}",
            f"""UPDATE clientes t SET nome = NULL, email = NULL, documento = NULL, corpo_sha256 = NULL,
            idempotencia_key = NULL, versao = versao + 1 WHERE {onde} AND {proposed}""",
            "ficam só como um número",
        ),
    )


def _listed(onde: str) -> tuple[Parte, ...]:
    """Rows of lists of addresses; what was not sent is not, and whoever has one in hand finds it gone."""
    words = f"email = NULL, dados = '{{}}', problemas = '[]', notas = NULL, chave = '{APAGADA}' || t.id"
    stopped = literals((EstadoLinha.PENDING, EstadoLinha.PROCESSING))
    estado = f"estado = CASE WHEN t.estado IN ({stopped}) THEN '{EstadoLinha.CANCELADA}' ELSE t.estado END"
    return (
        Parte(
            "linhas de listas de e-mail",
            "lote_linhas",
            onde,
            f"UPDATE lote_linhas t SET {words}, {estado} WHERE {onde}",
            "ficam só como um número; o que não saiu não sai",
        ),
        Parte(
            "endereço que não quer e-mails",
            "email_suprimido",
            "t.email = ANY(:emails)",
            None,
            "fica: é o que impede que outros cheguem",
        ),
    )


DO_EMAIL: Final = (*_listed("t.email = ANY(:emails)"), *_clients("lower(t.email) = ANY(:emails)"))

DO_CPF: Final = (
    *_listed("t.email = ANY(:emails) OR t.dados::text ~ :escrito"),
    Parte("mensagens recebidas", "inbox", _NAMED, _delete("inbox", _NAMED), _DELETED),
    Parte("mensagens ilegíveis e avisos da Meta", "inbox", _ASIDE_NAMED, _delete("inbox", _ASIDE_NAMED), _DELETED),
    Parte(
        "notícias de emissões",
        "inbox",
        _NEWS,
        f"UPDATE inbox t SET payload = '{{}}', interpretacao = NULL, erro = NULL WHERE {_NEWS}",
        _EMPTIED,
    ),
    Parte("cópias do cadastro público", "cnpj_cache", _COPY, _delete("cnpj_cache", _COPY), _DELETED),
    Parte("mensagens enviadas", "outbox", _SENT, _delete("outbox", _SENT), _DELETED),
    Parte("anotações da equipe", "anotacao", _NOTED, _delete("anotacao", _NOTED), _DELETED),
    Parte("diário", "transicoes", _STEPS, f"UPDATE transicoes t SET detalhe = '{{}}' WHERE {_STEPS}", _EMPTIED),
    Parte(
        "sessões",
        "session_snapshot",
        _SESSIONS,
        f"UPDATE session_snapshot t SET {SEM_PALAVRAS} WHERE {_SESSIONS}",
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
    Parte("apelidos", "cliente_apelido", _NICKNAMED, _delete("cliente_apelido", _NICKNAMED), _DELETED),
    *_clients("t.documento = :cpf"),
    *_fiscal("SELECT id FROM nfse_emissao WHERE tomador_documento = :cpf"),
)
