import assert from "node:assert/strict";
import { test } from "node:test";
import { change } from "../src/editor/change";

/** The change, applied. */
function applied(before: string, after: string): string {
  const found = change(before, after);
  return found ? before.slice(0, found.from) + found.text + before.slice(found.to) : before;
}

test("only what differs is replaced", () => {
  assert.deepEqual(change("one two three", "one 2 three"), { from: 4, to: 7, text: "2" });
  assert.equal(change("same", "same"), undefined);
});

test("any text becomes any other", () => {
  const texts = ["", "a", "aa", "ab", "aba", "abcabc", "a\r\nb\r\n", "a\nb\n", "a\rb", "\u{1F600}", "\u{1F601}", "x\u{1F600}y", "x\u{1F601}y", "\r\n", "\n", "\r"];
  for (const before of texts) for (const after of texts) assert.equal(applied(before, after), after, JSON.stringify([before, after]));
});

test("neither a surrogate pair nor a line end is cut in two", () => {
  const emoji = change("x\u{1F600}y", "x\u{1F601}y");
  assert.deepEqual(emoji, { from: 1, to: 3, text: "\u{1F601}" });
  const end = change("a\r\nb", "a\nb");
  assert.deepEqual(end, { from: 1, to: 3, text: "\n" });
});
