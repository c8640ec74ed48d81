// Keeps one agent alive: starts it when it is first needed, and again when it has crashed.

import type { Agent } from "./agent";

export type Health =
  | { state: "off" }
  | { state: "starting" }
  | { state: "ready" }
  | { state: "failed"; reason: string };

/** An agent that has crashed so often within so many milliseconds is left alone until a person says otherwise. */
const CRASHES = 3;
const WITHIN = 60_000;

export class Keeper {
  health: Health = { state: "off" };
  private running: Promise<Agent> | undefined;
  private crashes: number[] = [];
  private closed = false;

  /** `changed` is called after every change of `health`; `lost` after a crash, before the restart that follows it. */
  constructor(
    private readonly start: () => Promise<Agent>,
    private readonly changed: () => void,
    private readonly lost: (reason: string, again: boolean) => void,
  ) {}

  /** The agent, started if need be. Rejects where it can't be. */
  get(): Promise<Agent> {
    if (this.closed) return Promise.reject(new Error("The editor is closing."));
    this.running ??= this.launch();
    return this.running;
  }

  /** Stop it, and begin anew with the next `get`. */
  async reset(): Promise<void> {
    const running = this.running;
    this.running = undefined;
    this.crashes = [];
    this.become({ state: "off" });
    await (await running?.catch(() => undefined))?.stop();
  }

  async dispose(): Promise<void> {
    this.closed = true;
    await this.reset();
  }

  private async launch(): Promise<Agent> {
    this.become({ state: "starting" });
    try {
      const agent = await this.start();
      this.become({ state: "ready" });
      void agent.ended.then((reason) => this.onEnd(agent, reason));
      return agent;
    } catch (error) {
      this.running = undefined;
      this.become({ state: "failed", reason: String((error as Error).message ?? error) });
      throw error;
    }
  }

  private async onEnd(agent: Agent, reason: string): Promise<void> {
    const current = await this.running?.catch(() => undefined);
    if (current !== agent) return; // it was stopped on purpose
    this.running = undefined;
    const now = Date.now();
    this.crashes = [...this.crashes.filter((at) => now - at < WITHIN), now];
    const again = this.crashes.length < CRASHES;
    this.become(again ? { state: "off" } : { state: "failed", reason });
    this.lost(reason, again);
  }

  private become(health: Health): void {
    this.health = health;
    this.changed();
  }
}
