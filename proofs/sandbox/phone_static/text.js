// WhatsApp's formatting (*bold* _italic_ ~strike~ `code` ```mono```) and addresses as nodes; what does not pair stays as written.
import { h } from "./dom.js";

const TAGS = { "*": "strong", _: "em", "~": "s" };
const FENCE = /```([\s\S]+?)```/;
const LINK = /https?:\/\/[^\s<>"*]+/;
const CODE = /`([^`\n]+)`/;
// no line ends inside an amount, a CNPJ or a CPF
const WHOLE = /R\$ [\d.,]*\d|[\dA-Z]{2}\.[\dA-Z]{3}\.[\dA-Z]{3}\/[\dA-Z]{4}-\d\d|\d{3}\.\d{3}\.\d{3}-\d\d/;
const MARK = /(^|[\s\p{P}\p{S}])([*_~])(?=\S)([^\n]*?\S)\2(?=$|[\s\p{P}\p{S}])/u;

function split(text, pattern, made, rest) {
  const found = pattern.exec(text);
  if (!found) return rest(text);
  const start = found.index + (found.length > 2 ? found[1].length : 0);
  const end = found.index + found[0].length;
  return [...rest(text.slice(0, start)), made(found), ...split(text.slice(end), pattern, made, rest)];
}

const wholes = (text) => split(text, WHOLE, (found) => h("span", { class: "whole" }, found[0]), (plain) => (plain ? [plain] : []));
const marks = (text) => split(text, MARK, (found) => h(TAGS[found[2]], null, ...marks(found[3])), wholes);
const address = (found) => h("a", { href: found[0], target: "_blank", rel: "noopener noreferrer" }, found[0]);
const links = (text) => split(text, LINK, address, marks);
const codes = (text) => split(text, CODE, (found) => h("code", null, found[1]), links);

export const rich = (text) => split(text, FENCE, (found) => h("code", { class: "block" }, found[1]), codes);
