// Folds `session/update` into the items of a conversation. Live and loaded sessions come out the same.

import type {
  ContentBlock,
  ContentChunk,
  NewSessionResponse,
  PermissionOption,
  SessionConfigOption,
  SessionModeState,
  SessionUpdate,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk/unstable";
import type { Call, FormSchema, Item, NoticeItem, Speech, Standing } from "./items";

const SPEAKERS = {
  user_message_chunk: "user",
  agent_message_chunk: "answer",
  agent_thought_chunk: "thought",
} as const;

export class Conversation {
  readonly items = new Map<string, Item>();
  readonly standing: Standing = { title: "", plan: [], commands: [], options: [] };
  /** An older agent: its modes stand among the options, but are set as modes. */
  knowsModesOnly = false;
  private changed = new Set<string>();
  private count = 0;
  private last = "";

  /** Take in one update. What this client does not know is left aside. */
  apply(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
      case "agent_message_chunk":
      case "agent_thought_chunk":
        return this.hear(SPEAKERS[update.sessionUpdate], update);
      case "tool_call":
      case "tool_call_update":
        return this.call(update);
      case "notice":
        return this.notice(update.severity, update.title, update.description ?? undefined);
      case "compaction_update": {
        const text = update.error ?? textOf(update.summary ?? []);
        return this.put({ type: "compaction", id: `c:${update.compactionId}`, status: update.status, text });
      }
      default:
        return this.stand(update);
    }
  }

  /** The modes and options that a session begins with. */
  introduce(session: Pick<NewSessionResponse, "modes" | "configOptions">): void {
    const modes = session.modes ? [optionOf(session.modes)] : [];
    this.knowsModesOnly = !session.configOptions?.length;
    this.standing.options = this.knowsModesOnly ? modes : (session.configOptions ?? []);
  }

  /** What the person says, which no agent echoes. */
  say(content: ContentBlock[]): void {
    this.put({ type: "user", id: this.fresh("u"), content });
  }

  /** `title` may be a sentence; `description` goes on below it. */
  notice(severity: string, title: string, description?: string): void {
    const item: NoticeItem = { type: "notice", id: this.fresh("n"), severity, title };
    this.put(description ? { ...item, description } : item);
  }

  /** Show what a call asks for; nothing, when it has been answered. */
  ask(call: ToolCallUpdate, options: PermissionOption[] | undefined): void {
    this.call(call);
    const item = this.items.get(`t:${call.toolCallId}`) as Call;
    const { asks: _, ...rest } = item;
    this.put(options ? { ...rest, asks: options } : rest);
  }

  /** A form to fill in, or what became of it. */
  form(id: string, message: string, schema: FormSchema, answered: string | undefined): void {
    this.put({ type: "form", id, message, schema, ...(answered ? { answered } : {}) });
  }

  /** The calls that had not ended when their agent did will not. */
  interrupt(): void {
    for (const item of this.items.values()) {
      if (item.type === "call" && (item.status === "pending" || item.status === "in_progress")) {
        const { asks: _, ...rest } = item;
        this.put({ ...rest, status: "failed" });
      }
    }
  }

  /** The items that have changed since the last look, in order of appearance. */
  take(): Item[] {
    const changed = this.changed;
    this.changed = new Set();
    return [...this.items.values()].filter((item) => changed.has(item.id));
  }

  private hear(speaker: Speech["type"], { content, messageId }: ContentChunk): void {
    const last = this.items.get(this.last);
    const id = messageId ? `${speaker}:${messageId}` : last?.type === speaker ? last.id : this.fresh(speaker);
    const known = this.items.get(id) as Speech | undefined;
    const item: Speech = known ?? { type: speaker, id, content: [] };
    if (messageId) item.messageId = messageId;
    this.put({ ...item, content: joined(item.content, content) });
  }

  private call(update: ToolCallUpdate): void {
    const id = `t:${update.toolCallId}`;
    const before = (this.items.get(id) as Call | undefined) ?? {
      type: "call",
      id,
      callId: update.toolCallId,
      title: update.toolCallId,
      kind: "other",
      status: "pending",
      content: [],
      locations: [],
    };
    this.put({
      ...before,
      title: update.title ?? before.title,
      kind: update.kind ?? before.kind,
      status: update.status ?? before.status,
      content: update.content ?? before.content,
      locations: update.locations ?? before.locations,
    });
  }

  private stand(update: SessionUpdate): void {
    const standing = this.standing;
    if (update.sessionUpdate === "plan") standing.plan = update.entries;
    if (update.sessionUpdate === "usage_update") standing.usage = update;
    if (update.sessionUpdate === "session_info_update") standing.title = update.title ?? standing.title;
    if (update.sessionUpdate === "available_commands_update") standing.commands = update.availableCommands;
    if (update.sessionUpdate === "config_option_update") standing.options = update.configOptions;
    if (update.sessionUpdate === "current_mode_update") {
      standing.options = standing.options.map((option) => withMode(option, update.currentModeId));
    }
  }

  private put(item: Item): void {
    if (!this.items.has(item.id)) this.last = item.id;
    this.items.set(item.id, item);
    this.changed.add(item.id);
  }

  private fresh(prefix: string): string {
    this.count += 1;
    return `${prefix}#${this.count}`;
  }
}

/** The text of some blocks. */
export function textOf(blocks: readonly ContentBlock[]): string {
  return blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** Text goes on where text ended; anything else is a block of its own. */
function joined(content: ContentBlock[], block: ContentBlock): ContentBlock[] {
  const last = content.at(-1);
  if (last?.type !== "text" || block.type !== "text") return [...content, block];
  return [...content.slice(0, -1), { ...last, text: last.text + block.text }];
}

/** Modes as the option that newer agents make of them. */
function optionOf(modes: SessionModeState): SessionConfigOption {
  return {
    type: "select",
    id: "mode",
    name: "Mode",
    category: "mode",
    currentValue: modes.currentModeId,
    options: modes.availableModes.map(({ id, name, description }) => ({ value: id, name, description: description ?? null })),
  };
}

function withMode(option: SessionConfigOption, mode: string): SessionConfigOption {
  return option.category === "mode" && option.type === "select" ? { ...option, currentValue: mode } : option;
}
