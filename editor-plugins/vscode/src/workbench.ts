// Everything together: the agent, the sessions, the panel, and what people do with them.

import { randomUUID } from "node:crypto";
import { commands, type ExtensionContext, type LogOutputChannel, type TerminalOptions, ThemeIcon, window, workspace } from "vscode";
import { Agent } from "./agent/agent";
import { clientApp } from "./agent/client";
import { Keeper } from "./agent/keeper";
import { locate } from "./agent/locate";
import type { Launch } from "./agent/process";
import { Diffs } from "./editor/diffs";
import { documents } from "./editor/documents";
import { filesLike, openFile, openLink } from "./editor/files";
import { EditorTerminals } from "./editor/terminals";
import type { Call } from "./session/items";
import { Desk } from "./session/desk";
import type { Session } from "./session/session";
import { offerToInstall } from "./panel/install";
import type { FromPanel, View } from "./panel/messages";
import { Panel } from "./panel/panel";
import { SessionActions } from "./tree/actions";
import { RecycleBin } from "./tree/deleted";
import { searchSessions } from "./tree/search";
import { SessionsTree } from "./tree/tree";

const ABSENT = "The agent, acp-adapter, is not on this machine yet, or its place is not known.";

export class Workbench {
  readonly panel: Panel;
  readonly desk: Desk;
  readonly diffs = new Diffs();
  readonly tree: SessionsTree;
  readonly sessions: SessionActions;
  readonly terminals = new EditorTerminals((id) => this.tellTerminal(id));
  private readonly keeper: Keeper;
  private readonly calling = new Set<string>();
  private opening = Promise.resolve();
  private absent = false;
  private trouble = "";

  constructor(
    private readonly context: ExtensionContext,
    private readonly log: LogOutputChannel,
  ) {
    this.keeper = new Keeper(
      () => this.start(),
      () => this.panel.touch(),
      (reason, again) => void this.onLost(reason, again),
    );
    this.desk = new Desk(this.keeper, context.workspaceState, folders, () => this.touch(), () => this.touch());
    this.panel = new Panel(context.extensionUri, () => this.desk.shown, () => this.view(), (message) => void this.act(message));
    this.tree = new SessionsTree(this.desk);
    const bin = new RecycleBin(() => this.launch());
    this.sessions = new SessionActions(this.desk, this.tree, bin, context.globalStorageUri.fsPath);
  }

  /** Have an agent and a session to show. Does not reject: the panel tells what went wrong. One at a time. */
  open(): Promise<void> {
    this.opening = this.opening.then(() => this.openNow());
    return this.opening;
  }

  async restart(): Promise<void> {
    this.desk.lose("The agent is stopped.");
    await this.keeper.reset();
    await this.open();
    if (this.isOpen) this.desk.shown?.tell("The agent was restarted.");
  }

  async install(): Promise<void> {
    const what = setting<string>("package") || "acp-adapter";
    const { fsPath } = this.context.globalStorageUri;
    if (await offerToInstall(what, fsPath, this.log)) await this.restart();
  }

  /** Run the agent's own setup in a terminal, then go on with what it has set. */
  async setup(): Promise<void> {
    const program = await this.program();
    if (!program) return this.install();
    const options: TerminalOptions = { name: "Set up the agent", shellPath: program, shellArgs: [...setting<string[]>("args"), "setup"], env: setting("env"), iconPath: new ThemeIcon("gear") };
    const terminal = window.createTerminal(options);
    terminal.show();
    const closing = window.onDidCloseTerminal((closed) => {
      if (closed !== terminal) return;
      closing.dispose();
      void this.restart();
    });
  }

  /** Find a passage, and show the session that it is in, there. */
  async search(): Promise<void> {
    const hit = await searchSessions(() => this.launch());
    if (!hit) return;
    await this.desk.load(hit.session_id);
    await commands.executeCommand("acp-adapter.panel.focus");
    this.panel.reveal(hit.message_id);
  }

  /** Do something that may fail, and tell if it does. */
  async attempt(action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.log.error(error as Error);
      void window.showErrorMessage((error as Error).message);
    }
  }

  async dispose(): Promise<void> {
    this.panel.dispose();
    this.tree.dispose();
    await this.keeper.dispose();
    this.terminals.dispose();
  }

  private async openNow(): Promise<void> {
    this.trouble = "";
    this.absent = hasFolder() && !(await this.program());
    if (hasFolder() && !this.absent && !this.isOpen) {
      await this.desk.restore().catch((error: Error) => this.complain(error));
    }
    this.panel.touch();
  }

  private get isOpen(): boolean {
    const { shown, open } = this.desk;
    return shown !== undefined && open.get(shown.id) === shown;
  }

  private program(): Promise<string | undefined> {
    return locate(setting("command"), this.context.globalStorageUri.fsPath);
  }

  private async launch(): Promise<Launch> {
    const program = await this.program();
    if (!program) throw new Error(ABSENT);
    return { program, args: setting("args"), env: setting("env"), cwd: folders()[0] };
  }

  private async start(): Promise<Agent> {
    const launch = await this.launch();
    const version = String(this.context.extension.packageJSON.version);
    this.log.info(`Starting ${[launch.program, ...launch.args].join(" ")}`);
    return Agent.start(launch, clientApp(documents, this.terminals, this.desk), version, (line) => this.log.info(line));
  }

  private async onLost(reason: string, again: boolean): Promise<void> {
    this.log.warn(reason);
    this.desk.lose(reason);
    if (!again) return this.panel.touch();
    await this.open();
    this.desk.shown?.tell(`${reason} It was started again, and this session was loaded from its store.`);
  }

  private complain(error: Error): void {
    this.log.error(error);
    this.trouble = error.message;
  }

  private touch(): void {
    this.panel.touch();
    this.tree.touch();
    for (const session of this.desk.open.values()) this.callFor(session);
  }

  /** Tell a person who does not see it that a session waits for them. */
  private callFor(session: Session): void {
    const { id, questions, conversation } = session;
    const unseen = questions.some && !(this.panel.visible && session === this.desk.shown);
    if (unseen && !this.calling.has(id)) {
      const told = window.showInformationMessage(`The agent asks you something in “${conversation.standing.title || "New session"}”.`, "Show");
      void told.then((chosen) => chosen && this.attempt(() => this.show(id)));
    }
    if (unseen) this.calling.add(id);
    else this.calling.delete(id);
  }

  private async show(id: string): Promise<void> {
    await this.desk.load(id);
    await commands.executeCommand("acp-adapter.focus");
  }

  private view(): View {
    const session = this.desk.shown;
    const { health } = this.keeper;
    const about = session?.agent.about.agentCapabilities;
    const failed = health.state === "failed" ? health.reason : this.trouble;
    return {
      health: !hasFolder() ? "homeless" : this.absent ? "absent" : failed ? "failed" : health.state === "ready" && this.isOpen ? "ready" : "starting",
      reason: this.absent ? ABSENT : failed,
      busy: session?.busy ?? false,
      paused: session?.paused ?? false,
      needsSetup: session?.needsSetup ?? false,
      takesImages: about?.promptCapabilities?.image ?? false,
      branches: about?.sessionCapabilities?.fork != null,
      queue: session?.queue.map(({ id, text }) => ({ id, text })) ?? [],
      standing: session?.conversation.standing ?? { title: "", plan: [], commands: [], options: [] },
    };
  }

  private act(message: FromPanel): Promise<void> {
    return this.attempt(() => this.handle(message));
  }

  private async handle(message: FromPanel): Promise<unknown> {
    const session = this.desk.shown;
    switch (message.type) {
      case "ready":
        return this.open();
      case "send":
        return session?.send({ id: randomUUID(), ...message.prompt });
      case "stop":
        return session?.stop();
      case "answer":
        return session?.questions.choose(message.callId, message.optionId);
      case "fill":
        return session?.questions.fill(message.id, message.values);
      case "choose":
        return session?.choose(message.id, message.value);
      case "resume":
        return session?.resume();
      case "unqueue":
        return session?.unqueue(message.id);
      case "hurry":
        return session?.hurry(message.id);
      case "files":
        return this.panel.post({ type: "files", query: message.query, paths: await filesLike(message.query) });
      case "open":
        return openFile(message.path, message.line);
      case "link":
        return openLink(message.href);
      case "diff":
        return this.openDiff(message.callId, message.index);
      case "terminal":
        return message.reveal ? this.terminals.reveal(message.id) : this.tellTerminal(message.id);
      case "branch":
        return session && this.desk.branch(session.id, message.messageId);
      case "command":
        return commands.executeCommand(message.command === "openFolder" ? "vscode.openFolder" : `acp-adapter.${message.command}`);
    }
  }

  private async openDiff(callId: string, index: number): Promise<void> {
    const call = this.desk.shown?.conversation.items.get(`t:${callId}`) as Call | undefined;
    const shown = call?.content[index];
    if (shown?.type === "diff") await this.diffs.open(`${callId}.${index}`, shown);
  }

  private tellTerminal(id: string): void {
    const seen = this.terminals.look(id);
    this.panel.post({ type: "terminal", id, output: seen?.output ?? "(this terminal is closed)", runs: seen?.runs ?? false });
  }
}

function setting<T>(name: string): T {
  return workspace.getConfiguration("acp-adapter").get<T>(name) as T;
}

function hasFolder(): boolean {
  return workspace.workspaceFolders !== undefined && workspace.workspaceFolders.length > 0;
}

function folders(): [string, ...string[]] {
  const [first, ...others] = (workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
  if (first === undefined) throw new Error("No folder is open.");
  return [first, ...others];
}
