// The changed lines of a diff, in short: what is the same at both ends is left out.

export interface Line {
  sign: "+" | "-" | " " | "…";
  text: string;
}

export interface Preview {
  added: number;
  removed: number;
  lines: Line[];
}

/** At most about `limit` lines of either side. */
export function preview(before: string, after: string, limit: number): Preview {
  const [old, young] = [linesOf(before), linesOf(after)];
  const shorter = Math.min(old.length, young.length);
  let head = 0;
  while (head < shorter && old[head] === young[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === young.at(-1 - tail)) tail += 1;
  const removed = old.slice(head, old.length - tail);
  const added = young.slice(head, young.length - tail);
  return {
    removed: removed.length,
    added: added.length,
    lines: [
      ...(head ? [{ sign: " ", text: old[head - 1] ?? "" } as const] : []),
      ...shortened("-", removed, limit),
      ...shortened("+", added, limit),
      ...(tail ? [{ sign: " ", text: old[old.length - tail] ?? "" } as const] : []),
    ],
  };
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function shortened(sign: "+" | "-", lines: string[], limit: number): Line[] {
  const shown = lines.slice(0, limit).map((text): Line => ({ sign, text }));
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, { sign: "…", text: `${more} more lines` }] : shown;
}
