import { Refusal } from "../../errors/refusal.ts";
import type { Parameters } from "../../metrics/request/parameters.ts";

const parametersMax = 256;

/**
 * Decoded query parameters of a request target: every name with its values in the order of the URL.
 * @throws Refusal `invalid_request` for bad percent-encoding or too many parameters
 */
export function queryParameters(target: string): Parameters {
  const parameters = new Map<string, string[]>();
  const [, query = ""] = /\?([^#]*)/u.exec(target) ?? [];
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length > parametersMax) {
    throw new Refusal("invalid_request", `A request has at most ${parametersMax} parameters.`);
  }
  for (const pair of pairs) {
    const [name, value] = decodedPair(pair);
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [value]);
    else values.push(value);
  }
  return parameters;
}

function decodedPair(pair: string): readonly [string, string] {
  const equals = pair.indexOf("=");
  const name = equals === -1 ? pair : pair.slice(0, equals);
  const value = equals === -1 ? "" : pair.slice(equals + 1);
  return [decoded(name), decoded(value)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (cause) {
    throw new Refusal("invalid_request", "The query string is not valid percent-encoded UTF-8.", { cause });
  }
}
