// A machine without the agent: the panel says so, shows what it would run, installs, works, and helps to choose a model.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Editor } from "./window.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const { PYTHON = "/usr/bin/python3" } = process.env;
const INSTALLING = 300_000;

let editor;
let panel;
let programs;
let settings;

before(async () => {
  programs = mkdtempSync(join(tmpdir(), "acp-programs-"));
  writeFileSync(join(programs, "python3"), `#!/bin/sh\nexec ${PYTHON} "$@"\n`, { mode: 0o755 });
  settings = { "acp-adapter.command": "", "acp-adapter.args": [], "acp-adapter.package": ROOT };
  const path = [programs, dirname(process.execPath), process.env.CODE_SERVER_NODE ?? "", "/bin"].filter(Boolean).join(":");
  editor = await Editor.start({ script: { steps: [{ text: "I am installed." }] }, settings, path });
  panel = await editor.panel();
});

after(async () => {
  await editor?.close();
  rmSync(programs, { recursive: true, force: true });
});

test("nothing is installed before a person has seen the commands and said yes", async () => {
  await panel.getByText("is not on this machine yet").waitFor();
  await panel.getByRole("button", { name: "Install the agent" }).click();
  const dialog = editor.page.getByRole("dialog");
  await dialog.getByText("-m venv --clear").waitFor();
  await editor.shoot("install");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await panel.getByText("is not on this machine yet").waitFor();
  assert.equal(await panel.getByRole("button", { name: "Send" }).isDisabled(), true);
});

test("with a yes it is installed, and answers", async () => {
  await panel.getByRole("button", { name: "Install the agent" }).click();
  await editor.page.getByRole("dialog").getByRole("button", { name: "Install with pip" }).click();
  await panel.getByRole("button", { name: "Send", disabled: false }).waitFor({ timeout: INSTALLING });
  await panel.getByRole("textbox", { name: "Prompt" }).fill("Are you there?");
  await panel.getByRole("button", { name: "Send" }).click();
  await panel.getByText("I am installed.").waitFor();
});

test("without a model, the panel says so and opens the agent's own setup in a terminal", async () => {
  const { ACP_ADAPTER_MODEL: _, ...env } = editor.usual["acp-adapter.env"];
  editor.set({ ...settings, "acp-adapter.env": env });
  await panel.getByText("The agent was restarted.").waitFor();
  await panel.getByRole("button", { name: "Send", disabled: false }).waitFor();
  await editor.command("ACP Adapter: New Session");
  await panel.getByRole("heading", { name: "New session" }).waitFor();
  await panel.getByRole("button", { name: "Send", disabled: false }).waitFor();
  await panel.getByRole("textbox", { name: "Prompt" }).fill("Are you still there?");
  await panel.getByRole("button", { name: "Send" }).click();
  await panel.getByText("The agent needs a model.").waitFor();
  await panel.getByRole("button", { name: "Choose a model or enter a key" }).click();
  await editor.page.locator(".terminal-wrapper.active").waitFor();
  await editor.page.getByText("Set up the agent").first().waitFor();
  await editor.shoot("setup");
});
