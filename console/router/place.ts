// The address of the console, which is the state of its pages. Tokens are elsewhere.
/** Below this path the server answers every address with the page of the console. */
export const basePath = "/console";

/** Where the console is: what its address says, and nothing else. */
export interface PageAddress {
  /** Below the base path, with a slash in front: `/partners/default/acme`. */
  readonly path: string;
  /** Parameters of the address; the state of a page. */
  readonly query: URLSearchParams;
}

/** Named segments of a path, decoded. */
export type PathParameters = Readonly<Record<string, string>>;

/** The place that an address means. */
export function placeOf({ pathname, search }: Pick<Location, "pathname" | "search">): PageAddress {
  const below = pathname.startsWith(basePath) ? pathname.slice(basePath.length) : "";
  const path = below.replace(/\/+$/u, "");
  return { path: path === "" ? "/" : path, query: new URLSearchParams(search) };
}

/** The address of a place below the base path, such as `/events?state=dead`. */
export function addressOf(to: string): string {
  return `${basePath}${to}`;
}

/**
 * A path of the console with each value as one segment: `pathTo("events", id)`. A value of a token, a partner or a
 * producer never adds a segment or a parameter.
 */
export function pathTo(...segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}

/**
 * The parameters of a path that fits a pattern such as `/partners/:namespace/:name`; undefined when it does not fit, or
 * when a segment is not encoded as an address is.
 */
export function matchPath(pattern: string, path: string): PathParameters | undefined {
  const names = pattern.split("/");
  const segments = path.split("/");
  if (names.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const segment = segments[index] ?? "";
    if (!name.startsWith(":")) {
      if (name !== segment) return undefined;
      continue;
    }
    const value = decoded(segment);
    if (value === undefined || value === "") return undefined;
    parameters[name.slice(1)] = value;
  }
  return parameters;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Changes of parameters: a null or an empty list takes a parameter away. */
export type QueryChange = Readonly<Record<string, string | readonly string[] | null>>;

/** A query with changes, in a stable order, as `?a=1&b=2`; empty without parameters. */
export function changedQuery(query: URLSearchParams, change: QueryChange): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change)) {
    next.delete(name);
    const values = value === null ? [] : typeof value === "string" ? [value] : value;
    for (const one of values) if (one !== "") next.append(name, one);
  }
  const text = next.toString();
  return text === "" ? "" : `?${text}`;
}
