import type { Forward } from "../cluster/cluster.ts";
import { waitFor } from "../support/wait.ts";
import type { Installation } from "./installation.ts";
import { metric } from "./manifests.ts";

/** The actions of a user of the installed product: kubectl and HTTP, in one namespace. */
export interface User {
  readonly namespace: string;
  /** kubectl in the namespace. @throws Error with what it complained about */
  readonly kubectl: (args: readonly string[], stdin?: object) => Promise<string>;
  /** Sends an event; answers the status. */
  send(eventId: string): Promise<number>;
  /** Sends an event with other fields and returns the response. @param data beside that of all events */
  post(eventId: string, version: string, data: object): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Posts JSON of a media type and returns the response. */
  postTo(path: string, body: object, mediaType?: string): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Asks for the suite's metric; answers the status and its value. */
  ask(): Promise<{ readonly status: number; readonly value: number | undefined }>;
  /** Evaluates an expression of PromQL at an instant, as a client of Prometheus; answers the status and the body. */
  evaluate(expression: string): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Reads a page or an answer as a browser of the console does; without a token where it is not `signedIn`. */
  look(
    path: string,
    isSignedIn: boolean,
  ): Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }>;
  /** The history of an event, as a service account of the namespace sees it. @default the suite's caller */
  history(eventId: string, account?: string): Promise<{ readonly status: number; readonly body: EventHistory }>;
  /** What the partner has received so far. */
  received(): Promise<Received>;
  /** Waits until every one of the resources has the condition for its newest generation; answers how long that took. */
  programmed(names?: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

/** The history of an event. */
interface EventHistory {
  readonly deliveries?: readonly { readonly partner: string; readonly state: string }[];
}

/** The report of the partner. */
export interface Received {
  readonly events: Readonly<Record<string, number>>;
  readonly byKey: Readonly<Record<string, number>>;
  readonly byPath: Readonly<Record<string, number>>;
  /** The data of each event that came to the path that keeps it. */
  readonly kept: Readonly<Record<string, unknown>>;
  readonly badSignatures: number;
}

/** The three resources of the suite. */
export const resourceNames = ["webhookpartner/partner", "metriccatalog/catalog", "queryclassquota/quota"] as const;

const requestMsMax = 30_000;
const programmedMsMax = 60_000;

/** A user of the release in a namespace, with the rights of the service account `caller` there. */
export async function userOf({ cluster, kubectl }: Installation, namespace: string, service: string): Promise<User> {
  const inNamespace = (args: readonly string[], stdin?: object): Promise<string> =>
    kubectl(["--namespace", namespace, ...args], stdin);
  const tokenOf = async (account: string): Promise<string> =>
    (await inNamespace(["create", "token", account, "--audience=heliograph"])).trim();
  const token = await tokenOf("caller");
  const api = await cluster.forward({ namespace, service, port: 80 });
  const partner = await cluster.forward({ namespace, service: "partner", port: 8080 });
  const request = (forward: Forward, path: string, init: RequestInit = {}, bearer = token): Promise<Response> => {
    // A forward may lead to a pod that ends, so that no connection is kept.
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    headers.set("authorization", `Bearer ${bearer}`);
    headers.set("connection", "close");
    return fetch(`${forward.url}${path}`, { ...init, headers, signal: AbortSignal.timeout(requestMsMax) });
  };
  return {
    namespace,
    kubectl: inNamespace,
    send: async (eventId) => (await request(api, "/events", posted(eventId))).status,
    post: async (eventId, version, data) => {
      const response = await request(api, "/events", posted(eventId, version, data));
      return { status: response.status, body: await response.json() };
    },
    postTo: async (path, body, mediaType = "application/json") => {
      const headers = { "content-type": mediaType };
      const response = await request(api, path, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    },
    ask: async () => {
      const answer = await request(
        api,
        `/v1/metrics/instant?metric=${metric.id}&filter[tenant]=lumen&filter[region]=eu`,
      );
      const { data } = (await answer.json()) as { readonly data?: ReadonlyArray<{ readonly value: number }> };
      return { status: answer.status, value: data?.[0]?.value };
    },
    evaluate: async (expression) => {
      const path = `/prometheus/api/v1/query?${new URLSearchParams({ query: expression }).toString()}`;
      const answer = await request(api, path);
      return { status: answer.status, body: await answer.json() };
    },
    look: async (path, isSignedIn) => {
      const answer = isSignedIn
        ? await request(api, path)
        : await fetch(`${api.url}${path}`, { headers: { connection: "close" } });
      return { status: answer.status, text: await answer.text(), headers: answer.headers };
    },
    history: async (eventId, account) => {
      const answer = await request(
        api,
        `/webhooks/events/${eventId}`,
        {},
        account === undefined ? token : await tokenOf(account),
      );
      return { status: answer.status, body: (await answer.json()) as EventHistory };
    },
    received: async () => (await (await request(partner, "/received")).json()) as Received,
    programmed: async (names = resourceNames) => {
      const startMs = performance.now();
      await waitFor(() => areProgrammed(inNamespace, names), {
        timeoutMs: programmedMsMax,
        pollMs: 100,
        what: `${names.join(", ")} to be programmed`,
      });
      return performance.now() - startMs;
    },
    close: async () => {
      await Promise.all([api.close(), partner.close()]);
    },
  };
}

function posted(eventId: string, version = "2026-01-01", more: object = {}): RequestInit {
  const data = { payout_id: "p-1", status: "paid", amount_minor: 100, currency: "EUR", ...more };
  const event = {
    event_id: eventId,
    type: "payout.processed",
    version,
    ts: new Date().toISOString(),
    tenant: "lumen",
    data,
  };
  return { method: "POST", body: JSON.stringify(event) };
}

interface Programmable {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly conditions?: ReadonlyArray<{
      readonly type: string;
      readonly status: string;
      readonly observedGeneration: number;
      readonly message: string;
    }>;
  };
}

async function areProgrammed(kubectl: User["kubectl"], names: readonly string[]): Promise<boolean> {
  const objects = await Promise.all(
    names.map(async (name) => JSON.parse(await kubectl(["get", name, "--output=json"])) as Programmable),
  );
  for (const [index, { metadata, status }] of objects.entries()) {
    const condition = status?.conditions?.find(({ type }) => type === "Programmed");
    const isProgrammed = condition?.status === "True" && condition.observedGeneration === metadata.generation;
    if (!isProgrammed) throw new Error(`${names[index]} has ${JSON.stringify(status?.conditions ?? [])}`);
  }
  return true;
}
