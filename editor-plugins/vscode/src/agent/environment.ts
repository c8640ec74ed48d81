// The environment of the programs that are started: the editor's, without what it keeps for its own processes.

/** As in the editor's terminals: a program that is built like the editor must not take itself for a part of it. */
export function environment(more: Record<string, string>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(VSCODE|ELECTRON)_/.test(name));
  return { ...Object.fromEntries(own), ...more };
}
