// Drives an agent with the official TypeScript SDK: `node client.mjs SCRIPT.json`.
//
// The script is {"command": [...], "cwd": "...", "steps": [[name, params], ...]}. Each step is a method of the protocol,
// or one of the steps below; its result (or {"error": code}) is kept. Params may hold "$SESSION", the id that the last
// session/new or session/fork gave. At the end one JSON object with everything goes to stdout.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk/unstable";

const script = JSON.parse(readFileSync(process.argv[2], "utf8"));
const [program, ...args] = script.command;
const agent = spawn(program, args, { cwd: script.cwd, stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => agent.on("exit", (code) => resolve(code)));

const updates = [];
const permissions = [];
let session = script.session ?? null;
let waiting = [];

function note(update) {
  updates.push(update);
  waiting = waiting.filter(({ kind, resolve }) => update.sessionUpdate !== kind || resolve());
}

const app = client({ name: "acp-adapter-test-client" })
  .onNotification(methods.client.session.update, ({ params }) => note(params.update))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    permissions.push(params.toolCall);
    const option = params.options.find(({ kind }) => kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(methods.client.elicitation.create, ({ params }) => {
    const [[field, { oneOf }]] = Object.entries(params.requestedSchema.properties);
    return { action: "accept", content: { [field]: oneOf.at(-1).const } };
  });

const filled = (params) => JSON.parse(JSON.stringify(params ?? {}).replaceAll("$SESSION", session ?? ""));

async function request(context, method, params) {
  try {
    const result = await context.request(method, filled(params));
    if (result?.sessionId) session = result.sessionId;
    return result;
  } catch (error) {
    return { error: error.code ?? String(error) };
  }
}

// Prompt, and cancel as soon as an update of the given kind has come.
async function promptAndCancel(context, { prompt, when }) {
  const seen = new Promise((resolve) => waiting.push({ kind: when, resolve }));
  const turn = request(context, methods.agent.session.prompt, { sessionId: "$SESSION", prompt });
  await seen;
  await context.notify(methods.agent.session.cancel, { sessionId: session });
  return turn;
}

const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const results = await app.connectWith(stream, async (context) => {
  const kept = [];
  for (const [name, params] of script.steps) {
    const before = updates.length;
    const result = await (name === "prompt and cancel" ? promptAndCancel(context, params) : request(context, name, params));
    // The SDK hands out updates a tick after the response that they came before.
    await new Promise((resolve) => setImmediate(resolve));
    kept.push({ name, result, updates: updates.slice(before) });
  }
  return kept;
});
agent.stdin.end();
const code = await ended;
process.stdout.write(JSON.stringify({ session, results, permissions, code }));
