// Where the agent's program is.

import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const WINDOWS = process.platform === "win32";

/**
 * The program to start: what is set, else the first `acp-adapter` on the PATH, in the usual place of a person's own
 * programs (editors often have a shorter PATH than shells), or where this extension installs it. Undefined if none.
 */
export async function locate(setting: string, storage: string): Promise<string | undefined> {
  if (setting) return setting.replace(/^~(?=$|[\\/])/, homedir());
  return find("acp-adapter", [...searchPath(), ...installed(storage)]);
}

/** The first program of that name in some folders. */
export async function find(name: string, folders: string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, WINDOWS ? `${name}.exe` : name);
    if (await access(path, constants.X_OK).then(() => true, () => false)) return path;
  }
  return undefined;
}

export function searchPath(): string[] {
  const named = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return [...named, join(homedir(), ".local", "bin")];
}

/** The folders in which `install` leaves the program. */
function installed(storage: string): string[] {
  return [join(storage, "agent", WINDOWS ? "Scripts" : "bin"), join(storage, "bin")];
}
