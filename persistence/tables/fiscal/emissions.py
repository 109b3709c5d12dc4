"""Emissions: the intent with its exact bytes, the note, its documents, every attempt."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, MONEY, id_, metadata, now
from persistence.versions import literals
from state_machine.protocol.channel import PRIMEIRO
from state_machine.protocol.emission import EM_CURSO, PEDEM_OLHOS, StatusEmissao
from state_machine.protocol.origin import CONVERSA

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
    sa.Column("a_preparar", sa.Boolean, nullable=False, server_default="false"),  # its channel has yet to make them
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
    # A number, in text: the release before gives it as text. This one gives an integer, so that the next may change it.
    sa.Column("c_stat", sa.Text),
    sa.Column("url_xml", sa.Text),
    sa.Column("url_pdf", sa.Text),
    sa.Column("data_emissao", sa.Text),
    sa.Column("conteudo_visto_em", MOMENT),  # text, competence and code were compared; null: audits do it
    sa.Column("webhook_payload", JSONB),
    now("criado_em"),
    sa.Index("ix_nfse_processada_numero", "numero"),
    sa.Index("ix_nfse_processada_chave", "chave", postgresql_where=sa.text("chave IS NOT NULL")),
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

nfse_preparo = sa.Table(
    "nfse_preparo",  # what older releases kept beside both of those columns
    metadata,
    id_(),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), nullable=False),
    sa.Column("versao", sa.Integer, nullable=False),  # 1: as the turn stored them; the last one was sent
    sa.Column("payload", sa.LargeBinary, nullable=False),
    now("em"),
    sa.UniqueConstraint("emissao_id", "versao"),
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
)
