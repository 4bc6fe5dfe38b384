import { hash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { Caller } from "../../metrics/authorization/caller.ts";
import type { Again } from "../../metrics/metrics-api.ts";
import type { Authenticate } from "../authentication/authenticate.ts";
import type { ReadCertificate } from "../authentication/client-certificate.ts";
import { correlationHeader, correlationId } from "./correlation.ts";
import { hungUpStatus, noteEnd, type EndNotes } from "./request-log.ts";
import { hasBytes } from "../representation/representations.ts";
import type { Shortcut } from "./http-server.ts";
import { hasSeveralHosts } from "./several-hosts.ts";

/** An answered request with the function that repeats its response. */
interface Repeatable {
  readonly caller: Caller;
  /** The route's pattern. */
  readonly route: string;
  readonly again: Again;
  /** All headers of the full response, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** Answers requests that equal an earlier one byte for byte, without repeating its work. */
export interface RepeatRequests {
  readonly answer: Shortcut;
  /** Stores the response to a request. */
  keep(request: IncomingMessage, repeatable: Repeatable): void;
  /** Lets every later request take the full path. */
  end(): void;
}

interface RepeatRequestsOptions extends EndNotes {
  /** @default never, so nothing is stored */
  readonly isStill: Authenticate["isStill"];
  readonly readCertificate: ReadCertificate;
  readonly now: () => number;
  /** True when connections must close after their next response. */
  readonly isEnding: () => boolean;
}

/** Bound on all stored responses: their bytes, and {@link entryBytes} for each. */
const keptBytesMax = 32 * 1024 * 1024;
/** Approximate memory of one stored request besides the bytes of its response. */
const entryBytes = 4_096;

/** Requests with one of these headers take the full path. */
const unusual = ["content-length", "transfer-encoding", "content-encoding", "dpop", "expect", "upgrade"] as const;
/** Headers of the bytes, which a 304 does not send. */
const representationHeaders: readonly string[] = ["content-type", "content-encoding", "content-length"];

interface Entry extends Repeatable {
  /** Headers that all responses have in common, names and values in turn; set by the first response. */
  common: Common | undefined;
}

interface Common {
  readonly whole: readonly string[];
  readonly notModified: readonly string[];
}

/** Creates an empty store. */
export function createRepeatRequests(options: RepeatRequestsOptions): RepeatRequests {
  const { isStill, readCertificate, now, isEnding } = options;
  const kept = new BoundedMap<string, Entry>(keptBytesMax, ({ bytes }) => bytes.length + entryBytes);
  let isOver = isStill === undefined;
  const again = (
    request: IncomingMessage,
  ): { readonly entry: Entry; readonly headers: Readonly<Record<string, string>> } | undefined => {
    const key = keyOf(request);
    const entry = key === undefined ? undefined : kept.use(key);
    if (entry === undefined || isStill?.(entry.caller, () => readCertificate(request.socket, request.headers)) !== true)
      return undefined;
    const headers = entry.again(now());
    return headers && { entry, headers };
  };
  return {
    answer(request, response) {
      const startMs = performance.now();
      const found = isOver || isEnding() ? undefined : again(request);
      if (found === undefined) return false;
      send(request, response, { ...found, startMs, notes: options });
      return true;
    },
    keep(request, repeatable) {
      const key = isOver ? undefined : keyOf(request);
      if (key !== undefined) kept.set(key, { ...repeatable, common: undefined });
    },
    end() {
      isOver = true;
    },
  };
}

/**
 * Digest of everything in a request that determines its response. Tokens are not stored. `If-None-Match`, the
 * certificate and the correlation id are read with each request instead. Undefined for a request that must take the
 * full path.
 */
function keyOf({ method, url = "", headers, rawHeaders }: IncomingMessage): string | undefined {
  if (method !== "GET" || headers.authorization === undefined) return undefined;
  if (unusual.some((name) => headers[name] !== undefined) || hasSeveralHosts(rawHeaders)) return undefined;
  return hash(
    "sha256",
    `${url}\n${headers.authorization}\n${wordOf(headers, "accept")}\n${wordOf(headers, "accept-encoding")}`,
    "base64",
  );
}

/** Distinguishes an absent header from an empty one. Neither a target nor a header holds a line feed. */
function wordOf(headers: IncomingHttpHeaders, name: "accept" | "accept-encoding"): string {
  const value = headers[name];
  return value === undefined ? "" : `=${value}`;
}

interface Sending {
  readonly entry: Entry;
  readonly headers: Readonly<Record<string, string>>;
  readonly startMs: number;
  readonly notes: EndNotes;
}

function send(request: IncomingMessage, response: ServerResponse, { entry, headers, startMs, notes }: Sending): void {
  entry.common ??= commonOf(entry, headers);
  const isKnown = hasBytes(request.headers["if-none-match"], entry.headers["etag"] ?? "");
  const status = isKnown ? 304 : 200;
  const id = correlationId(request.headers[correlationHeader]);
  const lines = [...(isKnown ? entry.common.notModified : entry.common.whole), correlationHeader, id];
  for (const name in headers) lines.push(name.toLowerCase(), headers[name] ?? "");
  response.once("close", () => {
    const { route, caller } = entry;
    const outcome = {
      method: "GET",
      route,
      status: response.writableFinished ? status : hungUpStatus,
      durationMs: performance.now() - startMs,
    };
    noteEnd(notes, { ...outcome, correlationId: id, answerId: undefined, client: caller.client, refusal: undefined });
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
