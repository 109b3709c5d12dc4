// Keys, and news without reloading. Without this script every page works the same, by links and forms.
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const typing = (element) => element?.matches?.("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.matches("textarea")) return;
  event.preventDefault();
  event.target.form?.requestSubmit(); // as in every chat
});

let after = null; // a key waits for its second one: g f
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || $("dialog[open]")) return;
  const prefix = after;
  after = null;
  if (prefix === "g") {
    const link = $(`.sections [data-key="${CSS.escape(event.key)}"]`);
    if (link) location.href = link.href;
    return;
  }
  const act = {
    g: () => { after = "g"; setTimeout(() => { after = null; }, 1500); },
    j: () => step(1),
    k: () => step(-1),
    "/": () => $(".search [type=search]")?.focus(),
    "?": () => $("#teclas")?.showModal(),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

function step(by) {
  const leads = $$(".lead, .line [data-stop]").filter((each) => each.checkVisibility()); // not in a fold that is shut
  if (!leads.length) return;
  const at = leads.indexOf(document.activeElement);
  const next = leads[Math.max(0, Math.min(leads.length - 1, at < 0 ? (by > 0 ? 0 : leads.length - 1) : at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

// News: the page is fetched again when something changed. Rows that are shown change in place and never move; what is
// new or gone is announced by a link, so that nothing jumps under a finger.
const live = document.body.dataset.vivo;
let known = document.body.dataset.pulso ?? null; // as it was before the page was read: what came since is news
let busy = false;

async function refresh() {
  if (busy || document.hidden || (live !== "sessao" && typing(document.activeElement))) return;
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Prosa-Auto": "1" }, redirect: "error" });
    if (answer.ok) apply(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch { /* the next event tries again */ }
  busy = false;
}

function apply(page) {
  const changed = live === "fila" ? list(page) : live === "sessao" ? parts(page) : differs($("main"), $("main", page));
  const news = $("[data-news]");
  if (["saude", "painel"].includes(live) && changed) {
    const open = $$("main details[open] > summary").map((summary) => summary.textContent);
    $("main").replaceChildren(...$("main", page).childNodes);
    for (const summary of $$("main summary")) if (open.includes(summary.textContent)) summary.parentElement.open = true;
  }
  else if (news) news.hidden = !changed;
}

function list(page) {
  if (!$("[data-rows]")) { // nothing can jump under a finger where nothing is listed
    $("main").replaceChildren(...$("main", page).childNodes);
    return false;
  }
  $$(".tabs .count").forEach((count, at) => count.replaceWith($$(".tabs .count", page)[at] ?? count)); // always true
  const now = new Map($$("[data-rows] [data-id]", page).map((row) => [row.dataset.id, row]));
  const shown = $$("[data-rows] [data-id]");
  for (const row of shown) {
    const next = now.get(row.dataset.id);
    if (!next) row.classList.add("gone");
    else if (next.innerHTML !== row.innerHTML && !row.contains(document.activeElement)) row.innerHTML = next.innerHTML;
  }
  return now.size !== shown.length || shown.some((row) => !now.has(row.dataset.id));
}

// A case changes part by part. What somebody writes in, or holds the focus in, stays until they are done.
function parts(page) {
  let kept = false;
  for (const part of $$("[data-parte]")) {
    const next = $(`[data-parte="${CSS.escape(part.dataset.parte)}"]`, page);
    if (!next || !differs(part, next)) continue;
    if (part.contains(document.activeElement) || written(part)) kept = true;
    else part.replaceWith(next);
  }
  return timeline(page) || kept;
}

function timeline(page) {
  const line = $(".line"), next = $(".line", page);
  if (!line || !next) return Boolean(line) !== Boolean(next);
  const now = [...line.children], then = [...next.children];
  then.forEach((item, at) => {
    if (!now[at]) line.append(item);
    else if (differs(now[at], item)) {
      if ($(".fold[open]", now[at]) && $(".fold", item)) $(".fold", item).open = true;
      now[at].replaceWith(item);
    }
  });
  now.slice(then.length).forEach((item) => item.remove());
  return false;
}

const written = (part) => $$("textarea, input:not([type=hidden])", part).some((field) => field.value !== field.defaultValue);

// Keys of forms are new on each page, and what somebody unfolded is theirs.
function differs(one, other) {
  return plain(one) !== plain(other);
}

function plain(element) {
  const copy = element.cloneNode(true);
  for (const key of $$("[name=chave]", copy)) key.remove();
  for (const open of $$("details[open]", copy)) open.removeAttribute("open");
  return copy.innerHTML;
}

if (location.hash === "#compor") $("#compor textarea")?.focus();

function heard(pulse) {
  if (known !== null && pulse !== known) refresh();
  known = pulse;
}

if (live && window.EventSource) {
  const source = new EventSource("/console/eventos");
  source.addEventListener("mudou", (event) => heard(event.data));
  let polling = null;
  source.addEventListener("open", () => { clearInterval(polling); polling = null; });
  source.addEventListener("error", () => {
    polling ??= setInterval(async () => {
      try { heard((await (await fetch("/console/eventos?agora=1")).json()).pulso); } catch { /* again later */ }
    }, 10000);
  });
  addEventListener("pagehide", () => source.close());
}
