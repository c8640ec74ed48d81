// Which files a few typed letters mean.

/** The best matches, best first: by the file's name before its folders, shorter paths before longer ones. */
export function matching(paths: readonly string[], query: string, limit: number): string[] {
  const wanted = query.toLowerCase();
  return paths
    .map((path) => ({ path, rank: rank(path.toLowerCase(), wanted) }))
    .filter(({ rank }) => rank < MISS)
    .sort((one, two) => one.rank - two.rank || one.path.length - two.path.length || (one.path < two.path ? -1 : 1))
    .slice(0, limit)
    .map(({ path }) => path);
}

const MISS = 4;

function rank(path: string, wanted: string): number {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith(wanted)) return 0;
  if (name.includes(wanted)) return 1;
  if (path.includes(wanted)) return 2;
  return holds(path, wanted) ? 3 : MISS;
}

/** Whether the letters occur in this order. */
function holds(path: string, letters: string): boolean {
  let at = -1;
  return [...letters].every((letter) => (at = path.indexOf(letter, at + 1)) >= 0);
}
