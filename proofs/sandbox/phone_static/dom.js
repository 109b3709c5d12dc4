// Builds nodes; text always enters as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const icon = (name, attributes) => s("svg", { "aria-hidden": "true", ...attributes }, s("use", { href: `#i-${name}` }));
export const $ = (id) => document.getElementById(id);

const ZONE = { timeZone: "America/Sao_Paulo" };
const HOUR = new Intl.DateTimeFormat("pt-BR", { ...ZONE, hour: "2-digit", minute: "2-digit" });
const SECOND = new Intl.DateTimeFormat("pt-BR", { ...ZONE, hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("pt-BR", { ...ZONE, day: "numeric", month: "long" });
const MONEY = new Intl.NumberFormat("pt-BR", { style: "currency", currency: "BRL" });

export const hour = (iso) => HOUR.format(new Date(iso));
export const second = (iso) => SECOND.format(new Date(iso));
export const money = (text) => (/^-?\d+(\.\d+)?$/.test(text ?? "") ? MONEY.format(text) : (text ?? ""));
export const day = (iso) => {
  const [then, today] = [DAY.format(new Date(iso)), DAY.format(new Date())];
  return then === today ? "Hoje" : then;
};
export const taxId = (text) => {
  if (/^[0-9A-Z]{12}\d{2}$/.test(text)) return text.replace(/^(..)(...)(...)(....)(..)$/, "$1.$2.$3/$4-$5");
  if (/^\d{11}$/.test(text)) return text.replace(/^(...)(...)(...)(..)$/, "$1.$2.$3-$4");
  return text;
};
