// The panel: draws what the extension tells, and tells it what the person does.

import type { ToPanel, View } from "../panel/messages";
import { announce, voices } from "./announce";
import * as aside from "./aside";
import * as composer from "./composer";
import * as controls from "./controls";
import { h } from "./dom";
import { tell } from "./host";
import * as log from "./log";
import { hear } from "./terminal";

const title = h("h2", { class: "heading" });
let busy = false;

function view(state: View): void {
  title.textContent = state.standing.title || "New session";
  log.canBranch(state.branches);
  aside.view(state);
  controls.view(state);
  composer.view(state);
  log.element.setAttribute("aria-busy", String(state.busy));
  document.body.classList.toggle("busy", state.busy);
  if (state.busy && !busy) announce("The agent works.");
  if (!state.busy && busy) announce(`The agent is done. ${log.answer()}`);
  busy = state.busy;
}

function onMessage(message: ToPanel): void {
  if (message.type === "view") view(message.view);
  else if (message.type === "items") log.show(message.session, message.reset, message.items);
  else if (message.type === "terminal") hear(message.id, message.output);
  else if (message.type === "files") composer.offerFiles(message.query, message.paths);
  else if (message.type === "reveal") log.reveal(message.messageId);
  else if (message.type === "compose") composer.compose(message.text, message.mentions);
  else composer.focus();
}

/** Links open in the editor or the browser, never in the panel. */
function onClick(event: MouseEvent): void {
  const link = (event.target as Element).closest("a");
  if (!link) return;
  event.preventDefault();
  tell({ type: "link", href: link.getAttribute("href") ?? "" });
}

document.body.append(
  h("header", {}, title),
  h("main", {}, log.element, aside.element),
  h("footer", {}, composer.element, h("div", { class: "row" }, controls.element, ...composer.buttons)),
  ...voices,
);
document.body.addEventListener("click", onClick);
window.addEventListener("message", (event: MessageEvent<ToPanel>) => onMessage(event.data));
composer.begin();
tell({ type: "ready" });
