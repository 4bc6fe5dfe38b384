import { Refusal } from "../errors/refusal.ts";

/** The value of a body of JSON. @throws Refusal `invalid_utf8`, `invalid_json` */
export function parseJson(body: Uint8Array): unknown {
  const text = decodeUtf8(body);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Refusal("invalid_json", "the body is not valid JSON", { cause });
  }
}

function decodeUtf8(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw new Refusal("invalid_utf8", "the body is not valid UTF-8", { cause });
  }
}
