// What the person, the model and its thoughts say.

import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";
import type { Speech } from "../session/items";
import { button, h } from "./dom";
import { tell } from "./host";
import { rendered } from "./markdown";

const SPEAKERS = { user: "You", answer: "Agent", thought: "Thoughts" } as const;

const opened = new Set<string>();

export function drawSpeech(speech: Speech, branches: boolean): HTMLElement {
  const content = speech.type === "user" ? [typed(speech.content)] : speech.content.map(contentOf);
  if (speech.type === "thought") return drawThought(speech, content);
  const { messageId } = speech;
  const branch = branches && messageId && branchButton(messageId);
  const name = h("h3", { class: "unseen" }, SPEAKERS[speech.type]);
  return h("section", { class: speech.type, "data-message": messageId }, name, ...content, branch || undefined);
}

/** One block, as Markdown where it is text. */
export function contentOf(block: ContentBlock): HTMLElement {
  if (block.type === "text") return prose(block.text);
  if (block.type === "image") return picture(block.mimeType, block.data);
  if (block.type === "resource_link") return mention(block.name, block.uri);
  if (block.type === "resource") return mention(block.resource.uri.split("/").at(-1) ?? "resource", block.resource.uri);
  return h("p", { class: "other" }, `(${block.type})`);
}

/** What was typed is shown as it was typed: links stand in the line. */
function typed(content: ContentBlock[]): HTMLElement {
  const parts = content.map((block) => (block.type === "text" ? block.text : contentOf(block)));
  return h("div", { class: "typed" }, ...parts);
}

function prose(text: string): HTMLElement {
  const element = h("div", { class: "prose" });
  element.innerHTML = rendered(text);
  for (const code of element.querySelectorAll("pre")) {
    const copy = () => void navigator.clipboard.writeText(code.querySelector("code")?.textContent ?? "");
    code.append(button("Copy", copy, { class: "copy quiet", "aria-label": "Copy this code" }));
  }
  return element;
}

function picture(mimeType: string, data: string): HTMLElement {
  const known = /^image\/(png|jpeg|gif|webp)$/.test(mimeType);
  return known ? h("img", { src: `data:${mimeType};base64,${data}`, alt: "picture" }) : h("span", {}, `(${mimeType})`);
}

function mention(name: string, uri: string): HTMLElement {
  return button(`@${name}`, () => tell({ type: "link", href: uri }), { class: "mention", title: uri });
}

function drawThought(speech: Speech, content: HTMLElement[]): HTMLElement {
  const details = h("details", { class: "thought", open: opened.has(speech.id) });
  details.addEventListener("toggle", () => (details.open ? opened.add(speech.id) : opened.delete(speech.id)));
  details.append(h("summary", { "data-key": "summary" }, SPEAKERS.thought), ...content);
  return details;
}

function branchButton(messageId: string): HTMLElement {
  const go = () => tell({ type: "branch", messageId });
  return button("Branch from here", go, { class: "branch quiet", "data-key": "branch", title: "Go on from here in a new session" });
}
