import { hash } from "node:crypto";
import { request } from "undici";
import type { Pod } from "../seams/pods.ts";
import { readBody, type ProbeResponse } from "./responses.ts";
import { askPages, type PageMeta, type Pages } from "./pages.ts";
import { bulkItem, instantPairs, queryPairs, type Panel } from "./panels.ts";

/** What the probe asks with. */
export interface Asker {
  /** Undefined without a response. */
  query(pod: Pod, panel: Panel, ifNoneMatch: boolean): Promise<ProbeResponse | undefined>;
  /** All pages of one snapshot. @param reported of each page */
  pages(pod: Pod, panel: Panel, reported: (page: ProbeResponse) => void): Promise<Pages>;
  instant(pod: Pod, panel: Panel): Promise<ProbeResponse | undefined>;
  bulk(pod: Pod, panels: readonly Panel[]): Promise<readonly ProbeResponse[] | undefined>;
  health(pod: Pod): Promise<Reply | undefined>;
  /** Faults of ETags so far: equal tags of different bytes, different tags of equal bytes, a 304 out of turn. */
  readonly tagFaults: readonly string[];
  readonly counts: { requests: number; unanswered: number; notModified: number; tags: number };
}

/** One reply of the public API. */
export interface Reply {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

const requestMsMax = 15_000;
/** URLs of which the last tag and body are kept. */
const keptMax = 2_000;

interface Kept {
  readonly etag: string;
  readonly bytes: Buffer;
}

/** @param token of the caller @param unanswered called for requests without a response */
export function createAsker(token: string, unanswered: (url: string, sentMs: number) => void): Asker {
  const counts = { requests: 0, unanswered: 0, notModified: 0, tags: 0 };
  const tagFaults: string[] = [];
  const bodies = createBodies(tagFaults, counts);
  const send = async (
    url: string,
    headers: Readonly<Record<string, string>> = {},
    body?: object,
  ): Promise<Reply | undefined> => {
    counts.requests += 1;
    const sentMs = Date.now();
    const reply = await exchange(url, { authorization: `Bearer ${token}`, ...headers }, body);
    if (reply === undefined) {
      counts.unanswered += 1;
      unanswered(url, sentMs);
    }
    return reply;
  };
  const get = async (url: string, name: string, ifNoneMatch: boolean): Promise<Reply | undefined> => {
    const kept = ifNoneMatch ? bodies.of(name) : undefined;
    const reply = await send(url, kept === undefined ? {} : { "if-none-match": kept.etag });
    return reply === undefined ? undefined : bodies.read(reply, name, kept);
  };
  return {
    tagFaults,
    counts,
    async query(pod, panel, ifNoneMatch) {
      const search = searchOf(queryPairs(panel, Date.now()));
      return responseOf(await get(`${pod.url}/v1/metrics/query?${search}`, `query ${search}`, ifNoneMatch), {
        panel,
        route: "query",
        pod,
      });
    },
    pages: (pod, panel, reported) =>
      askPages(async (page) => {
        const names = page.map(([name]) => name);
        const search = searchOf([...queryPairs(panel, Date.now()).filter(([name]) => !names.includes(name)), ...page]);
        const reply = await send(`${pod.url}/v1/metrics/query?${search}`);
        const response = responseOf(reply, { panel, route: "query", pod });
        if (response !== undefined) reported(response);
        return response && reply && { ...response, meta: metaOf(reply) };
      }),
    async instant(pod, panel) {
      const search = searchOf(instantPairs(panel));
      return responseOf(await get(`${pod.url}/v1/metrics/instant?${search}`, `instant ${search}`, false), {
        panel,
        route: "instant",
        pod,
      });
    },
    async bulk(pod, panels) {
      const queries = panels.map((panel, index) => bulkItem(panel, String(index), Date.now()));
      const reply = await send(`${pod.url}/v1/metrics/bulk-query`, { "content-type": "application/json" }, { queries });
      return reply === undefined ? undefined : itemsOf(reply, panels, pod);
    },
    health: (pod) => send(`${pod.url}/v1/metrics/health`),
  };
}

function searchOf(pairs: ReturnType<typeof queryPairs>): string {
  return new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString();
}

type Question = Pick<ProbeResponse, "panel" | "route"> & { readonly pod: Pod };

function responseOf(reply: Reply | undefined, { panel, route, pod }: Question): ProbeResponse | undefined {
  if (reply === undefined) return undefined;
  const { bytes, ...others } = reply;
  return {
    ...others,
    panel,
    route,
    pod: pod.url,
    body: bytes.length === 0 ? undefined : readBody(JSON.parse(bytes.toString())),
  };
}

function metaOf({ bytes }: Reply): PageMeta | undefined {
  return (JSON.parse(bytes.toString()) as { readonly meta?: PageMeta }).meta;
}

interface WireItem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The items of a bulk, each as if it had been asked alone. */
function itemsOf(
  { sentMs, receivedMs, status, headers, bytes }: Reply,
  panels: readonly Panel[],
  pod: Pod,
): readonly ProbeResponse[] {
  const { results } = JSON.parse(bytes.toString()) as { readonly results?: readonly WireItem[] };
  const shared = { route: "bulk", pod: pod.url, sentMs, receivedMs } as const;
  return panels.map((panel, index) => {
    const item = results?.[index];
    return {
      ...shared,
      panel,
      status: item?.status ?? status,
      headers: item?.headers ?? headers,
      body: item === undefined ? undefined : readBody(item),
    };
  });
}

async function exchange(
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<Reply | undefined> {
  const sentMs = Date.now();
  try {
    const options = body === undefined ? {} : { method: "POST" as const, body: JSON.stringify(body) };
    const response = await request(url, { headers, ...options, signal: AbortSignal.timeout(requestMsMax) });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const own = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
    return { sentMs, receivedMs: Date.now(), status: response.statusCode, headers: own, bytes };
  } catch {
    return undefined;
  }
}

/** Bodies that the probe has, as a browser would. */
interface Bodies {
  of(name: string): Kept | undefined;
  /** A reply with its whole body: that of a 304 is the one that the probe has. */
  read(reply: Reply, name: string, had: Kept | undefined): Reply;
}

function createBodies(faults: string[], counts: Asker["counts"]): Bodies {
  const keptByName = new Map<string, Kept>();
  const tags = createTagCheck(faults, counts);
  return {
    of: (name) => keptByName.get(name),
    read(reply, name, had) {
      const { etag } = reply.headers;
      if (etag === undefined) return reply;
      const isKnown = had?.etag === etag;
      if (reply.status === 304) {
        counts.notModified += 1;
        if (!isKnown) faults.push(`304 with ${etag} to a caller who had another`);
        return { ...reply, bytes: had?.bytes ?? Buffer.alloc(0) };
      }
      if (reply.status === 200 && isKnown) faults.push(`200 with ${etag} to a caller who had it`);
      tags(etag, reply.bytes);
      setNewest(keptByName, name, { etag, bytes: reply.bytes }, keptMax);
      return reply;
    },
  };
}

/** The oldest make way. */
function setNewest<Value>(map: Map<string, Value>, name: string, value: Value, most: number): void {
  map.delete(name);
  map.set(name, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

/** Digests of bodies that are remembered. */
const digestsMax = 50_000;

/** Equal bytes have equal tags, and equal tags stand for equal bytes. */
function createTagCheck(faults: string[], counts: Asker["counts"]): (etag: string, bytes: Buffer) => void {
  const [tagOf, digestOf] = [new Map<string, string>(), new Map<string, string>()];
  return (etag, bytes) => {
    counts.tags += 1;
    const digest = hash("sha256", bytes, "base64url");
    const [known, stood] = [tagOf.get(digest), digestOf.get(etag)];
    if (known !== undefined && known !== etag) faults.push(`equal bytes have the tags ${known} and ${etag}`);
    if (stood !== undefined && stood !== digest) faults.push(`the tag ${etag} stands for different bytes`);
    setNewest(tagOf, digest, etag, digestsMax);
    setNewest(digestOf, etag, digest, digestsMax);
  };
}
