// The sessions that are open, and the one that the panel shows. Remembers it over a reload and over a crash.

import {
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type ForkSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  methods,
  type NewSessionResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  RequestError,
  type SessionInfo,
  type SessionNotification,
} from "@agentclientprotocol/sdk/unstable";
import type { Agent } from "../agent/agent";
import type { Listener } from "../agent/client";
import type { Keeper } from "../agent/keeper";
import type { Prompt } from "./prompt";
import { Session } from "./session";

/** What outlives a reload of the window: VS Code's `Memento` is one. */
export interface Memory {
  get<T>(key: string): T | undefined;
  update(key: string, value: unknown): Thenable<void>;
}

/** Where sessions work: the first folder is their `cwd`. */
export type Folders = () => [string, ...string[]];

const SHOWN = "session";
const WAITING = "waiting";
const TITLE_PAGES = 4;
const UNKNOWN_SESSION = -32002;

type Opened = Pick<NewSessionResponse, "modes" | "configOptions">;

export class Desk implements Listener {
  shown: Session | undefined;
  readonly open = new Map<string, Session>();
  /** Prompts that were sent to an agent that was lost: whether it has kept them is seen when the session is loaded. */
  private readonly interrupted = new Map<string, Prompt>();
  private readonly waiting: Record<string, Prompt[]>;

  constructor(
    private readonly keeper: Keeper,
    private readonly memory: Memory,
    private readonly folders: Folders,
    private readonly changed: (session: Session) => void,
    private readonly switched: () => void,
  ) {
    this.waiting = memory.get(WAITING) ?? {};
  }

  /** Show the session that was shown last, or a new one; unless a person has chosen another meanwhile. */
  async restore(): Promise<void> {
    const before = this.shown;
    const id = before?.id ?? this.memory.get<string>(SHOWN);
    const session = (id && (await this.found(id))) || (await this.begun());
    if (this.shown === before) this.show(session);
  }

  /** Show a new session. */
  async create(): Promise<Session> {
    return this.show(await this.begun());
  }

  /** Show a session, loaded from the agent's store where it is not open. */
  async load(id: string): Promise<Session> {
    return this.show(await this.opened(id));
  }

  /** Show a new branch of a session: all of it, or up to a message. */
  async branch(id: string, messageId?: string): Promise<Session> {
    const agent = await this.keeper.get();
    const meta = messageId ? { _meta: { messageId } } : {};
    const asked: ForkSessionRequest = { sessionId: id, ...this.place(), mcpServers: [], ...meta };
    const { sessionId } = await agent.requests.request(methods.agent.session.fork, asked);
    return this.load(sessionId);
  }

  /** A session's title is the agent's to keep: its command `/title` sets it. */
  async rename(id: string, title: string): Promise<void> {
    const agent = await this.keeper.get();
    const text = `/title ${title.replace(/\s+/g, " ")}`;
    await agent.requests.request(methods.agent.session.prompt, { sessionId: id, prompt: [{ type: "text", text }] });
    if (!this.open.has(id)) await agent.requests.request(methods.agent.session.close, { sessionId: id });
  }

  async delete(id: string): Promise<void> {
    const agent = await this.keeper.get();
    await agent.requests.request(methods.agent.session.delete, { sessionId: id });
    this.open.delete(id);
    if (this.shown?.id === id) await this.create();
  }

  /** The sessions of the folder, newest first, so many pages of them; `more`: there are older ones. */
  async list(pages: number): Promise<{ sessions: SessionInfo[]; more: boolean }> {
    const agent = await this.keeper.get();
    const found: SessionInfo[] = [];
    let cursor: string | null | undefined;
    for (let read = 0; read < pages && cursor !== null; read += 1) {
      const asked: ListSessionsRequest = { cwd: this.place().cwd, cursor: cursor ?? null };
      const page: ListSessionsResponse = await agent.requests.request(methods.agent.session.list, asked);
      found.push(...page.sessions);
      cursor = page.nextCursor ?? null;
    }
    return { sessions: found, more: cursor !== null };
  }

  /** The agent is gone: what was open has to be loaded again. */
  lose(reason: string): void {
    for (const session of this.open.values()) {
      if (session.busy && session.current) this.interrupted.set(session.id, session.current);
      session.lose(reason);
    }
    this.open.clear();
  }

  update({ sessionId, update }: SessionNotification): void {
    this.open.get(sessionId)?.update(update);
  }

  ask(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const session = this.open.get(request.sessionId);
    return session ? session.questions.permission(request, signal) : Promise.resolve({ outcome: { outcome: "cancelled" } });
  }

  fill(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const session = "sessionId" in request ? this.open.get(String(request.sessionId)) : undefined;
    return session ? session.questions.form(request, signal) : Promise.resolve({ action: "cancel" });
  }

  private async begun(): Promise<Session> {
    const agent = await this.keeper.get();
    const opened = await agent.requests.request(methods.agent.session.new, { ...this.place(), mcpServers: [] });
    return this.enter(opened.sessionId, agent, opened);
  }

  /** Undefined for a session that the agent does not have, or no longer. */
  private found(id: string): Promise<Session | undefined> {
    return this.opened(id).catch((error: unknown) => {
      if (error instanceof RequestError && error.code === UNKNOWN_SESSION) return undefined;
      throw error;
    });
  }

  private async opened(id: string): Promise<Session> {
    const agent = await this.keeper.get();
    const known = this.open.get(id);
    if (known) return known;
    const session = this.enter(id, agent);
    try {
      const opened = await agent.requests.request(methods.agent.session.load, { sessionId: id, ...this.place(), mcpServers: [] });
      session.conversation.introduce(opened);
      session.conversation.standing.title ||= await this.titleOf(id);
      session.retrieve(this.interrupted.get(id));
      this.interrupted.delete(id);
    } catch (error) {
      this.open.delete(id);
      throw error;
    }
    return session;
  }

  /** The title in the list: loading does not tell it. */
  private async titleOf(id: string): Promise<string> {
    const { sessions } = await this.list(TITLE_PAGES);
    return sessions.find(({ sessionId }) => sessionId === id)?.title ?? "";
  }

  private place(): { cwd: string; additionalDirectories: string[] } {
    const [cwd, ...additionalDirectories] = this.folders();
    return { cwd, additionalDirectories };
  }

  private enter(id: string, agent: Agent, opened?: Opened): Session {
    const session: Session = new Session(id, this.place().cwd, agent, () => {
      this.keepQueue(session);
      this.changed(session);
    });
    const waiting = this.waiting[id] ?? [];
    session.queue.push(...waiting);
    session.paused = waiting.length > 0;
    if (opened) session.conversation.introduce(opened);
    this.open.set(id, session);
    return session;
  }

  private show(session: Session): Session {
    this.shown = session;
    void this.memory.update(SHOWN, session.id);
    this.switched();
    return session;
  }

  private keepQueue(session: Session): void {
    const before = this.waiting[session.id]?.length ?? 0;
    if (!before && !session.queue.length) return;
    if (session.queue.length) this.waiting[session.id] = [...session.queue];
    else delete this.waiting[session.id];
    if (before !== session.queue.length) void this.memory.update(WAITING, this.waiting);
  }
}
