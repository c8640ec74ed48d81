// The diffs of the agent in the editor's own diff editor.

import { basename } from "node:path";
import type { Diff } from "@agentclientprotocol/sdk/unstable";
import { commands, type TextDocumentContentProvider, Uri } from "vscode";

export const SCHEME = "acp-adapter-diff";

/** Serves the two sides of each diff that was opened. */
export class Diffs implements TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();

  provideTextDocumentContent(uri: Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  /** `id` tells diffs of the same file apart; opening one twice shows the same editor. */
  async open(id: string, diff: Diff): Promise<void> {
    const [before, after] = [this.side(id, "before", diff.path, diff.oldText ?? ""), this.side(id, "after", diff.path, diff.newText)];
    await commands.executeCommand("vscode.diff", before, after, `${basename(diff.path)} (agent)`, { preview: true });
  }

  /** The path keeps its ending, which tells the editor the language. */
  private side(id: string, side: string, path: string, text: string): Uri {
    const uri = Uri.file(path).with({ scheme: SCHEME, query: `${side}&${id}` });
    this.texts.set(uri.toString(), text);
    return uri;
  }
}
