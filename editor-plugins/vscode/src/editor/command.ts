// A command as a child process: its output kept up to a limit, ended with its children.

import { type ChildProcess, spawn } from "node:child_process";
import type { CreateTerminalRequest, TerminalExitStatus } from "@agentclientprotocol/sdk/unstable";
import { environment } from "../agent/environment";

/** Milliseconds in which the output of a command that has exited must be here. */
const LAST_WORDS = 300;
const POSIX = process.platform !== "win32";

/** A running or ended command. `ended` resolves with its exit, also where it could not be started. */
export class Command {
  readonly ended: Promise<TerminalExitStatus>;
  exit: TerminalExitStatus | undefined;
  truncated = false;
  private kept = Buffer.alloc(0);
  private readonly child: ChildProcess;

  constructor(request: CreateTerminalRequest, hear: (text: string) => void) {
    const limit = request.outputByteLimit ?? Number.POSITIVE_INFINITY;
    const set = (request.env ?? []).map(({ name, value }): [string, string] => [name, value]);
    this.child = spawn(request.command, request.args ?? [], {
      cwd: request.cwd ?? undefined,
      env: environment(Object.fromEntries(set)),
      stdio: ["ignore", "pipe", "pipe"],
      detached: POSIX,
      windowsHide: true,
    });
    const take = (text: string) => {
      this.keep(Buffer.from(text), limit);
      hear(text);
    };
    for (const pipe of [this.child.stdout, this.child.stderr]) pipe?.setEncoding("utf8").on("data", take);
    this.ended = new Promise((resolve) => {
      const end = (exit: TerminalExitStatus) => resolve((this.exit ??= exit));
      this.child.on("error", (error) => {
        take(`${error.message}\n`);
        end({ exitCode: 127 });
      });
      this.child.on("close", (exitCode, signal) => end({ exitCode, signal }));
      // What it leaves in the background may hold its pipes open for ever.
      this.child.on("exit", (exitCode, signal) => setTimeout(() => end({ exitCode, signal }), LAST_WORDS));
    });
  }

  get output(): string {
    return this.kept.toString("utf8");
  }

  /** The end of the output, up to so many bytes. */
  tail(bytes: number): string {
    return this.kept.subarray(-bytes).toString("utf8");
  }

  /** End it and all that it has started. */
  kill(): void {
    const { pid } = this.child;
    if (this.exit || pid === undefined) return;
    if (!POSIX) return void spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { windowsHide: true });
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      this.child.kill("SIGKILL");
    }
  }

  /** The newest bytes count; a character is never cut in two. */
  private keep(bytes: Buffer, limit: number): void {
    this.kept = Buffer.concat([this.kept, bytes]);
    if (this.kept.length <= limit) return;
    this.truncated = true;
    let start = this.kept.length - limit;
    while (start < this.kept.length && ((this.kept[start] ?? 0) & 0xc0) === 0x80) start += 1;
    this.kept = this.kept.subarray(start);
  }
}
