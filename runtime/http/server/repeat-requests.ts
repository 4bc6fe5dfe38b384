import { hash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import type { AgeHeaders } from "../../metrics/metrics-api.ts";
import type { Authenticate } from "../authentication/authenticate.ts";
import type { ReadCertificate } from "../authentication/client-certificate.ts";
import { hasBytes } from "../representation/representations.ts";
import type { Shortcut } from "./http-server.ts";
import { hasSeveralHosts } from "./query-string.ts";
import { clientClosedStatus, correlationHeader, correlationIdOf, type EndNotes, logRequest } from "./request-log.ts";

/** An completed request with the function that repeats its response. */
interface Repeatable {
  readonly caller: Caller;
  /** The route's pattern. */
  readonly route: string;
  readonly revalidate: AgeHeaders;
  /** Receives the bytes of the sent body. */
  readonly sent: ((bytes: number) => void) | undefined;
  /** All headers of the full response, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** Handles requests that equal an earlier one byte for byte, without repeating its work. */
export interface RepeatRequests {
  readonly respond: Shortcut;
  /** Stores the response to a request. @param body of the request, empty without one */
  keep(request: IncomingMessage, repeatable: Repeatable, body: Uint8Array): void;
  /** Lets every later request take the full path. */
  end(): void;
}

interface RepeatRequestsOptions extends EndNotes {
  /** @default never, so nothing is stored */
  readonly isStill: Authenticate["isStill"];
  readonly readCertificate: ReadCertificate;
  readonly now: () => number;
  /** Bound on all stored responses: their bytes, and {@link entryBytes} for each. */
  readonly bytesMax: number;
  /** True when connections must close after their next response. */
  readonly isEnding: () => boolean;
}

/** Approximate memory of one stored request besides the bytes of its response. */
const entryBytes = 4_096;

/** Time after which an unused response is removed: longer than any response may be repeated. */
const entryMsMax = 300_000;

/** Most bytes of the body of a stored request. */
const bodyBytesMax = 8_192;

/** Requests with one of these headers take the full path. */
const unusual = ["transfer-encoding", "content-encoding", "dpop", "expect", "upgrade"] as const;
/** Headers of the bytes, which a 304 does not send. */
const representationHeaders: readonly string[] = ["content-type", "content-encoding", "content-length"];

interface Entry extends Repeatable {
  /** Headers that all responses have in common, names and values alternating; set by the first response. */
  common: Common | undefined;
}

interface Common {
  readonly whole: readonly string[];
  readonly notModified: readonly string[];
}

/** Creates an empty store. */
export function createRepeatRequests(options: RepeatRequestsOptions): RepeatRequests {
  const { isStill, readCertificate, now, bytesMax, isEnding } = options;
  const kept = new BoundedMap<string, Entry>(bytesMax, ({ bytes }) => bytes.length + entryBytes, {
    unusedMs: entryMsMax,
  });
  // The heads of stored requests with a body: the body of any other request is left to the full path.
  const heads = new BoundedMap<string, true>(Math.floor(bytesMax / entryBytes), () => 1);
  let isOver = isStill === undefined;
  const respondWith = (key: string, request: IncomingMessage, response: ServerResponse): boolean => {
    const startMs = performance.now();
    const entry = isOver || isEnding() ? undefined : kept.use(key);
    if (entry === undefined || isStill?.(entry.caller, () => readCertificate(request.socket, request.headers)) !== true)
      return false;
    const headers = entry.revalidate(now());
    if (headers !== undefined) send(request, response, { entry, headers, startMs, notes: options });
    return headers !== undefined;
  };
  return {
    respond(request, response, takeFullPath) {
      const isGet = request.method === "GET";
      // Without a stored POST, as in a program that only takes events, the digest of a POST would serve nothing.
      const head = isOver || (!isGet && heads.weight === 0) ? undefined : headOf(request);
      if (head === undefined) return false;
      if (isGet) return respondWith(head, request, response);
      if (heads.use(head) === undefined) return false;
      peekBody(request, lengthOf(request), (body) => {
        if (!respondWith(keyOf(head, body), request, response)) takeFullPath();
      });
      return true;
    },
    keep(request, repeatable, body) {
      const head = isOver ? undefined : headOf(request);
      if (head === undefined) return;
      if (request.method !== "GET") heads.set(head, true);
      kept.set(request.method === "GET" ? head : keyOf(head, body), { ...repeatable, common: undefined });
    },
    end() {
      isOver = true;
    },
  };
}

/**
 * Digest of everything in the head of a request that determines its response. Tokens are not stored. `If-None-Match`,
 * the certificate and the correlation id are read with each request instead. Undefined for a request that must take the
 * full path.
 */
function headOf(request: IncomingMessage): string | undefined {
  const { method = "", url = "", headers, rawHeaders } = request;
  if (headers.authorization === undefined || !isUsual(request)) return undefined;
  if (unusual.some((name) => headers[name] !== undefined) || hasSeveralHosts(rawHeaders)) return undefined;
  return digest([method, url, headers.authorization, ...described.map((name) => wordOf(headers, name))].join("\n"));
}

/** A GET has no body; that of a POST is short. */
function isUsual(request: IncomingMessage): boolean {
  const { method, headers } = request;
  return method === "GET"
    ? headers["content-length"] === undefined
    : method === "POST" && lengthOf(request) <= bodyBytesMax;
}

function lengthOf({ headers }: IncomingMessage): number {
  return Number(headers["content-length"] ?? 0);
}

/** Digest of a request with a body. */
function keyOf(head: string, body: Uint8Array): string {
  return `${head} ${digest(body)}`;
}

function digest(data: string | Uint8Array): string {
  return hash("sha256", data, "base64");
}

/**
 * Calls back once with the body of a request. The bytes stay in the request, so that its next reader receives them too.
 * A request without a body is answered at once; one whose sender leaves is never.
 *
 * @param length of the body, which must fit into the buffer of the request
 */
function peekBody(request: IncomingMessage, length: number, done: (body: Uint8Array) => void): void {
  if (length === 0) return done(noBody);
  const look = (): void => {
    if (request.readableLength < length) return;
    request.removeListener("readable", look);
    const body = request.read(length) as Buffer;
    // Before the end of the stream, bytes can be put back.
    request.unshift(body);
    done(body);
  };
  request.on("readable", look);
}

const noBody = new Uint8Array();

/** Headers besides the token that select a response. */
const described = ["accept", "accept-encoding", "x-scope-orgid", "content-type", "content-length"] as const;

/** Distinguishes an absent header from an empty one. Neither a target nor a header holds a line feed. */
function wordOf(headers: IncomingHttpHeaders, name: (typeof described)[number]): string {
  const value = headers[name];
  return value === undefined ? "" : `=${String(value)}`;
}

interface Sending {
  readonly entry: Entry;
  readonly headers: Readonly<Record<string, string>>;
  readonly startMs: number;
  readonly notes: EndNotes;
}

function send(request: IncomingMessage, response: ServerResponse, { entry, headers, startMs, notes }: Sending): void {
  entry.common ??= commonOf(entry, headers);
  const isKnown = hasBytes(request, entry.headers["etag"] ?? "");
  const status = isKnown ? 304 : 200;
  const id = correlationIdOf(request.headers[correlationHeader]);
  const lines = [...(isKnown ? entry.common.notModified : entry.common.whole), correlationHeader, id];
  for (const name in headers) lines.push(name.toLowerCase(), headers[name] ?? "");
  response.once("close", () => {
    const { route, caller } = entry;
    const bytes = isKnown || !response.writableFinished ? 0 : entry.bytes.length;
    const outcome = {
      method: request.method ?? "",
      route,
      status: response.writableFinished ? status : clientClosedStatus,
      durationMs: performance.now() - startMs,
      bytes,
    };
    if (bytes > 0) entry.sent?.(bytes);
    logRequest(notes, {
      ...outcome,
      correlationId: id,
      responseId: undefined,
      client: caller.client,
      apiError: undefined,
    });
  });
  response.writeHead(status, lines);
  response.end(isKnown ? undefined : entry.bytes);
}

function commonOf({ headers, bytes }: Entry, changing: Readonly<Record<string, string>>): Common {
  const others = new Set([correlationHeader, ...Object.keys(changing).map((name) => name.toLowerCase())]);
  const same = Object.entries({ ...headers, "content-length": String(bytes.length) }).filter(
    ([name]) => !others.has(name),
  );
  return { whole: same.flat(), notModified: same.filter(([name]) => !representationHeaders.includes(name)).flat() };
}
