// A tool call: what it does, how it stands, what it shows, and what it asks.

import type { Diff, PermissionOption, ToolCallContent } from "@agentclientprotocol/sdk/unstable";
import type { Call } from "../session/items";
import { button, h } from "./dom";
import { tell } from "./host";
import { preview } from "./preview";
import { contentOf } from "./speech";
import { screenOf } from "./terminal";

const SIGNS = { pending: "○", in_progress: "◔", completed: "✓", failed: "✗" } as const;
const WORDS = { pending: "waiting", in_progress: "running", completed: "done", failed: "failed" } as const;
const PREVIEW = 12;

/** What a person has opened or closed by hand stays so. */
const byHand = new Map<string, boolean>();

export function drawCall(call: Call): HTMLElement {
  const open = byHand.get(call.id) ?? (call.asks !== undefined || speaksForItself(call));
  const details = h("details", { class: `call ${call.status}${call.asks ? " asks" : ""}`, open });
  const summary = h(
    "summary",
    { "data-key": "summary", onclick: () => byHand.set(call.id, !details.open) },
    h("span", { class: "sign", "aria-hidden": "true" }, call.asks ? "?" : SIGNS[call.status]),
    h("span", { class: "title" }, call.title),
    h("span", { class: "unseen" }, `, ${call.asks ? "asks for permission" : WORDS[call.status]}`),
  );
  details.append(summary, h("div", { class: "body" }, ...call.content.map((shown, at) => draw(call, shown, at)), places(call)));
  if (call.asks) details.append(question(call, call.asks));
  return details;
}

/** Edits and commands are shown open; what was only looked at is not. */
function speaksForItself(call: Call): boolean {
  return call.content.some(({ type }) => type === "diff" || type === "terminal") || (call.kind === "execute" && call.status !== "completed");
}

function draw(call: Call, shown: ToolCallContent, at: number): HTMLElement {
  if (shown.type === "diff") return drawDiff(call, shown, at);
  if (shown.type === "terminal") return screenOf(shown.terminalId);
  return contentOf(shown.content);
}

function drawDiff(call: Call, diff: Diff, index: number): HTMLElement {
  const { added, removed, lines } = preview(diff.oldText ?? "", diff.newText, PREVIEW);
  const name = diff.path.split(/[\\/]/).at(-1) ?? diff.path;
  return h(
    "div",
    { class: "diff" },
    h(
      "div",
      { class: "bar" },
      h("span", { class: "path", title: diff.path }, name),
      h("span", { class: "added" }, `+${added}`, h("span", { class: "unseen" }, " added, ")),
      h("span", { class: "removed" }, `−${removed}`, h("span", { class: "unseen" }, " removed")),
      button("Open diff", () => tell({ type: "diff", callId: call.callId, index }), { "data-key": `diff${index}`, class: "quiet" }),
    ),
    h("pre", {}, ...lines.map(({ sign, text }) => h("span", { class: `line ${CLASSES[sign]}` }, `${sign} ${text}\n`))),
  );
}

const CLASSES = { "+": "added", "-": "removed", " ": "same", "…": "more" } as const;

function places(call: Call): HTMLElement | undefined {
  const shown = new Set(call.content.map((each) => (each.type === "diff" ? each.path : "")));
  const others = call.locations.filter(({ path }) => !shown.has(path));
  if (!others.length) return undefined;
  const links = others.map(({ path, line }, at) => {
    const text = path.split(/[\\/]/).at(-1) + (line ? `:${line}` : "");
    const open = () => tell({ type: "open", path, ...(line ? { line } : {}) });
    return button(text, open, { class: "link", title: path, "data-key": `place${at}` });
  });
  return h("div", { class: "places" }, ...links);
}

function question(call: Call, options: PermissionOption[]): HTMLElement {
  const answers = options.map(({ optionId, name, kind }) =>
    button(name, () => tell({ type: "answer", callId: call.callId, optionId }), { class: kind, "data-key": `answer${optionId}` }),
  );
  return h("div", { class: "question", role: "group", "aria-label": `May the agent do this? ${call.title}` }, ...answers);
}
