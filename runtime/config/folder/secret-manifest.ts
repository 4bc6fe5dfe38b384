import type { FieldProblem } from "../../../crds/validate.ts";

/** Entries of a Secret in base64, as in its `data`. */
export type SecretEntries = Readonly<Record<string, string>>;

/** The entries of a Secret, or its problems; never both. */
type SecretResult =
  | { readonly entries: SecretEntries; readonly problems: readonly [] }
  | { readonly entries?: undefined; readonly problems: readonly FieldProblem[] };

/**
 * Reads `data` and `stringData` of a Secret as the API server does: `data` must be base64, `stringData` wins. No
 * message holds a value. Source: Kubernetes API, core/v1 Secret.
 */
export function readSecret(object: object): SecretResult {
  const data = readMap(object, "data", isBase64, "must be base64 text");
  const stringData = readMap(object, "stringData", () => true, "must be text");
  const problems = [...data.problems, ...stringData.problems];
  if (problems.length > 0) return { problems };
  const decoded = data.entries.map(([name, value]) => [name, value.replaceAll(/[\r\n]/gu, "")]);
  const encoded = stringData.entries.map(([name, value]) => [name, Buffer.from(value).toString("base64")]);
  return { entries: Object.fromEntries([...decoded, ...encoded]) as SecretEntries, problems: [] };
}

interface MapResult {
  readonly entries: readonly (readonly [string, string])[];
  readonly problems: readonly FieldProblem[];
}

function readMap(object: object, field: string, isValid: (value: string) => boolean, message: string): MapResult {
  const map: unknown = Reflect.get(object, field) ?? {};
  if (typeof map !== "object" || map === null || Array.isArray(map))
    return { entries: [], problems: [{ field, reason: "WrongType", message: "must be a map of texts" }] };
  const entries = Object.entries(map) as [string, unknown][];
  const isGood = (entry: [string, unknown]): entry is [string, string] =>
    typeof entry[1] === "string" && isValid(entry[1]);
  const problems = entries
    .filter((entry) => !isGood(entry))
    .map(([name]): FieldProblem => ({ field: `${field}.${name}`, reason: "Malformed", message }));
  return { entries: entries.filter(isGood), problems };
}

/** Line breaks are allowed, as in Go's decoder. */
function isBase64(value: string): boolean {
  const text = value.replaceAll(/[\r\n]/gu, "");
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/u.test(text);
}
