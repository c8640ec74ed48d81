// What the extension and its panel tell each other.

import type { FormValues, Item, Standing } from "../session/items";
import type { Prompt } from "../session/prompt";

/** All that the panel shows besides the conversation. */
export interface View {
  /** `homeless`: no folder is open. `absent`: there is no agent to start. */
  health: "starting" | "ready" | "failed" | "absent" | "homeless";
  reason: string;
  busy: boolean;
  paused: boolean;
  needsSetup: boolean;
  takesImages: boolean;
  branches: boolean;
  queue: { id: string; text: string }[];
  standing: Standing;
}

export type ToPanel =
  | { type: "view"; view: View }
  /** `reset`: these are all items, of the session of that id. */
  | { type: "items"; session: string; reset: boolean; items: Item[] }
  | { type: "terminal"; id: string; output: string; runs: boolean }
  | { type: "files"; query: string; paths: string[] }
  | { type: "reveal"; messageId: string }
  | { type: "compose"; text: string; mentions: string[] }
  | { type: "focus" };

export type FromPanel =
  | { type: "ready" }
  | { type: "send"; prompt: Omit<Prompt, "id"> }
  | { type: "stop" }
  | { type: "answer"; callId: string; optionId: string }
  /** Without values: the person does not want to fill the form in. */
  | { type: "fill"; id: string; values?: FormValues }
  | { type: "choose"; id: string; value: string }
  | { type: "files"; query: string }
  | { type: "open"; path: string; line?: number }
  | { type: "link"; href: string }
  | { type: "diff"; callId: string; index: number }
  | { type: "terminal"; id: string; reveal: boolean }
  | { type: "branch"; messageId: string }
  | { type: "unqueue" | "hurry"; id: string }
  | { type: "resume" }
  | { type: "command"; command: "install" | "restart" | "setup" | "log" | "new" | "openFolder" };
