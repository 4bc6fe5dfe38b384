import type { QueryBody } from "./query-body.ts";

/** Most characters of the header that carries the `meta` of a table. */
const metaCharactersMax = 1_024;
/** Members that are left out of a longer one, one after the other. */
const omitted = ["aggregations", "deprecated", "reasons", "details", "errors", "regions", "schema_version"] as const;
type Omitted = (typeof omitted)[number];

interface RegionOf {
  readonly region: string;
  readonly state: string;
}

type TableMeta = QueryBody["meta"] & {
  readonly regions?: readonly RegionOf[];
  readonly errors?: readonly { readonly metric?: string; readonly code?: string }[];
};

/**
 * The `meta` of a table for its header, with its errors. A long one leaves members out and names them in `omitted`;
 * JSON and NDJSON have them all.
 */
export function tableMeta({ meta, errors }: QueryBody): string {
  const whole: TableMeta = errors === undefined ? meta : { ...meta, errors };
  for (let count = 0; count <= omitted.length; count += 1) {
    const text = JSON.stringify(without(whole, omitted.slice(0, count)));
    if (text.length <= metaCharactersMax) return inAscii(text);
  }
  return JSON.stringify({ omitted });
}

function without(meta: TableMeta, names: readonly Omitted[]): object {
  if (names.length === 0) return meta;
  const { regions, errors, ...rest } = meta;
  const isLeftOut = (name: Omitted): boolean => names.includes(name);
  const short = {
    ...rest,
    ...(errors === undefined ? {} : { errors: isLeftOut("details") ? errors.map(codeOf) : errors }),
    ...(regions === undefined ? {} : { regions: isLeftOut("reasons") ? regions.map(stateOf) : regions }),
  };
  const kept = Object.entries(short).filter(([name]) => !names.some((one) => one === name));
  return { ...Object.fromEntries(kept), omitted: names };
}

function codeOf({ metric, code }: { readonly metric?: string; readonly code?: string }): object {
  return { metric, code };
}

function stateOf({ region, state }: RegionOf): object {
  return { region, state };
}

/** A header holds no other characters. */
function inAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => unicodeEscape(character.charCodeAt(index))).join(""),
  );
}

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
