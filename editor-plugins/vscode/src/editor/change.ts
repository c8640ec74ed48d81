// The smallest single replacement that turns one text into another, so that cursors and marks elsewhere stay.

export interface Change {
  /** Offsets in the old text. */
  from: number;
  to: number;
  text: string;
}

/** Undefined where nothing changes. Never cuts a surrogate pair or a CRLF in two. */
export function change(before: string, after: string): Change | undefined {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  while (from > 0 && (cut(before, from) || cut(after, from))) from -= 1;
  let tail = 0;
  while (tail < shorter - from && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  while (tail > 0 && (cut(before, before.length - tail) || cut(after, after.length - tail))) tail -= 1;
  return { from, to: before.length - tail, text: after.slice(from, after.length - tail) };
}

/** Whether a position lies inside what is one character to an editor. */
function cut(text: string, at: number): boolean {
  const [left, right] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return (left >= 0xd800 && left < 0xdc00) || (left === 13 && right === 10);
}
