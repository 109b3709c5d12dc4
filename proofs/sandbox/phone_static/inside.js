// The live view: keeps the last answer, redraws the cards that changed and turns the switches.
import { $, h } from "./dom.js";
import { drawDiagram, stateName } from "./diagram.js";
import { fields, inbox, journal, ledger, proposals } from "./parts.js";

export class Inside {
  /** `turn(switches)` posts and returns how all of them stand. */
  constructor(turn) {
    this.last = null;
    this.drawn = {};
    new ResizeObserver(() => this.last && this.diagram()).observe($("diagram"));
    this.switches = [...document.querySelectorAll("[data-switch]")];
    for (const button of this.switches) {
      button.addEventListener("click", async () => {
        const on = button.getAttribute("aria-checked") !== "true";
        const before = this.standing();
        this.mark({ ...before, [button.dataset.switch]: on });
        this.mark((await turn({ [button.dataset.switch]: on })) ?? before);
      });
    }
    $("reset").addEventListener("click", async () => {
      const before = this.standing();
      this.mark((await turn(Object.fromEntries(Object.keys(before).map((name) => [name, false])))) ?? before);
    });
  }

  /** Show `{inside, switches, ledger, mails, propostas}`; says whether anything but the switches changed. */
  show({ inside, switches, ledger: notes, mails = [], propostas = [] }) {
    this.last = inside;
    this.mark(switches);
    this.diagram();
    const changed = [
      this.card("fields", [inside.sessao, inside.campos], () => fields(inside)),
      this.card("journal", [inside.transicoes, inside.emissoes, notes], () => journal(inside, notes)),
      this.card("ledger", [inside.emissoes, inside.contadores, notes], () => ledger(inside, notes)),
      $("proposals") && this.card("proposals", propostas, () => proposals(propostas)),
      $("mails") && this.card("mails", mails, () => inbox(mails)),
    ];
    return changed.includes(true);
  }

  card(id, data, draw) {
    const key = JSON.stringify(data);
    if (this.drawn[id] === key) return false;
    const fresh = this.drawn[id] !== undefined;
    this.drawn[id] = key;
    const host = $(id);
    const open = host.querySelector("details")?.open;
    host.replaceChildren(...draw().filter(Boolean));
    if (open) host.querySelector("details")?.setAttribute("open", "");
    return fresh;
  }

  diagram() {
    const { diagrama, transicoes, sessao } = this.last;
    drawDiagram($("diagram"), diagrama, transicoes, sessao?.estado);
    const state = $("state");
    if (state.dataset.state === (sessao?.estado ?? "")) return;
    state.dataset.state = sessao?.estado ?? "";
    state.replaceChildren(
      sessao
        ? h("b", { "data-testid": "state", "data-state": sessao.estado, class: `pill ${sessao.estado}` }, stateName(sessao.estado))
        : h("b", { "data-testid": "state", "data-state": "", class: "pill" }, "nenhuma sessão ainda"),
    );
  }

  standing() {
    return Object.fromEntries(this.switches.map((button) => [button.dataset.switch, button.getAttribute("aria-checked") === "true"]));
  }

  mark(switches) {
    for (const button of this.switches) button.setAttribute("aria-checked", String(Boolean(switches[button.dataset.switch])));
    $("reset").disabled = !Object.values(switches).some(Boolean);
  }
}
