"""Staff: who may enter the console, their sessions, attempts and saved views, their notes, and the audit of it all."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, id_, metadata, now

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

staff_tentativa = sa.Table(  # only the release before writes it: a table is dropped one release after its last writer
    "staff_tentativa",
    metadata,
    id_(),
    sa.Column("conta", sa.Text, nullable=False),
    sa.Column("endereco", sa.Text, nullable=False),
    now("em"),
    sa.Index("ix_staff_tentativa_conta", "conta", "em"),
    sa.Index("ix_staff_tentativa_endereco", "endereco", "em"),
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
