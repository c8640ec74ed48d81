import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf } from "../src/session/prompt";

const prompt = (text: string, mentions: string[] = []) => ({ id: "1", text, mentions, images: [] });

test("a mention becomes a link where it stands", () => {
  assert.deepEqual(blocksOf(prompt("look at @src/a b.ts, please", ["src/a b.ts"]), "/work"), [
    { type: "text", text: "look at " },
    { type: "resource_link", uri: "file:///work/src/a%20b.ts", name: "a b.ts" },
    { type: "text", text: ", please" },
  ]);
});

test("a path that begins another is not found in it", () => {
  const uris = blocksOf(prompt("@a.txt.orig and @a.txt", ["a.txt", "a.txt.orig"]), "/w").map((block) => ("uri" in block ? block.uri : block.type));
  assert.deepEqual(uris, ["file:///w/a.txt.orig", "text", "file:///w/a.txt"]);
});

test("an at sign that was not chosen from the list stays text", () => {
  assert.deepEqual(blocksOf(prompt("mail me @home"), "/w"), [{ type: "text", text: "mail me @home" }]);
});

test("images follow the text", () => {
  const blocks = blocksOf({ ...prompt("what is it?"), images: [{ mimeType: "image/png", data: "AAAA" }] }, "/w");
  assert.deepEqual(blocks.map(({ type }) => type), ["text", "image"]);
});
