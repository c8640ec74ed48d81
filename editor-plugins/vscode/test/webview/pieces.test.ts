import assert from "node:assert/strict";
import { test } from "node:test";
import { wordAt } from "../../src/webview/word";
import { plain } from "../../src/webview/plain";
import { preview } from "../../src/webview/preview";

test("a diff in short leaves out what is the same at both ends", () => {
  const shown = preview("a\nb\nc\nd\n", "a\nB\nC\nc\nd\n", 10);
  assert.deepEqual([shown.added, shown.removed], [2, 1]);
  assert.deepEqual(shown.lines.map(({ sign, text }) => sign + text), [" a", "-b", "+B", "+C", " c"]);
});

test("a new file is all added, and a long one is cut with a word on the rest", () => {
  const shown = preview("", "1\n2\n3\n4\n", 2);
  assert.deepEqual(shown.lines.map(({ sign, text }) => sign + text), ["+1", "+2", "…2 more lines"]);
  assert.deepEqual([shown.added, shown.removed], [4, 0]);
});

test("a slash completes at the beginning only, an at sign after a blank", () => {
  assert.deepEqual(wordAt("/mo", 3), { sign: "/", text: "mo", from: 0 });
  assert.equal(wordAt("see /mo", 7), undefined);
  assert.equal(wordAt("/mode ask", 9), undefined);
  assert.deepEqual(wordAt("see @src/a", 10), { sign: "@", text: "src/a", from: 4 });
  assert.deepEqual(wordAt("see @src/a and", 8), { sign: "@", text: "src", from: 4 });
  assert.equal(wordAt("me@home", 7), undefined);
});

test("a terminal's colours, titles and rewritten lines come out as text", () => {
  assert.equal(plain("\x1b[31mred\x1b[0m \x1b]0;title\x07done\r\n"), "red done\n");
  assert.equal(plain("10 %\r50 %\r100 %\n"), "100 %\n");
});
