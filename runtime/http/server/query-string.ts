import type { IncomingHttpHeaders } from "node:http";
import { ApiError } from "../../errors/api-error.ts";
import type { Parameters } from "../../metrics/request/parameters.ts";
import type { Route } from "./route.ts";

const parametersMax = 256;

/**
 * Decoded query parameters of a request target: every name with its values in the order of the URL.
 * @throws ApiError `invalid_request` for bad percent-encoding or too many parameters
 */
export function queryParameters(target: string): Parameters {
  const [, query = ""] = /\?([^#]*)/u.exec(target) ?? [];
  return parametersOf(query);
}

/**
 * Decoded parameters of a form: every name with its values in their order. Source: WHATWG, "URL", §5.1.
 * @throws ApiError as {@link queryParameters}
 */
function parametersOf(form: string): Parameters {
  const parameters = new Map<string, string[]>();
  const pairs = form.split("&").filter((pair) => pair !== "");
  if (pairs.length > parametersMax)
    throw new ApiError("invalid_request", `A request can have at most ${parametersMax} parameters.`);
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
    throw new ApiError("invalid_request", "The query string is not valid percent-encoded UTF-8.", { cause });
  }
}

/** Media type of a form. Source: WHATWG, "URL", §5. */
export const formMediaType = "application/x-www-form-urlencoded";

/** JSON under a more specific media type, which only some routes accept. Source: RFC 6839 §3.1. */
const otherJson = /^(?:application\/[\w.!#$&^-]+\+json|text\/json)(?:\s*;|$)/iu;

/** The media types of all bodies. Each route accepts some of them. */
export const bodyTypes = [["application/json", formMediaType], otherJson];

/**
 * Checks the media type of a body. A CloudEvent in binary mode without `Content-Type` gets that of JSON, which some
 * producers leave out.
 *
 * @throws ApiError `unsupported_media_type` for a form or another type of JSON that the route does not accept
 */
export function settleMediaType(
  route: Pick<Route, "method" | "takesForms" | "takesJsonTypes">,
  headers: IncomingHttpHeaders,
): void {
  if (route.takesJsonTypes === true && headers["ce-specversion"] !== undefined)
    headers["content-type"] ??= "application/json";
  if (route.method !== "GET" && !accepts(route, headers["content-type"] ?? ""))
    throw new ApiError("unsupported_media_type", "Send the body as application/json.");
}

function accepts(
  { takesForms = false, takesJsonTypes = false }: Pick<Route, "takesForms" | "takesJsonTypes">,
  contentType: string,
): boolean {
  return (takesJsonTypes || !otherJson.test(contentType)) && (takesForms || !isForm(contentType));
}

/** True for a `Content-Type` that names a form. */
export function isForm(contentType: string | undefined): boolean {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase() === formMediaType;
}

/**
 * The parameters of a request with a form: those of the body come before those of the target, under each name. A body
 * of another type must be empty.
 *
 * @throws ApiError `invalid_request`, `invalid_utf8`, `unsupported_media_type`
 */
export function formParameters(target: string, contentType: string | undefined, body: Uint8Array): Parameters {
  const ofTarget = queryParameters(target);
  if (body.length === 0) return ofTarget;
  if (!isForm(contentType)) throw new ApiError("unsupported_media_type", `Send the body as ${formMediaType}.`);
  const ofBody = parametersOf(textOf(body));
  const names = new Set([...ofBody.keys(), ...ofTarget.keys()]);
  return new Map([...names].map((name) => [name, [...(ofBody.get(name) ?? []), ...(ofTarget.get(name) ?? [])]]));
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw new ApiError("invalid_utf8", "The body is not valid UTF-8.", { cause });
  }
}

/** Paths whose errors have the form that Prometheus' HTTP API gives them. */
const prometheusPath = /^\/prometheus(?:[/?#]|$)/u;

/** True for a request target below `/prometheus`. */
export function isPrometheusTarget(target: string): boolean {
  return prometheusPath.test(target);
}

/**
 * A request target of a client of Prometheus with the path that routes have: clients join the address of a server and a
 * path, so that slashes can be doubled or stand at the end. Other targets are returned as they are.
 */
export function prometheusTarget(target: string): string {
  const end = /[?#]/u.exec(target)?.index ?? target.length;
  const path = target.slice(0, end);
  if (!/^\/+prometheus(?:\/|$)/u.test(path) || !/\/\/|\/$/u.test(path)) return target;
  const segments = path.split("/").filter((segment) => segment !== "");
  return `/${segments.join("/")}${target.slice(end)}`;
}

/**
 * True for a request with several `Host` headers. Node reads the first, and a proxy may have read another. Source: RFC
 * 9112 §3.2.
 */
export function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** All values of each header, by its name in lower case. */
export function valuesByName(raw: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const byName = Map.groupBy(
    raw.keys().filter((index) => index % 2 === 0),
    (index) => raw[index]?.toLowerCase() ?? "",
  );
  return Object.fromEntries([...byName].map(([name, indexes]) => [name, indexes.map((index) => raw[index + 1] ?? "")]));
}
