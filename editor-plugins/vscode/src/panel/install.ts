// Installs the agent, if a person says so after seeing the commands.

import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { createInterface } from "node:readline";
import { type CancellationToken, type LogOutputChannel, ProgressLocation, window } from "vscode";
import { environment } from "../agent/environment";
import { type Step, told, type Way, ways } from "../agent/install";

/** Whether it is installed now. */
export async function offerToInstall(what: string, storage: string, log: LogOutputChannel): Promise<boolean> {
  const found = await ways(what, storage);
  if (!found.length) {
    void window.showErrorMessage("To install the agent, this machine needs uv, pipx, or Python 3.11 or newer. Install one of them, then try again.");
    return false;
  }
  const way = await consent(what, found);
  if (!way) return false;
  await mkdir(storage, { recursive: true });
  const title = `Installing ${what} with ${way.name}`;
  const progress = { location: ProgressLocation.Notification, title, cancellable: true };
  return window.withProgress(progress, async (_, token) => {
    for (const step of way.steps) {
      const failed = await run(step, log, token);
      if (failed === undefined) continue;
      if (!token.isCancellationRequested) await complain(failed, log);
      return false;
    }
    return true;
  });
}

async function consent(what: string, found: Way[]): Promise<Way | undefined> {
  const detail = found.map(({ name, steps }) => `With ${name}:\n${steps.map(told).join("\n")}`).join("\n\n");
  const buttons = found.map((way) => ({ title: `Install with ${way.name}`, way }));
  const question = `Install ${what} into a folder of this extension? Nothing else on this machine is changed.`;
  return (await window.showInformationMessage(question, { modal: true, detail }, ...buttons))?.way;
}

/** Undefined if the step succeeded, else what went wrong. */
function run(step: Step, log: LogOutputChannel, token: CancellationToken): Promise<string | undefined> {
  log.info(told(step));
  return new Promise((resolve) => {
    const child = spawn(step.program, step.args, { env: environment(step.env), stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    for (const pipe of [child.stdout, child.stderr]) createInterface(pipe).on("line", (line) => log.info(line));
    const cancelling = token.onCancellationRequested(() => child.kill());
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => {
      cancelling.dispose();
      resolve(code === 0 ? undefined : `${step.program} ended with code ${code}.`);
    });
  });
}

async function complain(failed: string, log: LogOutputChannel): Promise<void> {
  const chosen = await window.showErrorMessage(`The agent was not installed: ${failed}`, "Show the log");
  if (chosen) log.show();
}
