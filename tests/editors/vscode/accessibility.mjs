// What axe finds wrong with the panel, a line each: names, roles, contrast, order.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The panel is a part of a window: it has no page's landmarks and headings. */
const RULES = { "page-has-heading-one": { enabled: false }, region: { enabled: false } };

export async function violations(page) {
  const frame = page.frames().find((each) => each.name() === "active-frame" || /fake\.html/.test(each.url()));
  // The panel lets the window's colour shine through, which axe can't see from within.
  await frame.evaluate(() => (document.body.style.background = "var(--vscode-sideBar-background)"));
  const found = await frame.evaluate(`${AXE}; axe.run(document, ${JSON.stringify({ rules: RULES })})`);
  return found.violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`));
}
