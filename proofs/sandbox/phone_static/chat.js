// The conversation: bubbles that appear once and whose ticks move; knows how to draw, not where messages go.
import { $, day, h, hour, icon } from "./dom.js";
import { rich } from "./text.js";

const TICKS = {
  sent: ["sent", "enviada"],
  delivered: ["twice", "entregue"],
  read: ["twice", "lida"],
  failed: ["failed", "não entregue"],
};
const TYPING_LASTS = 25_000; // ms: WhatsApp drops the indicator by then

export class Conversation {
  /** `act` has press(bubble, button), open(bubble). */
  constructor(act) {
    this.act = act;
    this.log = $("log");
    this.thread = $("thread");
    this.shown = new Map();
    this.lastDay = null;
  }

  clear() {
    this.thread.replaceChildren();
    this.shown.clear();
    this.lastDay = null;
    this.typing(false);
  }

  /** Take over a whole conversation quietly: a screen reader hears only what is new. */
  load(bubbles) {
    const first = this.shown.size === 0;
    if (first) this.log.setAttribute("aria-live", "off");
    if (bubbles.length < this.shown.size) this.clear();
    bubbles.forEach((bubble) => this.show(bubble));
    if (first) {
      this.toEnd();
      requestAnimationFrame(() => this.log.setAttribute("aria-live", "polite"));
    }
  }

  /** Draw a new bubble or move the ticks of a known one; says whether it was new. */
  show(bubble) {
    const known = this.shown.get(bubble.id);
    if (known) {
      known.querySelector(".tick")?.replaceWith(tick(bubble.status));
      return false;
    }
    const pinned = this.atEnd() || bubble.direction === "out";
    const when = day(bubble.at);
    if (when !== this.lastDay) this.thread.append(h("p", { class: "day" }, (this.lastDay = when)));
    const drawn = this.draw(bubble);
    this.shown.set(bubble.id, drawn);
    this.thread.append(drawn);
    if (bubble.direction === "in") this.typing(false);
    if (pinned) this.toEnd();
    return true;
  }

  typing(on) {
    clearTimeout(this.typingTimer);
    const pinned = this.atEnd();
    $("typing").hidden = !on;
    const presence = $("presence");
    presence.dataset.idle ??= presence.textContent;
    presence.textContent = on ? "digitando…" : presence.dataset.idle;
    if (on) this.typingTimer = setTimeout(() => this.typing(false), TYPING_LASTS);
    if (pinned) this.toEnd();
  }

  atEnd() {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80;
  }

  toEnd() {
    this.log.scrollTop = this.log.scrollHeight;
  }

  draw(bubble) {
    const mine = bubble.direction === "out";
    const body = h(
      "div",
      { class: `bubble ${bubble.direction}` },
      h("span", { class: "sr" }, mine ? "Você: " : "Prosa: "),
      bubble.header && h("p", { class: "head" }, ...rich(bubble.header)),
      bubble.attachment && file(bubble.attachment),
      bubble.text && h("p", { class: "words" }, ...rich(bubble.text)),
      bubble.footer && h("p", { class: "foot" }, bubble.footer),
      h("p", { class: "meta" }, h("time", { datetime: bubble.at }, hour(bubble.at)), mine && tick(bubble.status)),
    );
    const buttons = (bubble.buttons ?? []).map((button) =>
      h(
        "button",
        { type: "button", class: "reply", "data-testid": "button", "data-id": button.id, onclick: () => this.act.press(bubble, button) },
        button.title,
      ),
    );
    if (bubble.rows?.length) {
      const open = (event) => this.act.open(bubble, event.currentTarget);
      buttons.push(
        h("button", { type: "button", class: "reply", "data-testid": "list", onclick: open }, icon("list"), bubble.list_label || "Ver opções"),
      );
    }
    return h(
      "div",
      { class: `turn ${bubble.direction}`, "data-testid": "bubble", "data-direction": bubble.direction, "data-id": bubble.id },
      body,
      buttons.length > 0 && h("div", { class: "replies" }, buttons),
    );
  }
}

function tick(status = "sent") {
  const [name, label] = TICKS[status] ?? TICKS.sent;
  return h("span", { class: `tick ${status}`, "data-testid": "tick", "data-status": status }, icon(name), h("span", { class: "sr" }, label));
}

function file(attachment) {
  const extension = attachment.filename.split(".").pop().slice(0, 4).toUpperCase();
  const size = attachment.size ? ` · ${attachment.size < 1024 ? `${attachment.size} bytes` : `${Math.round(attachment.size / 1024)} KB`}` : "";
  const href = `documents/${encodeURIComponent(attachment.id)}`;
  const picture = attachment.mime.startsWith("image/");
  return h(
    "a",
    {
      class: picture ? "file picture" : "file",
      href,
      target: "_blank",
      rel: "noopener",
      "data-testid": "document",
      "data-mime": attachment.mime,
    },
    picture && h("img", { src: href, alt: "" }),
    !picture && h("span", { class: "ext", "data-ext": extension, "aria-hidden": "true" }, extension),
    h("span", { class: "name" }, h("b", null, attachment.filename), h("small", null, `${extension}${size}`, h("span", { class: "sr" }, ", abre em outra aba"))),
    icon("open"),
  );
}
