// The workspace's files: to be named in a prompt, and to be opened from one.

import { isAbsolute, join, sep } from "node:path";
import { env, Position, Range, Uri, window, workspace } from "vscode";
import { matching } from "./matching";

const SHOWN = 12;
const KNOWN = 20_000;
/** Milliseconds for which a list of files is good. */
const FRESH = 10_000;

let listed: { at: number; paths: Promise<string[]> } | undefined;

/** Paths that fit what was typed: from the first folder on, whole where they are in another. */
export async function filesLike(query: string): Promise<string[]> {
  if (!listed || Date.now() - listed.at > FRESH) listed = { at: Date.now(), paths: list() };
  return matching(await listed.paths, query, SHOWN);
}

async function list(): Promise<string[]> {
  const found = await workspace.findFiles("**/*", undefined, KNOWN);
  return found.map(pathOf);
}

/** A file as it is named in a prompt. */
export function pathOf(uri: Uri): string {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const path = uri.fsPath;
  return (folder && path.startsWith(folder + sep) ? path.slice(folder.length + 1) : path).replaceAll("\\", "/");
}

export async function openFile(path: string, line?: number): Promise<void> {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const at = new Position(Math.max(0, (line ?? 1) - 1), 0);
  const whole = Uri.file(isAbsolute(path) ? path : join(folder, path));
  await window.showTextDocument(whole, line ? { selection: new Range(at, at) } : {});
}

/** A link of the conversation: to the web, or to a file, perhaps to one of its lines. */
export async function openLink(href: string): Promise<void> {
  if (/^(https?|mailto):/i.test(href)) return void env.openExternal(Uri.parse(href));
  const plain = href.startsWith("file:") ? Uri.parse(href).fsPath : decodeURI(href);
  const [, path, line] = /^(.*?)(?:(?:#L|:)(\d+).*)?$/.exec(plain) ?? [];
  const hash = path?.indexOf("#") ?? -1;
  await openFile(hash > 0 ? path!.slice(0, hash) : (path ?? plain), line ? Number(line) : undefined);
}
