"""Staff: who may enter the console, their sessions, attempts and saved views, their notes, and the audit of it all.

Operation: which replica runs which slot, what each process says of itself, and sums for the console.

The database's own history: on which server it was written, how far, and what the authority knows beyond it.

What other systems keep here through the API: keys, clients, proposals, and what they had done once.

Batches: lists that were sent to us, their rows, which of them a worker should look at, and who wants no mail.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, MONEY, id_, literals, metadata, now
from state_machine.mailing.delivery import EstadoLinha, EstadoLote, StatusLote, TipoLote
from state_machine.proposal import EstadoProposta

staff = sa.Table(
    "staff",
    metadata,
    id_(),
    sa.Column("nome", sa.Text, nullable=False, unique=True),  # the login, lower case
    sa.Column("exibicao", sa.Text),  # the name that customers read; null: made of the login
    sa.Column("papel", sa.Text, nullable=False),
    sa.Column("senha_hash", sa.Text, nullable=False),  # argon2id
    sa.Column("senha_provisoria", sa.Boolean, nullable=False, server_default="true"),  # good for one login
    sa.Column("totp_segredo", sa.Text, nullable=False),  # sealed, see persistence.crypto; older ones: base32
    sa.Column("totp_passo", sa.BigInteger, nullable=False, server_default="0"),  # the last step whose code was used
    sa.Column("todas_empresas", sa.Boolean, nullable=False),
    sa.Column("desativado_em", MOMENT),
    now("criado_em"),
    sa.CheckConstraint("papel IN ('leitura', 'suporte', 'supervisor', 'admin')", name="papel"),
)

staff_empresa = sa.Table(
    "staff_empresa",
    metadata,
    sa.Column("staff_id", sa.ForeignKey("staff.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), primary_key=True),
)

staff_sessao = sa.Table(
    "staff_sessao",
    metadata,
    sa.Column("token_hash", sa.LargeBinary, primary_key=True),  # SHA-256: who reads the table gets no session
    sa.Column("staff_id", sa.ForeignKey("staff.id", ondelete="CASCADE"), nullable=False, index=True),
    now("criado_em"),
    now("visto_em"),  # idle since
    sa.Column("expira_em", MOMENT, nullable=False),  # whatever happens
)

staff_vista = sa.Table(
    "staff_vista",
    metadata,
    id_(),
    sa.Column("staff_id", sa.ForeignKey("staff.id", ondelete="CASCADE"), nullable=False),
    sa.Column("nome", sa.Text, nullable=False),
    sa.Column("filtros", JSONB, nullable=False),  # as the queue's address has them: {"ver": "todas", "estado": "erro"}
    now("criado_em"),
    sa.UniqueConstraint("staff_id", "nome"),
)

staff_atraso = sa.Table(
    "staff_atraso",
    metadata,
    id_(),
    sa.Column("conta", sa.Text, nullable=False),  # a name, or the keyed hash of what is none; empty: every account
    sa.Column("origem", sa.Text, nullable=False),  # an address, a known device's hash; empty: every address
    sa.Column("falhas", sa.Integer, nullable=False),
    sa.Column("livre_em", MOMENT, nullable=False),  # when the next attempt is looked at
    sa.UniqueConstraint("conta", "origem"),
)

staff_aparelho = sa.Table(
    "staff_aparelho",
    metadata,
    sa.Column("token_hash", sa.LargeBinary, primary_key=True),  # SHA-256, as of a session's
    sa.Column("staff_id", sa.ForeignKey("staff.id", ondelete="CASCADE"), primary_key=True, index=True),
    now("visto_em"),  # the last login from it
)

auditoria = sa.Table(
    "auditoria",
    metadata,
    id_(),  # a trigger refuses UPDATE, DELETE and TRUNCATE
    sa.Column("staff_id", sa.BigInteger),  # no foreign key: what was done outlives who did it; null: before a login
    sa.Column("quem", sa.Text, nullable=False),
    sa.Column("acao", sa.Text, nullable=False),
    sa.Column("alvo", sa.Text),  # sessao_id, a conversation's codigo, an inbox row: never a person's data
    sa.Column("empresa_id", sa.BigInteger),
    sa.Column("motivo", sa.Text),
    sa.Column("detalhe", JSONB),
    sa.Column("correlacao", sa.Text),
    now("em"),
    sa.Index("ix_auditoria_alvo", "alvo", "id", postgresql_where=sa.text("alvo IS NOT NULL")),
    sa.Index("ix_auditoria_staff", "staff_id", "id"),
)

auditoria_elo = sa.Table(  # written by a trigger at each commit that adds to the audit; append-only likewise
    "auditoria_elo",
    metadata,
    sa.Column("n", sa.BigInteger, primary_key=True, autoincrement=False),  # without a gap, in the order of commits
    sa.Column("auditoria_id", sa.BigInteger, nullable=False, unique=True),
    sa.Column("elo", sa.LargeBinary, nullable=False),  # SHA-256 over the link before and this row's content
    sa.Column("na_migracao", sa.Boolean, nullable=False, server_default="false"),  # older than the chain
)

anotacao = sa.Table(
    "anotacao",
    metadata,
    id_(),
    sa.Column("conversa", sa.ForeignKey("conversas.conversa"), nullable=False),
    sa.Column("sessao_id", sa.Text),
    sa.Column("quem", sa.Text, nullable=False),
    sa.Column("texto", sa.Text, nullable=False),
    now("em"),
    sa.Index("ix_anotacao_conversa", "conversa", "em"),
)

resolvida = sa.Table(
    "resolvida",
    metadata,
    sa.Column("sessao_id", sa.Text, primary_key=True),
    sa.Column("quem", sa.Text, nullable=False),
    sa.Column("motivo", sa.Text, nullable=False),
    now("em"),  # what changes after this needs eyes again
)

grupo_resolvido = sa.Table(
    "grupo_resolvido",
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), primary_key=True),  # whose failures of the group: its city's
    sa.Column("status", sa.Text, primary_key=True),  # of the emissions
    sa.Column("grupo", sa.Text, primary_key=True),  # MD5 of the gateway's code or words, which may name a person
    sa.Column("quem", sa.Text, nullable=False),
    sa.Column("motivo", sa.Text, nullable=False),
    sa.Column("em", MOMENT, nullable=False),  # what fails after this brings the group back
)


job_slots = sa.Table(
    "job_slots",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("slot", MOMENT, primary_key=True),  # the scheduled time, not the moment of running
    now("tomado_em"),
)

disjuntor = sa.Table(
    "disjuntor",
    metadata,
    sa.Column("processo", sa.Text, primary_key=True),  # host:pid:hex
    sa.Column("destino", sa.Text, primary_key=True),  # gateway_envio | gateway_consulta | … | modelo
    sa.Column("aberto", sa.Boolean, nullable=False),  # any of its breakers: the gateway has one for each company
    sa.Column("quantos", sa.Integer, nullable=False, server_default="0"),  # how many of them
    now("mudou_em"),
    now("visto_em"),  # the process was alive then; long ago: it is not any more
)

painel = sa.Table(
    "painel",
    metadata,
    sa.Column("dias", sa.SmallInteger, primary_key=True, autoincrement=False),  # the period that was counted
    sa.Column("dados", JSONB, nullable=False),  # counts of all companies together, and nobody's data
    sa.Column("contado_em", MOMENT, nullable=False),
)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


modelo_uso = sa.Table(
    "modelo_uso",
    metadata,
    sa.Column("dia", sa.Date, primary_key=True),  # in Brazil
    sa.Column("modelo", sa.Text, primary_key=True),
    _count("chamadas"),  # requests that left
    _count("sem_conta"),  # of them, those whose answer told no count, or never came
    _count("entrada"),  # tokens, as the server counted them
    _count("saida"),
)


historia = sa.Table(
    "historia",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False, server_default="1"),
    sa.Column("servidor", sa.Text, nullable=False),  # system_identifier of the cluster that was written to
    sa.Column("linha", sa.Integer, nullable=False),  # its timeline: a promoted replica begins another
    sa.Column("banco", sa.Text, nullable=False),  # oids of the database and of nfse_emissao: a dump makes others
    sa.Column("batida", sa.BigInteger, nullable=False, server_default="0"),  # grows while workers run
    sa.Column("maior_emissao", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("suspeita", sa.Text),  # what makes us think that something was forgotten; null: nothing does
    sa.Column("suspeita_em", MOMENT),
    sa.Column("restaurado_em", MOMENT),  # an operator said so: summaries shown before it are shown again
    sa.CheckConstraint("id = 1", name="uma"),
)

numero_visto = sa.Table(
    "numero_visto",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("municipio", sa.Text, nullable=False),  # IBGE
    sa.Column("serie", sa.Text, nullable=False),
    sa.Column("ambiente", sa.Text, nullable=False),  # producao | homologacao
    sa.Column("numero", sa.BigInteger, nullable=False),
    sa.Column("referencia", sa.Text),  # as the note carries it; null: it carries none, so it is not ours
    now("visto_em"),
    sa.UniqueConstraint("empresa_id", "municipio", "serie", "ambiente", "numero"),
    sa.Index("ix_numero_visto_referencia", "empresa_id", "referencia"),
)


_KEY = 255  # characters of an idempotency key
_BY = 64  # characters of the name of who did it: the visible prefix of an API key, or a person's role
_OF_KEY = "CASE WHEN left(usuario, 11) = 'prosa_test_' THEN 'homologacao' ELSE 'producao' END"
# The id of a session of today, drawn by the database.
SESSAO: Final = sa.text(
    "to_char(now() AT TIME ZONE 'America/Sao_Paulo', 'DDMMYY') || '-' || left(gen_random_uuid()::text, 8)"
)


def _ambiente() -> sa.Column[str]:
    """The environment of the key that made the row: of the other one nothing is found, and nothing is the same."""
    return sa.Column("ambiente", sa.Text, sa.Computed(_OF_KEY, persisted=True), nullable=False)


api_chave = sa.Table(
    "api_chave",
    metadata,
    id_(),
    sa.Column("resumo", sa.Text, nullable=False, unique=True),  # SHA-256 of the key in hex; the key is kept nowhere
    sa.Column("prefixo", sa.Text, nullable=False, unique=True),  # its visible beginning, by which people name it
    sa.Column("ambiente", sa.Text, nullable=False),  # producao | homologacao: of its companies when it was made
    sa.Column("escopos", sa.ARRAY(sa.Text), nullable=False, server_default="{}"),  # none: everything of its companies
    now("criada_em"),
    sa.Column("usada_em", MOMENT),  # to the minute
    sa.Column("revogada_em", MOMENT),
    sa.Column("vale_ate", MOMENT),  # null: made by a release whose keys did not end
)

api_chave_empresa = sa.Table(
    "api_chave_empresa",  # the companies that a key may act for
    metadata,
    sa.Column("chave_id", sa.ForeignKey("api_chave.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True, index=True),
)

clientes = sa.Table(
    "clientes",  # of the callers' systems; ``cliente_tomador`` holds those that were invoiced
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("nome", sa.String(255)),  # null, as those below: its person was erased
    sa.Column("email", sa.String(255)),
    sa.Column("documento", sa.String(20)),  # CNPJ or CPF, bare
    sa.Column("idempotencia_key", sa.String(_KEY)),
    sa.Column("corpo_sha256", sa.String(64)),  # of the canonical body that the key came with, in hex
    sa.Column("usuario", sa.String(_BY)),  # who made it
    _ambiente(),
    sa.Column("versao", sa.Integer, nullable=False, server_default="1"),
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("empresa_id", "ambiente", "idempotencia_key"),
    sa.Index("uq_clientes_email", "empresa_id", "ambiente", sa.text("lower(email::text)"), unique=True),
    sa.Index("ix_clientes_lista", "empresa_id", "ambiente", "id"),
    sa.Index("ix_clientes_documento", "documento", postgresql_where=sa.text("documento IS NOT NULL")),
)

propostas = sa.Table(
    "propostas",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("cliente_id", sa.ForeignKey("clientes.id"), nullable=False, index=True),
    sa.Column("valor", MONEY, nullable=False),
    sa.Column("descricao", sa.Text),  # what is missing is asked of the approver
    sa.Column("competencia", sa.String(7)),  # AAAA-MM
    sa.Column("documento_fiscal", sa.Text, nullable=False, server_default="nfse"),  # nfse | nfe | nfce
    sa.Column("itens", JSONB(none_as_null=True)),  # of goods, as a draft holds them
    sa.Column("prestacao", JSONB(none_as_null=True)),  # where the work was done, and who pays the ISS, as it was sent
    sa.Column("estado", sa.String(20), nullable=False, server_default=EstadoProposta.RASCUNHO.value),
    sa.Column("motivo", sa.Text),  # why it was refused or rejected, in words for the caller
    sa.Column("versao", sa.Integer, nullable=False, server_default="1"),  # grows with every change that callers see
    sa.Column("idempotencia_key", sa.String(_KEY)),
    sa.Column("corpo_sha256", sa.String(64)),
    sa.Column("usuario", sa.String(_BY)),  # who made it
    _ambiente(),
    sa.Column("alterada_por", sa.String(_BY)),  # who made this version of it
    sa.Column("aprovador_id", sa.ForeignKey("usuario.id", ondelete="SET NULL"), index=True),  # who is asked
    # The session that will be made of it, known before anybody looks at it: after a restore the same one is made again.
    sa.Column("sessao_prevista", sa.Text, nullable=False, unique=True, server_default=SESSAO),
    sa.Column("sessao_id", sa.Text, unique=True),  # the session that was made of it
    sa.Column("enviada_em", MOMENT),  # its place among those that wait for one person
    now("criada_em"),
    now("atualizada_em"),
    sa.UniqueConstraint("empresa_id", "ambiente", "idempotencia_key"),
    sa.CheckConstraint("valor > 0", name="valor"),
    sa.CheckConstraint("documento_fiscal IN ('nfse', 'nfe', 'nfce')", name="documento_fiscal"),
    sa.CheckConstraint(f"estado IN ({literals(EstadoProposta)})", name="estado"),
    sa.Index("ix_propostas_lista", "empresa_id", "ambiente", "id"),
    sa.Index(
        "ix_propostas_esperam",
        "aprovador_id",
        "enviada_em",
        postgresql_where=sa.text(f"estado = '{EstadoProposta.ENVIADA}' AND sessao_id IS NULL"),
    ),
)


class EstadoEntrega(StrEnum):
    """What became of a happening that an endpoint is told of."""

    PENDENTE = "pendente"
    ENTREGUE = "entregue"
    DESISTIDA = "desistida"


webhook = sa.Table(
    "webhook",  # where a company's other systems are told what became of notes and proposals
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True),  # made before the row is, whose seal names it
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False, index=True),
    _ambiente(),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("eventos", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("segredo", sa.Text, nullable=False),  # whsec_…, sealed
    sa.Column("usuario", sa.String(_BY), nullable=False),  # who made it
    sa.Column("desligado_em", MOMENT),  # when it answered that it is gone
    now("criado_em"),
)

webhook_entrega = sa.Table(
    "webhook_entrega",  # one a happening and endpoint; what is told is read when it is sent, and stands nowhere else
    metadata,
    sa.Column("id", sa.Uuid, primary_key=True, server_default=sa.text("gen_random_uuid()")),  # the webhook-id
    sa.Column("webhook_id", sa.ForeignKey("webhook.id", ondelete="CASCADE"), nullable=False),
    sa.Column("evento", sa.Text, nullable=False),
    sa.Column("chave", sa.Text, nullable=False),  # of what happened: it is told once
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id", ondelete="CASCADE"), index=True),
    sa.Column("proposta_id", sa.BigInteger),  # no reference: it is told although its proposal went
    sa.Column("estado", sa.Text, nullable=False, server_default=EstadoEntrega.PENDENTE.value),
    sa.Column("tentativas", sa.Integer, nullable=False, server_default="0"),  # since it was last asked for
    sa.Column("falha", sa.Text),  # of the latest try: HTTP and its status, or why no answer came
    sa.Column("a_partir_de", MOMENT, nullable=False, server_default=sa.func.now()),
    sa.Column("lease_until", MOMENT),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("webhook_id", "chave"),
    sa.CheckConstraint(f"estado IN ({literals(EstadoEntrega)})", name="estado"),
    sa.Index(
        "ix_webhook_entrega_pendente",
        "a_partir_de",
        postgresql_where=sa.text(f"estado = '{EstadoEntrega.PENDENTE}'"),
    ),
)

empresa_aprovador = sa.Table(
    "empresa_aprovador",  # who is asked about a company's proposals; no row: its first person
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("usuario_id", sa.ForeignKey("usuario.id", ondelete="CASCADE"), nullable=False, index=True),
    now("definido_em"),
)

idempotencia_operacoes = sa.Table(
    "idempotencia_operacoes",  # what was done once to something that stood already; who makes it has the key itself
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("idempotencia_key", sa.String(_KEY), nullable=False),
    sa.Column("tipo_operacao", sa.String(50), nullable=False),
    sa.Column("entidade_id", sa.BigInteger, nullable=False),
    sa.Column("resultado", JSONB, nullable=False),  # as it stood then; what is answered is what stands now
    sa.Column("corpo_sha256", sa.String(64), nullable=False),
    sa.Column("usuario", sa.String(_BY)),  # who did it
    _ambiente(),
    now("created_at"),
    sa.UniqueConstraint(
        "empresa_id", "ambiente", "idempotencia_key", "tipo_operacao", name="uq_idempotencia_operacoes_chave"
    ),
    sa.Index("ix_idempotencia_operacoes_created_at", "created_at"),
)


_ADDRESS = 255  # characters of an address, as in the specification


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


lotes = sa.Table(
    "lotes",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("tipo", sa.String(20), nullable=False),
    sa.Column("nome_arquivo", sa.String(255), nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),  # of the file, in hex
    _number("tamanho"),  # bytes of the file
    sa.Column("assunto", sa.Text),  # of the rows that have none of their own
    sa.Column("mensagem", sa.Text),
    sa.Column("estado", sa.String(30), nullable=False, server_default=EstadoLote.LENDO.value),
    sa.Column("revisao", sa.String(16), nullable=False),  # of the rows as they were read: a yes names it
    _number("linhas"),  # rows of the file below its header
    _number("ignoradas"),  # of them, the empty ones
    _number("iguais"),  # of them, those whose cells stood above already
    sa.Column("status", sa.String(20), nullable=False, server_default=StatusLote.PENDING.value),
    _number("attempts"),
    sa.Column("last_attempt", MOMENT),  # of the worker that has it: its heartbeat
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),  # fence against late commits
    sa.Column("erro", sa.Text),  # why the last attempt failed
    sa.Column("usuario", sa.String(_BY)),  # who sent the list
    sa.Column("confirmado_por", sa.String(_BY)),
    sa.Column("confirmado_em", MOMENT),
    sa.Column("pergunta_revisao", sa.String(16)),  # to which a system said yes: people are asked whether it goes
    sa.Column("pergunta_novos", sa.Integer),  # its mails to addresses that never got one of the company
    sa.Column("pergunta_pessoas", sa.Integer),  # who was asked on WhatsApp
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("empresa_id", "nome_arquivo", "sha256"),
    sa.Index("ix_lotes_sha256", "empresa_id", "sha256"),
    sa.Index("ix_lotes_last_attempt", "last_attempt", postgresql_where=sa.text("status = 'PROCESSING'")),
    sa.CheckConstraint(f"estado IN ({literals(EstadoLote)})", name="estado"),
    sa.CheckConstraint(f"status IN ({literals(StatusLote)})", name="status"),
    sa.CheckConstraint(f"tipo IN ({literals(TipoLote)})", name="tipo"),
)

lote_linhas = sa.Table(
    "lote_linhas",
    metadata,
    id_(),  # also the order of the file
    sa.Column("lote_id", sa.ForeignKey("lotes.id", ondelete="CASCADE"), nullable=False),
    sa.Column("chave", sa.String(300), nullable=False),  # address (and document, month of notes), or line
    sa.Column("linha", sa.Integer, nullable=False),  # as a spreadsheet program numbers it
    sa.Column("estado", sa.String(20), nullable=False, server_default=EstadoLinha.PENDING.value),
    sa.Column("email", sa.String(_ADDRESS)),
    sa.Column("dados", JSONB, nullable=False, server_default="{}"),  # the other columns by their names
    sa.Column("problemas", JSONB, nullable=False, server_default="[]"),  # why it is not sent: codigo, detalhe
    sa.Column("notas", JSONB(none_as_null=True)),  # emissao_id and numero of each that goes; null: it has a text
    sa.Column("token", sa.String(64), nullable=False, unique=True),  # by which its reader says no to more
    sa.Column("attempts", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("incertas", sa.SmallInteger, nullable=False, server_default="0"),  # attempts whose answer was lost
    sa.Column("last_attempt", MOMENT),
    sa.Column("a_partir_de", MOMENT),  # not before this moment; null: at once
    sa.Column("external_id", sa.String(255)),  # the Message-ID, stored before the first byte leaves
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("lote_id", "chave"),
    sa.Index("ix_lote_linhas_estado", "lote_id", "estado", "id"),
    sa.Index("ix_lote_linhas_email", "email", postgresql_where=sa.text("estado = 'DONE'")),
    sa.Index("ix_lote_linhas_last_attempt", "last_attempt", postgresql_where=sa.text("last_attempt IS NOT NULL")),
    sa.CheckConstraint(f"estado IN ({literals(EstadoLinha)})", name="estado"),
)

lote_fila = sa.Table(
    "lote_fila",  # what workers have not been told yet; who takes it deletes it, so a batch stands here once
    metadata,
    sa.Column("lote_id", sa.ForeignKey("lotes.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("a_partir_de", MOMENT, nullable=False, server_default=sa.func.now(), index=True),
)

email_suprimido = sa.Table(
    "email_suprimido",
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("email", sa.String(_ADDRESS), primary_key=True),  # normalised
    sa.Column("motivo", sa.Text, nullable=False),
    now("criado_em"),
)
