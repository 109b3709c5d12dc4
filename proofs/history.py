"""Invents past conversations for trying and measuring the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg

from persistence.db.engine import for_asyncpg

if TYPE_CHECKING:
    from persistence.db.engine import Database

# One number makes everything of a session, so that the same call invents the same history. Nothing in it is due:
# no message leaves, no emission is sent or asked about. Five sessions a conversation, fifty conversations a company.
_COMPANIES = """
INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
SELECT lpad((40000000000000 + n)::text, 14, '0'), (ARRAY['ESTÚDIO','OFICINA','CLÍNICA','ESCOLA','AGÊNCIA'])[n % 5 + 1]
    || ' DE MENTIRA ' || n || ' ME', '1', (ARRAY['3550308','3304557','4106902','2927408'])[n % 4 + 1], 'mei', '170101'
FROM generate_series(1, greatest(1, $1 / 250)) n ON CONFLICT DO NOTHING
"""
_PEOPLE = """
INSERT INTO usuario (empresa_id, telefone)
SELECT e.id, '5511' || (900000000 + n)::text FROM generate_series(1, greatest(1, $1 / 5)) n
JOIN empresa e ON e.cnpj = lpad((40000000000001 + n % greatest(1, $1 / 250))::text, 14, '0') ON CONFLICT DO NOTHING
"""
_CONVERSATIONS = """
INSERT INTO conversas (conversa, phone_number_id, endereco, wa_id, nome_perfil, usuario_id, ultima_entrada_em,
    mensagens)
SELECT 'historia:' || u.telefone, 'historia', u.telefone, u.telefone,
    (ARRAY['Ana','Bruno','Carla','Davi','Elisa','Fábio','Gil'])[u.id % 7 + 1] || ' '
        || (ARRAY['Souza','Lima','Rocha','Alves','Prado'])[u.id % 5 + 1],
    u.id, now() - make_interval(mins => (u.id % 40000)::int), 5
FROM usuario u JOIN empresa e ON e.id = u.empresa_id WHERE e.razao_social LIKE '% DE MENTIRA %' ON CONFLICT DO NOTHING
"""
_SESSIONS = """
WITH n AS (
    SELECT i, i * 37 % 100 AS sorte,
        now() - make_interval(mins => ((($1 - i)::float8 / $1) * 86400 + i % 60)::int) AS em,
        '5511' || (900000001 + i / 5 % greatest(1, $1 / 5))::text AS telefone FROM generate_series(0, $1 - 1) i
), s AS (
    SELECT n.*, c.conversa, u.empresa_id, CASE
        WHEN sorte < 70 THEN 'aprovado' WHEN sorte < 78 THEN 'rejeitado' WHEN sorte = 78 THEN 'erro'
        WHEN sorte < 88 THEN 'cancelado_usuario' ELSE 'expirado' END AS estado,
        (50 + (i * 7919) % 400000 / 100.0)::numeric(12, 2) AS valor,
        make_interval(secs => 125 + i * 7919 % 311) AS levou,
        to_char(now(), 'DDMMYY') || '-' || lpad(to_hex(i), 8, '0') AS sessao_id,
        (ARRAY['aula de barista','consultoria de marketing','manutenção de site','revisão'])[i % 4 + 1] AS servico,
        (ARRAY['12345678000195','99000002000148','52998224725'])[i % 3 + 1] AS doc,
        (ARRAY['PADARIA DO ZÉ LTDA','CAFÉ DA ESQUINA INVENTADA LTDA','Maria da Silva'])[i % 3 + 1] AS nome
    FROM n JOIN usuario u USING (telefone) JOIN conversas c ON c.wa_id = n.telefone AND c.phone_number_id = 'historia'
)
INSERT INTO session_snapshot (sessao_id, conversa, telefone, empresa_id, estado, snapshot_reason, cnpj_status, cnpj,
    cnpj_extracted, cnpj_razao_social, valor_status, valor, valor_extracted, descricao_status, descricao, data_complete,
    missing_fields, rascunho, revisao, id_integracao, versao, resumos, created_at, updated_at)
SELECT sessao_id, conversa, '+' || telefone, empresa_id, estado,
    CASE estado WHEN 'aprovado' THEN 'webhook_success' WHEN 'rejeitado' THEN 'webhook_rejected' WHEN 'erro' THEN 'error'
        WHEN 'cancelado_usuario' THEN 'cancelled' ELSE 'expired' END,
    'validated', doc, doc, nome, 'validated', valor, valor::text, 'validated', servico, true, '[]',
    jsonb_build_object(
        'documento', jsonb_build_object('status', 'validated', 'valor', doc, 'escrito', doc, 'origem', 'regras',
            'confianca', 'certa', 'motivo', NULL, 'detalhe', NULL),
        'valor', jsonb_build_object('status', 'validated', 'valor', valor::text, 'escrito',
            replace(valor::text, '.', ','),
            'origem', 'regras', 'confianca', 'certa', 'motivo', NULL, 'detalhe', NULL),
        'descricao', jsonb_build_object('status', 'validated', 'valor', servico, 'escrito', servico,
            'origem', 'regras', 'confianca', 'certa', 'motivo', NULL, 'detalhe', NULL),
        'nome', jsonb_build_object('status', 'null'), 'email', jsonb_build_object('status', 'null'),
        'competencia', jsonb_build_object('status', 'null'), 'data', jsonb_build_object('status', 'null'),
        'cadastro', NULL),
    1, CASE WHEN estado IN ('aprovado', 'rejeitado', 'erro') THEN sessao_id || '-r1-1' END, 3, 1, em,
    em + levou
FROM s ON CONFLICT DO NOTHING
"""
_JOURNAL = """
INSERT INTO transicoes (sessao_id, de, para, evento, snapshot_reason, revisao, detalhe, em)
SELECT s.sessao_id, p.de, coalesce(p.para, s.estado), p.evento, coalesce(p.motivo, s.snapshot_reason), p.revisao,
    CASE WHEN p.evento = 'Informou' THEN jsonb_build_object('rascunho', s.rascunho, 'lido', jsonb_build_array(
        jsonb_build_object('campo', 'valor', 'valor', s.valor::text, 'trecho',
            replace(s.valor::text, '.', ','), 'origem', 'regras')))
    ELSE '{}'::jsonb END, s.created_at + p.depois
FROM session_snapshot s CROSS JOIN LATERAL (VALUES
    ('coleta', 'coleta', 'Abriu', 'manual', 0, interval '0'),
    ('coleta', 'dados_incompletos', 'Informou', 'manual', 1, interval '0'),
    ('dados_incompletos', 'aguardando_confirmacao', 'Informou', 'data_complete', 1, interval '40 seconds'),
    ('aguardando_confirmacao', CASE WHEN s.id_integracao IS NULL THEN NULL ELSE 'processando' END,
        CASE s.estado WHEN 'cancelado_usuario' THEN 'Cancelou' WHEN 'expirado' THEN 'PrazoVencido' ELSE 'Confirmou' END,
        CASE WHEN s.id_integracao IS NULL THEN NULL ELSE 'confirmed' END, 1, interval '2 minutes'),
    ('processando', NULL, CASE s.estado WHEN 'aprovado' THEN 'NotaAutorizada' WHEN 'rejeitado' THEN 'NotaRejeitada'
        ELSE 'EmissaoFalhou' END, NULL, 1, s.updated_at - s.created_at)
) AS p(de, para, evento, motivo, revisao, depois)
WHERE s.conversa LIKE 'historia:%' AND (p.de <> 'processando' OR s.id_integracao IS NOT NULL)
ORDER BY s.id
"""
_WORDS = """
INSERT INTO inbox (chave, lane, tipo, payload, estado, correlacao, recebido_em, feito_em)
SELECT 'wamid.historia' || s.id || '.' || p.vez, s.conversa, 'mensagem', jsonb_build_object('mensagem',
    jsonb_build_object('type', 'text', 'text', jsonb_build_object('body', p.texto))), 1, 'historia',
    s.created_at + p.depois, s.created_at + p.depois
FROM session_snapshot s CROSS JOIN LATERAL (VALUES
    (1, 'nota de ' || replace(s.valor::text, '.', ',') || ' pra ' || s.cnpj, interval '0'),
    (2, s.descricao, interval '40 seconds'),
    (3, 'sim', interval '2 minutes')) AS p(vez, texto, depois)
WHERE s.conversa LIKE 'historia:%' ON CONFLICT DO NOTHING
"""
_ANSWERS = """
INSERT INTO outbox (conversa, sessao_id, mensagem, resumo_de, status, run_at, criado_em, enviado_em, erro)
SELECT s.conversa, s.sessao_id, jsonb_build_object('tipo', 'texto', 'texto', p.texto, 'botoes', '[]'::jsonb),
    p.resumo_de, CASE WHEN p.vez = 3 AND s.id % 211 = 0 THEN 'falhou' ELSE 'lido' END, NULL, s.created_at + p.depois,
    s.created_at + p.depois, CASE WHEN p.vez = 3 AND s.id % 211 = 0 THEN '24 h window closed' END
FROM session_snapshot s CROSS JOIN LATERAL (VALUES
    (1, 'Qual serviço foi prestado? Escreve como deve sair na nota.', NULL::int, interval '1 second'),
    (2, '*Confere?*' || chr(10) || 'Cliente: ' || s.cnpj_razao_social || chr(10) || 'Valor: *R$ '
        || translate(to_char(s.valor, 'FM999,999,990.00'), ',.', '.,') || '*',
        1, interval '41 seconds'),
    (3, CASE s.estado WHEN 'aprovado' THEN 'NFS-e ' || s.id || ' autorizada' ELSE 'Não deu desta vez.' END, NULL::int,
        s.updated_at - s.created_at)) AS p(vez, texto, resumo_de, depois)
WHERE s.conversa LIKE 'historia:%'
"""
_CUSTOMERS = """
INSERT INTO cliente_tomador (empresa_id, cnpj, razao_social)
SELECT DISTINCT empresa_id, cnpj, cnpj_razao_social FROM session_snapshot WHERE conversa LIKE 'historia:%'
ON CONFLICT DO NOTHING
"""
_EMISSIONS = """
INSERT INTO nfse_emissao (session_id, sessao_id, revisao, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
    id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia, impressao, bytes,
    resposta_gateway, erro_mensagem, envios, consultas, proxima_acao_em, criado_em, enviado_em, processado_em)
SELECT s.id, s.sessao_id, 1, s.empresa_id, t.id, e.cnpj, s.cnpj, s.id_integracao,
    CASE s.estado WHEN 'aprovado' THEN 'concluido' WHEN 'rejeitado' THEN 'rejeitado' ELSE
        (ARRAY['erro', 'conflito'])[s.id % 2 + 1] END,
    s.valor, s.descricao, '170101', s.created_at::date, md5(s.sessao_id),
    convert_to(jsonb_build_array(jsonb_build_object('idIntegracao', s.id_integracao))::text, 'UTF8'),
    CASE s.estado WHEN 'rejeitado' THEN jsonb_build_object('resultado', 'Rejected', 'codigos',
        jsonb_build_array((ARRAY['E0014', 'E138', 'E160'])[s.id % 3 + 1])) END,
    CASE s.estado WHEN 'rejeitado' THEN 'O item da lista de serviços não confere com o cadastro.'
        WHEN 'erro' THEN (ARRAY['no result within 24 h',
            'the gateway''s note under our key differs in valor'])[s.id % 2 + 1] END,
    1, 2, NULL, s.created_at + interval '2 minutes', s.created_at + interval '2 minutes',
    s.updated_at
FROM session_snapshot s JOIN empresa e ON e.id = s.empresa_id
JOIN cliente_tomador t ON t.empresa_id = s.empresa_id AND t.cnpj = s.cnpj
WHERE s.conversa LIKE 'historia:%' AND s.id_integracao IS NOT NULL ON CONFLICT DO NOTHING
"""
_NOTES = """
INSERT INTO nfse_processada (emissao_id, id_externo, numero, status, criado_em)
SELECT e.id, 'historia-' || e.id, e.id::text, 'autorizado', e.processado_em FROM nfse_emissao e
JOIN session_snapshot s ON s.id = e.session_id
WHERE s.conversa LIKE 'historia:%' AND e.status = 'concluido' ON CONFLICT DO NOTHING
"""
_CALLS = """
INSERT INTO gateway_tentativas (emissao_id, operacao, resultado, http_status, latencia_ms, em)
SELECT e.id, p.operacao,
    CASE WHEN e.status = 'rejeitado' AND p.operacao = 'submit' THEN 'Rejected' ELSE p.resultado END, 200,
    80 + (e.id * 31 % 900)::int, e.criado_em + p.depois
FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id
CROSS JOIN (VALUES ('submit', 'Accepted', interval '1 second'), ('find', 'Found', interval '50 seconds'))
    AS p(operacao, resultado, depois)
WHERE s.conversa LIKE 'historia:%' AND NOT EXISTS (SELECT FROM gateway_tentativas t WHERE t.emissao_id = e.id)
"""
_STEPS = (
    _COMPANIES,
    _PEOPLE,
    _CONVERSATIONS,
    _SESSIONS,
    _JOURNAL,
    _WORDS,
    _ANSWERS,
    _CUSTOMERS,
    _EMISSIONS,
    _NOTES,
    _CALLS,
)
JOURNAL_ROWS = 4.79  # journal rows that one invented session has, on average
INVENTED = "historia:%"  # the conversations of this history, as a pattern of LIKE
TIMEOUT = 1800.0  # seconds for one step at a million rows, on a slow disk


class HistoryExistsError(Exception):
    """There is an invented history in this database already."""


async def invent(database: Database, sessions: int) -> int:
    """Store ``sessions`` past sessions over 60 days, in all final states; returns how many journal rows there are."""
    async with database.pool.acquire() as connection, connection.transaction():
        if await connection.fetchval("SELECT EXISTS (SELECT FROM conversas WHERE phone_number_id = 'historia')"):
            raise HistoryExistsError
        for step in _STEPS:
            values = (sessions,) if "$1" in step else ()
            await connection.execute(step, *values, timeout=TIMEOUT)
        total: int = await connection.fetchval("SELECT count(*) FROM transicoes", timeout=TIMEOUT)
    return total


async def tidy(owner_dsn: str) -> None:
    """Have the planner know the new rows at once; only the account that owns the tables may."""
    connection = await asyncpg.connect(for_asyncpg(owner_dsn))
    try:
        names = await connection.fetchval(
            "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = 'public'"
        )
        await connection.execute(f"VACUUM ANALYZE {names}", timeout=TIMEOUT)
    finally:
        await connection.close()
