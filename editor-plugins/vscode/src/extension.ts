// Where the editor comes in.

import { commands, type ExtensionContext, window, workspace } from "vscode";
import { SCHEME } from "./editor/diffs";
import type { Node } from "./tree/forest";
import { Workbench } from "./workbench";

let workbench: Workbench | undefined;

export function activate(context: ExtensionContext): void {
  const log = window.createOutputChannel("ACP Adapter", { log: true });
  const bench = new Workbench(context, log);
  workbench = bench;
  const { sessions, tree } = bench;
  const actions: Record<string, (node: Node) => Promise<unknown>> = {
    new: () => bench.desk.create(),
    focus: async () => {
      await commands.executeCommand("acp-adapter.panel.focus");
      bench.panel.post({ type: "focus" });
    },
    stop: async () => bench.desk.shown?.stop(),
    restart: () => bench.restart(),
    setup: () => bench.setup(),
    install: () => bench.install(),
    log: async () => log.show(),
    search: () => bench.search(),
    refresh: async () => tree.refresh(),
    older: async () => tree.showOlder(),
    openSession: (node) => sessions.open(node),
    branchSession: (node) => sessions.branch(node),
    renameSession: (node) => sessions.rename(node),
    deleteSession: (node) => sessions.delete(node),
  };
  context.subscriptions.push(
    log,
    window.registerWebviewViewProvider("acp-adapter.panel", bench.panel),
    workspace.registerTextDocumentContentProvider(SCHEME, bench.diffs),
    workspace.onDidChangeConfiguration((changed) => {
      if (changed.affectsConfiguration("acp-adapter")) void bench.restart();
    }),
    workspace.onDidChangeWorkspaceFolders(() => void bench.open()),
    ...Object.entries(actions).map(([name, action]) => commands.registerCommand(`acp-adapter.${name}`, (node: Node) => bench.attempt(() => action(node)))),
    commands.registerCommand("acp-adapter.undoDelete", (id?: string) => bench.attempt(() => sessions.undoDelete(id))),
  );
}

/** The editor waits for this: the agent ends with it, after it has stored what there is. */
export async function deactivate(): Promise<void> {
  await workbench?.dispose();
}
