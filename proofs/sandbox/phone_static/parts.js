// The cards of the inside as nodes: snapshot fields, journal, ledger; pure drawing of what it is given.
import { h, money, second, taxId } from "./dom.js";
import { stateName } from "./diagram.js";

const FIELDS = {
  documento: "CNPJ ou CPF",
  valor: "Valor",
  descricao: "Serviço",
  nome: "Cliente",
  email: "E-mail",
  competencia: "Competência",
  data: "Data",
  codigo: "Código do serviço",
  endereco: "Endereço do cliente",
  local: "Onde foi feito",
  obra: "Obra",
  evento: "Evento",
  fim: "Último dia do evento",
  itens: "Produtos",
  modelo: "Documento",
  retido: "ISS retido pelo cliente",
};
const COLUMNS = { data_complete: "completa", missing_fields: "falta", cnpj_razao_social: "cliente", id_integracao: "referência" };
const REQUIRED = ["documento", "valor", "descricao"];
const STATUS = { null: ["○", "falta"], extracted: ["◐", "lido"], validated: ["✓", "validado"], invalid: ["✕", "inválido"] };
const SOURCES = { regras: "lido pelas regras", modelo: "lido pelo modelo", cadastro: "do cadastro" };
const SITUATIONS = {
  CONCLUIDO: ["good", "autorizada"],
  REJEITADO: ["bad", "rejeitada"],
  DENEGADO: ["bad", "denegada"],
  CANCELADO: ["off", "cancelada"],
};
const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;
const pretty = (field, value) => (field === "valor" ? money(value) : field === "documento" ? taxId(value) : value);
const empty = (words) => h("p", { class: "empty" }, words);

export function fields(view) {
  if (!view.sessao) return [empty("A ficha nasce quando alguém da empresa pede uma nota.")];
  const { sessao_id, revisao, snapshot_reason, estado, ...others } = view.sessao;
  return [
    h(
      "p",
      { class: "facts" },
      fact("sessão", sessao_id, "sessao"),
      fact("revisão", revisao, "revisao"),
      fact("motivo", snapshot_reason, "motivo"),
    ),
    h("ul", { class: "fields" }, view.campos.filter((row) => !spare(row)).map(field), unsaid(view.campos.filter(spare))),
    details(others),
  ];
}

const spare = ({ campo, status }) => status === "null" && !REQUIRED.includes(campo);

const unsaid = (rows) =>
  rows.length > 0 &&
  h(
    "li",
    { class: "unsaid" },
    "Opcionais, não ditos: ",
    rows.map(({ campo }, index) => [
      index > 0 && ", ",
      h("span", { "data-testid": "field", "data-campo": campo, "data-status": "null" }, (FIELDS[campo] ?? campo).toLowerCase()),
    ]).flat(),
  );

const fact = (name, value, id) =>
  value !== undefined && value !== null && h("span", null, `${name} `, h("b", { "data-testid": `fato-${id}` }, String(value)));

function field({ campo, status, valor, escrito, origem, confianca, mensagem }) {
  const key = STATUS[status] ? status : "null";
  const [sign, label] = STATUS[key];
  const source = [SOURCES[origem], confianca && confianca !== "certa" && `leitura ${confianca}`, mensagem && `mensagem ${mensagem}`].filter(Boolean).join(", ");
  return h(
    "li",
    { "data-testid": "field", "data-campo": campo, "data-status": key, "data-valor": valor ?? "", "data-mensagem": mensagem ?? "" },
    h("span", { class: "campo" }, FIELDS[campo] ?? campo),
    h("span", { class: `badge ${key}` }, h("i", { "aria-hidden": "true" }, sign), label),
    h(
      "span",
      { class: "said" },
      h("span", { class: "valor" }, valor ? pretty(campo, valor) : "—"),
      escrito && h("q", { class: "escrito", title: source || null }, escrito),
    ),
  );
}

function details(columns) {
  const rows = Object.entries(columns).filter(([, value]) => value !== null && value !== "");
  const said = (value) => (typeof value === "boolean" ? (value ? "sim" : "não") : String(value));
  if (rows.length === 0) return null;
  return h(
    "details",
    null,
    h("summary", null, `Mais do que está guardado (${rows.length})`),
    h("dl", null, rows.flatMap(([name, value]) => [h("dt", null, COLUMNS[name] ?? name.replaceAll("_", " ")), h("dd", null, said(value))])),
  );
}

// What was asked of the gateway and what came of it; a name that is not here is said as on the staff's pages (`dito`).
const CALLS = {
  submit: { _: "POST enviado", Unknown: "resposta perdida", Accepted: "aceito", Issued: "autorizada", Rejected: "recusado", Duplicate: "já existia", NotSent: "não chegou", Postponed: "adiado" },
  find: { _: "perguntei ao gateway", Found: "achei a nota", Issued: "achei a nota", Rejected: "achei: recusada", Cancelled: "achei: cancelada", Accepted: "achei: em emissão", Absent: "não achei", CannotTell: "sem resposta", Unknown: "resposta perdida" },
  cancel: { _: "pedido de cancelamento enviado", Accepted: "aceito", Cancelled: "cancelada", AlreadyCancelled: "já estava cancelada", Rejected: "recusado", NotSent: "não chegou", Postponed: "adiado", Unknown: "resposta perdida" },
};

/** The calls of each emission, oldest first; after a lost answer that was found, how often the gateway has the note. */
function calls(view, notes) {
  return (view.emissoes ?? []).flatMap(({ id_integracao, avisada = true, chamadas = [] }) => {
    const told = chamadas.map(({ em, operacao, resultado, dito }) => {
      const known = CALLS[operacao]?.[resultado];
      const words = known ? `${CALLS[operacao]._} → ${known}` : (dito ?? `${operacao} → ${resultado}`);
      return { em, call: `${operacao} ${resultado}`, words: operacao === "find" && !avisada ? `nenhum aviso → ${words}` : words, key: id_integracao };
    });
    const found = chamadas.find(({ operacao, resultado }) => operacao === "find" && resultado === "Found");
    if (found && chamadas.some(({ operacao, resultado }) => operacao === "submit" && resultado === "Unknown")) {
      const copies = notes.filter((note) => note.id_integracao === id_integracao).length;
      const sent = chamadas.filter(({ operacao }) => operacao === "submit").length;
      const words = copies === 1 ? "nenhuma 2ª nota" : `${copies} notas no gateway`;
      told.push({ em: found.em, call: `copies ${copies}`, words: `${words} · ${plural(sent, "envio", "envios")} ao todo`, key: id_integracao });
    }
    return told;
  });
}

export function journal(view, notes) {
  const rows = [...view.transicoes, ...calls(view, notes)].sort((a, b) => Date.parse(a.em) - Date.parse(b.em));
  if (rows.length === 0) return [empty("Cada mudança de estado fica registrada aqui, sem nunca ser apagada.")];
  return [
    h(
      "ol",
      { class: "journal", reversed: true },
      rows.toReversed().map((row) =>
        row.call ? called(row) : h(
          "li",
          { "data-testid": "transition", "data-de": row.de ?? "", "data-para": row.para },
          h("time", { datetime: row.em }, second(row.em)),
          h("p", null, row.de && row.de !== row.para && `${stateName(row.de)} → `, h("b", null, stateName(row.para))),
          h("p", { class: "why" }, h("span", null, row.evento), row.motivo && h("span", null, row.motivo), h("span", null, `rev. ${row.revisao}`)),
        ),
      ),
    ),
  ];
}

const called = ({ em, call, words, key }) =>
  h(
    "li",
    { "data-testid": "call", "data-call": call },
    h("time", { datetime: em }, second(em)),
    h("p", null, words),
    h("p", { class: "why" }, h("span", null, key)),
  );

export function ledger(view, notes) {
  const ours = new Map((view.emissoes ?? []).map((row) => [row.id_integracao, row]));
  const known = new Set(notes.map((note) => note.id_integracao));
  const waiting = [...ours.values()].filter((row) => !known.has(row.id_integracao));
  const rows = [
    ...waiting.map((row) => entry({ ...row, situacao: null, tomador: row.tomador ?? "" }, row)),
    ...notes.toReversed().map((note) => entry(note, ours.get(note.id_integracao))),
  ];
  return [score(view.contadores ?? {}, notes), rows.length ? h("ul", { class: "ledger" }, rows) : empty("Nenhuma nota ainda. Elas aparecem aqui quando o gateway aceita.")];
}

function score({ confirmacoes }, notes) {
  const issued = notes.filter((note) => ["CONCLUIDO", "CANCELADO"].includes(note.situacao)).length;
  const refused = notes.filter((note) => ["REJEITADO", "DENEGADO"].includes(note.situacao)).length;
  const open = notes.length - issued - refused;
  const known = Number.isInteger(confirmacoes);
  const wrong = known && issued + open > confirmacoes; // a refused one is no note
  const parts = [
    issued || !(refused || open) ? plural(issued, "nota", "notas") : null,
    refused ? plural(refused, "rejeitada", "rejeitadas") : null,
    open ? `${open} em andamento` : null,
  ].filter(Boolean);
  return h(
    "p",
    { class: `score${wrong ? " wrong" : ""}`, "data-testid": "placar", "data-notas": issued, "data-confirmacoes": confirmacoes ?? "" },
    known && h("span", null, `${plural(confirmacoes, "confirmação", "confirmações")} → `),
    h("b", null, parts.join(" · ")),
    wrong && h("span", { class: "alarm" }, "há nota a mais"),
  );
}

function entry(note, ours) {
  const [tone, label] = note.situacao ? (SITUATIONS[note.situacao] ?? ["busy", "em processamento"]) : ["off", "o gateway ainda não tem"];
  return h(
    "li",
    { "data-testid": "ledger-row", "data-situacao": note.situacao ?? "", "data-numero": note.numero ?? "", "data-id": note.id_integracao },
    h("b", { class: "number" }, note.numero ? `nº ${note.numero}` : "sem nº"),
    h("span", { class: `badge ${tone}` }, label),
    h("b", { class: "amount" }, money(note.valor)),
    h("span", { class: "payer" }, taxId(note.tomador ?? "")),
    note.emitente && h("span", { class: "issuer" }, `${taxId(note.emitente)} · ${note.canal}`),
    h("small", { class: "key" }, note.id_integracao, ours && ` · aqui: ${ours.status}`),
  );
}

export function inbox(mails) {
  if (mails.length === 0) return [empty("Nenhum e-mail ainda. Uma lista enviada pela API chega aqui.")];
  return [h("ul", { class: "offers" }, mails.map(mail))];
}

const mail = ({ para, assunto, texto, arquivos }) =>
  h(
    "li",
    { "data-testid": "mail", "data-para": para },
    h("details", null, h("summary", null, h("b", null, assunto), ` · ${para}`), texto.split("\n").map((line) => h("p", null, line))),
    arquivos.length > 0 && h("small", { class: "key" }, arquivos.join(", ")),
  );

export function proposals(rows) {
  if (rows.length === 0) return [empty("O que o ERP propõe pela API, Ana confirma na conversa.")];
  return [h("ul", { class: "offers" }, rows.map(proposal))];
}

const proposal = ({ id, estado, versao, valor, descricao }) =>
  h("li", { "data-testid": "proposal", "data-estado": estado }, h("b", null, `nº ${id} · ${estado}`), ` ${money(valor)} · ${descricao ?? ""} `, h("small", null, `versão ${versao}`));
