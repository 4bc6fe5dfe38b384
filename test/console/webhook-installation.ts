import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { startProgram } from "../support/heliograph-process.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { resolveTool } from "../tools/resolve.ts";
import { buildShared } from "./build-shared.ts";

/** The real runtime without metric stores, with partners that answer as the event asks. */
export interface WebhookInstallation {
  /** Origin of the console and of the API. */
  readonly url: string;
  /** An address of the console that signs in. @param path below `/console` */
  address(path: string, reader?: Claims): Promise<string>;
  /** Asks the API as a reader. */
  ask(path: string, init?: RequestInit, reader?: Claims): Promise<Response>;
  /** Publishes an event and waits until each partner answered it. */
  publish(event: TestEvent): Promise<void>;
  /** Requests to the partners so far, by event id. */
  requests(eventId: string): number;
  stop(): Promise<void>;
}

/** Claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** What a test may choose of an event. */
export interface TestEvent {
  readonly eventId: string;
  readonly producer?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** What a partner answers, which the data of an event holds as `answer`. */
export interface PartnerAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** May do everything, for every tenant and partner. */
export const admin: Claims = {
  client_id: "admin",
  tenants: ["*"],
  scope: "events:write webhooks:read webhooks:replay webhooks:ack webhooks:ping admin:debug console:admin",
};

/** `namespace/name` of the partners: one that heeds `answer`, and one that takes every event. */
export const partners = { heeding: "default/heeding-bank", quiet: "default/quiet-ledger" } as const;

const root = fileURLToPath(new URL("../..", import.meta.url));
const tokenSeconds = 3_600;
const answeredMsMax = 60_000;
const tenant = "lumen";

interface WebhookOptions {
  /** Further partners, `default/idle-00000` and so on, which no event goes to. @default 0 */
  readonly idlePartners?: number;
}

/** Builds the console of this checkout and starts a runtime that serves it. */
export async function startWebhookInstallation({
  idlePartners = 0,
}: WebhookOptions = {}): Promise<WebhookInstallation> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.toReversed()) await end();
  };
  try {
    const built = buildShared(root);
    const folder = await temporaryFolder("webhooks");
    stops.push(() => folder.remove());
    const counts = new Map<string, number>();
    const resources = join(folder.path, "resources");
    await mkdir(resources);
    for (const label of Object.values(partners)) {
      const place = await listenOnLoopback(createServer(partnerListener(label, counts)));
      stops.push(() => place.close());
      await writeFile(join(resources, `${nameOf(label)}.yaml`), resourcesOf(nameOf(label), place.port));
    }
    for (let from = 0; from < idlePartners; from += partnersOfFile) {
      const names = Array.from({ length: Math.min(partnersOfFile, idlePartners - from) }, (_, index) => from + index);
      await writeFile(join(resources, `idle-${from}.yaml`), names.map(idlePartner).join("---\n"));
    }
    await built;
    const data = join(folder.path, "data");
    const flags = ["--port=0", "--admin-port=0", "--data", data, "--nats-server", await resolveTool("nats-server")];
    const program = startProgram(["run", resources, ...flags]);
    stops.push(async () => {
      program.signal("SIGTERM");
      await program.ended();
    });
    const { url } = await program.ready();
    return { ...(await clientOf(url, data, counts)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function clientOf(
  url: string,
  data: string,
  counts: ReadonlyMap<string, number>,
): Promise<Omit<WebhookInstallation, "stop">> {
  const development = await openDevIssuer(data);
  const token = (reader: Claims): Promise<string> =>
    development.sign({ ...reader, sub: String(reader["client_id"]) }, Date.now(), tokenSeconds);
  const requests = (eventId: string): number => counts.get(eventId) ?? 0;
  const ask = async (path: string, init: RequestInit = {}, reader: Claims = admin): Promise<Response> => {
    const headers = { authorization: `Bearer ${await token(reader)}`, "content-type": "application/json" };
    return fetch(url + path, { ...init, headers });
  };
  const publish = async ({ eventId, producer = "payouts", data: given = {} }: TestEvent): Promise<void> => {
    const ts = new Date().toISOString();
    const event = {
      event_id: eventId,
      type: "payout.created",
      version: "2026-01-01",
      ts,
      producer,
      tenant,
      data: given,
    };
    const response = await ask("/events", { method: "POST", body: JSON.stringify(event) });
    if (response.status !== 202) throw new Error(`${eventId} is answered ${response.status}: ${await response.text()}`);
    const isAnswered = (): boolean => requests(eventId) >= Object.keys(partners).length;
    await waitFor(isAnswered, { timeoutMs: answeredMsMax, what: `${eventId} to reach every partner` });
  };
  const address = async (path: string, reader: Claims = admin): Promise<string> =>
    `${url}/console${path}#token=${await token(reader)}`;
  return { url, address, ask, publish, requests };
}

function nameOf(label: string): string {
  return label.split("/")[1] ?? label;
}

const partnersOfFile = 100;

function idlePartner(index: number): string {
  const name = `idle-${String(index).padStart(5, "0")}`;
  return resourcesOf(name, 9).replaceAll("payout.*", "nothing.happens");
}

/** Answers as the event asks; the quiet partner takes everything. */
function partnerListener(label: string, counts: Map<string, number>) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const event = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly event_id: string;
        readonly data: { readonly answer?: PartnerAnswer };
      };
      counts.set(event.event_id, (counts.get(event.event_id) ?? 0) + 1);
      const { status = 200, headers = {}, body = "" } = label === partners.heeding ? (event.data.answer ?? {}) : {};
      response.writeHead(status, headers).end(body);
    });
  };
}

/** A partner of every tenant. The second attempt is late enough to be waited for. */
function resourcesOf(name: string, port: number): string {
  const metadata = { name, namespace: "default" };
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    stringData: { current: `the-signing-key-of-${name}-here` },
  };
  const spec = {
    endpoint: { url: `http://127.0.0.1:${port}/webhooks` },
    signing: { keys: [{ id: `key-of-${name}`, secretRef: { name, key: "current" } }] },
    subscriptions: [{ name: "payouts", types: ["payout.*"], tenants: ["*"] }],
    retry: { scheduleSeconds: [600] },
    networks: { allowCidrs: ["127.0.0.1/32"], allowPlaintext: true },
  };
  const partner = { apiVersion: "heliograph.dev/v1alpha1", kind: "WebhookPartner", metadata, spec };
  return `${JSON.stringify(secret)}\n---\n${JSON.stringify(partner)}\n`;
}
