import { Refusal, refuseField } from "../errors/refusal.ts";
import { type JsonPath, walkJson } from "./json-walk.ts";

/** Objects and lists in each other: more than any body of this API has. */
const depthMax = 32;

/**
 * The value of a body of JSON, in which no object names a member twice: parsers differ in which of two counts.
 *
 * @throws Refusal `invalid_utf8`, `invalid_json`
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
  if (!isShallow) throw new Refusal("invalid_json", `the body is nested deeper than ${depthMax} objects and lists`);
  if (repeated !== undefined) throw refuseField("invalid_json", repeated, `${repeated} is given twice; give it once`);
  return value;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Refusal("invalid_json", "the body is not valid JSON", { cause });
  }
}

/** `queries[0].step` */
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
    throw new Refusal("invalid_utf8", "the body is not valid UTF-8", { cause });
  }
}
