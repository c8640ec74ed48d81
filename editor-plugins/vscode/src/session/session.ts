// One open session: its conversation, its turns, and what it asks.

import {
  type ContentBlock,
  methods,
  RequestError,
  type SessionUpdate,
} from "@agentclientprotocol/sdk/unstable";
import type { Agent } from "../agent/agent";
import { Conversation, textOf } from "./conversation";
import { blocksOf, type Prompt } from "./prompt";
import { Questions } from "./questions";

const AUTH_REQUIRED = -32000;

/** `paused`: the queue waits for a person, because the turn before it was stopped or failed. */
export class Session {
  readonly conversation = new Conversation();
  readonly questions = new Questions(this.conversation, () => this.changed());
  readonly queue: Prompt[] = [];
  paused = false;
  needsSetup = false;
  /** The prompt that was sent last. */
  current: Prompt | undefined;
  private running = 0;

  constructor(
    readonly id: string,
    readonly folder: string,
    readonly agent: Agent,
    private readonly changed: () => void,
  ) {}

  get busy(): boolean {
    return this.running > 0;
  }

  update(update: SessionUpdate): void {
    this.conversation.apply(update);
    this.changed();
  }

  /** Say it now, or after the running turn. A slash command is always the agent's to place. */
  async send(prompt: Prompt): Promise<void> {
    if (this.busy && !prompt.text.startsWith("/")) {
      this.queue.push(prompt);
      return this.changed();
    }
    this.paused = false;
    await this.turn(prompt);
  }

  /** Stop the running turn. What waits behind it waits on. */
  async stop(): Promise<void> {
    if (!this.busy) return;
    this.paused = true;
    this.questions.dismiss();
    await this.agent.requests.notify(methods.agent.session.cancel, { sessionId: this.id });
  }

  /** Take a waiting prompt out of the queue. */
  unqueue(id: string): Prompt | undefined {
    const at = this.queue.findIndex((prompt) => prompt.id === id);
    const [prompt] = at < 0 ? [] : this.queue.splice(at, 1);
    this.changed();
    return prompt;
  }

  /** Have the running turn hear a waiting prompt at once. */
  async hurry(id: string): Promise<void> {
    const prompt = this.unqueue(id);
    if (prompt) await this.turn({ ...prompt, text: `/steer ${prompt.text}` });
  }

  /** Go on with the queue. */
  async resume(): Promise<void> {
    this.paused = false;
    await this.next();
  }

  /** Set an option of the session. */
  async choose(configId: string, value: string): Promise<void> {
    const { setConfigOption, setMode } = methods.agent.session;
    if (this.conversation.knowsModesOnly) {
      await this.agent.requests.request(setMode, { sessionId: this.id, modeId: value });
      this.conversation.apply({ sessionUpdate: "current_mode_update", currentModeId: value });
    } else {
      const chosen = await this.agent.requests.request(setConfigOption, { sessionId: this.id, configId, value });
      this.conversation.standing.options = chosen.configOptions;
    }
    this.changed();
  }

  /** The agent is gone: close what it left open. */
  lose(reason: string): void {
    this.questions.dismiss();
    this.conversation.interrupt();
    this.tell(reason);
  }

  /** A prompt that an earlier agent was sent: if the conversation does not hold it, it waits to be sent again. */
  retrieve(prompt: Prompt | undefined): void {
    if (!prompt || prompt.text.startsWith("/")) return;
    const text = textOf(blocksOf(prompt, this.folder));
    const isKept = [...this.conversation.items.values()].some((item) => item.type === "user" && textOf(item.content) === text);
    if (isKept) return;
    this.queue.unshift(prompt);
    this.paused = true;
    this.changed();
  }

  /** Say something about the session that is no part of it. */
  tell(text: string): void {
    this.conversation.notice("warning", text);
    this.changed();
  }

  private async turn(prompt: Prompt): Promise<void> {
    const blocks = blocksOf(prompt, this.folder);
    this.current = prompt;
    this.conversation.say(blocks);
    this.running += 1;
    this.changed();
    try {
      await this.request(blocks);
    } catch (error) {
      this.fail(error);
    }
    // The SDK hands out a turn's last updates a tick after its response.
    await new Promise((resolve) => setImmediate(resolve));
    this.running -= 1;
    this.changed();
    await this.next();
  }

  private async request(prompt: ContentBlock[]): Promise<void> {
    const { stopReason } = await this.agent.requests.request(methods.agent.session.prompt, { sessionId: this.id, prompt });
    this.needsSetup = false;
    if (stopReason === "cancelled") this.paused = true;
    const told = STOPS[stopReason];
    if (told) this.conversation.notice("info", told);
  }

  private fail(error: unknown): void {
    this.paused = true;
    this.needsSetup = error instanceof RequestError && error.code === AUTH_REQUIRED;
    // An agent that is gone is told by `lose`, a missing model beside the prompt.
    if (error instanceof RequestError && !this.needsSetup) this.conversation.notice("error", error.message);
  }

  private async next(): Promise<void> {
    if (this.busy || this.paused) return;
    const prompt = this.queue.shift();
    if (prompt) await this.turn(prompt);
  }
}

const STOPS: Partial<Record<string, string>> = {
  cancelled: "Stopped.",
  max_tokens: "The answer reached the model's limit of length.",
  max_turn_requests: "The turn reached its limit of steps.",
  refusal: "The model refused to answer.",
};
