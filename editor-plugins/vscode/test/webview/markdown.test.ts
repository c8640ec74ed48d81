import assert from "node:assert/strict";
import { test } from "node:test";
import { rendered } from "../../src/webview/markdown";

const harmful = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "[click](javascript:alert(1))",
  "[click](JaVaScRiPt:alert(1))",
  "[click](java\tscript:alert(1))",
  "[click](vbscript:x)",
  "[click](data:text/html;base64,PHNjcmlwdD4=)",
  "[click](command:workbench.action.terminal.new)",
  "[click](vscode://some.extension/run)",
  "![x](javascript:alert(1))",
  "[x]: javascript:alert(1)\n\n[x]",
  "<a href='javascript:alert(1)'>x</a>",
  "<javascript:alert(1)>",
  '[x](https://a.example "\\" onmouseover=alert(1)")',
  "`<b onclick=x>`",
  "```html\" onload=\"alert(1)\n<iframe src=x>\n```",
];

for (const text of harmful) {
  test(`does no harm: ${JSON.stringify(text)}`, () => {
    const html = rendered(text);
    assert.doesNotMatch(html, /<(script|img|iframe|b|style|form|object)\b/i);
    const tags = html.match(/<[^>]*>/g) ?? [];
    for (const tag of tags) {
      // With the values of attributes left out, no handler is among their names.
      assert.doesNotMatch(tag.replace(/"[^"]*"/g, '""'), /\son\w+\s*=/i, tag);
      assert.doesNotMatch(tag, /href="\s*(javascript|vbscript|data|command|vscode)/i, tag);
    }
  });
}

test("a picture of a server becomes a link, so that nothing is fetched", () => {
  assert.equal(rendered("![a cat](https://x.example/cat.png)"), '<p><a href="https://x.example/cat.png">a cat</a></p>\n');
});

test("links to the web and into the project stay links", () => {
  assert.match(rendered("[a](https://x.example/)"), /href="https:\/\/x\.example\/"/);
  assert.match(rendered("[a](src/main.ts#L3)"), /href="src\/main\.ts#L3"/);
  assert.match(rendered("see https://x.example/y"), /<a href="https:\/\/x\.example\/y">/);
});

test("a file's name is not taken for a web address", () => {
  assert.doesNotMatch(rendered("look at main.rs and setup.py"), /<a /);
});

test("cells are aligned by classes, since styles in attributes are not allowed", () => {
  const html = rendered("|a|b|\n|:-|-:|\n|1|2|");
  assert.match(html, /<td class="right">2/);
  assert.doesNotMatch(html, /style=/);
});
