import assert from "node:assert/strict";
import { test } from "node:test";
import { byPip, byPipx, byUv, told } from "../src/agent/install";

const STORE = "/store of mine";

test("every way installs below the extension's own folder, and changes nothing else", () => {
  for (const way of [byUv("/bin/uv", "acp-adapter", STORE), byPipx("/bin/pipx", "acp-adapter", STORE), byPip("/bin/python3", "acp-adapter", STORE)]) {
    const words = way.steps.flatMap(({ program, args, env }) => [program, ...args, ...Object.values(env)]);
    const places = words.filter((word) => word.startsWith("/") && !word.startsWith("/bin/"));
    assert.ok(places.length && places.every((place) => place.startsWith(STORE)), way.name);
    assert.equal(words.at(way.name === "pipx" ? -3 : -1), "acp-adapter");
    assert.ok(!words.includes("--user"), way.name);
  }
});

test("a person is shown the command as it would be typed", () => {
  assert.equal(told({ program: "/bin/uv", args: ["venv", STORE], env: { A: "b" } }), 'A=b /bin/uv venv "/store of mine"');
});
