import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionInfo } from "@agentclientprotocol/sdk/unstable";
import { age, forest, type Node } from "../src/tree/forest";

const session = (sessionId: string, updatedAt: string, parentSessionId?: string): SessionInfo => ({
  sessionId,
  cwd: "/w",
  updatedAt: `2026-01-01T00:00:${updatedAt}Z`,
  _meta: parentSessionId ? { parentSessionId } : {},
});

const drawn = (nodes: Node[]): unknown[] => nodes.map(({ info, branches }) => (branches.length ? [info.sessionId, drawn(branches)] : info.sessionId));

test("branches stand under their parent, and a tree as new as its newest word first", () => {
  const sessions = [session("a", "01"), session("b", "05"), session("a1", "09", "a"), session("a2", "02", "a"), session("a1x", "03", "a1")];
  assert.deepEqual(drawn(forest(sessions)), [["a", [["a1", ["a1x"]], "a2"]], "b"]);
});

test("a branch whose parent is gone stands for itself", () => {
  assert.deepEqual(drawn(forest([session("b", "01", "gone")])), ["b"]);
});

test("sessions that name each other as parents are all there", () => {
  const shown = JSON.stringify(drawn(forest([session("a", "01", "b"), session("b", "02", "a"), session("c", "03", "c")])));
  for (const id of ["a", "b", "c"]) assert.ok(shown.includes(`"${id}"`), shown);
});

test("an age is told roughly", () => {
  const now = Date.parse("2026-01-03T00:00:00Z");
  const ages = ["2026-01-02T23:59:30Z", "2026-01-02T23:50:00Z", "2026-01-02T20:00:00Z", "2026-01-01T00:00:00Z", null].map((at) => age(at, now));
  assert.deepEqual(ages, ["now", "10 min", "4 h", "2 d", ""]);
});
