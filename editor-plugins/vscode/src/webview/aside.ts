// What stands between the conversation and the prompt: troubles, the plan, and the prompts that wait.

import type { PlanEntry } from "@agentclientprotocol/sdk/unstable";
import type { FromPanel, View } from "../panel/messages";
import { button, h } from "./dom";
import { tell } from "./host";

const trouble = h("div", { class: "trouble", role: "status" });
const plan = h("div", { class: "plan" });
const queue = h("div", { class: "queue" });
let planIsOpen = true;
let drawn = "";

export const element = h("div", { class: "aside" }, trouble, plan, queue);

export function view(state: View): void {
  const { health, reason, needsSetup, standing, queue: waiting, paused, busy } = state;
  const now = JSON.stringify([health, reason, needsSetup, standing.plan, waiting, paused, busy]);
  if (now === drawn) return;
  drawn = now;
  trouble.replaceChildren(...troubles(state));
  plan.replaceChildren(...(standing.plan.length ? [drawPlan(standing.plan)] : []));
  queue.replaceChildren(...drawQueue(state));
}

type CommandName = Extract<FromPanel, { type: "command" }>["command"];

const action = (text: string, command: CommandName) => button(text, () => tell({ type: "command", command }));

function troubles({ health, reason, needsSetup }: View): (Node | string)[] {
  if (health === "starting") return [h("p", { class: "starting" }, "The agent is starting …")];
  if (health === "homeless") return [h("p", {}, "The agent works in a folder."), action("Open a folder", "openFolder")];
  if (health === "absent") return [h("p", {}, reason), action("Install the agent …", "install"), action("Try again", "restart")];
  if (health === "failed") return [h("p", {}, reason), action("Restart the agent", "restart"), action("Show the log", "log")];
  return needsSetup ? [h("p", {}, "The agent needs a model."), action("Choose a model or enter a key …", "setup")] : [];
}

const SIGNS = { pending: "○", in_progress: "◔", completed: "✓" } as const;
const WORDS = { pending: "to do", in_progress: "now", completed: "done" } as const;

function drawPlan(entries: PlanEntry[]): HTMLElement {
  const done = entries.filter(({ status }) => status === "completed").length;
  const details = h("details", { open: planIsOpen });
  details.addEventListener("toggle", () => (planIsOpen = details.open));
  const items = entries.map(({ content, status }) =>
    h("li", { class: status }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[status]), content, h("span", { class: "unseen" }, `, ${WORDS[status]}`)),
  );
  details.append(h("summary", {}, `Plan, ${done} of ${entries.length} done`), h("ul", {}, ...items));
  return details;
}

function drawQueue({ queue: waiting, paused, busy, standing }: View): HTMLElement[] {
  if (!waiting.length) return [];
  const steers = busy && standing.commands.some(({ name }) => name === "steer");
  const items = waiting.map(({ id, text }) =>
    h(
      "li",
      {},
      h("span", { class: "text" }, text),
      steers && button("Tell it now", () => tell({ type: "hurry", id }), { class: "quiet", title: "The model reads it at its next step" }),
      button("Remove", () => tell({ type: "unqueue", id }), { class: "quiet", "aria-label": `Remove: ${text}` }),
    ),
  );
  const head = h("p", {}, paused && !busy ? "These prompts wait: " : "Comes next:");
  if (paused && !busy) head.append(button("Go on", () => tell({ type: "resume" })));
  return [head, h("ul", {}, ...items)];
}
