import assert from "node:assert/strict";
import { test } from "node:test";
import { matching } from "../src/editor/matching";

const FILES = ["docs/main.md", "src/main.ts", "src/domain/mail.ts", "main.py", "README.md", "remain.c"];

test("a name that begins so goes before one that holds it, before a folder, before scattered letters", () => {
  assert.deepEqual(matching(FILES, "main", 10), ["main.py", "src/main.ts", "docs/main.md", "remain.c", "src/domain/mail.ts"]);
  assert.deepEqual(matching(FILES, "sdm", 10), ["src/domain/mail.ts"]);
});

test("letters of any case match, nothing typed shows the shortest, and the list is short", () => {
  assert.deepEqual(matching(FILES, "READ", 10), ["README.md"]);
  assert.deepEqual(matching(FILES, "", 2), ["main.py", "remain.c"]);
  assert.deepEqual(matching(FILES, "zzz", 2), []);
});
