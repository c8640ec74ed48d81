// The word that a person is typing, if it is one that can be completed.

/** The word under the cursor that can be completed, and where it begins. */
export interface Word {
  sign: "/" | "@";
  text: string;
  from: number;
}

/** A slash counts at the beginning of the prompt only, an at sign after any blank. */
export function wordAt(text: string, cursor: number): Word | undefined {
  const before = text.slice(0, cursor);
  const slash = /^\/(\S*)$/.exec(before);
  if (slash) return { sign: "/", text: slash[1] ?? "", from: 0 };
  const at = /(?:^|\s)@(\S*)$/.exec(before);
  return at ? { sign: "@", text: at[1] ?? "", from: cursor - (at[1]?.length ?? 0) - 1 } : undefined;
}
