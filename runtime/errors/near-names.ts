/** Most edits between a name and one that it is taken for. */
const editsMax = 3;
/** Most names in a hint. */
const nearMax = 3;
/** Most names that are compared with an unknown one. */
const comparedMax = 500;
/** Longest name that is compared, in characters. */
const lengthMax = 200;

/** The names with the fewest edits from an unknown one, the nearest first. Case does not count. */
export function nearNames(name: string, names: Iterable<string>): readonly string[] {
  if (name.length > lengthMax) return [];
  const wanted = name.toLowerCase();
  const most = Math.min(editsMax, Math.floor(name.length / 2));
  const found: { readonly other: string; readonly edits: number }[] = [];
  let compared = 0;
  for (const other of names) {
    if (Math.abs(other.length - name.length) > most) continue;
    if ((compared += 1) > comparedMax) break;
    const edits = editDistance(wanted, other.toLowerCase());
    if (edits <= most) found.push({ other, edits });
  }
  const fewest = Math.min(...found.map(({ edits }) => edits));
  return found
    .filter(({ edits }) => edits <= fewest + 1)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, nearMax)
    .map(({ other }) => other);
}

/** `did you mean a, b; `, or nothing without a near name. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const near = nearNames(name, names);
  return near.length === 0 ? "" : `did you mean ${near.join(", ")}? `;
}

/** Levenshtein's distance: characters to insert, remove or replace. Errors name what a caller probably meant. */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, character] of Array.from(from).entries()) {
    const next = [index + 1];
    for (const [column, other] of Array.from(to).entries()) {
      const replaced = (row[column] ?? 0) + Number(character !== other);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
