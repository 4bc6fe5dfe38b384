// JSON as text: bodies of requests, objects, and a walk over a text. It knows no schema and no resource.
import { ApiError, invalidField } from "../errors/api-error.ts";
import { type JsonPath, walkJson } from "./json-walk.ts";

/** Most objects and lists inside each other. No valid body of this API has as many. */
const depthMax = 32;

/**
 * Parses the body of a request. It rejects an object with a repeated member, because parsers differ in which one they
 * keep.
 *
 * @throws ApiError `invalid_utf8`, `invalid_json`
 */
export function parseJson(body: Uint8Array): unknown {
  const text = decodeUtf8(body);
  const value = parseText(text);
  let repeated: string | undefined;
  const isShallow = walkJson(text, depthMax, {
    member: (_name, pathOf, isRepeated) => {
      if (isRepeated) repeated ??= fieldOf(pathOf());
    },
  });
  if (!isShallow) {
    const detail = `the body is nested deeper than ${depthMax} levels; send a flatter body`;
    throw new ApiError("invalid_json", detail);
  }
  if (repeated !== undefined) throw invalidField("invalid_json", repeated, `${repeated} is given twice; send it once`);
  return value;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError("invalid_json", "the body is not valid JSON; send a single JSON value", { cause });
  }
}

/** Prints a path, for example `queries[0].step`. */
function fieldOf(path: JsonPath): string {
  return path
    .map((segment) => (typeof segment === "number" ? `[${segment}]` : `.${segment}`))
    .join("")
    .replace(/^\./u, "");
}

function decodeUtf8(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw new ApiError("invalid_utf8", "the body is not valid UTF-8; encode it as UTF-8", { cause });
  }
}

/** Parses a JSON object; undefined when the text is not JSON or not an object. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
