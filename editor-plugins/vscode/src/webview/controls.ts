// Mode, model and what else the agent lets a person choose; how full the model's window is.

import type { SessionConfigOption, SessionConfigSelectOption, UsageUpdate } from "@agentclientprotocol/sdk/unstable";
import type { View } from "../panel/messages";
import { h } from "./dom";
import { tell } from "./host";

const pickers = h("div", { class: "pickers" });
const usage = h("span", { class: "usage" });
let drawn = "";

export const element = h("div", { class: "controls" }, pickers, usage);

export function view({ standing }: View): void {
  const state = JSON.stringify(standing.options);
  if (state !== drawn) {
    drawn = state;
    draw(standing.options);
  }
  usage.textContent = standing.usage ? told(standing.usage) : "";
  usage.title = standing.usage ? `${standing.usage.used} of ${standing.usage.size} tokens` : "";
}

function draw(options: SessionConfigOption[]): void {
  const focused = document.activeElement?.getAttribute("data-key");
  pickers.replaceChildren(...options.flatMap((option) => (option.type === "select" ? [picker(option)] : [])));
  if (focused) pickers.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function picker(option: SessionConfigOption & { type: "select" }): HTMLElement {
  const onchange: EventListener = (event) => tell({ type: "choose", id: option.id, value: (event.target as HTMLSelectElement).value });
  const select = h("select", { "aria-label": option.name, title: option.description ?? option.name, onchange, "data-key": `option-${option.id}` });
  for (const each of option.options) {
    const isGroup = "group" in each;
    select.append(isGroup ? h("optgroup", { label: each.name }, ...each.options.map(entry)) : entry(each));
  }
  select.value = option.currentValue;
  return select;
}

function entry({ value, name, description }: SessionConfigSelectOption): HTMLOptionElement {
  return h("option", { value, title: description ?? undefined }, name);
}

function told({ used, size, cost }: UsageUpdate): string {
  const share = size ? `${Math.round((100 * used) / size)} %` : `${used} tokens`;
  return cost?.amount ? `${share} · ${cost.amount.toFixed(2)} ${cost.currency}` : share;
}
