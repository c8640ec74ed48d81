// The agent's own commands, for what the protocol has no method for: searching, exporting, importing.

import { execFile } from "node:child_process";
import { environment } from "./environment";
import type { Launch } from "./process";

/** A whole conversation, with its pictures, must fit. */
const LIMIT = 512 * 1024 * 1024;

/** What a command printed. Exit code 1 without a word on stderr is no error: nothing was found. */
export function runCommand(launch: Launch, words: string[]): Promise<string> {
  const { program, args, cwd } = launch;
  const env = environment(launch.env);
  return new Promise((resolve, reject) => {
    execFile(program, [...args, ...words], { cwd, env, maxBuffer: LIMIT, windowsHide: true }, (error, stdout, stderr) => {
      const said = stderr.trim();
      if (error && (said || error.code !== 1)) reject(new Error(said || error.message));
      else resolve(stdout);
    });
  });
}

/** A passage that a search has found. */
export interface Hit {
  session_id: string;
  message_id: string;
  role: string;
  title: string | null;
  timestamp: string;
  snippet: string;
}

/** Passages in the sessions of a folder, the best first. */
export async function search(launch: Launch, folder: string, query: string): Promise<Hit[]> {
  const found = await runCommand(launch, ["search", "--json", "--limit", "30", "--cwd", folder, "--", query]);
  return found.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Hit);
}
