// Where a person types: Enter sends, Shift+Enter begins a line, Escape stops the turn.

import type { View } from "../panel/messages";
import { alert } from "./announce";
import { type Choice, Completion } from "./completion";
import { button, h } from "./dom";
import { remember, remembered, tell } from "./host";
import { Pictures } from "./pictures";
import { wordAt } from "./word";

const input = h("textarea", { id: "prompt", rows: 1, "aria-label": "Prompt", placeholder: "Ask anything. @ names a file, / a command." });
const pictures = new Pictures();
const completion = new Completion(input, accept);
const send = button("Send", submit, { class: "primary", disabled: true });
const stop = button("Stop", () => tell({ type: "stop" }), { class: "stop", hidden: true });
let commands: Choice[] = [];
let takesImages = false;
let busy = false;
let ready = false;
let mentions: string[] = [];

export const buttons = [stop, send];
export const element = h("div", { class: "composer" }, completion.element, pictures.element, input);

export const focus = (): void => input.focus();

export function begin(): void {
  ({ draft: input.value, mentions } = remembered());
  grow();
  input.addEventListener("input", onInput);
  input.addEventListener("keydown", onKey);
  input.addEventListener("blur", () => completion.close());
  input.addEventListener("paste", (event) => {
    if (takesImages && pictures.paste(event)) event.preventDefault();
  });
}

export function view({ health, standing, takesImages: images, busy: isBusy }: View): void {
  commands = standing.commands.map(({ name, description }) => ({ value: `/${name}`, label: `/${name}`, detail: description }));
  takesImages = images;
  busy = isBusy;
  ready = health === "ready";
  send.disabled = !ready;
  stop.hidden = !busy;
  send.textContent = busy ? "Queue" : "Send";
}

/** Put text into the prompt, after what is there. */
export function compose(text: string, added: string[]): void {
  mentions = [...mentions, ...added];
  const gap = input.value && !/\s$/.test(input.value) ? " " : "";
  input.value += gap + text;
  input.focus();
  onInput();
}

export function offerFiles(query: string, paths: string[]): void {
  const word = wordAt(input.value, input.selectionStart);
  if (word?.sign === "@" && word.text === query) completion.offer(paths.map((path) => ({ value: `@${path}`, label: path })));
}

function submit(): void {
  const text = input.value.trim();
  if (!text && !pictures.some) return;
  if (!ready) return alert("The agent is not ready yet. Your words stay here.");
  const used = mentions.filter((path) => text.includes(`@${path}`));
  tell({ type: "send", prompt: { text, mentions: used, images: pictures.take() } });
  input.value = "";
  mentions = [];
  onInput();
}

function accept({ value }: Choice): void {
  const word = wordAt(input.value, input.selectionStart);
  if (!word) return;
  if (word.sign === "@") mentions.push(value.slice(1));
  input.setRangeText(`${value} `, word.from, input.selectionStart, "end");
  onInput();
}

function onInput(): void {
  grow();
  remember({ draft: input.value, mentions });
  const word = wordAt(input.value, input.selectionStart);
  if (word?.sign === "@") tell({ type: "files", query: word.text });
  else completion.offer(word ? commands.filter(({ value }) => value.startsWith(`/${word.text}`)) : []);
}

function onKey(event: KeyboardEvent): void {
  if (completion.key(event) || event.isComposing) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    submit();
  } else if (event.key === "Escape" && busy) {
    tell({ type: "stop" });
  }
}

/** As high as its text, up to the limit that the style sheet sets. */
function grow(): void {
  input.rows = Math.min(12, input.value.split("\n").length);
}
