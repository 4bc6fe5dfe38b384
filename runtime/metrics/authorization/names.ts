/** A set of names, or every name. */
export type Names = "every" | ReadonlySet<string>;

/** The names that a token's claim allows: `*` allows every name, an empty list none. */
export function claimedNames(claim: readonly string[]): Names {
  return claim.includes("*") ? "every" : new Set(claim);
}

/** The names that a quota's narrowing leaves; an empty list leaves every name. */
export function narrowedNames(narrowing: readonly string[]): Names {
  return narrowing.length === 0 ? "every" : claimedNames(narrowing);
}

/** The names in both sets. */
export function intersect(a: Names, b: Names): Names {
  if (a === "every") return b;
  if (b === "every") return a;
  return a.intersection(b);
}

export function allows(names: Names, name: string): boolean {
  return names === "every" || names.has(name);
}
