"""People: companies, who may issue for them, conversations, customers.

Arrival: what came in, and in which lane it waits.

Sessions: the snapshot of each, and the journal of its transitions.

Departure: messages on their way to people.
"""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, MONEY, id_, literals, metadata, name_search, now
from state_machine.invoice.session import ESPERAM_USUARIO, FINAIS, Estado

empresa = sa.Table(
    "empresa",
    metadata,
    id_(),
    sa.Column("cnpj", sa.Text, nullable=False, unique=True),
    sa.Column("razao_social", sa.Text, nullable=False),
    sa.Column("inscricao_municipal", sa.Text, nullable=False),
    sa.Column("municipio_ibge", sa.Text, nullable=False),
    sa.Column("regime", sa.Text, nullable=False),  # mei | simples | simples-pendente | normal
    sa.Column("codigo_servico", sa.Text, nullable=False),
    sa.Column("cnae", sa.Text),
    sa.Column("aliquota", sa.Numeric(5, 2)),  # percent
    sa.Column("serie_rps", sa.Text),  # Prosa numbers this company's RPS in this series; null: the gateway does
    sa.Column("primeiro_rps", sa.BigInteger, nullable=False, server_default="1"),  # after the former program's last
    sa.Column("envio_suspenso", sa.Text),  # why sending is stopped (401, 403), null when it is not
    sa.Column("suspenso_em", MOMENT),
    sa.Column("sonda_em", MOMENT),  # when one emission may try whether we are still refused
    sa.Column("certificado_vence", sa.Date),  # of the certificate at the gateway, as the operator read it there
    sa.Column("mei_transporte", sa.Boolean, nullable=False, server_default="false"),  # its yearly limit is another
    sa.Column("versao", sa.Integer, nullable=False, server_default="1"),
    now("criado_em"),
    now("atualizado_em"),
    sa.Column("tributos_sn", sa.Numeric(5, 2)),  # percent; the approximate burden of a company of the Simples
    sa.Column("tributos_federal", sa.Numeric(5, 2)),  # percent; of one of the normal regime, by who levies it
    sa.Column("tributos_estadual", sa.Numeric(5, 2)),
    sa.Column("tributos_municipal", sa.Numeric(5, 2)),
    sa.Column("informa_im", sa.Boolean, nullable=False, server_default="false"),  # the city has it in the register
    sa.CheckConstraint("primeiro_rps > 0", name="primeiro_rps"),
    sa.Column("suspenso_canal", sa.Text),  # "name/environment" that is stopped; null: all of them
    sa.Column("apuracao_ibscbs", sa.Text),  # regApIBSCBSSN, of a company of the Simples: 1 | 2 | 3
    sa.CheckConstraint("apuracao_ibscbs IN ('1', '2', '3')", name="apuracao_ibscbs"),
    sa.Column("restauro_desde", MOMENT),  # a restored copy may lack numbers of it, and nobody could be asked since
    sa.Column("nbs", sa.Text),  # cNBS, cIndOp and cClassTrib of its code, where that is of a city's own list
    sa.Column("ind_op", sa.Text),
    sa.Column("class_trib", sa.Text),
    sa.Column("email_contador", sa.Text),  # where its month goes by mail, in lower case
    name_search("empresa", "razao_social"),
)

empresa_canal = sa.Table(
    "empresa_canal",  # a company without a row was registered by a release that knew one channel only
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), primary_key=True),
    sa.Column("tipo", sa.Text, primary_key=True),  # servico | produto (NF-e) | consumidor (NFC-e)
    sa.Column("canal", sa.Text, nullable=False),
    sa.Column("ambiente", sa.Text),  # producao | homologacao; null: the installation's
    now("atualizado_em"),
)

empresa_servico = sa.Table(
    "empresa_servico",  # beside the main code, ``empresa.codigo_servico``, which may have a row for its description
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("codigo", sa.Text, primary_key=True),  # cTribNac: six digits
    sa.Column("descricao", sa.Text),  # what the company calls it
    sa.Column("nbs", sa.Text),  # cNBS: nine digits
    sa.Column("ind_op", sa.Text),  # cIndOp, CST and cClassTrib of IBS and CBS: all three or none
    sa.Column("cst", sa.Text),
    sa.Column("class_trib", sa.Text),
    now("criado_em"),
    sa.Column("atividade_sn", sa.Text),  # cAtvSN: two digits
    sa.CheckConstraint("atividade_sn ~ '^[0-9]{2}$'", name="atividade_sn"),
    sa.CheckConstraint("codigo ~ '^[0-9]{6}$'", name="codigo"),
    sa.CheckConstraint("nbs ~ '^1[0-9]{8}$'", name="nbs"),
    sa.CheckConstraint(
        "num_nonnulls(ind_op, cst, class_trib) IN (0, 3) AND (ind_op IS NULL OR "
        "ind_op ~ '^[0-9]{6}$' AND cst ~ '^[0-9]{3}$' AND class_trib ~ '^[0-9]{6}$')",
        name="ibs_cbs",
    ),
)

empresa_comercio = sa.Table(
    "empresa_comercio",  # what a company that sells goods says beside, in its NF-e and NFC-e
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("inscricao_estadual", sa.Text, nullable=False),
    sa.Column("endereco", JSONB(none_as_null=True)),  # of the CNPJ register; null: it did not tell it yet
    sa.Column("serie_nfe", sa.Integer, nullable=False, server_default="1"),
    sa.Column("primeiro_nfe", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("serie_nfce", sa.Integer, nullable=False, server_default="1"),
    sa.Column("primeiro_nfce", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("parado_ate", MOMENT),  # the authority answered 656: until then nothing of it is called
    now("atualizado_em"),
    sa.CheckConstraint("serie_nfe BETWEEN 1 AND 889 AND serie_nfce BETWEEN 1 AND 889", name="serie"),
    sa.CheckConstraint("primeiro_nfe > 0 AND primeiro_nfce > 0", name="primeiro"),
)

produtos = sa.Table(
    "produtos",  # what a company sells; an invoice keeps its own copy
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("codigo", sa.Text, primary_key=True),  # the company's own
    sa.Column("texto", sa.Text, nullable=False),
    sa.Column("ncm", sa.Text, nullable=False),
    sa.Column("cfop", sa.Text, nullable=False),
    sa.Column("csosn", sa.Text, nullable=False),
    sa.Column("unidade", sa.Text, nullable=False),
    sa.Column("preco", MONEY, nullable=False),  # of one unit
    now("criado_em"),
    now("atualizado_em"),
    sa.CheckConstraint("preco > 0", name="preco"),
)

empresa_certificado = sa.Table(
    "empresa_certificado",  # the row without ``destruido_em`` is the company's certificate of now
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),  # made before the row is, whose seals name it
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("chave_dados", sa.Text),  # the data key, sealed under the master key
    sa.Column("chave", sa.Text),  # the private key, sealed under the data key
    sa.Column("cadeia", sa.Text),  # certificate and issuers, sealed under the data key
    sa.Column("impressao", sa.Text, nullable=False),  # SHA-256 of the certificate's DER in hex
    sa.Column("titular", sa.Text, nullable=False),  # common name of the subject
    sa.Column("valido_de", MOMENT, nullable=False),
    sa.Column("valido_ate", MOMENT, nullable=False),
    now("criado_em"),
    sa.Column("substituido_em", MOMENT),  # null where it was destroyed and none took its place
    sa.Column("destruido_em", MOMENT),
    sa.CheckConstraint(
        "num_nonnulls(chave_dados, chave, cadeia) = CASE WHEN destruido_em IS NULL THEN 3 ELSE 0 END",
        name="destruido",
    ),
    sa.Index(
        "uq_empresa_certificado_atual", "empresa_id", unique=True, postgresql_where=sa.text("destruido_em IS NULL")
    ),
)

empresa_certificado_anterior = sa.Table(
    "empresa_certificado_anterior",  # beside the current one, for releases that read that as the row with its seals
    metadata,
    sa.Column("id", sa.ForeignKey("empresa_certificado.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False, unique=True),
    sa.Column("chave_dados", sa.Text, nullable=False),  # the three as they were in ``empresa_certificado``
    sa.Column("chave", sa.Text, nullable=False),
    sa.Column("cadeia", sa.Text, nullable=False),
    now("substituido_em"),  # by the newest that took its place
)

certificado_link = sa.Table(
    "certificado_link",  # by which somebody sends their company's certificate, once
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),  # made before the row is: the message that carries the link names it
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("usuario_id", sa.ForeignKey("usuario.id", ondelete="CASCADE"), nullable=False, index=True),  # who asked
    sa.Column("conversa", sa.Text, nullable=False),  # where they asked: it is told there what became of it
    sa.Column("resumo", sa.Text, nullable=False, unique=True),  # SHA-256 of the token in hex; the token is kept nowhere
    now("criado_em"),
    sa.Column("expira_em", MOMENT, nullable=False),
    sa.Column("tentativas", sa.Integer, nullable=False, server_default="0"),  # files that were begun to be read
    sa.Column("usado_em", MOMENT),
    sa.Column("encerrado_em", MOMENT),  # when a newer one of the company took its place
    sa.Index(
        "uq_certificado_link_aberto",
        "empresa_id",
        unique=True,
        postgresql_where=sa.text("usado_em IS NULL AND encerrado_em IS NULL"),
    ),
)

usuario = sa.Table(
    "usuario",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False, index=True),
    sa.Column("telefone", sa.Text, nullable=False, unique=True),  # canonical: digits with country code, ninth digit in
    now("criado_em"),
)

conversas = sa.Table(
    "conversas",
    metadata,
    sa.Column("conversa", sa.Text, primary_key=True),  # "{phone_number_id}:{BSUID or wa_id}"
    sa.Column("phone_number_id", sa.Text, nullable=False),
    sa.Column("endereco", sa.Text, nullable=False),  # the exact address to answer to, never rewritten
    sa.Column("wa_id", sa.Text),
    sa.Column("nome_perfil", sa.Text),
    sa.Column("usuario_id", sa.ForeignKey("usuario.id"), index=True),  # null: a number we don't know
    sa.Column("ultima_entrada_em", MOMENT, nullable=False),  # opens Meta's 24 h window
    sa.Column("mensagens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("orientada_em", MOMENT),  # when an unknown number last got its kind answer
    sa.Column("codigo", sa.Uuid, nullable=False, unique=True, server_default=sa.text("gen_random_uuid()")),  # for URLs
    sa.Column("atendente_id", sa.ForeignKey("staff.id"), index=True),  # who took it over: the bot is silent
    sa.Column("assumida_em", MOMENT),
    now("criado_em"),
    sa.Column("pessoa_pedida_em", MOMENT),  # when its person asked for one of the staff, null when nobody is awaited
    sa.Column("pessoa_motivo", sa.Text),  # palavras | reclamacao | trocou_numero | pergunta:{field}
    sa.Index("ix_conversas_pessoa_pedida", "conversa", postgresql_where=sa.text("pessoa_pedida_em IS NOT NULL")),
    sa.Index("ix_conversas_wa_fim", sa.text('"right"(wa_id, 8)')),  # with or without country, area, ninth digit
    # Not on ultima_entrada_em, which every message changes: that would cost an entry in every index.
    name_search("conversas", "nome_perfil"),
    sa.Index("ix_conversas_desconhecidas", "criado_em", postgresql_where=sa.text("usuario_id IS NULL")),
    postgresql_with={"fillfactor": "70"},
)

cliente_tomador = sa.Table(
    "cliente_tomador",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("cnpj", sa.Text, nullable=False),  # CNPJ or CPF, bare
    sa.Column("razao_social", sa.Text),
    sa.Column("email", sa.Text),
    sa.Column("cep", sa.Text),
    sa.Column("logradouro", sa.Text),
    sa.Column("numero", sa.Text),
    sa.Column("complemento", sa.Text),
    sa.Column("bairro", sa.Text),
    sa.Column("cidade", sa.Text),
    sa.Column("estado", sa.Text),
    sa.Column("codigo_cidade", sa.Text),  # IBGE
    sa.Column("dados_receita_raw", JSONB),
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("empresa_id", "cnpj"),
    sa.Index("ix_cliente_tomador_empresa", "empresa_id", sa.text("id DESC")),
    name_search("cliente_tomador", "razao_social"),
    sa.Index(
        "ix_cliente_tomador_fantasia",
        sa.text("sem_acento(dados_receita_raw ->> 'nome_fantasia') gin_trgm_ops"),
        postgresql_using="gin",
    ),
)

cliente_apelido = sa.Table(
    "cliente_apelido",  # how a company's people call a client, as they made clear in a confirmed invoice
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("documento", sa.Text, nullable=False),  # CNPJ or CPF, bare
    sa.Column("apelido", sa.Text, nullable=False),  # normalised for comparing; no digits
    sa.Column("conversa", sa.Text),  # whose person said it last: it goes with them
    now("usado_em"),
    sa.UniqueConstraint("empresa_id", "documento", "apelido"),
)

cnpj_cache = sa.Table(
    "cnpj_cache",
    metadata,
    sa.Column("cnpj", sa.Text, primary_key=True),
    sa.Column("dados", JSONB),  # null: the register does not know it
    sa.Column("valido_ate", MOMENT, nullable=False),
)


# A person's own words: what waits and what is read, each in an index of its own; who names both finds both.
MENSAGENS_ABERTAS = "tipo = 'mensagem' AND estado = 0"
MENSAGENS_LIDAS = "tipo = 'mensagem' AND estado <> 0"
MENSAGENS = "tipo = 'mensagem' AND (estado = 0 OR estado <> 0)"

inbox = sa.Table(
    "inbox",
    metadata,
    id_(),  # also the order within a lane
    sa.Column("chave", sa.Text, nullable=False, unique=True),  # wamid, webhook digest, outcome key: the dedupe
    sa.Column("lane", sa.Text, nullable=False),
    sa.Column("tipo", sa.Text, nullable=False),
    sa.Column("payload", JSONB, nullable=False),
    sa.Column("estado", sa.SmallInteger, nullable=False, server_default="0"),  # 0 open, 1 done, 2 quarantined
    sa.Column("tentativas", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("correlacao", sa.Text, nullable=False),
    sa.Column("interpretacao", JSONB),  # the model's reading, so that a retried turn replays it
    sa.Column("erro", sa.Text),
    now("recebido_em"),
    sa.Column("feito_em", MOMENT),
    sa.Index("ix_inbox_lane_open", "lane", "id", postgresql_where=sa.text("estado = 0")),
    # A person's own words, once they are read: until then the index above has them, and an arrival enters one less.
    sa.Index("ix_inbox_mensagens", "lane", "id", postgresql_where=sa.text(MENSAGENS_LIDAS)),
    sa.Index("ix_inbox_quarantined", "id", postgresql_where=sa.text("estado = 2")),
)

varredura = sa.Table(
    "varredura",  # how far each sweep through a growing table has come (persistence/people/retention.py)
    metadata,
    sa.Column("nome", sa.Text, primary_key=True),
    sa.Column("desde", sa.BigInteger, nullable=False, server_default="0"),  # the last id that it has looked at
)

lanes = sa.Table(
    "lanes",
    metadata,
    sa.Column("lane", sa.Text, primary_key=True),
    sa.Column("ready_at", MOMENT),  # null: nothing waits; kept while leased, so that a dead owner's lane is found again
    sa.Column("pending_since", MOMENT),  # oldest arrival since the last claim: bounds the debounce
    sa.Column("backoff_until", MOMENT),
    sa.Column("lease_until", MOMENT),
    sa.Column("owner", sa.Text),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),  # fence against late commits
    sa.Index("ix_lanes_ready", "ready_at", postgresql_where=sa.text("ready_at IS NOT NULL")),
    postgresql_with={"fillfactor": "50"},
)


NOME_NA_SESSAO = "coalesce(cnpj_razao_social, rascunho #>> '{nome,valor}')"  # who its client is called, in SQL
SEM_NOTA = f"estado IN ({literals(FINAIS - {Estado.APROVADO})})"  # it ended without one
_WAITS_FOR_USER = sa.text(f"estado IN ({literals(ESPERAM_USUARIO)})")

session_snapshot = sa.Table(
    "session_snapshot",
    metadata,
    id_(),
    sa.Column("sessao_id", sa.Text, nullable=False, unique=True),  # ddmmaa-hhhhhhhh
    sa.Column("conversa", sa.ForeignKey("conversas.conversa"), nullable=False),
    sa.Column("telefone", sa.Text),  # E.164, "+" first; null where no number is known; older releases: digits alone
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("origem", sa.Text),  # sessao_id of the rejected session that this one repairs
    sa.Column("estado", sa.Text, nullable=False),
    sa.Column("snapshot_reason", sa.Text, nullable=False),
    sa.Column("cnpj_status", sa.Text, nullable=False),
    sa.Column("cnpj_extracted", sa.Text),  # as the user wrote it
    sa.Column("cnpj", sa.Text),  # the tomador's CNPJ or CPF, bare
    sa.Column("cnpj_razao_social", sa.Text),
    sa.Column("valor_status", sa.Text, nullable=False),
    sa.Column("valor_extracted", sa.Text),
    sa.Column("valor", MONEY),
    sa.Column("descricao_status", sa.Text, nullable=False),
    sa.Column("descricao_extracted", sa.Text),
    sa.Column("descricao", sa.Text),
    sa.Column("data_complete", sa.Boolean, nullable=False),
    sa.Column("missing_fields", JSONB, nullable=False),
    sa.Column("rascunho", JSONB, nullable=False),  # every field with its evidence; rebuilds the live session
    sa.Column("pendente", sa.Text),  # the field our last message asked for
    sa.Column("revisao", sa.Integer, nullable=False),  # what a confirm button is bound to
    sa.Column("id_integracao", sa.Text),
    sa.Column("versao", sa.Integer, nullable=False),  # optimistic lock
    sa.Column("mostrado_em", MOMENT),  # when the summary of this revision was shown
    sa.Column("resumos", sa.Integer, nullable=False),  # how many different summaries were shown
    sa.Column("igual", JSONB(none_as_null=True)),  # the invoice of the same content that the shown summary tells of
    sa.Column("expira_em", MOMENT),  # deadline while it waits for the user
    sa.Column("expired_at", MOMENT),
    sa.Column("empresa_versao", sa.Integer),  # of the company, that ``revisao`` would be issued with
    sa.Column("canal", sa.Text),  # channel/environment where ``revisao`` would be issued
    now("created_at"),
    now("updated_at"),
    sa.Index("uq_session_snapshot_active", "conversa", unique=True, postgresql_where=_WAITS_FOR_USER),
    sa.Index("ix_session_snapshot_conversa", "conversa", sa.text("id DESC")),
    sa.Index("ix_session_snapshot_empresa", "empresa_id", sa.text("id DESC")),
    sa.Index("ix_session_snapshot_estado", "estado", sa.text("id DESC")),
    sa.Index("ix_session_snapshot_cnpj", "cnpj", sa.text("id DESC"), postgresql_where=sa.text("cnpj IS NOT NULL")),
    sa.Index("ix_session_snapshot_origem", "origem", postgresql_where=sa.text("origem IS NOT NULL")),
    # Refused for a reason that its user cannot mend.
    sa.Index(
        "ix_session_snapshot_recusa_nossa",
        "updated_at",
        postgresql_where=sa.text(f"estado = '{Estado.REJEITADO}' AND pendente IS NULL"),
    ),
    sa.Index("ix_session_snapshot_valor", "valor", sa.text("id DESC"), postgresql_where=sa.text("valor IS NOT NULL")),
    # The client's name of what ended without a note stands nowhere else; entered once, as it ends.
    name_search("session_snapshot", NOME_NA_SESSAO, postgresql_where=sa.text(SEM_NOTA)),
    sa.Index("ix_session_snapshot_deadline", "expira_em", postgresql_where=_WAITS_FOR_USER),
)

transicoes = sa.Table(
    "transicoes",
    metadata,
    id_(),
    sa.Column("sessao_id", sa.Text, nullable=False),
    sa.Column("de", sa.Text, nullable=False),
    sa.Column("para", sa.Text, nullable=False),
    sa.Column("evento", sa.Text, nullable=False),
    sa.Column("snapshot_reason", sa.Text, nullable=False),
    sa.Column("revisao", sa.Integer, nullable=False),
    sa.Column("detalhe", JSONB),  # what was read, from where, and the draft where it changed
    sa.Column("correlacao", sa.Text),
    now("em"),
    sa.Index("ix_transicoes_sessao", "sessao_id", "id"),
)


class StatusSaida(StrEnum):
    """How far a message has come, in the order in which it may: a tick that comes late or out of order changes nothing.

    A failure may follow "sent", not "delivered".
    """

    PENDENTE = "pendente"
    ENVIANDO = "enviando"  # claimed; found so after a crash it may have left
    INCERTO = "incerto"  # the answer was lost, or an earlier copy may have left
    ENVIADO = "enviado"
    FALHOU = "falhou"
    ENTREGUE = "entregue"
    LIDO = "lido"


TALVEZ_SAIU = frozenset({StatusSaida.ENVIANDO, StatusSaida.INCERTO})  # a tick may tell its wamid

outbox = sa.Table(
    "outbox",
    metadata,
    id_(),  # goes out as biz_opaque_callback_data
    sa.Column("conversa", sa.ForeignKey("conversas.conversa"), nullable=False),
    sa.Column("sessao_id", sa.Text),
    sa.Column("chave", sa.Text, unique=True),  # null for ordinary answers; set where a message must exist once
    sa.Column("mensagem", JSONB, nullable=False),
    sa.Column("resumo_de", sa.Integer),  # the revision whose summary or readings this message shows
    sa.Column("bloqueia", sa.Boolean, nullable=False, server_default="true"),  # false: later ones may overtake it
    sa.Column("resposta_a", sa.Text),  # wamid that we answer: read mark and typing
    sa.Column("status", sa.Text, nullable=False, server_default=StatusSaida.PENDENTE.value),
    sa.Column("wamid", sa.Text, unique=True),
    sa.Column("tentativas", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("run_at", MOMENT, server_default=sa.func.now()),  # null: nothing to do
    sa.Column("lease_until", MOMENT),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("erro_codigo", sa.Integer),
    sa.Column("erro", sa.Text),
    sa.Column("correlacao", sa.Text),
    now("criado_em"),
    sa.Column("enviado_em", MOMENT),
    sa.Index("ix_outbox_resumo", "sessao_id", "resumo_de", postgresql_where=sa.text("resumo_de IS NOT NULL")),
    sa.Index(
        "ix_outbox_aside", "conversa", "criado_em", postgresql_where=sa.text("sessao_id IS NULL AND chave IS NULL")
    ),
    # Not on status: a column of any index, changed, costs an entry in every index. Whatever failed has an error.
    sa.Index("ix_outbox_failed", "criado_em", postgresql_where=sa.text("erro IS NOT NULL")),
    sa.Index("ix_outbox_conversa", "conversa", "id"),
    sa.Index("ix_outbox_due", "run_at", postgresql_where=sa.text("run_at IS NOT NULL")),
    sa.Index("ix_outbox_conversa_open", "conversa", "id", postgresql_where=sa.text("run_at IS NOT NULL")),
    postgresql_with={"fillfactor": "60"},  # room for what becomes of a message: it is changed five times
)
