// The list sheet of the phone: a small modal dialog inside it, closed by choosing, Escape or a tap beside it.
import { $, h } from "./dom.js";

/** Show the rows of `bubble`; `choose(row)` is called at most once; focus returns to `opener`. */
export function openSheet(bubble, opener, choose) {
  const sheet = $("sheet");
  const others = [...sheet.parentElement.children].filter((node) => node !== sheet);

  const close = () => {
    sheet.hidden = true;
    sheet.replaceChildren();
    others.forEach((node) => (node.inert = false));
    document.removeEventListener("keydown", onKey);
    opener.focus();
  };
  const onKey = (event) => event.key === "Escape" && close();
  const pick = (row) => {
    close();
    choose(row);
  };

  const items = [];
  let section = "";
  for (const row of bubble.rows) {
    if (row.section && row.section !== section) items.push(h("h3", null, (section = row.section)));
    items.push(
      h(
        "button",
        { type: "button", class: "row", "data-testid": "row", "data-id": row.id, onclick: () => pick(row) },
        h("b", null, row.title),
        row.description && h("small", null, row.description),
      ),
    );
  }
  sheet.replaceChildren(
    h("div", { class: "shade", onclick: close }),
    h(
      "div",
      { class: "paper" },
      h("header", null, h("h2", { id: "sheet-title" }, bubble.list_label || "Opções"), h("button", { type: "button", class: "quiet", onclick: close }, "Fechar")),
      h("div", { class: "rows" }, items),
    ),
  );
  others.forEach((node) => (node.inert = true));
  sheet.hidden = false;
  document.addEventListener("keydown", onKey);
  sheet.querySelector(".row").focus();
}
