// Sessions as trees: branches stand under the session that they left.

import type { SessionInfo } from "@agentclientprotocol/sdk/unstable";

export interface Node {
  info: SessionInfo;
  branches: Node[];
  parent?: Node;
}

/** The trees, the one with the newest word first. A branch whose parent is not among the sessions stands for itself. */
export function forest(sessions: readonly SessionInfo[]): Node[] {
  const nodes = new Map(sessions.map((info): [string, Node] => [info.sessionId, { info, branches: [] }]));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(String(node.info._meta?.parentSessionId));
    if (!parent || isWithin(parent, node)) roots.push(node);
    else {
      node.parent = parent;
      parent.branches.push(node);
    }
  }
  return sorted(roots);
}

/** Whether a session holds anything that is worth a line in a list. */
export function isWorthShowing(info: SessionInfo): boolean {
  return info._meta?.messageCount !== 0;
}

/** How long ago, roughly. */
export function age(updatedAt: string | null | undefined, now: number): string {
  const seconds = updatedAt ? (now - Date.parse(updatedAt)) / 1000 : Number.NaN;
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return "now";
  const [size, unit] = seconds < 3600 ? [60, "min"] : seconds < 86400 ? [3600, "h"] : [86400, "d"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

function sorted(nodes: Node[]): Node[] {
  for (const node of nodes) sorted(node.branches);
  return nodes.sort((one, two) => newest(two) - newest(one));
}

function newest(node: Node): number {
  const own = Date.parse(node.info.updatedAt ?? "") || 0;
  return Math.max(own, ...node.branches.map(newest));
}

function isWithin(node: Node, ancestor: Node): boolean {
  for (let at: Node | undefined = node; at; at = at.parent) if (at === ancestor) return true;
  return false;
}
