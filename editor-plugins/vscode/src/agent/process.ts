// The agent as a child process: its pipes, its stderr as a log, and an end that is waited for.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { ndJsonStream, type Stream } from "@agentclientprotocol/sdk/unstable";
import { environment } from "./environment";

/** How the agent is started. */
export interface Launch {
  program: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
}

/** Milliseconds that an agent has to end by itself after its input has ended. */
const PATIENCE = 4000;

/** A running agent. `ended` resolves, with a sentence for people, when it is gone however that came about. */
export class AgentProcess {
  readonly stream: Stream;
  readonly ended: Promise<string>;
  private readonly child: ChildProcessWithoutNullStreams;

  constructor(launch: Launch, log: (line: string) => void) {
    const env = environment(launch.env);
    this.child = spawn(launch.program, launch.args, { cwd: launch.cwd, env, windowsHide: true });
    this.ended = new Promise((resolve) => {
      this.child.on("error", (error) => resolve(`The agent could not be started: ${error.message}`));
      this.child.on("exit", (code, signal) => resolve(`The agent has ended (${signal ?? `exit code ${code}`}).`));
    });
    createInterface(this.child.stderr).on("line", log);
    // A pipe that breaks is the end of the process, which `ended` tells.
    this.child.stdin.on("error", (error) => log(`stdin: ${error.message}`));
    this.stream = ndJsonStream(
      Writable.toWeb(this.child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(this.child.stdout) as ReadableStream<Uint8Array>,
    );
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** End its input, which ends it; kill it if that takes too long. Resolves when it is gone. */
  async stop(): Promise<void> {
    this.child.stdin.end();
    const impatience = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE);
    await this.ended;
    clearTimeout(impatience);
  }
}
