// The conversation, item by item. It stays at its end unless the person has scrolled away.

import type { Item } from "../session/items";
import { alert } from "./announce";
import { drawCall } from "./call";
import { h, replace } from "./dom";
import { drawForm } from "./form";
import { drawSpeech } from "./speech";

/** Pixels from the end that still count as the end. */
const NEAR = 60;

const log = h("div", { class: "log", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: 0 });
const drawn = new Map<string, HTMLElement>();
const asked = new Set<string>();
let session = "";
let branches = false;
let lastAnswer = "";

export const element = log;

/** The text of the newest answer. */
export const answer = (): string => lastAnswer;

export function canBranch(can: boolean): void {
  branches = can;
}

export function show(id: string, reset: boolean, items: Item[]): void {
  const follow = reset || log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
  if (reset) {
    session = id;
    log.replaceChildren();
    drawn.clear();
    asked.clear();
  }
  if (id !== session) return;
  for (const item of items) put(item);
  if (follow) log.scrollTop = log.scrollHeight;
}

/** Bring a message into view and the focus to it. */
export function reveal(messageId: string): void {
  const found = log.querySelector<HTMLElement>(`[data-message="${CSS.escape(messageId)}"]`);
  if (!found) return;
  found.tabIndex = -1;
  found.scrollIntoView({ block: "center" });
  found.focus();
}

function put(item: Item): void {
  const before = drawn.get(item.id);
  const next = draw(item);
  if (before) replace(before, next);
  else log.append(next);
  drawn.set(item.id, next);
  if (item.type === "answer") lastAnswer = next.textContent ?? "";
  const question = questionOf(item);
  if (question && !asked.has(item.id)) alert(question);
  if (question) asked.add(item.id);
}

function questionOf(item: Item): string | undefined {
  if (item.type === "call" && item.asks) return `The agent asks for permission: ${item.title}`;
  if (item.type === "form" && !item.answered) return `The agent asks: ${item.message}`;
  return undefined;
}

function draw(item: Item): HTMLElement {
  if (item.type === "call") return drawCall(item);
  if (item.type === "notice") return h("div", { class: `notice ${item.severity}` }, h("strong", {}, item.title), item.description && ` ${item.description}`);
  if (item.type === "form") return drawForm(item);
  if (item.type === "compaction") return drawCompaction(item.status, item.text);
  return drawSpeech(item, branches);
}

function drawCompaction(status: string, text: string): HTMLElement {
  const words: Record<string, string> = {
    in_progress: "Older messages are being put into a summary …",
    completed: "Older messages were put into a summary for the model; they stay in the session.",
    failed: "Older messages could not be put into a summary.",
  };
  const told = words[status] ?? status;
  return h("details", { class: "compaction" }, h("summary", { "data-key": "summary" }, told), h("p", {}, text));
}
