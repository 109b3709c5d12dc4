// Wires the page: who speaks, what is sent, which tab shows; everything drawn lives in the other modules.
import { $ } from "./dom.js";
import { Conversation } from "./chat.js";
import { Inside } from "./inside.js";
import { Refused, follow, post } from "./net.js";
import { openSheet } from "./sheet.js";

const who = $("user");
const words = $("texto");
const stage = document.querySelector(".stage");
const tabs = [...document.querySelectorAll("[role=tab]")];

function snag(sentence) {
  $("snag").textContent = sentence ?? "";
  $("snag").hidden = !sentence;
}

/** Post, tell a refusal to the person; returns the answer or undefined. */
async function attempt(path, body) {
  try {
    const answer = await post(path, body);
    snag();
    return answer;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    snag(error.message);
    return undefined;
  }
}

const conversation = new Conversation({
  press: (bubble, { id, title }) => attempt("api/press", { user: who.value, id, title, context: bubble.id }),
  open: (bubble, opener) =>
    openSheet(bubble, opener, ({ id, title }) => attempt("api/choose", { user: who.value, id, title, context: bubble.id })),
});
const inside = new Inside((switches) => attempt("api/switches", { switches }));

$("erp")?.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt("api/propostas", Object.fromEntries(new FormData(event.target)));
});

/* who */
let stop;
function speak() {
  stop?.();
  conversation.clear();
  snag();
  const chosen = who.selectedOptions[0];
  $("hint").textContent = `Você fala como ${chosen.text}: ${chosen.dataset.hint}`;
  for (const chip of document.querySelectorAll(".chip[data-who]")) chip.hidden = !chosen.text.startsWith(chip.dataset.who);
  history.replaceState(null, "", `?user=${encodeURIComponent(who.value)}`);
  stop = follow(who.value, {
    state(state) {
      conversation.load(state.bubbles);
      conversation.typing(state.typing);
      inside.show(state);
    },
    bubble: (bubble) => conversation.show(bubble) && bubble.direction === "in" && hintAt("conversa"),
    typing: ({ on }) => conversation.typing(on),
    inside: (view) => inside.show(view) && hintAt("dentro"),
    link(online) {
      $("live").textContent = online ? "ao vivo" : "reconectando…";
      $("live").classList.toggle("on", online);
    },
  });
}
who.addEventListener("change", speak);
addEventListener("pagehide", () => stop?.());
addEventListener("pageshow", (event) => event.persisted && speak());

/* composer */
async function send() {
  const text = words.value.trim();
  if (!text) return;
  write("");
  const sent = await attempt("api/messages", { user: who.value, text });
  if (!sent && !words.value) write(text);
}
function write(text) {
  words.value = text;
  grow();
}
function grow() {
  words.rows = Math.min(5, words.value.split("\n").length + Math.floor(words.value.length / 44));
}
$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
words.addEventListener("input", grow);
words.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
document.querySelector(".chips").addEventListener("click", (event) => {
  const chip = event.target.closest(".chip");
  if (!chip) return;
  write(chip.dataset.text);
  words.focus();
});
document.querySelector(".chips").addEventListener("wheel", ({ currentTarget, deltaY }) => (currentTarget.scrollLeft += deltaY), { passive: true });
$("attach").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  target.value = "";
  if (!file) return;
  const query = new URLSearchParams({ user: who.value, name: file.name });
  await attempt(`api/files?${query}`, file);
});

/* tabs: only where the window is narrow; beside each other the two are plain sections */
const narrow = matchMedia("(width < 760px)");
const panel = (tab) => $(tab.getAttribute("aria-controls"));
function select(chosen, focus) {
  stage.dataset.tab = panel(chosen).id;
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
  }
  chosen.querySelector(".dot").hidden = true;
  if (focus) chosen.focus();
  if (stage.dataset.tab === "conversa") conversation.toEnd();
}
function hintAt(id) {
  if (stage.dataset.tab !== id) $(`tab-${id}`).querySelector(".dot").hidden = false;
}
function semantics() {
  for (const tab of tabs) {
    if (narrow.matches) panel(tab).setAttribute("role", "tabpanel");
    else panel(tab).removeAttribute("role");
  }
}
tabs.forEach((tab, index) => {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowRight" || key === "ArrowLeft") select(tabs[1 - index], true);
  });
});
$("skip").addEventListener("click", () => select(tabs[0]));
narrow.addEventListener("change", semantics);
semantics();
speak();
