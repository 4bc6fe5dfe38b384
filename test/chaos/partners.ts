import { createHash } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { verifyDelivery } from "../../runtime/recipient/verify-delivery.ts";
import { listenOnLoopback, leaveCutOff, type Loopback } from "../support/loopback.ts";
import { partnerText } from "../cli/installation.ts";
import type { SentEvent } from "../seams/traffic.ts";
import { wants } from "../seams/model.ts";
import { tenants } from "../seams/walk.ts";
import type { Misbehaviour } from "./faults.ts";
import { attemptMsMax, type Receipt } from "./ledger.ts";

/** How a partner behaves while nothing is broken. */
interface Profile {
  readonly name: string;
  /** Partners of one host share a port. */
  readonly host: string;
  readonly types: readonly string[];
  readonly tenants: readonly string[];
  readonly maxInFlight: number;
  /** Milliseconds until the response. @default 0 */
  readonly delayMs?: number;
  /** One request in so many is cut off. @default none */
  readonly resetsOneIn?: number;
  /** Requests in a second, above which it responds with 429. @default no limit */
  readonly perSecondMax?: number;
  /** Its deliveries wait. @default false */
  readonly isPaused?: boolean;
  /** Its silence is judged, and it takes no faults of its own. @default false */
  readonly isHealthy?: boolean;
}

const all = [...tenants];

/** The eight partners. Together they get about three deliveries of each event. */
export const profiles: readonly Profile[] = [
  { name: "good", host: "good", types: ["**"], tenants: all, maxInFlight: 32, isHealthy: true },
  { name: "gateway-fast", host: "gateway", types: ["payout.*"], tenants: all, maxInFlight: 16, isHealthy: true },
  { name: "gateway-slow", host: "gateway", types: ["login.*"], tenants: all, maxInFlight: 16, delayMs: 400 },
  { name: "slow", host: "slow", types: ["audit.*"], tenants: all, maxInFlight: 32, delayMs: 1_000 },
  { name: "resetting", host: "resetting", types: ["login.*"], tenants: all, maxInFlight: 16, resetsOneIn: 5 },
  { name: "limited", host: "limited", types: ["audit.*"], tenants: all, maxInFlight: 16, perSecondMax: 60 },
  { name: "paused", host: "paused", types: ["payout.*"], tenants: ["vega"], maxInFlight: 16, isPaused: true },
  { name: "steady", host: "steady", types: ["login.*"], tenants: all, maxInFlight: 8 },
];

/** Of a response of 429. */
export const retryAfterSeconds = 2;
/** A key is taken out this long after it was replaced: pods poll the folder. */
const retiredAfterMs = 10_000;
/** Pods read an edit within this time; until then both limits are right. */
const editMsMax = 30_000;
/** Time until the response of a partner that misbehaves. */
const delaysMs = { hangs: 60_000, slow: 1_000 } as const;

/** A partner of the run: its resource and what its server received. */
export interface Partner {
  readonly profile: Profile;
  readonly receipts: readonly Receipt[];
  /** Times of deliveries, ascending. */
  readonly deliveredMs: readonly number[];
  /** Deliveries that did not verify, by fault. */
  readonly unverified: ReadonlyMap<string, number>;
  wants(event: SentEvent): boolean;
  /** The highest limit that a pod may apply at a time. */
  limitAt(atMs: number): number;
  misbehave(how: Misbehaviour | undefined): void;
  /** Changes `maxInFlight`. */
  edit(): Promise<void>;
  /** Puts a new key first, and takes the old one out later. */
  rotate(): Promise<void>;
}

/** Starts the servers of all partners and writes their resources to a folder. */
export async function startPartners(
  folder: string,
): Promise<{ readonly partners: readonly Partner[]; close(): Promise<void> }> {
  const hosts = new Map<string, { readonly loopback: Loopback; readonly byPath: Map<string, PartnerServer> }>();
  const partners: PartnerServer[] = [];
  for (const profile of profiles) {
    const host = hosts.get(profile.host) ?? (await startHost());
    hosts.set(profile.host, host);
    const partner = new PartnerServer(
      profile,
      folder,
      `http://127.0.0.1:${host.loopback.port}/${profile.name}/{domain}`,
    );
    host.byPath.set(profile.name, partner);
    partners.push(partner);
    await partner.write();
  }
  const close = async (): Promise<void> => {
    for (const { loopback } of hosts.values()) await loopback.close();
  };
  return { partners, close };
}

async function startHost() {
  const byPath = new Map<string, PartnerServer>();
  const server: Server = createServer((request, response) => {
    const partner = byPath.get((request.url ?? "").split("/")[1] ?? "");
    if (partner === undefined) response.writeHead(404).end();
    else partner.take(request, response).catch(leaveCutOff);
  });
  return { loopback: await listenOnLoopback(server), byPath };
}

type OpenReceipt = { -readonly [K in keyof Receipt]: Receipt[K] };

class PartnerServer implements Partner {
  readonly profile: Profile;
  readonly receipts: OpenReceipt[] = [];
  readonly deliveredMs: number[] = [];
  readonly unverified = new Map<string, number>();
  readonly #folder: string;
  readonly #url: string;
  readonly #limits: { readonly fromMs: number; readonly limit: number }[];
  #how: Misbehaviour | undefined;
  #keys = ["k1"];
  #keysMade = 1;
  #second = { atS: 0, count: 0 };
  /** Requests of each connection so far. */
  readonly #places = new WeakMap<Socket, number>();

  constructor(profile: Profile, folder: string, url: string) {
    this.profile = profile;
    this.#folder = folder;
    this.#url = url;
    this.#limits = [{ fromMs: 0, limit: profile.maxInFlight }];
  }

  wants(event: SentEvent): boolean {
    return wants(this.profile, event);
  }

  limitAt(atMs: number): number {
    const before = this.#limits.findLast(({ fromMs }) => fromMs <= atMs - editMsMax);
    const recent = this.#limits.filter(({ fromMs }) => fromMs > atMs - editMsMax && fromMs <= atMs);
    return Math.max(before?.limit ?? 0, ...recent.map(({ limit }) => limit));
  }

  misbehave(how: Misbehaviour | undefined): void {
    this.#how = how;
  }

  async edit(): Promise<void> {
    const { maxInFlight } = this.profile;
    const limit = (this.#limits.at(-1)?.limit ?? maxInFlight) === maxInFlight ? maxInFlight + 4 : maxInFlight;
    this.#limits.push({ fromMs: Date.now(), limit });
    await this.write();
  }

  async rotate(): Promise<void> {
    this.#keysMade += 1;
    this.#keys = [`k${this.#keysMade}`, ...this.#keys].slice(0, 2);
    await this.write();
    await sleep(retiredAfterMs);
    this.#keys = this.#keys.slice(0, 1);
    await this.write();
  }

  async write(): Promise<void> {
    const { name, types, tenants: named, isPaused = false } = this.profile;
    const changes = {
      "endpoint.timeoutSeconds": attemptMsMax / 1_000,
      "subscriptions[0].types": types,
      "subscriptions[0].tenants": named,
      "signing.keys": this.#keys.map((id) => ({ id, secretRef: { name: `${name}-${id}`, key: "hmac" } })),
      delivery: { maxInFlight: this.#limits.at(-1)?.limit },
      retry: { scheduleSeconds: [1, 1, 2, 2, 3, 3, 5, 5, 5, 5, 5, 5], maxAgeSeconds: 86_400, jitterPercent: 0 },
      state: isPaused ? "Paused" : "Active",
    };
    const secrets = this.#keys.map((id) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `${name}-${id}` },
      stringData: { hmac: keyText(name, id) },
    }));
    const text = [partnerText(name, this.#url, changes), ...secrets.map((one) => JSON.stringify(one))].join("\n---\n");
    await writeFile(join(this.#folder, `.${name}.new`), text);
    await rename(join(this.#folder, `.${name}.new`), join(this.#folder, `${name}.yaml`));
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = request;
    const place = (this.#places.get(request.socket) ?? 0) + 1;
    this.#places.set(request.socket, place);
    const receipt: OpenReceipt = {
      eventId: String(headers["x-event-id"]),
      attempt: Number(headers["x-attempt"]),
      place,
      fromMs: Date.now(),
      toMs: Number.POSITIVE_INFINITY,
      status: 0,
    };
    this.receipts.push(receipt);
    const end = (status: number): void => {
      if (Number.isFinite(receipt.toMs)) return;
      receipt.toMs = Date.now();
      receipt.status = status;
      if (status === 200) this.deliveredMs.push(receipt.toMs);
    };
    response.on("finish", () => end(response.statusCode));
    response.on("close", () => end(0));
    const body = await bytesOf(request);
    const status = await this.#statusFor(request, body, receipt.eventId);
    if (status === undefined) return void request.socket.destroy();
    const more = status === 429 ? { "retry-after": String(retryAfterSeconds) } : {};
    response.writeHead(status, more).end();
  }

  /** Undefined: the connection is cut off. */
  async #statusFor(request: IncomingMessage, body: Buffer, eventId: string): Promise<number | undefined> {
    const how = this.#how;
    if (how === "resets") return undefined;
    if (how === "fails") return 503;
    await sleep(how === undefined ? (this.profile.delayMs ?? 0) : delaysMs[how], undefined, { ref: false });
    if (this.#isCutOff(eventId)) return undefined;
    return this.#isTooMany() ? 429 : this.#verified(request, body);
  }

  #verified({ method = "", url = "", headers }: IncomingMessage, body: Buffer): 200 | 401 {
    const ids = Array.from({ length: this.#keysMade }, (_, index) => `k${index + 1}`);
    const keys = ids.map((id) => ({ id, secret: Buffer.from(keyText(this.profile.name, id)) }));
    const result = verifyDelivery({ method, target: url, headers, body }, keys, Date.now());
    if (result.ok) return 200;
    this.unverified.set(result.fault, (this.unverified.get(result.fault) ?? 0) + 1);
    return 401;
  }

  #isCutOff(eventId: string): boolean {
    const { resetsOneIn } = this.profile;
    if (resetsOneIn === undefined) return false;
    const tries = this.receipts.length;
    return createHash("sha256").update(`${eventId} ${tries}`).digest().readUInt16BE() % resetsOneIn === 0;
  }

  #isTooMany(): boolean {
    const { perSecondMax } = this.profile;
    const atS = Math.floor(Date.now() / 1_000);
    this.#second = this.#second.atS === atS ? { atS, count: this.#second.count + 1 } : { atS, count: 1 };
    return perSecondMax !== undefined && this.#second.count > perSecondMax;
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The bytes of a signing key, as text. */
function keyText(partner: string, key: string): string {
  return createHash("sha256").update(`${partner} ${key}`).digest("hex");
}
