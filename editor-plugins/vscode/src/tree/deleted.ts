// Deleted sessions that can still be brought back: their export, held in memory while this window lives.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "../agent/cli";
import type { Launch } from "../agent/process";

interface Deleted {
  id: string;
  title: string;
  exported: string;
}

export class RecycleBin {
  private readonly kept: Deleted[] = [];

  constructor(private readonly launch: () => Promise<Launch>) {}

  get isEmpty(): boolean {
    return this.kept.length === 0;
  }

  /** Keep a session that is about to be deleted. Rejects where that can't be done. */
  async keep(id: string, title: string): Promise<void> {
    const exported = await runCommand(await this.launch(), ["export", id, "--format", "json", "--no-redact"]);
    this.kept.push({ id, title, exported });
  }

  /** Forget what was kept last: it was not deleted after all. */
  forget(id: string): void {
    const at = this.kept.findLastIndex((each) => each.id === id);
    if (at >= 0) this.kept.splice(at, 1);
  }

  /** Bring the session back that was deleted last, or the one of that id. Resolves with its id. */
  async restore(storage: string, id = this.kept.at(-1)?.id): Promise<string | undefined> {
    const deleted = this.kept.findLast((each) => each.id === id);
    if (!deleted) return undefined;
    await mkdir(storage, { recursive: true });
    const folder = await mkdtemp(join(storage, "undo-"));
    try {
      const file = join(folder, "session.json");
      await writeFile(file, deleted.exported, { mode: 0o600 });
      await runCommand(await this.launch(), ["import", file]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    this.forget(deleted.id);
    return deleted.id;
  }
}
