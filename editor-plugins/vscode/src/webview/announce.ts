// For screen readers: a short word on what happens, instead of every streamed piece.

import { h } from "./dom";

const polite = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
const urgent = h("div", { class: "unseen", role: "alert", "aria-live": "assertive" });

export const voices = [polite, urgent];

const LENGTH = 300;

export function announce(text: string): void {
  polite.textContent = text.length > LENGTH ? `${text.slice(0, LENGTH)} …` : text;
}

/** For what the agent waits for. */
export function alert(text: string): void {
  urgent.textContent = text;
}
