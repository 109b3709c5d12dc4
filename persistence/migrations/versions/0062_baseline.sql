CREATE TABLE auditoria (
    id bigint GENERATED ALWAYS AS IDENTITY,
    staff_id bigint,
    quem text NOT NULL,
    acao text NOT NULL,
    alvo text,
    empresa_id bigint,
    motivo text,
    detalhe jsonb,
    correlacao text,
    em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_auditoria PRIMARY KEY (id)
);

CREATE TABLE api_chave (
    id bigint GENERATED ALWAYS AS IDENTITY,
    resumo text NOT NULL,
    prefixo text NOT NULL,
    ambiente text NOT NULL,
    escopos text[] DEFAULT '{}'::text[] NOT NULL,
    criada_em timestamptz DEFAULT now() NOT NULL,
    usada_em timestamptz,
    revogada_em timestamptz,
    vale_ate timestamptz,
    CONSTRAINT pk_api_chave PRIMARY KEY (id),
    CONSTRAINT uq_api_chave_prefixo UNIQUE (prefixo),
    CONSTRAINT uq_api_chave_resumo UNIQUE (resumo)
);

CREATE TABLE auditoria_elo (
    n bigint NOT NULL,
    auditoria_id bigint NOT NULL,
    elo bytea NOT NULL,
    na_migracao boolean DEFAULT false NOT NULL,
    CONSTRAINT pk_auditoria_elo PRIMARY KEY (n),
    CONSTRAINT uq_auditoria_elo_auditoria_id UNIQUE (auditoria_id)
);

CREATE TABLE cidade_parametro (
    canal text NOT NULL,
    ambiente text NOT NULL,
    municipio_ibge text NOT NULL,
    codigo text NOT NULL,
    aderente boolean,
    emissor boolean,
    convenio_em timestamptz,
    aliquota numeric,
    aliquota_em timestamptz,
    tentado_em timestamptz NOT NULL,
    CONSTRAINT pk_cidade_parametro PRIMARY KEY (canal, ambiente, municipio_ibge, codigo)
);

CREATE TABLE cnpj_cache (
    cnpj text NOT NULL,
    dados jsonb,
    valido_ate timestamptz NOT NULL,
    CONSTRAINT pk_cnpj_cache PRIMARY KEY (cnpj)
);

CREATE TABLE disjuntor (
    processo text NOT NULL,
    destino text NOT NULL,
    aberto boolean NOT NULL,
    mudou_em timestamptz DEFAULT now() NOT NULL,
    visto_em timestamptz DEFAULT now() NOT NULL,
    quantos integer DEFAULT 0 NOT NULL,
    CONSTRAINT pk_disjuntor PRIMARY KEY (processo, destino)
);

CREATE TABLE distribuicao (
    canal text NOT NULL,
    ambiente text NOT NULL,
    cnpj text NOT NULL,
    nsu bigint DEFAULT '0'::bigint NOT NULL,
    reler_de bigint DEFAULT '0'::bigint NOT NULL,
    relido_em timestamptz DEFAULT now() NOT NULL,
    proxima_em timestamptz DEFAULT now() NOT NULL,
    calado_ate timestamptz,
    CONSTRAINT pk_distribuicao PRIMARY KEY (canal, ambiente, cnpj)
);

CREATE TABLE empresa (
    id bigint GENERATED ALWAYS AS IDENTITY,
    cnpj text NOT NULL,
    razao_social text NOT NULL,
    inscricao_municipal text NOT NULL,
    municipio_ibge text NOT NULL,
    regime text NOT NULL,
    codigo_servico text NOT NULL,
    cnae text,
    aliquota numeric(5,2),
    envio_suspenso text,
    criado_em timestamptz DEFAULT now() NOT NULL,
    atualizado_em timestamptz DEFAULT now() NOT NULL,
    serie_rps text,
    primeiro_rps bigint DEFAULT '1'::bigint NOT NULL,
    suspenso_em timestamptz,
    sonda_em timestamptz,
    versao integer DEFAULT 1 NOT NULL,
    certificado_vence date,
    mei_transporte boolean DEFAULT false NOT NULL,
    tributos_sn numeric(5,2),
    tributos_federal numeric(5,2),
    tributos_estadual numeric(5,2),
    tributos_municipal numeric(5,2),
    informa_im boolean DEFAULT false NOT NULL,
    suspenso_canal text,
    restauro_desde timestamptz,
    apuracao_ibscbs text,
    CONSTRAINT pk_empresa PRIMARY KEY (id),
    CONSTRAINT uq_empresa_cnpj UNIQUE (cnpj),
    CONSTRAINT ck_empresa_apuracao_ibscbs CHECK ((apuracao_ibscbs = ANY (ARRAY['1'::text, '2'::text, '3'::text]))),
    CONSTRAINT ck_empresa_primeiro_rps CHECK ((primeiro_rps > 0))
);

CREATE TABLE historia (
    id smallint DEFAULT '1'::smallint NOT NULL,
    servidor text NOT NULL,
    linha integer NOT NULL,
    banco text NOT NULL,
    batida bigint DEFAULT '0'::bigint NOT NULL,
    maior_emissao bigint DEFAULT '0'::bigint NOT NULL,
    suspeita text,
    suspeita_em timestamptz,
    restaurado_em timestamptz,
    CONSTRAINT pk_historia PRIMARY KEY (id),
    CONSTRAINT ck_historia_uma CHECK ((id = 1))
);

CREATE TABLE idempotency_records (
    id bigint GENERATED ALWAYS AS IDENTITY,
    idempotency_key character varying(255) NOT NULL,
    process_instance_id character varying(64) NOT NULL,
    activity_id character varying(255) NOT NULL,
    operation_name character varying(100) NOT NULL,
    input_hash character varying(64) NOT NULL,
    status character varying(7) NOT NULL,
    result_data jsonb,
    error_message text,
    retry_count integer DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT '1'::bigint NOT NULL,
    lease_until timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_idempotency_records PRIMARY KEY (id),
    CONSTRAINT uq_idempotency_records_idempotency_key UNIQUE (idempotency_key),
    CONSTRAINT ck_idempotency_records_key CHECK (((idempotency_key)::text <> ''::text)),
    CONSTRAINT ck_idempotency_records_lease CHECK ((((status)::text = 'PENDING'::text) = (lease_until IS NOT NULL))),
    CONSTRAINT ck_idempotency_records_status CHECK ((status IN ('PENDING', 'SUCCESS', 'FAILED')))
);

CREATE TABLE inbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    chave text NOT NULL,
    lane text NOT NULL,
    tipo text NOT NULL,
    payload jsonb NOT NULL,
    estado smallint DEFAULT '0'::smallint NOT NULL,
    tentativas smallint DEFAULT '0'::smallint NOT NULL,
    correlacao text NOT NULL,
    interpretacao jsonb,
    erro text,
    recebido_em timestamptz DEFAULT now() NOT NULL,
    feito_em timestamptz,
    CONSTRAINT pk_inbox PRIMARY KEY (id),
    CONSTRAINT uq_inbox_chave UNIQUE (chave)
);

CREATE TABLE job_slots (
    job text NOT NULL,
    slot timestamptz NOT NULL,
    tomado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_job_slots PRIMARY KEY (job, slot)
);

CREATE TABLE lanes (
    lane text NOT NULL,
    ready_at timestamptz,
    pending_since timestamptz,
    backoff_until timestamptz,
    lease_until timestamptz,
    owner text,
    epoch bigint DEFAULT '0'::bigint NOT NULL,
    CONSTRAINT pk_lanes PRIMARY KEY (lane)
) WITH (fillfactor='50');

CREATE TABLE modelo_uso (
    dia date NOT NULL,
    modelo text NOT NULL,
    chamadas bigint NOT NULL,
    sem_conta bigint NOT NULL,
    entrada bigint NOT NULL,
    saida bigint NOT NULL,
    CONSTRAINT pk_modelo_uso PRIMARY KEY (dia, modelo)
);

CREATE TABLE nacional_leiaute (
    ambiente text NOT NULL,
    escolha text,
    parado_em timestamptz,
    detalhe text,
    quem text,
    alterado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_nacional_leiaute PRIMARY KEY (ambiente),
    CONSTRAINT ck_nacional_leiaute_escolha CHECK ((escolha = ANY (ARRAY['1.01'::text, 'nt009'::text])))
);

CREATE TABLE painel (
    dias smallint NOT NULL,
    dados jsonb NOT NULL,
    contado_em timestamptz NOT NULL,
    CONSTRAINT pk_painel PRIMARY KEY (dias)
);

CREATE TABLE resolvida (
    sessao_id text NOT NULL,
    quem text NOT NULL,
    motivo text NOT NULL,
    em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_resolvida PRIMARY KEY (sessao_id)
);

CREATE TABLE staff (
    id bigint GENERATED ALWAYS AS IDENTITY,
    nome text NOT NULL,
    papel text NOT NULL,
    senha_hash text NOT NULL,
    senha_provisoria boolean DEFAULT true NOT NULL,
    totp_segredo text NOT NULL,
    totp_passo bigint DEFAULT '0'::bigint NOT NULL,
    todas_empresas boolean NOT NULL,
    desativado_em timestamptz,
    criado_em timestamptz DEFAULT now() NOT NULL,
    exibicao text,
    CONSTRAINT pk_staff PRIMARY KEY (id),
    CONSTRAINT uq_staff_nome UNIQUE (nome),
    CONSTRAINT ck_staff_papel CHECK ((papel = ANY (ARRAY['leitura'::text, 'suporte'::text, 'supervisor'::text,
        'admin'::text])))
);

CREATE TABLE staff_atraso (
    id bigint GENERATED ALWAYS AS IDENTITY,
    conta text NOT NULL,
    origem text NOT NULL,
    falhas integer NOT NULL,
    livre_em timestamptz NOT NULL,
    CONSTRAINT pk_staff_atraso PRIMARY KEY (id),
    CONSTRAINT uq_staff_atraso_conta_origem UNIQUE (conta, origem)
);

CREATE TABLE staff_tentativa (
    id bigint GENERATED ALWAYS AS IDENTITY,
    conta text NOT NULL,
    endereco text NOT NULL,
    em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_staff_tentativa PRIMARY KEY (id)
);

CREATE TABLE transicoes (
    id bigint GENERATED ALWAYS AS IDENTITY,
    sessao_id text NOT NULL,
    de text NOT NULL,
    para text NOT NULL,
    evento text NOT NULL,
    snapshot_reason text NOT NULL,
    revisao integer NOT NULL,
    detalhe jsonb,
    correlacao text,
    em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_transicoes PRIMARY KEY (id)
);

CREATE TABLE api_chave_empresa (
    chave_id bigint NOT NULL,
    empresa_id bigint NOT NULL,
    CONSTRAINT pk_api_chave_empresa PRIMARY KEY (chave_id, empresa_id),
    CONSTRAINT fk_api_chave_empresa_chave_id_api_chave FOREIGN KEY (chave_id) REFERENCES api_chave(id) ON DELETE
        CASCADE,
    CONSTRAINT fk_api_chave_empresa_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE
        CASCADE
);

CREATE TABLE cliente_apelido (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    empresa_id bigint NOT NULL,
    documento text NOT NULL,
    apelido text NOT NULL,
    conversa text,
    usado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_cliente_apelido PRIMARY KEY (id),
    CONSTRAINT uq_cliente_apelido_empresa_id_documento_apelido UNIQUE (empresa_id, documento, apelido),
    CONSTRAINT fk_cliente_apelido_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE cliente_tomador (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    cnpj text NOT NULL,
    razao_social text,
    email text,
    cep text,
    logradouro text,
    numero text,
    complemento text,
    bairro text,
    cidade text,
    estado text,
    codigo_cidade text,
    dados_receita_raw jsonb,
    criado_em timestamptz DEFAULT now() NOT NULL,
    atualizado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_cliente_tomador PRIMARY KEY (id),
    CONSTRAINT uq_cliente_tomador_empresa_id_cnpj UNIQUE (empresa_id, cnpj),
    CONSTRAINT fk_cliente_tomador_empresa_id FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE clientes (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    nome character varying(255),
    email character varying(255),
    documento character varying(20),
    idempotencia_key character varying(255),
    corpo_sha256 character varying(64),
    usuario character varying(64),
    versao integer DEFAULT 1 NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    atualizado_em timestamptz DEFAULT now() NOT NULL,
    ambiente text GENERATED ALWAYS AS ( CASE     WHEN ("left"((usuario)::text, 11) = 'prosa_test_'::text) THEN
        'homologacao'::text     ELSE 'producao'::text END) STORED NOT NULL,
    CONSTRAINT pk_clientes PRIMARY KEY (id),
    CONSTRAINT uq_clientes_empresa_id_ambiente_idempotencia_key UNIQUE (empresa_id, ambiente, idempotencia_key),
    CONSTRAINT fk_clientes_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE CASCADE
);

CREATE TABLE email_suprimido (
    empresa_id bigint NOT NULL,
    email character varying(255) NOT NULL,
    motivo text NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_email_suprimido PRIMARY KEY (empresa_id, email),
    CONSTRAINT fk_email_suprimido_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE CASCADE
);

CREATE TABLE empresa_canal (
    empresa_id bigint NOT NULL,
    tipo text NOT NULL,
    canal text NOT NULL,
    ambiente text,
    atualizado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_empresa_canal PRIMARY KEY (empresa_id, tipo),
    CONSTRAINT fk_empresa_canal_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE empresa_certificado (
    id uuid NOT NULL,
    empresa_id bigint NOT NULL,
    chave_dados text,
    chave text,
    cadeia text,
    impressao text NOT NULL,
    titular text NOT NULL,
    valido_de timestamptz NOT NULL,
    valido_ate timestamptz NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    substituido_em timestamptz,
    destruido_em timestamptz,
    CONSTRAINT pk_empresa_certificado PRIMARY KEY (id),
    CONSTRAINT ck_empresa_certificado_destruido CHECK ((num_nonnulls(chave_dados, chave, cadeia) = CASE     WHEN
        (destruido_em IS NULL) THEN 3     ELSE 0 END)),
    CONSTRAINT fk_empresa_certificado_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE
        CASCADE
);

CREATE TABLE empresa_servico (
    empresa_id bigint NOT NULL,
    codigo text NOT NULL,
    descricao text,
    nbs text,
    criado_em timestamptz DEFAULT now() NOT NULL,
    ind_op text,
    cst text,
    class_trib text,
    atividade_sn text,
    CONSTRAINT pk_empresa_servico PRIMARY KEY (empresa_id, codigo),
    CONSTRAINT ck_empresa_servico_atividade_sn CHECK ((atividade_sn ~ '^[0-9]{2}$'::text)),
    CONSTRAINT ck_empresa_servico_codigo CHECK ((codigo ~ '^[0-9]{6}$'::text)),
    CONSTRAINT ck_empresa_servico_ibs_cbs CHECK (((num_nonnulls(ind_op, cst, class_trib) = ANY (ARRAY[0, 3])) AND
        ((ind_op IS NULL) OR ((ind_op ~ '^[0-9]{6}$'::text) AND (cst ~ '^[0-9]{3}$'::text) AND (class_trib ~
        '^[0-9]{6}$'::text))))),
    CONSTRAINT ck_empresa_servico_nbs CHECK ((nbs ~ '^1[0-9]{8}$'::text)),
    CONSTRAINT fk_empresa_servico_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE CASCADE
);

CREATE TABLE grupo_resolvido (
    empresa_id bigint NOT NULL,
    status text NOT NULL,
    grupo text NOT NULL,
    quem text NOT NULL,
    motivo text NOT NULL,
    em timestamptz NOT NULL,
    CONSTRAINT pk_grupo_resolvido PRIMARY KEY (empresa_id, status, grupo),
    CONSTRAINT fk_grupo_resolvido_empresa_id FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE idempotencia_operacoes (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    idempotencia_key character varying(255) NOT NULL,
    tipo_operacao character varying(50) NOT NULL,
    entidade_id bigint NOT NULL,
    resultado jsonb NOT NULL,
    corpo_sha256 character varying(64) NOT NULL,
    usuario character varying(64),
    created_at timestamptz DEFAULT now() NOT NULL,
    ambiente text GENERATED ALWAYS AS ( CASE     WHEN ("left"((usuario)::text, 11) = 'prosa_test_'::text) THEN
        'homologacao'::text     ELSE 'producao'::text END) STORED NOT NULL,
    CONSTRAINT pk_idempotencia_operacoes PRIMARY KEY (id),
    CONSTRAINT uq_idempotencia_operacoes_chave UNIQUE (empresa_id, ambiente, idempotencia_key, tipo_operacao),
    CONSTRAINT fk_idempotencia_operacoes_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE
        CASCADE
);

CREATE TABLE lotes (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    tipo character varying(20) NOT NULL,
    nome_arquivo character varying(255) NOT NULL,
    sha256 character varying(64) NOT NULL,
    assunto text,
    mensagem text,
    estado character varying(30) DEFAULT 'lendo'::character varying NOT NULL,
    revisao character varying(16) NOT NULL,
    linhas integer DEFAULT 0 NOT NULL,
    ignoradas integer DEFAULT 0 NOT NULL,
    iguais integer DEFAULT 0 NOT NULL,
    status character varying(20) DEFAULT 'PENDING'::character varying NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_attempt timestamptz,
    epoch bigint DEFAULT '0'::bigint NOT NULL,
    erro text,
    usuario character varying(64),
    confirmado_por character varying(64),
    confirmado_em timestamptz,
    criado_em timestamptz DEFAULT now() NOT NULL,
    atualizado_em timestamptz DEFAULT now() NOT NULL,
    tamanho integer DEFAULT 0 NOT NULL,
    pergunta_revisao character varying(16),
    pergunta_novos integer,
    pergunta_pessoas integer,
    CONSTRAINT pk_lotes PRIMARY KEY (id),
    CONSTRAINT uq_lotes_empresa_id_nome_arquivo_sha256 UNIQUE (empresa_id, nome_arquivo, sha256),
    CONSTRAINT ck_lotes_estado CHECK ((estado IN ('lendo', 'aguardando_confirmacao', 'processando', 'pausado',
        'concluido', 'cancelado', 'recusado'))),
    CONSTRAINT ck_lotes_status CHECK ((status IN ('PENDING', 'QUEUED', 'PROCESSING', 'DONE', 'FAILED'))),
    CONSTRAINT ck_lotes_tipo CHECK (((tipo)::text = 'envio'::text)),
    CONSTRAINT fk_lotes_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE CASCADE
);

CREATE TABLE nota_de_fora (
    canal text NOT NULL,
    ambiente text NOT NULL,
    chave text NOT NULL,
    empresa_id bigint NOT NULL,
    id_dps text NOT NULL,
    numero text,
    valor numeric(12,2),
    emitida_em timestamptz NOT NULL,
    situacao text NOT NULL,
    serie text,
    numero_dps bigint,
    visto_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_nota_de_fora PRIMARY KEY (canal, ambiente, chave),
    CONSTRAINT fk_nota_de_fora_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE numeracao (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    municipio text NOT NULL,
    serie text NOT NULL,
    ambiente text NOT NULL,
    primeiro bigint NOT NULL,
    ultimo bigint NOT NULL,
    modelo text DEFAULT 'nfse'::text NOT NULL,
    bloqueado text,
    CONSTRAINT pk_numeracao PRIMARY KEY (id),
    CONSTRAINT uq_numeracao_empresa_id_municipio_serie_ambiente UNIQUE (empresa_id, municipio, serie, ambiente),
    CONSTRAINT ck_numeracao_ambiente CHECK ((ambiente = ANY (ARRAY['producao'::text, 'homologacao'::text]))),
    CONSTRAINT ck_numeracao_modelo CHECK ((modelo = ANY (ARRAY['nfse'::text, '55'::text, '65'::text]))),
    CONSTRAINT ck_numeracao_ordem CHECK (((primeiro > 0) AND (ultimo >= primeiro))),
    CONSTRAINT fk_numeracao_empresa_id FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE numero_visto (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    municipio text NOT NULL,
    serie text NOT NULL,
    ambiente text NOT NULL,
    numero bigint NOT NULL,
    referencia text,
    visto_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_numero_visto PRIMARY KEY (id),
    CONSTRAINT uq_numero_visto_empresa_id_municipio_serie_ambiente_numero UNIQUE (empresa_id, municipio, serie,
        ambiente, numero),
    CONSTRAINT fk_numero_visto_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE staff_aparelho (
    token_hash bytea NOT NULL,
    staff_id bigint NOT NULL,
    visto_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_staff_aparelho PRIMARY KEY (token_hash, staff_id),
    CONSTRAINT fk_staff_aparelho_staff_id FOREIGN KEY (staff_id) REFERENCES staff(id) ON DELETE CASCADE
);

CREATE TABLE staff_empresa (
    staff_id bigint NOT NULL,
    empresa_id bigint NOT NULL,
    CONSTRAINT pk_staff_empresa PRIMARY KEY (staff_id, empresa_id),
    CONSTRAINT fk_staff_empresa_empresa_id FOREIGN KEY (empresa_id) REFERENCES empresa(id),
    CONSTRAINT fk_staff_empresa_staff_id FOREIGN KEY (staff_id) REFERENCES staff(id) ON DELETE CASCADE
);

CREATE TABLE staff_sessao (
    token_hash bytea NOT NULL,
    staff_id bigint NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    visto_em timestamptz DEFAULT now() NOT NULL,
    expira_em timestamptz NOT NULL,
    CONSTRAINT pk_staff_sessao PRIMARY KEY (token_hash),
    CONSTRAINT fk_staff_sessao_staff_id FOREIGN KEY (staff_id) REFERENCES staff(id) ON DELETE CASCADE
);

CREATE TABLE staff_vista (
    id bigint GENERATED ALWAYS AS IDENTITY,
    staff_id bigint NOT NULL,
    nome text NOT NULL,
    filtros jsonb NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_staff_vista PRIMARY KEY (id),
    CONSTRAINT uq_staff_vista_staff_id_nome UNIQUE (staff_id, nome),
    CONSTRAINT fk_staff_vista_staff_id FOREIGN KEY (staff_id) REFERENCES staff(id) ON DELETE CASCADE
);

CREATE TABLE usuario (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    telefone text NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_usuario PRIMARY KEY (id),
    CONSTRAINT uq_usuario_telefone UNIQUE (telefone),
    CONSTRAINT fk_usuario_empresa_id FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE certificado_link (
    id uuid NOT NULL,
    empresa_id bigint NOT NULL,
    usuario_id bigint NOT NULL,
    conversa text NOT NULL,
    resumo text NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    expira_em timestamptz NOT NULL,
    tentativas integer DEFAULT 0 NOT NULL,
    usado_em timestamptz,
    encerrado_em timestamptz,
    CONSTRAINT pk_certificado_link PRIMARY KEY (id),
    CONSTRAINT uq_certificado_link_resumo UNIQUE (resumo),
    CONSTRAINT fk_certificado_link_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE
        CASCADE,
    CONSTRAINT fk_certificado_link_usuario_id_usuario FOREIGN KEY (usuario_id) REFERENCES usuario(id) ON DELETE
        CASCADE
);

CREATE TABLE conversas (
    conversa text NOT NULL,
    phone_number_id text NOT NULL,
    endereco text NOT NULL,
    wa_id text,
    nome_perfil text,
    usuario_id bigint,
    ultima_entrada_em timestamptz NOT NULL,
    mensagens bigint DEFAULT '0'::bigint NOT NULL,
    orientada_em timestamptz,
    criado_em timestamptz DEFAULT now() NOT NULL,
    codigo uuid DEFAULT gen_random_uuid() NOT NULL,
    atendente_id bigint,
    assumida_em timestamptz,
    pessoa_pedida_em timestamptz,
    pessoa_motivo text,
    CONSTRAINT pk_conversas PRIMARY KEY (conversa),
    CONSTRAINT uq_conversas_codigo UNIQUE (codigo),
    CONSTRAINT fk_conversas_atendente_id FOREIGN KEY (atendente_id) REFERENCES staff(id),
    CONSTRAINT fk_conversas_usuario_id FOREIGN KEY (usuario_id) REFERENCES usuario(id)
) WITH (fillfactor='70');

CREATE TABLE empresa_aprovador (
    empresa_id bigint NOT NULL,
    usuario_id bigint NOT NULL,
    definido_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_empresa_aprovador PRIMARY KEY (empresa_id),
    CONSTRAINT fk_empresa_aprovador_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE
        CASCADE,
    CONSTRAINT fk_empresa_aprovador_usuario_id_usuario FOREIGN KEY (usuario_id) REFERENCES usuario(id) ON DELETE
        CASCADE
);

CREATE TABLE empresa_certificado_anterior (
    id uuid NOT NULL,
    empresa_id bigint NOT NULL,
    chave_dados text NOT NULL,
    chave text NOT NULL,
    cadeia text NOT NULL,
    substituido_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_empresa_certificado_anterior PRIMARY KEY (id),
    CONSTRAINT uq_empresa_certificado_anterior_empresa_id UNIQUE (empresa_id),
    CONSTRAINT fk_empresa_certificado_anterior_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON
        DELETE CASCADE,
    CONSTRAINT fk_empresa_certificado_anterior_id_empresa_certificado FOREIGN KEY (id) REFERENCES
        empresa_certificado(id) ON DELETE CASCADE
);

CREATE TABLE lote_fila (
    lote_id bigint NOT NULL,
    a_partir_de timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_lote_fila PRIMARY KEY (lote_id),
    CONSTRAINT fk_lote_fila_lote_id_lotes FOREIGN KEY (lote_id) REFERENCES lotes(id) ON DELETE CASCADE
);

CREATE TABLE lote_linhas (
    id bigint GENERATED ALWAYS AS IDENTITY,
    lote_id bigint NOT NULL,
    chave character varying(300) NOT NULL,
    linha integer NOT NULL,
    estado character varying(20) DEFAULT 'PENDING'::character varying NOT NULL,
    email character varying(255),
    dados jsonb DEFAULT '{}'::jsonb NOT NULL,
    problemas jsonb DEFAULT '[]'::jsonb NOT NULL,
    token character varying(64) NOT NULL,
    attempts smallint DEFAULT '0'::smallint NOT NULL,
    incertas smallint DEFAULT '0'::smallint NOT NULL,
    last_attempt timestamptz,
    a_partir_de timestamptz,
    external_id character varying(255),
    criado_em timestamptz DEFAULT now() NOT NULL,
    atualizado_em timestamptz DEFAULT now() NOT NULL,
    notas jsonb,
    CONSTRAINT pk_lote_linhas PRIMARY KEY (id),
    CONSTRAINT uq_lote_linhas_lote_id_chave UNIQUE (lote_id, chave),
    CONSTRAINT uq_lote_linhas_token UNIQUE (token),
    CONSTRAINT ck_lote_linhas_estado CHECK ((estado IN ('PENDING', 'PROCESSING', 'DONE', 'FAILED', 'INVALID',
        'IGNORADA', 'CANCELADA'))),
    CONSTRAINT fk_lote_linhas_lote_id_lotes FOREIGN KEY (lote_id) REFERENCES lotes(id) ON DELETE CASCADE
);

CREATE TABLE propostas (
    id bigint GENERATED ALWAYS AS IDENTITY,
    empresa_id bigint NOT NULL,
    cliente_id bigint NOT NULL,
    valor numeric(12,2) NOT NULL,
    descricao text,
    competencia character varying(7),
    estado character varying(20) DEFAULT 'rascunho'::character varying NOT NULL,
    motivo text,
    versao integer DEFAULT 1 NOT NULL,
    idempotencia_key character varying(255),
    corpo_sha256 character varying(64),
    usuario character varying(64),
    alterada_por character varying(64),
    aprovador_id bigint,
    sessao_id text,
    enviada_em timestamptz,
    criada_em timestamptz DEFAULT now() NOT NULL,
    atualizada_em timestamptz DEFAULT now() NOT NULL,
    sessao_prevista text DEFAULT ((to_char((now() AT TIME ZONE 'America/Sao_Paulo'::text), 'DDMMYY'::text) ||
        '-'::text) || "left"((gen_random_uuid())::text, 8)) NOT NULL,
    ambiente text GENERATED ALWAYS AS ( CASE     WHEN ("left"((usuario)::text, 11) = 'prosa_test_'::text) THEN
        'homologacao'::text     ELSE 'producao'::text END) STORED NOT NULL,
    CONSTRAINT pk_propostas PRIMARY KEY (id),
    CONSTRAINT uq_propostas_empresa_id_ambiente_idempotencia_key UNIQUE (empresa_id, ambiente, idempotencia_key),
    CONSTRAINT uq_propostas_sessao_id UNIQUE (sessao_id),
    CONSTRAINT uq_propostas_sessao_prevista UNIQUE (sessao_prevista),
    CONSTRAINT ck_propostas_estado CHECK ((estado IN ('rascunho', 'enviada', 'aceita', 'emitida', 'recusada',
        'expirada', 'rejeitada', 'erro', 'cancelada'))),
    CONSTRAINT ck_propostas_valor CHECK ((valor > (0)::numeric)),
    CONSTRAINT fk_propostas_aprovador_id_usuario FOREIGN KEY (aprovador_id) REFERENCES usuario(id) ON DELETE SET NULL,
    CONSTRAINT fk_propostas_cliente_id_clientes FOREIGN KEY (cliente_id) REFERENCES clientes(id),
    CONSTRAINT fk_propostas_empresa_id_empresa FOREIGN KEY (empresa_id) REFERENCES empresa(id) ON DELETE CASCADE
);

CREATE TABLE anotacao (
    id bigint GENERATED ALWAYS AS IDENTITY,
    conversa text NOT NULL,
    sessao_id text,
    quem text NOT NULL,
    texto text NOT NULL,
    em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_anotacao PRIMARY KEY (id),
    CONSTRAINT fk_anotacao_conversa FOREIGN KEY (conversa) REFERENCES conversas(conversa)
);

CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    conversa text NOT NULL,
    sessao_id text,
    chave text,
    mensagem jsonb NOT NULL,
    resumo_de integer,
    bloqueia boolean DEFAULT true NOT NULL,
    resposta_a text,
    status text DEFAULT 'pendente'::text NOT NULL,
    wamid text,
    tentativas smallint DEFAULT '0'::smallint NOT NULL,
    run_at timestamptz DEFAULT now(),
    lease_until timestamptz,
    epoch bigint DEFAULT '0'::bigint NOT NULL,
    erro_codigo integer,
    erro text,
    correlacao text,
    criado_em timestamptz DEFAULT now() NOT NULL,
    enviado_em timestamptz,
    CONSTRAINT pk_outbox PRIMARY KEY (id),
    CONSTRAINT uq_outbox_chave UNIQUE (chave),
    CONSTRAINT uq_outbox_wamid UNIQUE (wamid),
    CONSTRAINT fk_outbox_conversa FOREIGN KEY (conversa) REFERENCES conversas(conversa)
) WITH (fillfactor='60');

CREATE TABLE session_snapshot (
    id bigint GENERATED ALWAYS AS IDENTITY,
    sessao_id text NOT NULL,
    conversa text NOT NULL,
    telefone text,
    empresa_id bigint NOT NULL,
    origem text,
    estado text NOT NULL,
    snapshot_reason text NOT NULL,
    cnpj_status text NOT NULL,
    cnpj_extracted text,
    cnpj text,
    cnpj_razao_social text,
    valor_status text NOT NULL,
    valor_extracted text,
    valor numeric(12,2),
    descricao_status text NOT NULL,
    descricao_extracted text,
    descricao text,
    data_complete boolean NOT NULL,
    missing_fields jsonb NOT NULL,
    rascunho jsonb NOT NULL,
    pendente text,
    revisao integer NOT NULL,
    id_integracao text,
    versao integer NOT NULL,
    mostrado_em timestamptz,
    resumos integer NOT NULL,
    expira_em timestamptz,
    expired_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    igual jsonb,
    empresa_versao integer,
    canal text,
    CONSTRAINT pk_session_snapshot PRIMARY KEY (id),
    CONSTRAINT uq_session_snapshot_sessao_id UNIQUE (sessao_id),
    CONSTRAINT fk_session_snapshot_conversa FOREIGN KEY (conversa) REFERENCES conversas(conversa),
    CONSTRAINT fk_session_snapshot_empresa_id FOREIGN KEY (empresa_id) REFERENCES empresa(id)
);

CREATE TABLE nfse_emissao (
    id bigint GENERATED ALWAYS AS IDENTITY,
    session_id bigint,
    sessao_id text NOT NULL,
    revisao integer NOT NULL,
    tentativa integer DEFAULT 1 NOT NULL,
    prestador_id bigint NOT NULL,
    tomador_id bigint NOT NULL,
    prestador_cnpj text NOT NULL,
    tomador_documento text NOT NULL,
    id_integracao text NOT NULL,
    status text NOT NULL,
    valor_servico numeric(12,2) NOT NULL,
    descricao_servico text NOT NULL,
    codigo_servico text NOT NULL,
    competencia date NOT NULL,
    impressao text NOT NULL,
    payload_enviado bytea NOT NULL,
    resposta_gateway jsonb,
    id_externo text,
    protocolo text,
    erro_mensagem text,
    consultas integer DEFAULT 0 NOT NULL,
    envios integer DEFAULT 0 NOT NULL,
    ausente_desde timestamptz,
    avisado_em timestamptz,
    dica_em timestamptz,
    webhook_payload jsonb,
    proxima_acao_em timestamptz,
    lease_until timestamptz,
    epoch bigint DEFAULT '0'::bigint NOT NULL,
    versao integer DEFAULT 1 NOT NULL,
    correlacao text,
    criado_em timestamptz DEFAULT now() NOT NULL,
    enviado_em timestamptz,
    processado_em timestamptz,
    serie_rps text,
    numero_rps bigint,
    retida text,
    em_duvida boolean,
    recusa jsonb,
    rodadas integer DEFAULT 0 NOT NULL,
    sem_conteudo_desde timestamptz,
    desejado_em timestamptz,
    leitura_gateway jsonb,
    canal text DEFAULT 'plugnotas'::text NOT NULL,
    ambiente text,
    chave_natural text,
    ausencias integer DEFAULT 0 NOT NULL,
    a_preparar boolean DEFAULT false NOT NULL,
    causa_fim_em timestamptz,
    origem text DEFAULT 'conversa'::text NOT NULL,
    listada_em timestamptz,
    substitui_id bigint,
    intencao jsonb,
    bytes bytea,
    recusas integer DEFAULT 0 NOT NULL,
    CONSTRAINT pk_nfse_emissao PRIMARY KEY (id),
    CONSTRAINT uq_nfse_emissao_id_integracao UNIQUE (id_integracao),
    CONSTRAINT uq_nfse_emissao_sessao_id_revisao_tentativa UNIQUE (sessao_id, revisao, tentativa),
    CONSTRAINT ck_nfse_emissao_origem CHECK (((origem = 'conversa'::text) = (session_id IS NOT NULL))),
    CONSTRAINT ck_nfse_emissao_rps CHECK (((serie_rps IS NULL) = (numero_rps IS NULL))),
    CONSTRAINT fk_nfse_emissao_prestador_id FOREIGN KEY (prestador_id) REFERENCES empresa(id),
    CONSTRAINT fk_nfse_emissao_session_id FOREIGN KEY (session_id) REFERENCES session_snapshot(id),
    CONSTRAINT fk_nfse_emissao_substitui_id_nfse_emissao FOREIGN KEY (substitui_id) REFERENCES nfse_emissao(id),
    CONSTRAINT fk_nfse_emissao_tomador_id FOREIGN KEY (tomador_id) REFERENCES cliente_tomador(id)
);

CREATE TABLE cancelamento (
    id bigint GENERATED ALWAYS AS IDENTITY,
    emissao_id bigint NOT NULL,
    conversa text,
    pedido_por text NOT NULL,
    estado text NOT NULL,
    codigo text,
    motivo text,
    versao integer NOT NULL,
    expira_em timestamptz,
    envio text,
    confirmado_em timestamptz,
    protocolo text,
    recusa text,
    resposta_gateway jsonb,
    erro_mensagem text,
    consultas integer DEFAULT 0 NOT NULL,
    envios integer DEFAULT 0 NOT NULL,
    vigente_desde timestamptz,
    avisado_em timestamptz,
    dica_em timestamptz,
    proxima_acao_em timestamptz,
    lease_until timestamptz,
    epoch bigint DEFAULT '0'::bigint NOT NULL,
    correlacao text,
    criado_em timestamptz DEFAULT now() NOT NULL,
    encerrado_em timestamptz,
    recusas integer DEFAULT 0 NOT NULL,
    CONSTRAINT pk_cancelamento PRIMARY KEY (id),
    CONSTRAINT ck_cancelamento_acao CHECK (((proxima_acao_em IS NULL) OR (estado = 'pendente'::text))),
    CONSTRAINT ck_cancelamento_motivo CHECK (((estado <> 'pendente'::text) OR ((motivo IS NOT NULL) AND (codigo IS NOT
        NULL)))),
    CONSTRAINT fk_cancelamento_conversa FOREIGN KEY (conversa) REFERENCES conversas(conversa),
    CONSTRAINT fk_cancelamento_emissao_id FOREIGN KEY (emissao_id) REFERENCES nfse_emissao(id)
);

CREATE TABLE gateway_tentativas (
    id bigint GENERATED ALWAYS AS IDENTITY,
    emissao_id bigint NOT NULL,
    operacao text NOT NULL,
    resultado text NOT NULL,
    detalhe text,
    latencia_ms integer NOT NULL,
    em timestamptz DEFAULT now() NOT NULL,
    http_status integer,
    pedido text,
    resposta text,
    CONSTRAINT pk_gateway_tentativas PRIMARY KEY (id),
    CONSTRAINT fk_gateway_tentativas_emissao_id FOREIGN KEY (emissao_id) REFERENCES nfse_emissao(id)
);

CREATE TABLE nfse_documento (
    id bigint GENERATED ALWAYS AS IDENTITY,
    emissao_id bigint NOT NULL,
    formato text NOT NULL,
    mime text NOT NULL,
    sha256 text NOT NULL,
    conteudo bytea NOT NULL,
    criado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_nfse_documento PRIMARY KEY (id),
    CONSTRAINT uq_nfse_documento_emissao_id_formato UNIQUE (emissao_id, formato),
    CONSTRAINT fk_nfse_documento_emissao_id FOREIGN KEY (emissao_id) REFERENCES nfse_emissao(id)
);

CREATE TABLE nfse_preparo (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    emissao_id bigint NOT NULL,
    versao integer NOT NULL,
    payload bytea NOT NULL,
    em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_nfse_preparo PRIMARY KEY (id),
    CONSTRAINT uq_nfse_preparo_emissao_id_versao UNIQUE (emissao_id, versao),
    CONSTRAINT fk_nfse_preparo_emissao_id_nfse_emissao FOREIGN KEY (emissao_id) REFERENCES nfse_emissao(id)
);

CREATE TABLE nfse_processada (
    id bigint GENERATED ALWAYS AS IDENTITY,
    emissao_id bigint NOT NULL,
    id_externo text NOT NULL,
    numero text NOT NULL,
    chave text,
    protocolo text,
    status text NOT NULL,
    c_stat text,
    url_xml text,
    url_pdf text,
    data_emissao text,
    webhook_payload jsonb,
    criado_em timestamptz DEFAULT now() NOT NULL,
    cancelado_em timestamptz,
    protocolo_cancelamento text,
    conteudo_visto_em timestamptz,
    CONSTRAINT pk_nfse_processada PRIMARY KEY (id),
    CONSTRAINT uq_nfse_processada_emissao_id UNIQUE (emissao_id),
    CONSTRAINT uq_nfse_processada_id_externo UNIQUE (id_externo),
    CONSTRAINT fk_nfse_processada_emissao_id FOREIGN KEY (emissao_id) REFERENCES nfse_emissao(id)
);

CREATE TABLE numeracao_uso (
    numeracao_id bigint NOT NULL,
    numero bigint NOT NULL,
    emissao_id bigint,
    inutilizado_em timestamptz,
    motivo text,
    alocado_em timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_numeracao_uso PRIMARY KEY (numeracao_id, numero),
    CONSTRAINT uq_numeracao_uso_emissao_id UNIQUE (emissao_id),
    CONSTRAINT fk_numeracao_uso_emissao_id FOREIGN KEY (emissao_id) REFERENCES nfse_emissao(id),
    CONSTRAINT fk_numeracao_uso_numeracao_id FOREIGN KEY (numeracao_id) REFERENCES numeracao(id)
);

CREATE INDEX ix_anotacao_conversa ON anotacao (conversa, em);
CREATE INDEX ix_api_chave_empresa_empresa_id ON api_chave_empresa (empresa_id);
CREATE INDEX ix_auditoria_alvo ON auditoria (alvo, id) WHERE (alvo IS NOT NULL);
CREATE INDEX ix_auditoria_staff ON auditoria (staff_id, id);
CREATE INDEX ix_cancelamento_conversa ON cancelamento (conversa, id DESC);
CREATE INDEX ix_cancelamento_deadline ON cancelamento (expira_em) WHERE (estado = ANY
    (ARRAY['aguardando_motivo'::text, 'aguardando_confirmacao'::text]));
CREATE INDEX ix_cancelamento_due ON cancelamento (proxima_acao_em) WHERE (proxima_acao_em IS NOT NULL);
CREATE INDEX ix_cancelamento_emissao_id ON cancelamento (emissao_id);
CREATE INDEX ix_certificado_link_usuario_id ON certificado_link (usuario_id);
CREATE INDEX ix_cliente_tomador_empresa ON cliente_tomador (empresa_id, id DESC);
CREATE INDEX ix_clientes_documento ON clientes (documento) WHERE (documento IS NOT NULL);
CREATE INDEX ix_conversas_atendente_id ON conversas (atendente_id);
CREATE INDEX ix_conversas_desconhecidas ON conversas (criado_em) WHERE (usuario_id IS NULL);
CREATE INDEX ix_conversas_pessoa_pedida ON conversas (conversa) WHERE (pessoa_pedida_em IS NOT NULL);
CREATE INDEX ix_conversas_usuario_id ON conversas (usuario_id);
CREATE INDEX ix_conversas_wa_fim ON conversas ("right"(wa_id, 8));
CREATE INDEX ix_empresa_aprovador_usuario_id ON empresa_aprovador (usuario_id);
CREATE INDEX ix_gateway_tentativas_emissao_id ON gateway_tentativas (emissao_id);
CREATE INDEX ix_idempotencia_operacoes_created_at ON idempotencia_operacoes (created_at);
CREATE INDEX ix_idempotency_records_created_at ON idempotency_records (created_at);
CREATE INDEX ix_idempotency_records_expires_at ON idempotency_records (expires_at);
CREATE INDEX ix_idempotency_records_process_instance_id ON idempotency_records (process_instance_id);
CREATE INDEX ix_inbox_lane_open ON inbox (lane, id) WHERE (estado = 0);
CREATE INDEX ix_inbox_mensagens ON inbox (lane, id) WHERE ((tipo = 'mensagem'::text) AND (estado <> 0));
CREATE INDEX ix_inbox_quarantined ON inbox (id) WHERE (estado = 2);
CREATE INDEX ix_lanes_ready ON lanes (ready_at) WHERE (ready_at IS NOT NULL);
CREATE INDEX ix_lote_fila_a_partir_de ON lote_fila (a_partir_de);
CREATE INDEX ix_lote_linhas_email ON lote_linhas (email) WHERE ((estado)::text = 'DONE'::text);
CREATE INDEX ix_lote_linhas_estado ON lote_linhas (lote_id, estado, id);
CREATE INDEX ix_lote_linhas_last_attempt ON lote_linhas (last_attempt) WHERE (last_attempt IS NOT NULL);
CREATE INDEX ix_lotes_last_attempt ON lotes (last_attempt) WHERE ((status)::text = 'PROCESSING'::text);
CREATE INDEX ix_lotes_sha256 ON lotes (empresa_id, sha256);
CREATE INDEX ix_nfse_emissao_avisar ON nfse_emissao (criado_em) WHERE ((avisado_em IS NULL) AND (status = ANY
    (ARRAY['pendente'::text, 'enviando'::text, 'enviado'::text, 'desconhecido'::text])));
CREATE INDEX ix_nfse_emissao_chave ON nfse_emissao (chave_natural) WHERE (chave_natural IS NOT NULL);
CREATE INDEX ix_nfse_emissao_concluida_de_novo ON nfse_emissao (sessao_id, revisao) WHERE ((status =
    'concluido'::text) AND (tentativa > 1));
CREATE INDEX ix_nfse_emissao_criado ON nfse_emissao (criado_em);
CREATE INDEX ix_nfse_emissao_due ON nfse_emissao (proxima_acao_em) WHERE (proxima_acao_em IS NOT NULL);
CREATE INDEX ix_nfse_emissao_espera_pessoa ON nfse_emissao (id) WHERE (retida = 'pessoa'::text);
CREATE INDEX ix_nfse_emissao_externo ON nfse_emissao (id_externo) WHERE (id_externo IS NOT NULL);
CREATE INDEX ix_nfse_emissao_fila_conversa ON nfse_emissao (prestador_id, proxima_acao_em) WHERE ((proxima_acao_em IS
    NOT NULL) AND (origem = 'conversa'::text));
CREATE INDEX ix_nfse_emissao_fila_outras ON nfse_emissao (prestador_id, proxima_acao_em) WHERE ((proxima_acao_em IS
    NOT NULL) AND (origem <> 'conversa'::text));
CREATE INDEX ix_nfse_emissao_igual ON nfse_emissao (prestador_id, tomador_documento, valor_servico, id DESC);
CREATE INDEX ix_nfse_emissao_olhos ON nfse_emissao (id) WHERE (status = ANY (ARRAY['desconhecido'::text,
    'conflito'::text, 'erro'::text]));
CREATE INDEX ix_nfse_emissao_prestador ON nfse_emissao (prestador_id, id DESC);
CREATE INDEX ix_nfse_emissao_session ON nfse_emissao (session_id);
CREATE INDEX ix_nfse_emissao_substitui ON nfse_emissao (substitui_id) WHERE (substitui_id IS NOT NULL);
CREATE INDEX ix_nfse_processada_chave ON nfse_processada (chave) WHERE (chave IS NOT NULL);
CREATE INDEX ix_nfse_processada_numero ON nfse_processada (numero);
CREATE INDEX ix_nota_de_fora_empresa ON nota_de_fora (empresa_id, emitida_em);
CREATE INDEX ix_numero_visto_referencia ON numero_visto (empresa_id, referencia);
CREATE INDEX ix_outbox_aside ON outbox (conversa, criado_em) WHERE ((sessao_id IS NULL) AND (chave IS NULL));
CREATE INDEX ix_outbox_conversa ON outbox (conversa, id);
CREATE INDEX ix_outbox_conversa_open ON outbox (conversa, id) WHERE (run_at IS NOT NULL);
CREATE INDEX ix_outbox_due ON outbox (run_at) WHERE (run_at IS NOT NULL);
CREATE INDEX ix_outbox_failed ON outbox (criado_em) WHERE (erro IS NOT NULL);
CREATE INDEX ix_outbox_resumo ON outbox (sessao_id, resumo_de) WHERE (resumo_de IS NOT NULL);
CREATE INDEX ix_propostas_aprovador_id ON propostas (aprovador_id);
CREATE INDEX ix_propostas_cliente_id ON propostas (cliente_id);
CREATE INDEX ix_propostas_esperam ON propostas (aprovador_id, enviada_em) WHERE (((estado)::text = 'enviada'::text)
    AND (sessao_id IS NULL));
CREATE INDEX ix_session_snapshot_cnpj ON session_snapshot (cnpj, id DESC) WHERE (cnpj IS NOT NULL);
CREATE INDEX ix_session_snapshot_conversa ON session_snapshot (conversa, id DESC);
CREATE INDEX ix_session_snapshot_deadline ON session_snapshot (expira_em) WHERE (estado = ANY (ARRAY['coleta'::text,
    'dados_incompletos'::text, 'aguardando_confirmacao'::text]));
CREATE INDEX ix_session_snapshot_empresa ON session_snapshot (empresa_id, id DESC);
CREATE INDEX ix_session_snapshot_estado ON session_snapshot (estado, id DESC);
CREATE INDEX ix_session_snapshot_origem ON session_snapshot (origem) WHERE (origem IS NOT NULL);
CREATE INDEX ix_session_snapshot_recusa_nossa ON session_snapshot (updated_at) WHERE ((estado = 'rejeitado'::text) AND
    (pendente IS NULL));
CREATE INDEX ix_staff_aparelho_staff_id ON staff_aparelho (staff_id);
CREATE INDEX ix_staff_sessao_staff_id ON staff_sessao (staff_id);
CREATE INDEX ix_staff_tentativa_conta ON staff_tentativa (conta, em);
CREATE INDEX ix_staff_tentativa_endereco ON staff_tentativa (endereco, em);
CREATE INDEX ix_transicoes_sessao ON transicoes (sessao_id, id);
CREATE INDEX ix_usuario_empresa_id ON usuario (empresa_id);
CREATE UNIQUE INDEX uq_cancelamento_conversando ON cancelamento (conversa) WHERE ((estado = ANY
    (ARRAY['aguardando_motivo'::text, 'aguardando_confirmacao'::text])) AND (pedido_por = 'conversa'::text));
CREATE UNIQUE INDEX uq_cancelamento_vivo ON cancelamento (emissao_id) WHERE (estado = ANY
    (ARRAY['aguardando_motivo'::text, 'aguardando_confirmacao'::text, 'pendente'::text]));
CREATE UNIQUE INDEX uq_certificado_link_aberto ON certificado_link (empresa_id) WHERE ((usado_em IS NULL) AND
    (encerrado_em IS NULL));
CREATE UNIQUE INDEX uq_clientes_email ON clientes (empresa_id, ambiente, lower((email)::text));
CREATE UNIQUE INDEX uq_empresa_certificado_atual ON empresa_certificado (empresa_id) WHERE (destruido_em IS NULL);
CREATE UNIQUE INDEX uq_nfse_emissao_chave_em_curso ON nfse_emissao (canal, ambiente, chave_natural) WHERE
    ((chave_natural IS NOT NULL) AND (status = ANY (ARRAY['pendente'::text, 'enviando'::text, 'enviado'::text,
    'desconhecido'::text])));
CREATE UNIQUE INDEX uq_nfse_emissao_em_curso ON nfse_emissao (sessao_id, revisao) WHERE (status = ANY
    (ARRAY['pendente'::text, 'enviando'::text, 'enviado'::text, 'desconhecido'::text]));
CREATE UNIQUE INDEX uq_session_snapshot_active ON session_snapshot (conversa) WHERE (estado = ANY
    (ARRAY['coleta'::text, 'dados_incompletos'::text, 'aguardando_confirmacao'::text]));

CREATE FUNCTION public.auditoria_encadeia() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    ultimo public.auditoria_elo;
BEGIN
    PERFORM pg_advisory_xact_lock(7015024);
    SELECT * INTO ultimo FROM public.auditoria_elo ORDER BY n DESC LIMIT 1;
    INSERT INTO public.auditoria_elo (n, auditoria_id, elo) VALUES (coalesce(ultimo.n, 0) + 1, NEW.id,
        public.auditoria_resumo(coalesce(ultimo.elo, ''), coalesce(ultimo.n, 0) + 1, false, NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION public.auditoria_resumo(anterior bytea, n bigint, na_migracao boolean, a public.auditoria) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT sha256(anterior || convert_to(jsonb_build_array(n, na_migracao, a.id, a.staff_id, a.quem, a.acao, a.alvo,
        a.empresa_id, a.motivo, a.detalhe, a.correlacao,
        to_char(a.em AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'))::text, 'UTF8'))
$$;

CREATE FUNCTION public.auditoria_so_cresce() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'auditoria is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION public.exigir_linhas(encontradas bigint, devidas bigint, qual integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF encontradas <> devidas THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = qual::text;
    END IF;
    RETURN 1;
END $$;

CREATE FUNCTION public.nfse_emissao_pedido() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.payload_enviado IS NOT DISTINCT FROM OLD.payload_enviado THEN
        NEW.payload_enviado := coalesce(NEW.bytes, convert_to(NEW.intencao::text, 'UTF8'), OLD.payload_enviado);
    ELSIF NEW.a_preparar THEN
        NEW.intencao := coalesce(NEW.intencao, convert_from(NEW.payload_enviado, 'UTF8')::jsonb);
    ELSE
        NEW.bytes := NEW.payload_enviado;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.numero_da_api() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.id := (floor(extract(epoch FROM clock_timestamp()))::bigint - 1767225600) * 1000 + NEW.id % 1000;
    RETURN NEW;
END $$;

CREATE TRIGGER auditoria_elo_nao_esvazia BEFORE TRUNCATE ON auditoria_elo FOR EACH STATEMENT EXECUTE FUNCTION
    auditoria_so_cresce();
CREATE TRIGGER auditoria_elo_so_cresce BEFORE DELETE OR UPDATE ON auditoria_elo FOR EACH ROW EXECUTE FUNCTION
    auditoria_so_cresce();
CREATE CONSTRAINT TRIGGER auditoria_encadeia AFTER INSERT ON auditoria DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION auditoria_encadeia();
CREATE TRIGGER auditoria_nao_esvazia BEFORE TRUNCATE ON auditoria FOR EACH STATEMENT EXECUTE FUNCTION
    auditoria_so_cresce();
CREATE TRIGGER auditoria_so_cresce BEFORE DELETE OR UPDATE ON auditoria FOR EACH ROW EXECUTE FUNCTION
    auditoria_so_cresce();
CREATE TRIGGER clientes_numero BEFORE INSERT ON clientes FOR EACH ROW EXECUTE FUNCTION numero_da_api();
CREATE TRIGGER lotes_numero BEFORE INSERT ON lotes FOR EACH ROW EXECUTE FUNCTION numero_da_api();
CREATE TRIGGER nfse_emissao_pedido BEFORE INSERT OR UPDATE OF bytes, payload_enviado ON nfse_emissao FOR EACH ROW
    EXECUTE FUNCTION nfse_emissao_pedido();
CREATE TRIGGER propostas_numero BEFORE INSERT ON propostas FOR EACH ROW EXECUTE FUNCTION numero_da_api();
