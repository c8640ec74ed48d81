// VS Code in a browser: code-server with the extension, a folder to work in, and a page that shows it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const HERE = dirname(fileURLToPath(import.meta.url));
const VSIX = resolve(HERE, "../../../editor-plugins/vscode/acp-adapter.vsix");
const { CODE_SERVER = "code-server", CHROMIUM = "/usr/bin/chromium" } = process.env;
const [AGENT, ...ARGS] = JSON.parse(process.env.AGENT ?? '["acp-adapter"]');
const WAIT = 40_000;

/** A started editor. `close` ends it and all that it started, and removes its files. */
export class Editor {
  /**
   * `script` is what the model says; `files` are in the folder from the beginning; `settings` add to the usual ones;
   * `path` takes the place of PATH.
   */
  static async start({ script, files = {}, settings = {}, path = process.env.PATH }) {
    const editor = new Editor();
    editor.path = path;
    editor.write("script.json", JSON.stringify(script));
    for (const [name, text] of Object.entries(files)) editor.write(join("project", name), text);
    editor.set(settings);
    await editor.serve();
    editor.browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
    editor.page = await editor.browser.newPage({ viewport: { width: 1200, height: 800 } });
    editor.page.setDefaultTimeout(WAIT);
    await editor.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await editor.open();
    return editor;
  }

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "acp-vscode-"));
    this.project = join(this.folder, "project");
    this.home = join(this.folder, "home");
    this.usual = usual(this.folder);
    mkdirSync(this.project);
  }

  write(name, text) {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Change settings, on top of the usual ones. The extension's are the machine's alone: two files would change one after the other. */
  set(settings) {
    const all = { ...this.usual, ...settings };
    const shared = Object.entries(all).filter(([name]) => !name.startsWith("acp-adapter."));
    this.write("data/User/settings.json", JSON.stringify(Object.fromEntries(shared)));
    this.write("data/Machine/settings.json", JSON.stringify(all));
  }

  read(name) {
    return readFileSync(join(this.project, name), "utf8");
  }

  async serve() {
    const dirs = ["--user-data-dir", join(this.folder, "data"), "--extensions-dir", join(this.folder, "extensions")];
    const env = { ...process.env, PATH: this.path, XDG_CONFIG_HOME: join(this.folder, "config") };
    execFileSync(CODE_SERVER, [...dirs, "--install-extension", VSIX], { env, stdio: "pipe" });
    this.port = await freePort();
    const quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust", "--disable-getting-started-override"];
    const log = [];
    this.server = spawn(CODE_SERVER, [...dirs, ...quiet, "--bind-addr", `127.0.0.1:${this.port}`, this.project], { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.log = log;
    await new Promise((ready, fail) => {
      const hear = (data) => {
        log.push(String(data));
        if (/HTTP server listening/.test(String(data))) ready();
      };
      this.server.stdout.on("data", hear);
      this.server.stderr.on("data", hear);
      this.server.on("exit", () => fail(new Error(`code-server ended:\n${log.join("")}`)));
    });
  }

  /** Open the window, or open it again. */
  async open() {
    await this.page.goto(`http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(this.project)}`);
    await this.page.locator('.activitybar [aria-label="ACP Adapter"]').first().waitFor();
  }

  /** Run a command by its title. After a reload it may take a moment until the extension's are there. */
  async command(title) {
    await this.page.keyboard.press("F1");
    const box = this.page.locator(".quick-input-box input");
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
    await this.until(async () => {
      await box.fill(">");
      await box.fill(`>${title}`);
      return row.waitFor({ timeout: 1000 }).then(() => true, () => false);
    }, `the command ${title}`);
    await row.click();
  }

  /** The panel's page, opened if need be. */
  async panel() {
    await this.command("ACP Adapter: Open the Agent Panel");
    return this.frame();
  }

  /** The page within the panel that is open: a frame in a frame. */
  frame() {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  }

  /** Choose from the menu of something. */
  async menu(locator, name) {
    await locator.click({ button: "right" });
    await this.page.getByRole("menuitem", { name }).click();
  }

  /** Answer the editor's own question for a text. */
  async answer(text) {
    const box = this.page.locator(".quick-input-box input");
    await box.waitFor();
    await box.fill(text);
    await box.press("Enter");
  }

  /** Type into the file that is open, at its beginning. */
  async type(text) {
    await this.page.locator(".monaco-editor .view-lines").first().click();
    await this.page.keyboard.press("Control+Home");
    await this.page.keyboard.type(text);
  }

  /** Wait until something holds that the page does not show. */
  async until(holds, what, found = () => "") {
    const end = Date.now() + WAIT;
    while (!(await holds())) {
      assert.ok(Date.now() < end, `waited in vain for ${what}: ${found()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Keep the screen as a picture, if SHOTS names a folder for it. */
  async shoot(name) {
    if (process.env.SHOTS) await this.page.screenshot({ path: join(process.env.SHOTS, `${name.replace(/\W+/g, "-")}.png`) });
  }

  async close() {
    await this.browser?.close();
    if (this.server && this.server.exitCode === null) {
      const ended = new Promise((resolve) => this.server.on("exit", resolve));
      this.server.removeAllListeners("exit");
      this.server.on("exit", () => {});
      const gone = new Promise((resolve) => this.server.on("close", resolve));
      process.kill(-this.server.pid, "SIGTERM");
      await Promise.race([ended, gone]);
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

function usual(folder) {
  return {
    "acp-adapter.command": AGENT,
    "acp-adapter.args": ARGS,
    "acp-adapter.env": {
      ACP_ADAPTER_HOME: join(folder, "home"),
      ACP_ADAPTER_MODEL: "scripted:../script.json",
      ACP_ADAPTER_DISCOVER: "off",
      ACP_ADAPTER_TITLES: "off",
    },
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": true,
    "security.workspace.trust.enabled": false,
    "files.autoSave": "off",
    "editor.minimap.enabled": false,
    "extensions.ignoreRecommendations": true,
  };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
