// Talks to the server: posts, and one live stream with polling while it is away.
const POLL = 2000; // ms: as often as a person would look again

export class Refused extends Error {}

/** Post a file as it is, anything else as JSON; throws `Refused` with a sentence for the person. */
export async function post(path, body) {
  const file = body instanceof Blob;
  const type = file ? body.type || "application/octet-stream" : "application/json";
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: { "Content-Type": type }, body: file ? body : JSON.stringify(body) });
  } catch {
    throw new Refused("Sem conexão com a demonstração. Tente de novo.");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(answer.erro ?? "Não consegui enviar. Tente de novo.");
  return answer;
}

/** Follow one user; `on` has state, bubble, typing, inside and link(online). Returns a function that stops. */
export function follow(user, on) {
  const query = `user=${encodeURIComponent(user)}`;
  let source, timer, again, stopped = false;

  const poll = async () => {
    try {
      const response = await fetch(`api/state?${query}`);
      if (response.ok && !stopped && timer) on.state(await response.json());
    } catch { /* still away; the next look may find it */ }
  };
  const offline = () => {
    on.link(false);
    timer ??= setInterval(poll, POLL);
    if (source.readyState === EventSource.CLOSED && !stopped) again = setTimeout(open, POLL);
  };
  const online = () => {
    clearInterval(timer);
    timer = null;
    on.link(true);
  };
  const open = () => {
    source = new EventSource(`events?${query}`);
    source.onopen = online;
    source.onerror = offline;
    for (const name of ["state", "bubble", "typing", "inside"]) {
      source.addEventListener(name, (event) => on[name](JSON.parse(event.data)));
    }
  };
  open();
  return () => {
    stopped = true;
    clearInterval(timer);
    clearTimeout(again);
    source.close();
  };
}
