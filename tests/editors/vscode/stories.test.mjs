// What a person does in VS Code, done in VS Code: `node --test stories.test.mjs`. See README.md beside this.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { violations } from "./accessibility.mjs";
import { agents } from "./agents.mjs";
import { Editor } from "./window.mjs";

const step = (when, ...answers) => answers.map((answer) => ({ when, ...answer }));
const call = (name, args) => ({ name, arguments: args });

const SCRIPT = {
  by: "turn",
  steps: [
    ...step("Hello", {
      reasoning: "A greeting. I greet back.",
      text: "Hello! I can **read** and *change* this project.\n\n```python\nprint(add(1, 2))\n```\n\n| file | lines |\n|:--|--:|\n| sums.py | 2 |\n\nSee [sums.py](sums.py#L2).",
      chunk_size: 7,
      usage: { input_tokens: 1200, output_tokens: 60 },
    }),
    ...step("Mend the sum", { text: "`add` subtracts. I mend it.", tool_calls: [call("edit_file", { path: "sums.py", old_text: "a - b", new_text: "a + b" })] }, { text: "It adds now." }),
    ...step("Run the check", {
      text: "I look and run it.",
      tool_calls: [
        call("update_plan", { entries: [{ content: "Mend the sum", status: "completed" }, { content: "Run the check", status: "in_progress" }, { content: "Tell what came out", status: "pending" }] }),
        call("run_command", { command: "python3 -c 'import sums; print(sums.add(20, 22))'" }),
      ],
    }, { text: "It prints 42." }),
    ...step("Take your time", { text: "One moment", hang: false, chunk_size: 1, pace: 0.02, repeat: 400 }),
    ...step("And then", { text: "That was next." }),
    ...step("Which colour", { text: "That is yours to say.", tool_calls: [call("ask_user", { question: "Which **colour** shall it have?", options: ["red", "green"] })] }, { text: "So be it." }),
    ...step("Begin a file", { tool_calls: [call("write_file", { path: "new/notes.txt", content: "first line\n" })] }, { text: "It is there." }),
    ...step("Look at", { text: "I have looked at what you named." }),
    ...step("What was", { text: "We mended a sum." }),
    ...step("Die now", { text: "This answer is long and will not end ", chunk_size: 4, pace: 0.05, repeat: 400 }),
    ...step("Are you back", { text: "I am back." }),
    ...step("Apart", { text: "This is another branch of the story." }),
  ],
};

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let editor;
let panel;

before(async () => {
  editor = await Editor.start({ script: SCRIPT, files: { "sums.py": "def add(a, b):\n    return a - b\n", "README.md": "# Sums\n" } });
  panel = await editor.panel();
});

after(() => editor?.close());

/** A story: when it fails, the screen is kept. */
function story(name, tell) {
  test(name, async () => {
    try {
      await tell();
    } catch (error) {
      await editor?.shoot(`failed ${name}`);
      throw error;
    }
  });
}

const prompt = () => panel.getByRole("textbox", { name: "Prompt" });
const log = () => panel.getByRole("log");

async function say(text) {
  await panel.getByRole("button", { name: /^(Send|Queue)$/, disabled: false }).waitFor();
  await prompt().fill(text);
  await prompt().press("Enter");
}

const done = () => panel.locator("body:not(.busy)").waitFor();

story("a prompt is answered, piece by piece, as Markdown that can do no harm", async () => {
  await say("Hello there");
  await log().getByText("I can read and change this project.").waitFor();
  await log().locator("table").waitFor();
  await done();
  assert.equal(await log().locator("pre code").innerText(), "print(add(1, 2))\n");
  await log().getByText("Thoughts").click();
  await log().getByText("A greeting. I greet back.").waitFor();
  await log().getByRole("link", { name: "sums.py" }).click();
  await editor.page.getByRole("tab", { name: "sums.py" }).waitFor();
});

story("an edit asks first, is shown in the diff editor, and goes into a document with unsaved changes", async () => {
  await editor.type("# not saved yet\n");
  await say("Mend the sum");
  const question = panel.getByRole("group", { name: /May the agent do this/ });
  await question.waitFor();
  assert.match(editor.read("sums.py"), /a - b/, "nothing is written before it is allowed");
  await panel.getByRole("button", { name: "Open diff" }).click();
  await editor.page.getByRole("tab", { name: /sums.py \(agent\)/ }).waitFor();
  await editor.page.locator(".monaco-diff-editor").waitFor();
  await editor.shoot("permission");
  await question.getByRole("button", { name: "Allow once" }).click();
  await log().getByText("It adds now.").waitFor();
  await done();
  await editor.until(() => editor.read("sums.py") === "# not saved yet\ndef add(a, b):\n    return a + b\n", "both changes on disk", () => editor.read("sums.py"));
});

story("a command runs in the editor's terminal, and a plan is shown", async () => {
  await say("Run the check");
  await panel.getByText("Plan, 1 of 3 done").waitFor();
  await panel.getByRole("group", { name: /May the agent do this/ }).getByRole("button", { name: "Allow once" }).click();
  await log().locator(".screen", { hasText: "42" }).waitFor();
  await log().getByText("It prints 42.").waitFor();
  await panel.getByRole("button", { name: "Show terminal" }).click();
  await editor.page.locator(".terminal-wrapper.active").waitFor();
  await editor.shoot("terminal");
});

story("a turn is stopped by Escape, and what waits behind it goes on when a person says so", async () => {
  await say("Take your time");
  await log().getByText("One moment").first().waitFor();
  await say("And then?");
  await panel.getByText("Comes next:").waitFor();
  await prompt().press("Escape");
  await log().getByText("Stopped.").waitFor();
  assert.equal(await log().getByText("That was next.").count(), 0);
  await panel.getByRole("button", { name: "Go on" }).click();
  await log().getByText("That was next.").waitFor();
  await done();
});

story("a question of the agent is a form, answered by the keyboard alone", async () => {
  await say("Which colour?");
  const form = panel.getByRole("form", { name: "The agent asks" });
  await form.getByRole("radio", { name: "green" }).waitFor();
  await editor.shoot("form");
  for (const key of ["Shift+Tab", "Shift+Tab", "Shift+Tab"]) await editor.page.keyboard.press(key);
  await editor.until(() => form.locator(":focus").count(), "the focus to be in the form, from the prompt on");
  await form.getByRole("radio", { name: "red" }).focus();
  await editor.page.keyboard.press("ArrowDown");
  await editor.page.keyboard.press("Enter");
  await log().getByText("So be it.").waitFor();
  await log().getByText("Answered.").waitFor();
  await done();
});

story("a permission is given by the keyboard alone, and a new file is there", async () => {
  await say("Begin a file");
  const allow = panel.getByRole("button", { name: "Allow once" });
  await allow.waitFor();
  await editor.until(async () => {
    await editor.page.keyboard.press("Shift+Tab");
    return allow.evaluate((button) => button === document.activeElement);
  }, "the focus to reach the answer");
  await editor.page.keyboard.press("Enter");
  await log().getByText("It is there.").waitFor();
  assert.equal(editor.read("new/notes.txt"), "first line\n");
  await done();
});

story("nothing in the panel is hidden from a screen reader", async () => {
  assert.deepEqual(await violations(editor.page), []);
  await editor.set({ "workbench.colorTheme": "Default Light Modern" });
  await panel.locator("body.vscode-light").waitFor();
  assert.deepEqual(await violations(editor.page), []);
  await editor.shoot("light");
  await editor.set({});
  await panel.locator("body.vscode-dark").waitFor();
});

story("the keyboard completes commands and files, and a mode is chosen", async () => {
  await prompt().fill("");
  await prompt().pressSequentially("/comp");
  await panel.getByRole("option", { name: /\/compact/ }).waitFor();
  await prompt().press("Tab");
  assert.equal(await prompt().inputValue(), "/compact ");
  await prompt().fill("");
  await prompt().pressSequentially("Look at @sums");
  await panel.getByRole("option", { name: "sums.py", exact: true }).waitFor();
  await editor.shoot("completion");
  await prompt().press("Enter");
  assert.equal(await prompt().inputValue(), "Look at @sums.py ");
  await prompt().evaluate(paste, PIXEL);
  await panel.getByRole("img", { name: "Picture 1" }).waitFor();
  await prompt().press("Enter");
  await log().getByText("I have looked at what you named.").waitFor();
  await log().getByRole("button", { name: "@sums.py" }).waitFor();
  await log().getByRole("img", { name: "picture" }).waitFor();
  await panel.getByRole("combobox", { name: "Permissions" }).selectOption("plan");
  await say("/mode");
  await log().getByText("plan (now)").waitFor();
  await panel.getByRole("combobox", { name: "Permissions" }).selectOption("ask");
  await done();
});

story("after the window is loaded again, the session is there and goes on", async () => {
  await editor.open();
  panel = await editor.panel();
  await log().getByText("It adds now.").waitFor();
  assert.equal(await log().getByText("I can read and change this project.").count(), 1);
  await say("What was it about?");
  await log().getByText("We mended a sum.").waitFor();
  await done();
});

story("an agent that is killed is started again, and the session goes on with what was said", async () => {
  await say("Die now");
  await log().getByText(/This answer is long and will not end This/).waitFor();
  await editor.until(() => agents(editor.home).length === 1, "one agent to run", () => agents(editor.home));
  const before = agents(editor.home);
  process.kill(before[0], "SIGKILL");
  await log().getByText(/It was started again/).waitFor();
  await done();
  await log().getByText(/This answer is long/).last().waitFor();
  assert.equal(await log().getByText("It adds now.").count(), 1);
  await say("Are you back?");
  await log().getByText("I am back.").waitFor();
  assert.notDeepEqual(agents(editor.home), before);
  await editor.shoot("killed");
});

story("sessions are a tree: branched, renamed, found, deleted, brought back", async () => {
  const tree = editor.page.getByRole("tree", { name: "Sessions" });
  const row = (name) => tree.getByRole("treeitem", { name });
  await log().getByText("It adds now.").hover();
  await log().locator("section.answer", { hasText: "It adds now." }).getByRole("button", { name: "Branch from here" }).click();
  await editor.until(async () => (await log().getByText("I am back.").count()) === 0, "the branch to be shown");
  await say("Apart from that");
  await log().getByText("This is another branch of the story.").waitFor();
  const branch = row(/Hello there #2/);
  await branch.waitFor();
  assert.equal(await branch.getAttribute("aria-level"), "2", "it stands under the session that it left");
  await editor.shoot("tree");

  await editor.menu(branch, "Rename …");
  await editor.answer("Another way");
  await row(/Another way/).waitFor();
  await panel.getByRole("heading", { name: "Another way" }).waitFor();

  await editor.command("ACP Adapter: Search the Sessions");
  await editor.page.locator(".quick-input-box input").fill("mend it");
  await editor.page.locator(".quick-input-list .monaco-list-row", { hasText: "Hello there" }).first().waitFor();
  await editor.shoot("search");
  await editor.page.locator(".quick-input-list .monaco-list-row", { hasText: "Hello there" }).first().click();
  await log().getByText("I am back.").waitFor();
  await editor.until(() => log().locator("[data-message]:focus", { hasText: "I mend it." }).count(), "the passage to be shown");

  await editor.menu(row(/Another way/), "Delete");
  await editor.until(async () => (await row(/Another way/).count()) === 0, "the session to be gone");
  await editor.command("ACP Adapter: Undo Delete of a Session");
  await log().getByText("This is another branch of the story.").waitFor();
  await row(/Another way/).waitFor();
});

/** Paste a picture, as the browser does it. */
function paste(input, data) {
  const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], "dot.png", { type: "image/png" }));
  input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}
