import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventIds } from "../../demo/partners.ts";
import { openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { payoutEvents } from "../demo/events.ts";
import { startDemoInstallation, type DemoInstallation } from "../pages/demo-installation.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { buildShared } from "./build-shared.ts";
import { consoleClientId, consoleScopes, startSignInServer, type SignInOptions } from "./sign-in-server.ts";

/** Who looks at the console. */
export const readers = {
  /** May do everything, for every tenant and partner. */
  admin: {
    client_id: "admin",
    tenants: ["*"],
    roles: ["metrics-finance"],
    scope: [
      "events:write webhooks:read webhooks:replay webhooks:ack webhooks:ping",
      "metrics:read metrics:explain metrics:usage admin:debug admin:preview console:admin",
    ].join(" "),
  },
  /** Of one tenant. */
  tenant: {
    client_id: "lumen-desk",
    tenants: ["lumen"],
    scope: "webhooks:read webhooks:replay webhooks:ack metrics:read",
  },
  /** Of one partner. */
  partner: {
    client_id: "acme-desk",
    tenants: ["lumen"],
    partners: ["default/acme-payments"],
    scope: "webhooks:read webhooks:replay",
  },
  /** Of metrics only. */
  metrics: { client_id: "metrics-desk", tenants: ["lumen"], scope: "metrics:read" },
  /** Of metrics only, with few cost units. */
  frugal: { client_id: "frugal-desk", tenants: ["lumen"], scope: "metrics:read" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A name of {@link readers}. */
export type ReaderName = keyof typeof readers;

/** The real runtime with stores, partners, some events and an authorization server. */
export interface ConsoleInstallation extends Pick<DemoInstallation, "withoutStore"> {
  /** Origin of the console and of the API. */
  readonly url: string;
  /** An event that was delivered after a retry, and one that a partner rejected for good. */
  readonly events: typeof eventIds;
  /** A token as `heliograph open` makes it. */
  token(reader: ReaderName): Promise<string>;
  /** An address of the console that signs in. @param path below `/console`, such as `/events?state=dead` */
  address(path: string, reader: ReaderName): Promise<string>;
  /** Changes how the authorization server gives tokens from now on. */
  signInBy(rules: SignInRules): void;
  stop(): Promise<void>;
}

type SignInRules = Pick<SignInOptions, "tokenSeconds" | "asksForNonce">;

const root = fileURLToPath(new URL("../..", import.meta.url));
const audience = "https://heliograph.test";
const tokenSeconds = 3_600;
const settledMsMax = 60_000;
/** An hour of both stores at their smallest step costs more than this, and at a coarser step less. */
const frugalQuota = `apiVersion: heliograph.dev/v1alpha1
kind: QueryClassQuota
metadata: { name: frugal, namespace: default }
spec:
  class: A
  limits: { costUnitsPerMinute: 100, burstCostUnits: 100 }
  clients: [{ clientId: ${readers.frugal.client_id} }]
`;
/** A partner whose endpoint is away; its key is being rotated. Nothing of the demo goes to it. */
export const failing = { partner: "default/away-bank", type: "drill.started", key: "away-2025" } as const;
/** A partner without an endpoint, which is not applied. */
const rejected = { name: "typo-bank" } as const;
const dayMs = 86_400_000;

function failingPartner(nowMs: number): string {
  const metadata = { name: "away-bank", namespace: "default" };
  const stringData = { current: "the-newer-signing-key-of-away-bank", former: "the-former-signing-key-of-away-bank" };
  const keyOf = (key: string): object => ({ name: metadata.name, key });
  const spec = {
    endpoint: { url: "http://127.0.0.1:9/hooks/drills?token=never-shown" },
    signing: {
      scheme: "StandardWebhooks",
      keys: [
        { id: "away-2026", secretRef: keyOf("current") },
        { id: failing.key, secretRef: keyOf("former"), notAfter: new Date(nowMs + 20.5 * dayMs).toISOString() },
      ],
    },
    subscriptions: [{ name: "drills", types: [failing.type], tenants: ["*"] }],
    retry: { scheduleSeconds: [600] },
    networks: { allowCidrs: ["127.0.0.1/32"], allowPlaintext: true },
  };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData };
  const partner = { apiVersion: "heliograph.dev/v1alpha1", kind: "WebhookPartner", metadata, spec };
  const invalid = { ...partner, metadata: { ...metadata, name: rejected.name }, spec: { ...spec, endpoint: {} } };
  return [secret, partner, invalid].map((object) => `---\n${JSON.stringify(object)}\n`).join("");
}
/** Enough for charts; storing an hour of series takes seconds. */
const pastHours = 0.75;

/** Builds the console of this checkout and starts everything that a test of it needs. */
export async function startConsoleInstallation(): Promise<ConsoleInstallation> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.toReversed()) await end();
  };
  try {
    await buildShared(root);
    const folder = await temporaryFolder("console");
    stops.push(() => folder.remove());
    const signIn = await startSignInServer();
    stops.push(() => signIn.close());
    const jwksCaFile = join(folder.path, "sign-in.crt");
    await writeFile(jwksCaFile, signIn.ca);
    const { issuer, jwksUrl } = signIn;
    const trusted = { issuer, audiences: [audience], jwksUrl, jwksCaFile, algorithms: ["ES256"], tokenBinding: "Key" };
    const shown = { issuer, clientId: consoleClientId, scopes: consoleScopes };
    const settings = JSON.stringify({ issuers: [trusted], console: shown });
    const demo = await startDemoInstallation({
      settings,
      pastHours,
      resources: frugalQuota + failingPartner(Date.now()),
    });
    stops.push(() => demo.stop());
    const { url, data, withoutStore } = demo;
    const signInBy = (rules: SignInRules): void =>
      signIn.serve({ consoleOrigin: url, resource: audience, claims: { tenants: ["*"] }, ...rules });
    signInBy({});
    const development = await openDevIssuer(data);
    const token = (reader: ReaderName): Promise<string> =>
      development.sign({ ...readers[reader], sub: reader }, Date.now(), tokenSeconds);
    await publishEvents(url, await token("admin"));
    const address = async (path: string, reader: ReaderName): Promise<string> =>
      `${url}/console${path}#token=${await token(reader)}`;
    return { url, events: eventIds, token, address, signInBy, withoutStore, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Publishes the events of the demo and waits until each has ended. */
async function publishEvents(url: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const events = payoutEvents(Date.now());
  for (const { body } of events) {
    const { status } = await fetch(`${url}/events`, { method: "POST", headers, body });
    if (status !== 202) throw new Error(`an event of the demo was answered with ${status}`);
  }
  const hasEnded = async (eventId: string): Promise<boolean> => {
    const response = await fetch(`${url}/webhooks/events/${eventId}`, { headers });
    const { deliveries = [] } = (await response.json()) as { deliveries?: readonly { readonly state: string }[] };
    return deliveries.length > 0 && deliveries.every(({ state }) => state !== "in_delivery");
  };
  await waitFor(async () => (await Promise.all(events.map(({ eventId }) => hasEnded(eventId)))).every(Boolean), {
    timeoutMs: settledMsMax,
    what: "the events of the demo to be delivered",
  });
}
