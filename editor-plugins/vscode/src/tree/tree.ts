// The sessions of the folder as a tree view.

import { type Disposable, EventEmitter, type TreeDataProvider, TreeItem, TreeItemCollapsibleState, ThemeIcon, type TreeView, window } from "vscode";
import type { Desk } from "../session/desk";
import { age, forest, isWorthShowing, type Node } from "./forest";

/** Pages of sessions that are read at first, and more with each wish. */
const PAGES = 4;
/** Milliseconds for which changes are gathered before the list is read again. */
const GATHER = 300;

export const OLDER = "older";
export type Element = Node | typeof OLDER;

export class SessionsTree implements TreeDataProvider<Element>, Disposable {
  private readonly emitter = new EventEmitter<void>();
  readonly onDidChangeTreeData = this.emitter.event;
  private readonly view: TreeView<Element>;
  private pages = PAGES;
  private timer: NodeJS.Timeout | undefined;
  private seen = "";

  constructor(private readonly desk: Desk) {
    this.view = window.createTreeView("acp-adapter.sessions", { treeDataProvider: this, showCollapseAll: true });
  }

  /** Look again soon, if anything that the tree shows may have changed. */
  touch(): void {
    const state = [...this.desk.open.values()].map(({ id, busy, questions, conversation }) => [id, busy, questions.some, conversation.standing.title]);
    const now = JSON.stringify([this.desk.shown?.id, state]);
    if (now !== this.seen) this.refresh();
    this.seen = now;
  }

  refresh(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.emitter.fire();
    }, GATHER);
  }

  showOlder(): void {
    this.pages += PAGES;
    this.refresh();
  }

  async getChildren(element?: Element): Promise<Element[]> {
    if (element === OLDER) return [];
    if (element) return element.branches;
    if (!this.desk.shown) return [];
    const { sessions, more } = await this.desk.list(this.pages);
    const shown = this.desk.shown.id;
    const trees = forest(sessions.filter((info) => isWorthShowing(info) || info.sessionId === shown));
    return more ? [...trees, OLDER] : trees;
  }

  getParent(element: Element): Element | undefined {
    return element === OLDER ? undefined : element.parent;
  }

  getTreeItem(element: Element): TreeItem {
    if (element === OLDER) {
      const item = new TreeItem("Show older sessions …");
      item.command = { command: "acp-adapter.older", title: "Show older sessions" };
      return item;
    }
    const { info, branches } = element;
    const title = info.title || (isWorthShowing(info) ? "(no title)" : "New session");
    const item = new TreeItem(title, branches.length ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.None);
    // The editor remembers by id what is closed; a session that gets its first branch is to open.
    item.id = info.sessionId + (branches.length ? "+" : "");
    item.description = this.told(element);
    item.tooltip = `${title}\n${info._meta?.messageCount ?? "?"} messages\n${info.sessionId}`;
    item.iconPath = this.icon(element);
    item.contextValue = "session";
    item.command = { command: "acp-adapter.openSession", title: "Open", arguments: [element] };
    return item;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.view.dispose();
  }

  private told({ info }: Node): string {
    const open = this.desk.open.get(info.sessionId);
    const state = open?.questions.some ? "asks" : open?.busy ? "works" : this.desk.shown?.id === info.sessionId ? "shown" : "";
    return [state, age(info.updatedAt, Date.now())].filter(Boolean).join(" · ");
  }

  private icon({ info, parent }: Node): ThemeIcon {
    const open = this.desk.open.get(info.sessionId);
    if (open?.questions.some) return new ThemeIcon("question");
    if (open?.busy) return new ThemeIcon("sync~spin");
    if (this.desk.shown?.id === info.sessionId) return new ThemeIcon("arrow-small-right");
    return new ThemeIcon(parent || info._meta?.parentSessionId ? "git-branch" : "comment");
  }
}
