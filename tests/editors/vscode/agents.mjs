// The agent processes of an editor, found in /proc by the home folder that is in their environment.

import { readdirSync, readFileSync } from "node:fs";

export function agents(home) {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && isAgent(pid, home)).map(Number);
}

function isAgent(pid, home) {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    const env = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    return words.some((word) => /acp[-_]adapter$/.test(word)) && env.includes(`ACP_ADAPTER_HOME=${home}`);
  } catch {
    return false; // it has ended meanwhile
  }
}
