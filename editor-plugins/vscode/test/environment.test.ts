import assert from "node:assert/strict";
import { test } from "node:test";
import { environment } from "../src/agent/environment";

test("what the editor keeps for its own processes goes to no other program", () => {
  process.env.VSCODE_IPC_HOOK = "/socket";
  process.env.ELECTRON_RUN_AS_NODE = "1";
  const env = environment({ ACP_ADAPTER_HOME: "/home" });
  assert.deepEqual([env.VSCODE_IPC_HOOK, env.ELECTRON_RUN_AS_NODE, env.ACP_ADAPTER_HOME], [undefined, undefined, "/home"]);
  assert.equal(env.PATH, process.env.PATH);
});
