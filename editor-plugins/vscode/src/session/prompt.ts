// A prompt as it was typed, and as content blocks.

import { basename, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";

export interface Image {
  mimeType: string;
  /** base64 */
  data: string;
}

/** `mentions` are the paths that were chosen for an `@path` in the text, from the session's folder on. */
export interface Prompt {
  id: string;
  text: string;
  mentions: string[];
  images: Image[];
}

/** The text with a link in the place of each mention, then the images. */
export function blocksOf(prompt: Prompt, folder: string): ContentBlock[] {
  const parts = split(prompt.text, prompt.mentions);
  const blocks = parts.map(({ text, mention }): ContentBlock => (mention ? link(mention, folder) : { type: "text", text }));
  return [...blocks, ...prompt.images.map((image): ContentBlock => ({ type: "image", ...image }))];
}

interface Part {
  text: string;
  mention?: string;
}

/** Longer paths first: `@a.txt` must not be found in `@a.txt.orig`. */
function split(text: string, mentions: readonly string[]): Part[] {
  const [mention, ...others] = [...mentions].sort((one, two) => two.length - one.length);
  if (mention === undefined) return text ? [{ text }] : [];
  const pieces = text.split(`@${mention}`).map((piece) => split(piece, others));
  return pieces.flatMap((piece, at) => (at ? [{ text: mention, mention }, ...piece] : piece));
}

function link(path: string, folder: string): ContentBlock {
  const whole = isAbsolute(path) ? path : join(folder, path);
  return { type: "resource_link", uri: pathToFileURL(whole).href, name: basename(path) };
}
