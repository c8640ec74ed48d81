import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "../src/panel/html";

test("the page runs one script, by a nonce, and loads nothing from elsewhere", () => {
  const html = page("abc123", "https://panel.example", "https://panel.example/panel.js", "https://panel.example/panel.css");
  const policy = /content="(default-src[^"]*)"/.exec(html)?.[1] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'nonce-abc123'(;|$)/);
  assert.match(policy, /img-src data:(;|$)/);
  assert.doesNotMatch(policy, /unsafe|\*|connect-src|font-src/);
  assert.deepEqual(html.match(/<script[^>]*>/g), ['<script nonce="abc123" src="https://panel.example/panel.js">']);
});
