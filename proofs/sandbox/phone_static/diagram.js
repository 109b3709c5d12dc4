// Draws the transition table: the states of the main road in fixed places, any other below; lights the path taken.
import { h, s } from "./dom.js";

export const NAMES = {
  coleta: "coleta",
  dados_incompletos: "dados incompletos",
  aguardando_confirmacao: "aguardando confirmação",
  processando: "processando",
  aprovado: "aprovado",
  rejeitado: "rejeitado",
  erro: "erro",
  cancelado_usuario: "cancelado pelo usuário",
  expirado: "expirado",
};
export const stateName = (state) => NAMES[state] ?? state.replaceAll("_", " ");

// (step along the road, lane across it)
const PLACES = {
  coleta: [0, 1],
  dados_incompletos: [1, 1],
  aguardando_confirmacao: [2, 1],
  processando: [3, 1],
  aprovado: [4, 0],
  rejeitado: [4, 1],
  erro: [4, 2],
  expirado: [1, 2],
  cancelado_usuario: [2, 2],
};
const WIDE = { flip: false, along: 188, across: 74, from: [68, 26], half: [62, 21], size: [920, 200] };
const TALL = { flip: true, along: 74, across: 122, from: [26, 58], half: [20, 49], size: [360, 372] };

export function drawDiagram(host, table, transitions, current) {
  const plan = host.clientWidth < 620 ? TALL : WIDE;
  const key = JSON.stringify([plan.flip, table, transitions.map((row) => [row.de, row.para]), current]);
  if (host.dataset.key === key) return;
  host.dataset.key = key;

  const places = { ...PLACES };
  let spare = 0;
  for (const state of table.estados) places[state] ??= [spare++, 3];
  const taken = new Set(transitions.map((row) => `${row.de}>${row.para}`));
  const visited = new Set(transitions.flatMap((row) => [row.de, row.para]));

  const events = new Map();
  for (const [from, to, event] of table.arcos) {
    if (!places[from] || !places[to]) continue;
    const pair = `${from}>${to}`;
    events.set(pair, [...(events.get(pair) ?? []), event]);
  }
  const arcs = [...events].sort(([one], [other]) => taken.has(one) - taken.has(other)); // lit ones on top
  const [width, height] = plan.size;
  const svg = s(
    "svg",
    { viewBox: `0 0 ${width} ${height + (spare ? plan.across : 0)}`, role: "img", "aria-label": summary(transitions, current) },
    s("defs", null, arrow("idle"), arrow("lit")),
    arcs.map(([pair, names]) => {
      const [from, to] = pair.split(">");
      const kind = taken.has(pair) ? "lit" : "idle";
      return s(
        "path",
        { class: `arc ${kind}`, d: route(plan, places[from], places[to]), "marker-end": `url(#tip-${kind})`, "data-arc": pair },
        s("title", null, `${stateName(from)} → ${stateName(to)}: ${names.join(", ")}`),
      );
    }),
    table.estados.map((state) => node(plan, state, places[state], state === current, visited.has(state))),
  );
  host.replaceChildren(h("div", { class: plan.flip ? "tall" : "wide" }, svg));
}

const arrow = (kind) =>
  s(
    "marker",
    { id: `tip-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
    s("path", { class: `tip ${kind}`, d: "M0 .8 7.5 4 0 7.2Z" }),
  );

const center = (plan, [step, lane]) => [plan.from[0] + step * plan.along, plan.from[1] + lane * plan.across];
const onPaper = (plan, [along, across]) => (plan.flip ? `${across} ${along}` : `${along} ${across}`);

function node(plan, state, place, current, visited) {
  const [along, across] = center(plan, place);
  const [x, y] = plan.flip ? [across, along] : [along, across];
  const [halfWidth, halfHeight] = plan.flip ? [plan.half[1], plan.half[0]] : plan.half;
  const words = stateName(state).split(" ");
  const lines = words.length > 2 ? [words[0], words.slice(1).join(" ")] : words;
  const box = { x: x - halfWidth, y: y - halfHeight, width: 2 * halfWidth, height: 2 * halfHeight, rx: 12 };
  return s(
    "g",
    { class: `node ${state}${visited ? " visited" : ""}${current ? " current" : ""}`, "data-state": state },
    current && s("rect", { class: "halo", x: box.x - 4, y: box.y - 4, width: box.width + 8, height: box.height + 8, rx: 16 }),
    s("rect", { class: "box", ...box }),
    lines.map((line, index) => s("text", { x, y: y + (index - (lines.length - 1) / 2) * 14 }, line)),
  );
}

// Coordinates are (along, across); `onPaper` turns them for the tall plan.
function route(plan, from, to) {
  const [a, p] = center(plan, from);
  const [b, q] = center(plan, to);
  const [half, side] = plan.half;
  const steps = to[0] - from[0];
  const line = (...points) => points.map((point) => onPaper(plan, point));
  const straight = (one, other) => `M${line(one)} L${line(other)}`;
  const curve = (...points) => {
    const [start, c1, c2, end] = line(...points);
    return `M${start} C${c1} ${c2} ${end}`;
  };
  if (steps === 0 && p === q) {
    return curve([a - 12, p - side], [a - 20, p - side - 26], [a + 20, p - side - 26], [a + 12, p - side]);
  }
  if (p === q) {
    if (steps === 1) return straight([a + half, p], [b - half, q]);
    const rise = p - side - 14 - 13 * Math.abs(steps);
    const lean = steps > 0 ? 22 : -14; // there and back keep apart
    return curve([a + lean, p - side], [a + lean, rise], [b - lean, rise], [b - lean, q - side]);
  }
  if (steps === 0) {
    if (Math.abs(to[1] - from[1]) === 1) {
      const way = Math.sign(q - p);
      return straight([a, p + way * side], [b, q - way * side]);
    }
    return curve([a + half, p], [a + half + 34, p], [b + half + 34, q], [b + half, q]);
  }
  if (steps === 1 && to[0] === 4) {
    const middle = (a + half + b - half) / 2;
    return curve([a + half, p], [middle, p], [middle, q], [b - half, q]);
  }
  const way = Math.sign(q - p);
  const turn = (p + q) / 2;
  const lean = Math.sign(steps);
  return curve([a + lean * 20, p + way * side], [a + lean * 20, turn], [b - lean * 20, turn], [b - lean * 20, q - way * side]);
}

function summary(transitions, current) {
  if (!current) return "Nenhuma sessão ainda.";
  const path = transitions.map((row) => row.para).filter(Boolean).map(stateName);
  return `Estado agora: ${stateName(current)}.${path.length ? ` Caminho: ${path.join(", ")}.` : ""}`;
}
