// Files as the editor has them: open documents with their unsaved changes.

import { RequestError } from "@agentclientprotocol/sdk/unstable";
import { EndOfLine, Range, type TextDocument, Uri, WorkspaceEdit, workspace } from "vscode";
import type { Documents } from "../agent/client";
import { change } from "./change";

export const documents: Documents = {
  async read({ path, line, limit }) {
    const text = (await opened(Uri.file(path))).getText();
    if (line == null && limit == null) return text;
    const first = Math.max(0, (line ?? 1) - 1);
    const lines = text.split(/(?<=\n)/);
    return lines.slice(first, limit == null ? undefined : first + limit).join("");
  },

  /** Through the document, so that it can be undone there; then saved, as the request promises. */
  async write({ path, content }) {
    const uri = Uri.file(path);
    const edit = new WorkspaceEdit();
    if (await exists(uri)) replace(edit, await opened(uri), content);
    else edit.createFile(uri, { contents: new TextEncoder().encode(content) });
    if (!(await workspace.applyEdit(edit))) throw refused(`${path} could not be changed in the editor.`);
    const document = workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
    if (document?.isDirty && !(await document.save())) throw refused(`${path} was changed in the editor, but not saved.`);
  },
};

async function opened(uri: Uri): Promise<TextDocument> {
  if (!(await exists(uri))) throw RequestError.resourceNotFound(uri.fsPath);
  try {
    return await workspace.openTextDocument(uri);
  } catch (error) {
    throw refused(`${uri.fsPath} can't be opened as text: ${(error as Error).message}`);
  }
}

/** Also a file that was deleted from the disk, but has unsaved changes in an editor. */
async function exists(uri: Uri): Promise<boolean> {
  if (workspace.textDocuments.some((each) => each.uri.toString() === uri.toString())) return true;
  return workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
}

/** The document's line ends stay as they are. */
function replace(edit: WorkspaceEdit, document: TextDocument, content: string): void {
  const end = document.eol === EndOfLine.CRLF ? "\r\n" : "\n";
  const found = change(document.getText(), content.replace(/\r?\n/g, end));
  if (!found) return;
  const range = new Range(document.positionAt(found.from), document.positionAt(found.to));
  edit.replace(document.uri, range, found.text);
}

function refused(message: string): RequestError {
  return new RequestError(-32603, message);
}
