// Commands of the agent, each shown in a terminal of the editor.

import { randomUUID } from "node:crypto";
import { RequestError } from "@agentclientprotocol/sdk/unstable";
import { type Event, EventEmitter, type Pseudoterminal, type Terminal, ThemeIcon, window } from "vscode";
import type { Terminals } from "../agent/client";
import { Command } from "./command";

/** Ended terminals that stay for a person to look at. */
const KEPT = 8;
/** Bytes of a command's output that the panel shows. */
const TAIL = 8000;
/** Milliseconds for which output is gathered before it is told. */
const GATHER = 80;
const CTRL_C = "\x03";

interface Shown {
  command: Command;
  terminal: Terminal;
  released: boolean;
}

/** `heard` is called after a terminal has said something. */
export class EditorTerminals implements Terminals {
  private readonly shown = new Map<string, Shown>();
  private readonly loud = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly heard: (id: string) => void) {}

  create: Terminals["create"] = (request) => {
    const terminalId = randomUUID();
    const screen = new Screen(() => this.shown.get(terminalId)?.command.kill());
    const command = new Command(request, (text) => {
      screen.write(text);
      this.hear(terminalId);
    });
    const line = request.args?.at(-1) ?? request.command;
    const terminal = window.createTerminal({ name: line.slice(0, 40), pty: screen, iconPath: new ThemeIcon("hubot") });
    this.shown.set(terminalId, { command, terminal, released: false });
    screen.write(`$ ${line}\n`);
    void command.ended.then(({ exitCode, signal }) => {
      screen.write(`\n[${signal ?? `exit code ${exitCode}`}]\n`);
      this.hear(terminalId);
    });
    return { terminalId };
  };

  output: Terminals["output"] = (id) => {
    const { command } = this.find(id);
    return { output: command.output, truncated: command.truncated, exitStatus: command.exit ?? null };
  };

  waitForExit: Terminals["waitForExit"] = (id) => this.find(id).command.ended;

  kill: Terminals["kill"] = (id) => this.find(id).command.kill();

  /** The agent is done with it. Its output stays for people, the oldest go. */
  release: Terminals["release"] = (id) => {
    const shown = this.find(id);
    shown.command.kill();
    shown.released = true;
    const released = [...this.shown].filter(([, each]) => each.released);
    for (const [old, { terminal }] of released.slice(0, -KEPT)) {
      terminal.dispose();
      this.shown.delete(old);
    }
  };

  /** The end of what a terminal says, and whether it still runs; undefined for one that is gone. */
  look(id: string): { output: string; runs: boolean } | undefined {
    const command = this.shown.get(id)?.command;
    return command && { output: command.tail(TAIL), runs: !command.exit };
  }

  reveal(id: string): void {
    this.shown.get(id)?.terminal.show();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const { command, terminal } of this.shown.values()) {
      command.kill();
      terminal.dispose();
    }
  }

  private hear(id: string): void {
    this.loud.add(id);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const each of this.loud) this.heard(each);
      this.loud.clear();
    }, GATHER);
  }

  private find(id: string): Shown {
    const shown = this.shown.get(id);
    if (!shown) throw RequestError.resourceNotFound(id);
    return shown;
  }
}

/** The screen of one command. What is written before a terminal shows it is kept until then. */
class Screen implements Pseudoterminal {
  private readonly emitter = new EventEmitter<string>();
  private early: string[] | undefined = [];
  readonly onDidWrite: Event<string> = this.emitter.event;

  /** `interrupt` is called on Ctrl-C, and when a person closes the terminal. */
  constructor(private readonly interrupt: () => void) {}

  write(text: string): void {
    const lines = text.replace(/\r?\n/g, "\r\n");
    if (this.early) this.early.push(lines);
    else this.emitter.fire(lines);
  }

  open(): void {
    const early = this.early ?? [];
    this.early = undefined;
    this.emitter.fire(early.join(""));
  }

  close(): void {
    this.interrupt();
  }

  handleInput(keys: string): void {
    if (keys === CTRL_C) this.interrupt();
  }
}
