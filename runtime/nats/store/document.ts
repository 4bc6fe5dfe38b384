/** Names of members, from the outside in. */
export type Path = readonly string[];

/** A member of a document of the monitoring port; undefined when it has none. */
export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    document,
  );
}

/** A list; empty for anything else. */
export function listAt(document: unknown, path: Path): readonly unknown[] {
  const value = valueAt(document, path);
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** A text; empty for anything else. */
export function textAt(document: unknown, path: Path): string {
  const value = valueAt(document, path);
  return typeof value === "string" ? value : "";
}
