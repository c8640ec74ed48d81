// The search box: finds what was said in any session of the folder, while a person types.

import { type QuickPickItem, window } from "vscode";
import { type Hit, search } from "../agent/cli";
import type { Launch } from "../agent/process";
import { age } from "./forest";

/** Milliseconds without a key before the search begins. */
const REST = 250;

interface Found extends QuickPickItem {
  hit?: Hit;
}

/** The passage that a person has chosen. */
export function searchSessions(launch: () => Promise<Launch>): Promise<Hit | undefined> {
  const box = window.createQuickPick<Found>();
  box.title = "Search the sessions of this folder";
  box.placeholder = 'Words that must all occur, or "a phrase"';
  let timer: NodeJS.Timeout | undefined;
  const look = async (query: string) => {
    if (!query.trim()) return (box.items = []);
    box.busy = true;
    const items = await found(launch, query);
    if (query !== box.value) return; // typed on meanwhile
    box.busy = false;
    return (box.items = items);
  };
  return new Promise((resolve) => {
    box.onDidChangeValue((value) => {
      clearTimeout(timer);
      timer = setTimeout(() => void look(value), REST);
    });
    box.onDidAccept(() => {
      const hit = box.selectedItems[0]?.hit;
      if (!hit) return;
      resolve(hit);
      box.hide();
    });
    box.onDidHide(() => {
      clearTimeout(timer);
      box.dispose();
      resolve(undefined);
    });
    box.show();
  });
}

async function found(launch: () => Promise<Launch>, query: string): Promise<Found[]> {
  try {
    const start = await launch();
    const hits = await search(start, start.cwd, query);
    return hits.length ? hits.map(item) : [{ label: "Nothing was found.", alwaysShow: true }];
  } catch (error) {
    return [{ label: (error as Error).message, alwaysShow: true }];
  }
}

const SPEAKERS: Record<string, string> = { user: "you", assistant: "agent", tool: "tool" };

/** Always shown: the agent has searched already, by rules of its own. */
function item(hit: Hit): Found {
  const label = hit.snippet.replace(/\s+/g, " ").replaceAll("$(", "$ (");
  const about = [hit.title ?? "(no title)", SPEAKERS[hit.role] ?? hit.role, age(hit.timestamp, Date.now())];
  return { label, detail: about.filter(Boolean).join(" · "), alwaysShow: true, hit };
}
