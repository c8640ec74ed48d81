// What a person does with sessions: open, branch, rename, delete, undo that.

import { commands, window } from "vscode";
import type { Desk } from "../session/desk";
import type { RecycleBin } from "./deleted";
import type { Node } from "./forest";
import type { SessionsTree } from "./tree";

export class SessionActions {
  constructor(
    private readonly desk: Desk,
    private readonly tree: SessionsTree,
    private readonly bin: RecycleBin,
    private readonly storage: string,
  ) {}

  async open({ info }: Node): Promise<void> {
    await this.desk.load(info.sessionId);
    await commands.executeCommand("acp-adapter.focus");
  }

  async branch({ info }: Node): Promise<void> {
    await this.desk.branch(info.sessionId);
    await commands.executeCommand("acp-adapter.focus");
  }

  async rename({ info }: Node): Promise<void> {
    const title = await window.showInputBox({ title: "Rename the session", value: info.title ?? "", validateInput: (text) => (text.trim() ? undefined : "A title needs a word.") });
    if (title === undefined) return;
    await this.desk.rename(info.sessionId, title.trim());
    this.tree.refresh();
  }

  async delete({ info }: Node): Promise<void> {
    const title = info.title || "(no title)";
    if (!(await this.isKept(info.sessionId, title))) return;
    try {
      await this.desk.delete(info.sessionId);
    } catch (error) {
      this.bin.forget(info.sessionId);
      throw error;
    } finally {
      this.changed();
    }
    if (this.bin.isEmpty) return;
    const undo = await window.showInformationMessage(`“${title}” is deleted. While this window is open, that can be undone.`, "Undo");
    if (undo) await commands.executeCommand("acp-adapter.undoDelete", info.sessionId);
  }

  async undoDelete(id?: string): Promise<void> {
    const restored = await this.bin.restore(this.storage, id);
    this.changed();
    if (restored) await this.desk.load(restored);
  }

  /** Whether it can be deleted: because it can be brought back, or because the person wants it gone all the same. */
  private async isKept(id: string, title: string): Promise<boolean> {
    try {
      await this.bin.keep(id, title);
      return true;
    } catch (error) {
      const question = `Delete “${title}” for good? It could not be kept for an undo: ${(error as Error).message}`;
      return (await window.showWarningMessage(question, { modal: true }, "Delete")) !== undefined;
    }
  }

  private changed(): void {
    void commands.executeCommand("setContext", "acp-adapter.canUndoDelete", !this.bin.isEmpty);
    this.tree.refresh();
  }
}
