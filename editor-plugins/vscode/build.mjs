// `node build.mjs` bundles the extension into dist/, `node build.mjs tests` its tests into dist-test/.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const shared = { bundle: true, logLevel: "warning", legalComments: "none", metafile: true };
const host = { ...shared, platform: "node", target: "node20", external: ["vscode"] };

const found = (folder) => readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".test.ts"));

if (process.argv[2] === "tests") {
  rmSync("dist-test", { recursive: true, force: true });
  const tests = found("test").map((name) => join("test", name));
  await build({ ...host, format: "esm", outExtension: { ".js": ".mjs" }, entryPoints: tests, outdir: "dist-test" });
} else {
  rmSync("dist", { recursive: true, force: true });
  const built = [
    await build({ ...host, format: "cjs", minify: true, entryPoints: ["src/extension.ts"], outdir: "dist" }),
    await build({ ...shared, format: "iife", target: "es2022", minify: true, entryPoints: { panel: "src/webview/main.ts" }, outdir: "dist" }),
  ];
  writeFileSync("dist/THIRD-PARTY.txt", notices(built.flatMap(({ metafile }) => Object.keys(metafile.inputs))));
}

/** The licences of all packages that a bundle holds. */
function notices(inputs) {
  const packages = new Set(inputs.map((path) => /^node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(path)?.[0]).filter(Boolean));
  return [...packages].sort().map(notice).join("\n\n");
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  return `== ${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}`;
}
