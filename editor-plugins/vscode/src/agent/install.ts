// How the agent gets into an environment of its own, inside the extension's storage: by uv, pipx, or Python alone.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { find, searchPath } from "./locate";

const run = promisify(execFile);
const WINDOWS = process.platform === "win32";

export interface Step {
  program: string;
  args: string[];
  env: Record<string, string>;
}

export interface Way {
  name: "uv" | "pipx" | "pip";
  steps: Step[];
}

/** The ways that this machine offers, the best first. Nothing has been run but `python --version`. */
export async function ways(what: string, storage: string): Promise<Way[]> {
  const [uv, pipx, python] = [await find("uv", searchPath()), await find("pipx", searchPath()), await newPython()];
  return [
    ...(uv ? [byUv(uv, what, storage)] : []),
    ...(pipx ? [byPipx(pipx, what, storage)] : []),
    ...(python ? [byPip(python, what, storage)] : []),
  ];
}

export function byUv(uv: string, what: string, storage: string): Way {
  const home = join(storage, "agent");
  const steps = [
    { program: uv, args: ["venv", "--clear", "--python", ">=3.11", home], env: {} },
    { program: uv, args: ["pip", "install", "--python", pythonOf(home), what], env: {} },
  ];
  return { name: "uv", steps };
}

export function byPipx(pipx: string, what: string, storage: string): Way {
  const env = { PIPX_HOME: join(storage, "pipx"), PIPX_BIN_DIR: join(storage, "bin") };
  return { name: "pipx", steps: [{ program: pipx, args: ["install", "--force", what], env }] };
}

export function byPip(python: string, what: string, storage: string): Way {
  const home = join(storage, "agent");
  const steps = [
    { program: python, args: ["-m", "venv", "--clear", home], env: {} },
    { program: pythonOf(home), args: ["-m", "pip", "install", "--disable-pip-version-check", what], env: {} },
  ];
  return { name: "pip", steps };
}

/** What a step would look like in a terminal. */
export function told({ program, args, env }: Step): string {
  const set = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return [...set, program, ...args].map((word) => (/[\s"'<>]/.test(word) ? `"${word}"` : word)).join(" ");
}

function pythonOf(home: string): string {
  return WINDOWS ? join(home, "Scripts", "python.exe") : join(home, "bin", "python");
}

/** A Python of version 3.11 or newer. */
async function newPython(): Promise<string | undefined> {
  for (const name of ["python3", "python", "python3.13", "python3.12", "python3.11"]) {
    const path = await find(name, searchPath());
    const said = path && (await run(path, ["--version"]).catch(() => undefined));
    const [, major, minor] = /Python (\d+)\.(\d+)/.exec(said ? said.stdout : "") ?? [];
    if (path && Number(major) === 3 && Number(minor) >= 11) return path;
  }
  return undefined;
}
