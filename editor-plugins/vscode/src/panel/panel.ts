// The agent's panel in the editor: shows the session of the desk, and passes on what a person does there.

import { randomBytes } from "node:crypto";
import { type Disposable, Uri, type Webview, type WebviewView, type WebviewViewProvider } from "vscode";
import type { Session } from "../session/session";
import { page } from "./html";
import type { FromPanel, ToPanel, View } from "./messages";

/** Milliseconds for which changes are gathered before they are drawn. */
const GATHER = 40;

export class Panel implements WebviewViewProvider, Disposable {
  private view: WebviewView | undefined;
  private ready = false;
  private shown: Session | undefined;
  private wanted: string | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** `look` tells what stands beside the conversation; `hear` gets what the panel says. */
  constructor(
    private readonly extension: Uri,
    private readonly session: () => Session | undefined,
    private readonly look: () => View,
    private readonly hear: (message: FromPanel) => void,
  ) {}

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: WebviewView): void {
    this.view = view;
    this.ready = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [Uri.joinPath(this.extension, "dist"), Uri.joinPath(this.extension, "media")] };
    view.webview.onDidReceiveMessage((message: FromPanel) => {
      if (message.type === "ready") this.onReady();
      this.hear(message);
    });
    view.onDidDispose(() => (this.view = undefined));
    view.webview.html = this.html(view.webview);
  }

  /** Something has changed: draw it soon. */
  touch(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.draw();
    }, GATHER);
  }

  post(message: ToPanel): void {
    if (this.ready) void this.view?.webview.postMessage(message);
  }

  /** Show a message of the session, once it is drawn. */
  reveal(messageId: string): void {
    this.wanted = messageId;
    this.touch();
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private onReady(): void {
    this.ready = true;
    this.shown = undefined;
    this.draw();
  }

  private draw(): void {
    if (!this.ready) return;
    this.post({ type: "view", view: this.look() });
    const session = this.session();
    if (!session) return;
    const reset = session !== this.shown;
    this.shown = session;
    const changed = session.conversation.take();
    const items = reset ? [...session.conversation.items.values()] : changed;
    if (reset || items.length) this.post({ type: "items", session: session.id, reset, items });
    if (this.wanted) this.post({ type: "reveal", messageId: this.wanted });
    this.wanted = undefined;
  }

  private html(webview: Webview): string {
    const uri = (...path: string[]) => webview.asWebviewUri(Uri.joinPath(this.extension, ...path)).toString();
    return page(randomBytes(16).toString("hex"), webview.cspSource, uri("dist", "panel.js"), uri("media", "panel.css"));
  }
}
