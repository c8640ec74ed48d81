// The last lines of the agent's commands, as their terminals say them.

import { button, h } from "./dom";
import { tell } from "./host";
import { plain } from "./plain";

const TAIL = 2000;

const outputs = new Map<string, string>();

/** A command's screen. It is kept up to date by `hear`. */
export function screenOf(id: string): HTMLElement {
  if (!outputs.has(id)) tell({ type: "terminal", id, reveal: false });
  const screen = h("pre", { class: "screen", "data-terminal": id, "aria-label": "Output" }, outputs.get(id) ?? "");
  const show = button("Show terminal", () => tell({ type: "terminal", id, reveal: true }), { class: "quiet", "data-key": `show${id}` });
  return h("div", { class: "terminal" }, screen, h("div", { class: "bar" }, show));
}

export function hear(id: string, output: string): void {
  const text = plain(output).slice(-TAIL);
  outputs.set(id, text);
  for (const screen of document.querySelectorAll(`[data-terminal="${CSS.escape(id)}"]`)) {
    screen.textContent = text;
    screen.scrollTop = screen.scrollHeight;
  }
}
