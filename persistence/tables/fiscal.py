"""Tables of invoices: what was sent, what became of it, and the numbers.

Numbering: how far each sequence has come, and which intent took each number.

Emissions: the intent with its exact bytes, the note, its documents, every attempt.

Cancellations: who asked for one, why, and how far it has come with the authority.

Cities: what each agreed to with the national environment, its rate for a service; and the layout in force.

What the authority distributes: how far each company's list was read, and the notes that nobody here made.

Idempotency: what was asked under which key, who is at it, and how it ended.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, MONEY, id_, literals, metadata, now
from state_machine.cancellation.machine import CONVERSANDO, VIVOS, EstadoCancelamento, StatusNota
from state_machine.protocol.channel import CONVERSA, PRIMEIRO
from state_machine.protocol.emission import EM_CURSO, PEDEM_OLHOS, StatusEmissao

numeracao = sa.Table(
    "numeracao",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("modelo", sa.Text, nullable=False, server_default="nfse"),  # nfse | 55 (NF-e) | 65 (NFC-e)
    sa.Column("municipio", sa.Text, nullable=False),  # IBGE
    sa.Column("serie", sa.Text, nullable=False),
    sa.Column("ambiente", sa.Text, nullable=False),  # producao | homologacao
    sa.Column("primeiro", sa.BigInteger, nullable=False),  # earlier numbers are another program's
    sa.Column("ultimo", sa.BigInteger, nullable=False),
    sa.Column("bloqueado", sa.Text),  # why no number is given out, null when they are
    sa.Column("canal", sa.Text),  # that took its first number; null: before goods
    sa.UniqueConstraint("empresa_id", "modelo", "municipio", "serie", "ambiente"),
    sa.CheckConstraint("modelo IN ('nfse', '55', '65')", name="modelo"),
    sa.CheckConstraint("ambiente IN ('producao', 'homologacao')", name="ambiente"),
    sa.CheckConstraint("primeiro > 0 AND ultimo >= primeiro", name="ordem"),
)

numeracao_uso = sa.Table(
    "numeracao_uso",
    metadata,
    sa.Column("numeracao_id", sa.ForeignKey("numeracao.id"), primary_key=True),
    sa.Column("numero", sa.BigInteger, primary_key=True),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), unique=True),  # the newest attempt under this number
    sa.Column("inutilizado_em", MOMENT),  # the gap is explained: declared void, or put down to its reason
    sa.Column("motivo", sa.Text),
    now("alocado_em"),
)


_UNDER_WAY = f"status IN ({literals(EM_CURSO)})"
_NEEDS_EYES = sa.text(f"status IN ({literals(PEDEM_OLHOS)})")

nfse_emissao = sa.Table(
    "nfse_emissao",
    metadata,
    id_(),
    sa.Column("origem", sa.Text, nullable=False, server_default=CONVERSA),  # kind of who ordered it
    sa.Column("session_id", sa.ForeignKey("session_snapshot.id")),  # null: no conversation ordered it
    sa.Column("sessao_id", sa.Text, nullable=False),  # the origin's id; of a conversation the session's
    sa.Column("revisao", sa.Integer, nullable=False),
    sa.Column("tentativa", sa.Integer, nullable=False, server_default="1"),
    sa.Column("prestador_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("tomador_id", sa.ForeignKey("cliente_tomador.id"), nullable=False),
    sa.Column("prestador_cnpj", sa.Text, nullable=False),  # the key at the gateway, frozen with the intent
    sa.Column("tomador_documento", sa.Text, nullable=False),
    sa.Column("id_integracao", sa.Text, nullable=False, unique=True),
    sa.Column("substitui_id", sa.ForeignKey("nfse_emissao.id")),  # whose note this one takes the place of
    sa.Column("canal", sa.Text, nullable=False, server_default=PRIMEIRO),  # by which it goes to the authority
    sa.Column("ambiente", sa.Text),  # null: the installation's, as in rows of older releases
    sa.Column("chave_natural", sa.Text),  # text form of the authority's key; null: it is id_integracao
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("valor_servico", MONEY, nullable=False),
    sa.Column("descricao_servico", sa.Text, nullable=False),
    sa.Column("codigo_servico", sa.Text, nullable=False),
    sa.Column("competencia", sa.Date, nullable=False),
    sa.Column("impressao", sa.Text, nullable=False),  # SHA-256 fingerprint of the content
    sa.Column("intencao", JSONB(none_as_null=True)),  # what its channel makes the bytes of; null: it had them at once
    sa.Column("bytes", sa.LargeBinary),  # what is sent, resent only as it is; null: not made yet
    sa.Column("bytes_antes", sa.ARRAY(sa.LargeBinary), nullable=False, server_default="{}"),  # made before those
    # Its channel has yet to make them, or makes them anew: their own signature was refused.
    sa.Column("a_preparar", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("resposta_gateway", JSONB),  # the newest JSON received, whole; older releases: our reading of it
    sa.Column("leitura_gateway", JSONB),  # what we read in the newest answer that told something
    sa.Column("id_externo", sa.Text),
    sa.Column("protocolo", sa.Text),  # of the newest acceptance by the gateway
    sa.Column("erro_mensagem", sa.Text),
    sa.Column("consultas", sa.Integer, nullable=False, server_default="0"),  # rung of the reconciliation ladder
    sa.Column("envios", sa.Integer, nullable=False, server_default="0"),
    sa.Column("ausente_desde", MOMENT),  # newest certain "absent" that counts, since the last send
    sa.Column("ausencias", sa.Integer, nullable=False, server_default="0"),  # how many of them count
    sa.Column("em_duvida", sa.Boolean),  # a call may have been accepted; null: an older release wrote the row
    sa.Column("recusa", JSONB),  # a refusal that came meanwhile: it stands once the key is seen absent often enough
    sa.Column("recusas", sa.Integer, nullable=False, server_default="0"),  # refusals that no table of ours knows
    sa.Column("rodadas", sa.Integer, nullable=False, server_default="0"),  # sendings that followed two absences
    sa.Column("sem_conteudo_desde", MOMENT),  # first seen authorised without its text, competence and code
    sa.Column("desejado_em", MOMENT),  # when the person or staff last said that the invoice is still wanted
    sa.Column("causa_fim_em", MOMENT),  # when it was first heard although its person had not answered
    sa.Column("avisado_em", MOMENT),  # the user was told that it takes long
    sa.Column("dica_em", MOMENT),  # a webhook hinted at news since we last looked
    sa.Column("listada_em", MOMENT),  # the channel's list of documents named its note; null: not that we know
    sa.Column("webhook_payload", JSONB),  # the newest webhook about it, whole
    sa.Column("serie_rps", sa.Text),  # the RPS that we gave it, where the company numbers through us
    sa.Column("numero_rps", sa.BigInteger),
    sa.Column(
        "retida", sa.Text
    ),  # why it waits without a call: circuito, credencial, tentativa_anterior, registro, pessoa, historia
    sa.Column("proxima_acao_em", MOMENT),  # null: nothing to do
    sa.Column("lease_until", MOMENT),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("versao", sa.Integer, nullable=False, server_default="1"),
    sa.Column("correlacao", sa.Text),
    now("criado_em"),
    sa.Column("enviado_em", MOMENT),
    sa.Column("ultimo_envio_em", MOMENT),
    sa.Column("processado_em", MOMENT),  # when it came to its status; a later look that finds the same leaves it
    sa.UniqueConstraint("sessao_id", "revisao", "tentativa"),
    sa.CheckConstraint("(serie_rps IS NULL) = (numero_rps IS NULL)", name="rps"),
    sa.CheckConstraint(f"(origem = '{CONVERSA}') = (session_id IS NOT NULL)", name="origem"),
    # One attempt of a confirmed revision is under way at most. Late truth is free to say what it likes of settled ones.
    sa.Index(
        "uq_nfse_emissao_em_curso",
        "sessao_id",
        "revisao",
        unique=True,
        postgresql_where=sa.text(_UNDER_WAY),
    ),
    # One attempt under way for each key at an authority; a settled one may leave its key to the next.
    sa.Index(
        "uq_nfse_emissao_chave_em_curso",
        "canal",
        "ambiente",
        "chave_natural",
        unique=True,
        postgresql_where=sa.text(f"chave_natural IS NOT NULL AND {_UNDER_WAY}"),
    ),
    sa.Index("ix_nfse_emissao_chave", "chave_natural", postgresql_where=sa.text("chave_natural IS NOT NULL")),
    sa.Index("ix_nfse_emissao_session", "session_id"),
    sa.Index("ix_nfse_emissao_criado", "criado_em"),
    sa.Index("ix_nfse_emissao_olhos", "id", postgresql_where=_NEEDS_EYES),
    sa.Index("ix_nfse_emissao_due", "proxima_acao_em", postgresql_where=sa.text("proxima_acao_em IS NOT NULL")),
    # One company's queue, of conversations and of all other origins.
    *(
        sa.Index(
            f"ix_nfse_emissao_fila_{name}",
            "prestador_id",
            "proxima_acao_em",
            postgresql_where=sa.text(f"proxima_acao_em IS NOT NULL AND origem {sign} '{CONVERSA}'"),
        )
        for name, sign in (("conversa", "="), ("outras", "<>"))
    ),
    # Whose person has not been told yet that it takes long.
    sa.Index(
        "ix_nfse_emissao_avisar",
        "criado_em",
        postgresql_where=sa.text(f"avisado_em IS NULL AND {_UNDER_WAY}"),
    ),
    sa.Index("ix_nfse_emissao_prestador", "prestador_id", sa.text("id DESC")),
    sa.Index("ix_nfse_emissao_igual", "prestador_id", "tomador_documento", "valor_servico", sa.text("id DESC")),
    sa.Index("ix_nfse_emissao_espera_pessoa", "id", postgresql_where=sa.text("retida = 'pessoa'")),
    # Two notes of one confirmation: looked for among the few that are a second attempt.
    sa.Index(
        "ix_nfse_emissao_concluida_de_novo",
        "sessao_id",
        "revisao",
        postgresql_where=sa.text(f"status = '{StatusEmissao.CONCLUIDO}' AND tentativa > 1"),
    ),
    sa.Index("ix_nfse_emissao_substitui", "substitui_id", postgresql_where=sa.text("substitui_id IS NOT NULL")),
    sa.Index("ix_nfse_emissao_externo", "id_externo", postgresql_where=sa.text("id_externo IS NOT NULL")),
)

nfse_processada = sa.Table(
    "nfse_processada",
    metadata,
    id_(),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), nullable=False, unique=True),
    sa.Column("id_externo", sa.Text, nullable=False, unique=True),
    sa.Column("numero", sa.Text, nullable=False),
    sa.Column("chave", sa.Text),
    sa.Column("protocolo", sa.Text),
    sa.Column("status", sa.Text, nullable=False),  # autorizado | cancelamento_pendente | cancelado
    sa.Column("cancelado_em", MOMENT),
    sa.Column("protocolo_cancelamento", sa.Text),
    # A number, in text; what is written is an integer.
    sa.Column("c_stat", sa.Text),
    sa.Column("url_xml", sa.Text),
    sa.Column("url_pdf", sa.Text),
    sa.Column("data_emissao", sa.Text),
    sa.Column("conteudo_visto_em", MOMENT),  # text, competence and code were compared; null: audits do it
    sa.Column("webhook_payload", JSONB),
    now("criado_em"),
    sa.Index("ix_nfse_processada_numero", "numero"),
    sa.Index(
        "ix_nfse_processada_cancelada", "emissao_id", postgresql_where=sa.text(f"status = '{StatusNota.CANCELADO}'")
    ),
    sa.Index("ix_nfse_processada_chave", "chave", postgresql_where=sa.text("chave IS NOT NULL")),
)

# What a company issued in a month that stands; a trigger on the notes keeps it (migration 0072).
soma_mensal = sa.Table(
    "soma_mensal",
    metadata,
    sa.Column("prestador_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("canal", sa.Text, nullable=False),
    sa.Column("ambiente", sa.Text),  # as of its emissions
    sa.Column("mes", sa.Text, nullable=False),  # of the day on the note, "2026-11"
    sa.Column("quantas", sa.BigInteger, nullable=False),
    sa.Column("soma", sa.Numeric(16, 2), nullable=False),
    sa.Index("uq_soma_mensal", "prestador_id", "canal", sa.text("coalesce(ambiente, '')"), "mes", unique=True),
)

nfse_documento = sa.Table(
    "nfse_documento",
    metadata,
    id_(),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), nullable=False),
    sa.Column("formato", sa.Text, nullable=False),  # pdf | xml
    sa.Column("mime", sa.Text, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("conteudo", sa.LargeBinary, nullable=False),
    now("criado_em"),
    sa.UniqueConstraint("emissao_id", "formato"),
)

gateway_tentativas = sa.Table(
    "gateway_tentativas",
    metadata,
    id_(),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), nullable=False, index=True),
    sa.Column("operacao", sa.Text, nullable=False),  # submit | find | cancel
    sa.Column("resultado", sa.Text, nullable=False),  # name of the outcome
    sa.Column("detalhe", sa.Text),
    sa.Column("latencia_ms", sa.Integer, nullable=False),
    sa.Column("http_status", sa.Integer),  # null: no whole answer came
    sa.Column("pedido", sa.Text),  # both bodies masked and cut: for support, not for sending again
    sa.Column("resposta", sa.Text),
    now("em"),
    sa.Index("ix_gateway_tentativas_em", "em"),
)


_TALKING = f"estado IN ({literals(CONVERSANDO)})"
_IN_CHAT = f"{_TALKING} AND pedido_por = 'conversa'"  # a command asks nothing
_LIVE = f"estado IN ({literals(VIVOS)})"
_PENDING = EstadoCancelamento.PENDENTE

cancelamento = sa.Table(
    "cancelamento",
    metadata,
    id_(),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), nullable=False, index=True),
    sa.Column("conversa", sa.ForeignKey("conversas.conversa")),  # who asked, and who is told; null: the note's origin
    sa.Column("pedido_por", sa.Text, nullable=False),  # conversa | comando
    sa.Column("estado", sa.Text, nullable=False),
    sa.Column("codigo", sa.Text),  # cMotivo: 1 | 2 | 9
    sa.Column("motivo", sa.Text),
    sa.Column("versao", sa.Integer, nullable=False),  # what a button is bound to
    sa.Column("expira_em", MOMENT),  # deadline while it waits for the user
    sa.Column("envio", sa.Text),  # null until confirmed
    sa.Column("confirmado_em", MOMENT),
    sa.Column("protocolo", sa.Text),
    sa.Column("recusa", sa.Text),
    sa.Column("recusas", sa.Integer, nullable=False, server_default="0"),  # refusals that no table of ours knows
    sa.Column("resposta_gateway", JSONB),  # the newest JSON received, whole; older releases: our reading of it
    sa.Column("erro_mensagem", sa.Text),
    sa.Column("consultas", sa.Integer, nullable=False, server_default="0"),
    sa.Column("envios", sa.Integer, nullable=False, server_default="0"),
    sa.Column("vigente_desde", MOMENT),  # first certain "the note stands" since the last sending
    sa.Column("avisado_em", MOMENT),  # the user was told that it takes long
    sa.Column("dica_em", MOMENT),  # a webhook hinted at news since we last looked
    sa.Column("proxima_acao_em", MOMENT),  # null: nothing to do
    sa.Column("lease_until", MOMENT),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("correlacao", sa.Text),
    now("criado_em"),
    sa.Column("encerrado_em", MOMENT),
    sa.CheckConstraint(f"estado <> '{_PENDING}' OR (motivo IS NOT NULL AND codigo IS NOT NULL)", name="motivo"),
    sa.CheckConstraint(f"proxima_acao_em IS NULL OR estado = '{_PENDING}'", name="acao"),
    sa.Index("uq_cancelamento_vivo", "emissao_id", unique=True, postgresql_where=sa.text(_LIVE)),
    sa.Index("uq_cancelamento_conversando", "conversa", unique=True, postgresql_where=sa.text(_IN_CHAT)),
    sa.Index("ix_cancelamento_conversa", "conversa", sa.text("id DESC")),
    sa.Index("ix_cancelamento_deadline", "expira_em", postgresql_where=sa.text(_TALKING)),
    sa.Index("ix_cancelamento_due", "proxima_acao_em", postgresql_where=sa.text("proxima_acao_em IS NOT NULL")),
)


cidade_parametro = sa.Table(
    "cidade_parametro",
    metadata,
    sa.Column("canal", sa.Text, primary_key=True),
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("municipio_ibge", sa.Text, primary_key=True),
    sa.Column("codigo", sa.Text, primary_key=True),  # cTribNac: six digits
    sa.Column("aderente", sa.Boolean),  # to the national environment
    sa.Column("emissor", sa.Boolean),  # its companies may issue there
    sa.Column("convenio_em", MOMENT),  # when both were told last; null: never
    sa.Column("aliquota", sa.Numeric),  # percent; null: the city has none for this code
    sa.Column("aliquota_em", MOMENT),  # when that was told last; null: never
    sa.Column("tentado_em", MOMENT, nullable=False),
)

nacional_leiaute = sa.Table(
    "nacional_leiaute",  # no row: the calendar holds, and nothing is stopped
    metadata,
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("escolha", sa.Text),  # 1.01 | nt009: instead of the calendar's
    sa.Column("parado_em", MOMENT),  # when the authority refused the layout in force; null: documents are sent
    sa.Column("detalhe", sa.Text),  # of that refusal, in the authority's words
    sa.Column("quem", sa.Text),  # who chose
    now("alterado_em"),
    sa.CheckConstraint("escolha IN ('1.01', 'nt009')", name="escolha"),
)


distribuicao = sa.Table(
    "distribuicao",
    metadata,
    sa.Column("canal", sa.Text, primary_key=True),
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("cnpj", sa.Text, primary_key=True),
    sa.Column("nsu", sa.BigInteger, nullable=False, server_default="0"),  # what follows it is asked for next
    sa.Column("reler_de", sa.BigInteger, nullable=False, server_default="0"),  # what follows it was read once
    now("relido_em"),  # when reading went back to ``reler_de`` last
    now("proxima_em"),
    sa.Column("calado_ate", MOMENT),  # until then the authority wants no question, of nobody; null: no such word
)

nota_de_fora = sa.Table(
    "nota_de_fora",
    metadata,
    sa.Column("canal", sa.Text, primary_key=True),
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("chave", sa.Text, primary_key=True),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("id_dps", sa.Text, nullable=False),  # empty where it has none
    sa.Column("numero", sa.Text),
    sa.Column("valor", MONEY),
    sa.Column("emitida_em", MOMENT, nullable=False),
    sa.Column("situacao", sa.Text, nullable=False),  # autorizada | cancelada | substituida
    sa.Column("serie", sa.Text),  # ours, of which it took ``numero_dps``; null: another one
    sa.Column("numero_dps", sa.BigInteger),
    now("visto_em"),
    sa.Index("ix_nota_de_fora_empresa", "empresa_id", "emitida_em"),
)


idempotency_records = sa.Table(
    "idempotency_records",
    metadata,
    id_(),
    sa.Column("idempotency_key", sa.String(255), nullable=False, unique=True),
    sa.Column("process_instance_id", sa.String(64), nullable=False, index=True),  # sessao_id, request id, API client
    sa.Column("activity_id", sa.String(255), nullable=False),  # the step in it: "emitir", "POST /api/v1/clientes"
    sa.Column("operation_name", sa.String(100), nullable=False),
    sa.Column("input_hash", sa.String(64), nullable=False),  # SHA-256, hex
    sa.Column("status", sa.String(7), nullable=False),
    sa.Column("result_data", JSONB),  # what to answer again: ids and states, never a secret
    sa.Column("error_message", sa.Text),
    sa.Column("retry_count", sa.Integer, nullable=False, server_default="0"),  # new attempts after a certain failure
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="1"),  # fence against late verdicts
    sa.Column("lease_until", MOMENT),  # of a PENDING record; past: nobody knows how it ended
    now("created_at"),
    now("updated_at"),
    sa.Column("expires_at", MOMENT, nullable=False),
    sa.CheckConstraint("status IN ('PENDING', 'SUCCESS', 'FAILED')", name="status"),
    sa.CheckConstraint("(status = 'PENDING') = (lease_until IS NOT NULL)", name="lease"),
    sa.CheckConstraint("idempotency_key <> ''", name="key"),
    sa.Index("ix_idempotency_records_created_at", "created_at"),
    sa.Index("ix_idempotency_records_abertas", "created_at", postgresql_where=sa.text("status = 'PENDING'")),
    sa.Index("ix_idempotency_records_expires_at", "expires_at"),
)
