import type { Preview } from "../../../api/previews.ts";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import type { PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import type { Resource } from "../../../crds/resource.ts";
import { validateResource } from "../../../crds/validate.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { editedConfig } from "../../../runtime/preview/edited-config.ts";
import type { PreviewCaller } from "../../../runtime/preview/preview-job.ts";
import { stepBodiesMax } from "../../../runtime/preview/run-preview.ts";
import { createPreviews, type PreviewDeps, type Previews } from "../../../runtime/preview/previews.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { isSoak } from "../../support/soak.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../support/webhook-partner.ts";
import {
  configOf,
  eventBytes,
  memoryLog,
  partnerConfig,
  startEngine,
  streamsOf,
  type TestEngine,
} from "../webhooks/engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

/** Of attempts. */
const timeoutMs = 30_000;
/** Ends what hangs: beside other work, a dozen engines in one process route an event a second. */
const waitMs = 180_000;
const everyone: PreviewCaller = { client: "platform", tenants: ["*"] };
const ofAcme: PreviewCaller = { client: "acme-team", tenants: ["acme"] };
const names = ["one", "two", "three"] as const;
const types = ["payout.done", "payout.failed", "kyc.done", "bet.settled"] as const;
const patterns = [...types, "payout.*", "**", "kyc.*"] as const;
const tenants = ["acme", "other"] as const;
const producers = ["wallet", "risk"] as const;
let prefixes = 0;

type Cleanup = Pick<TestContext, "onTestFinished">;

interface Case extends TestEngine {
  readonly previews: Previews & { stop(): void };
  readonly deps: PreviewDeps;
  readonly endpoint: WebhookPartnerServer;
}

/** An engine with three partners, and its previews. */
async function caseOf(
  { onTestFinished }: Cleanup,
  subscribed: readonly Wanted[],
  answerOf?: Parameters<typeof startWebhookPartner>[0],
  configFor = (url: string) => configOf(...names.map((name, index) => partnerOf(name, url, subscribed[index]))),
): Promise<Case> {
  prefixes += 1;
  const prefix = `p${prefixes}`;
  const endpoint = await startWebhookPartner(answerOf);
  onTestFinished(() => endpoint.close());
  const config = configFor(endpoint.url);
  const engine = await startEngine(server.url, config, { settings: streamsOf(prefix) });
  onTestFinished(engine.stop);
  const deps: PreviewDeps = {
    nats: engine.nats,
    layout: createLayout(prefix),
    config: () => config,
    pods: engine.engine.pods,
    log: memoryLog().log,
  };
  const previews = createPreviews(deps);
  onTestFinished(() => previews.stop());
  return { ...engine, previews, deps, endpoint };
}

/** What a partner subscribes to. */
interface Wanted {
  readonly types: readonly string[];
  readonly tenants: readonly string[];
  readonly producers: readonly string[];
}

const everything: Wanted = { types: ["**"], tenants: ["*"], producers: [] };

function partnerOf(name: string, url: string, wanted: Wanted = everything): PartnerConfig {
  // One endpoint serves all partners, each under its own path.
  return partnerConfig(name, `${new URL(url).origin}/v1/${name}`, {
    subscriptions: [{ name: "all", ...wanted }],
    timeoutMs,
  });
}

function resourceOf(name: string, wanted: Wanted, spec: object = {}): Resource {
  const { resource, problems } = validateResource({
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "WebhookPartner",
    metadata: { namespace: "default", name },
    spec: {
      endpoint: { url: "https://partner.example/hooks/v1" },
      signing: { keys: [{ id: "k1", secretRef: { name: "secret", key: "key" } }] },
      subscriptions: [{ name: "all", ...wanted }],
      ...spec,
    },
  });
  if (resource === undefined) throw new Error(JSON.stringify(problems));
  return resource;
}

const bodyOf = (body: object): Buffer => Buffer.from(JSON.stringify(body));
const sinceEver = "2020-01-01T00:00:00Z";

async function preview(it: Case, body: object, caller = everyone): Promise<Preview> {
  const { preview_id: id } = await it.previews.start(bodyOf({ from: sinceEver, ...body }), caller);
  return untilOver(it.previews, id, caller);
}

function untilOver(previews: Previews, id: string, caller = everyone): Promise<Preview> {
  const look = async () => {
    const answer = await previews.get(id, caller);
    return answer.status === "completed" || answer.status === "failed" ? answer : undefined;
  };
  return waitFor(look, { timeoutMs: waitMs, what: `the end of preview ${id}` });
}

/** Deliveries by partner of the events whose id begins with this. */
function delivered({ endpoint }: Case, start: string): Readonly<Record<string, readonly string[]>> {
  const own = endpoint.received.filter(({ eventId }) => eventId.startsWith(start));
  const ids = (name: string) => [
    ...new Set(own.filter(({ path }) => path === `/v1/${name}`).map(({ eventId }) => eventId)),
  ];
  return Object.fromEntries(names.map((name) => [`default/${name}`, ids(name)]));
}

/** Numbers from 0 to 1 that a seed repeats. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
const some = <T>(random: () => number, from: readonly T[]): readonly T[] => from.filter(() => random() < 0.5);

function wantedOf(random: () => number): Wanted {
  const chosen = some(random, patterns);
  return {
    types: chosen.length === 0 ? ["never.sent"] : chosen,
    tenants: pick(random, [["*"], ["acme"], ["other"], ["acme", "other"]]),
    producers: some(random, producers),
  };
}

interface Sent {
  readonly type: string;
  readonly tenant: string;
  readonly producer: string;
}

const eventsPerRun = 60;
const seeds = Array.from({ length: isSoak ? 20 : 3 }, (_, index) => index + 1);

describe.concurrent("a preview of a random edit", () => {
  test.for(seeds)("says what happens after the edit is applied (seed %i)", async (seed, context) => {
    const random = randomOf(seed);
    const it = await caseOf(
      context,
      names.map(() => wantedOf(random)),
    );
    const sent = Array.from({ length: eventsPerRun }, (): Sent => {
      return { type: pick(random, types), tenant: pick(random, tenants), producer: pick(random, producers) };
    });
    await send(it, "before", sent);
    const allWanted = names.map(() => wantedOf(random));
    const resources = names.map((name, index) => resourceOf(name, allWanted[index] ?? everything));
    const { events } = await preview(it, { resources });
    // The same edit is applied, and the same events come again.
    it.engine.apply(appliedEdit(it, allWanted));
    await send(it, "after", sent);
    expect(events).toMatchObject({ read: eventsPerRun, complete: true });
    const [before, after] = [delivered(it, "before-"), delivered(it, "after-")];
    const sizes = (one: typeof before) => Object.values(one).reduce((sum, ids) => sum + ids.length, 0);
    expect(events?.deliveries).toEqual({ before: sizes(before), after: sizes(after) });
    for (const label of names.map((name) => `default/${name}`)) {
      expect(events?.partners.find(({ partner }) => partner === label) ?? noEffect).toMatchObject(
        effectOf(before[label] ?? [], after[label] ?? []),
      );
    }
  });
});

const noEffect = { gained: 0, lost: 0, gained_ids: [], lost_ids: [] };

/** The difference between what was delivered before and after, in the order of the events. */
function effectOf(before: readonly string[], after: readonly string[]) {
  const places = (ids: readonly string[]) => new Set(ids.map((id) => Number(id.split("-")[1])));
  const [had, has] = [places(before), places(after)];
  const ids = (set: ReadonlySet<number>) => [...set].sort((a, b) => a - b).map((place) => `before-${place}`);
  const [gained, lost] = [ids(has.difference(had)), ids(had.difference(has))];
  return {
    gained: gained.length,
    lost: lost.length,
    gained_ids: expect.toSatisfy((listed: string[]) => listed.every((id) => gained.includes(id))) as unknown,
    lost_ids: expect.toSatisfy((listed: string[]) => listed.every((id) => lost.includes(id))) as unknown,
  };
}

function appliedEdit(it: Case, allWanted: readonly Wanted[]): RuntimeConfig {
  return configOf(...names.map((name, index) => partnerOf(name, it.endpoint.url, allWanted[index])));
}

/** Sends events and waits until all their deliveries arrived: the router is done, and nothing waits. */
async function send(it: Case, start: string, events: readonly Sent[]): Promise<void> {
  await Promise.all(events.map((event, place) => it.ingest(eventBytes(`${start}-${place}`, { ...event }))));
  // Each history is some requests, and a busy machine reads 60 of them for seconds: one that is complete stays so.
  let left: readonly string[] = events.map((_, place) => `${start}-${place}`);
  const look = async () => {
    const histories = await Promise.all(left.map((id) => it.engine.history.event(id, ["*"])));
    left = left.filter((_, index) => !isDelivered(histories[index]));
    const missing = histories.find((history) => !isDelivered(history));
    if (missing !== undefined || left.length > 0)
      throw new Error(`${left.length} are left, of which one has ${JSON.stringify(missing?.deliveries)}`);
    return true;
  };
  await waitFor(look, { timeoutMs: waitMs, pollMs: 100, what: `the deliveries of ${start}` });
}

function isDelivered(history: Awaited<ReturnType<TestEngine["engine"]["history"]["event"]>>): boolean {
  if (history === undefined || (history.routed_at === null && history.deliveries.length === 0)) return false;
  return history.deliveries.every(({ state }) => state === "delivered");
}

describe.concurrent("a preview", () => {
  test("without a window compares resources at once", async (context) => {
    const it = await caseOf(context, []);
    const edit = { resources: [resourceOf("four", everything)] };
    const answer = await it.previews.start(bodyOf(edit), everyone);
    expect(answer).toMatchObject({
      status: "completed",
      events: null,
      resources: { added: ["WebhookPartner/default/four"] },
    });
    expect(answer.resources.unnamed).toHaveLength(3);
  });

  test("continues in another pod where a stopped one ended", async (context) => {
    // Matchers make a step short, so that few events are more than one step.
    const matchers = [{ pointer: "/data/none", op: "NotExists" as const }];
    const selecting = { name: "all", types: ["**"], tenants: ["*"], selects: { producers: [], matchers } };
    const it = await caseOf(context, [], undefined, (url) =>
      configOf(...names.map((name) => ({ ...partnerOf(name, url), subscriptions: [selecting] }))),
    );
    const count = stepBodiesMax + 1;
    await Promise.all(Array.from({ length: count }, (_, place) => it.ingest(eventBytes(`e-${place}`))));
    const { preview_id: id } = await it.previews.start(
      bodyOf({ from: sinceEver, resources: [], prune: true }),
      everyone,
    );
    const isRunning = async () => (await it.previews.get(id, everyone)).status === "running" || undefined;
    await waitFor(async () => (await isRunning()) ?? (await untilOver(it.previews, id)), {
      timeoutMs: waitMs,
      what: "a start",
    });
    it.previews.stop();
    const next = createPreviews(it.deps);
    context.onTestFinished(() => next.stop());
    const { events } = await untilOver(next, id);
    expect(events).toMatchObject({ read: count, complete: true, deliveries: { before: 3 * count, after: 0 } });
    expect(events?.oldest_event).not.toBeNull();
  });

  test("counts only events of the caller's tenants, and partners of its claim", async (context) => {
    const it = await caseOf(context, []);
    await Promise.all([
      it.ingest(eventBytes("a-1")),
      it.ingest(eventBytes("o-1", { tenant: "other" })),
      it.ingest(eventBytes("n-1", { tenant: undefined })),
    ]);
    const edit = { resources: [], prune: true };
    expect((await preview(it, edit)).events).toMatchObject({ read: 3, deliveries: { before: 9, after: 0 } });
    expect((await preview(it, edit, ofAcme)).events).toMatchObject({ read: 1, deliveries: { before: 3, after: 0 } });
    const narrowed = { ...ofAcme, partners: ["default/two"] };
    const { events, resources } = await preview(it, edit, narrowed);
    expect(events).toMatchObject({ read: 1, deliveries: { before: 1, after: 0 } });
    expect(events?.partners.map(({ partner }) => partner)).toEqual(["default/two"]);
    expect(resources.removed).toEqual(["WebhookPartner/default/two"]);
    const others = { from: sinceEver, resources: [resourceOf("one", everything)] };
    await expect(it.previews.start(bodyOf(others), narrowed)).rejects.toMatchObject({ code: "partner_not_found" });
  });

  test("of an event catalog names what it rejects, and the partners whose events or payloads it changes", async (context) => {
    const it = await caseOf(context, [], undefined, (url) => {
      const endpoint = (name: string) => ({
        endpoint: { url: `${new URL(url).origin}/v1/${name}` },
        networks: { allowPlaintext: true, allowCidrs: ["127.0.0.0/8"] },
      });
      const subscriptions = [{ name: "all", ...everything, payload: { excludeClasses: ["financial"] } }];
      const two = resourceOf("two", everything, { ...endpoint("two"), subscriptions });
      const resources = [two, resourceOf("one", { ...everything, types: ["kyc.*"] }, endpoint("one"))];
      return editedConfig(configOf(), { resources, prune: true }).config;
    });
    const events = [
      { type: "payout.done", data: { amount: 5, account: "DE1" } },
      { type: "payout.done", data: { amount: "5" } },
      { type: "kyc.done", data: { account: "DE1" } },
    ];
    await Promise.all(events.map((event, place) => it.ingest(eventBytes(`c-${place}`, event))));
    const type = (name: string, schema: object) => ({
      type: name,
      description: "What happened.",
      sensitive: [{ pointer: "/account", class: "financial" }],
      versions: [{ version: "2026-01-01", schema, examples: [] }],
    });
    const catalog = {
      apiVersion: "heliograph.dev/v1alpha1",
      kind: "EventCatalog",
      metadata: { namespace: "default", name: "payouts" },
      spec: {
        owner: "team",
        types: [
          type("payout.done", {
            type: "object",
            properties: { amount: { type: "integer" }, account: { type: "string" } },
          }),
        ],
      },
    };
    const { events: found } = await preview(it, { resources: [catalog] });
    const row = { type: "payout.done", version: "2026-01-01", code: "invalid_data", count: 1, ids: ["c-1"] };
    expect(found).toMatchObject({
      read: 3,
      complete: true,
      rejected: { count: 1, accepted: 0, types: [row] },
      partners: [{ partner: "default/two", before: 3, after: 3, gained: 0, lost: 0, rejected: 1, changed: 1 }],
    });
    const retired = {
      ...catalog.spec.types[0]?.versions[0],
      state: "Deprecated",
      deprecatedAt: "2026-01-01T00:00:00Z",
    };
    const versions = [{ ...retired, sunsetAt: "2026-01-02T00:00:00Z" }];
    const ended = { ...catalog, spec: { ...catalog.spec, types: [{ ...catalog.spec.types[0], versions }] } };
    const over = await preview(it, { resources: [ended] });
    expect(over.events?.rejected).toMatchObject({ count: 2, types: [{ code: "version_retired" }] });
    expect(over.resources.payloads).toEqual([
      { partner: "default/two", type: "payout.done", visible: [], hidden: ["/data/account"] },
    ]);
    // A token that is limited to the partner learns nothing of fields that it does not get.
    const whole = resourceOf("two", everything);
    const own = await preview(it, { resources: [whole] }, { ...everyone, client: "two", partners: ["default/two"] });
    expect(own.events).toMatchObject({ rejected: { count: 0 }, partners: [] });
    expect(own.resources.payloads).toEqual([]);
  });

  test("is visible to callers of all its tenants only, and one at a time", async (context) => {
    const it = await caseOf(context, []);
    await it.ingest(eventBytes("a-1"));
    const body = bodyOf({ from: sinceEver, resources: [] });
    const { preview_id: id } = await it.previews.start(body, everyone);
    await expect(it.previews.start(body, everyone)).rejects.toMatchObject({ code: "too_many_requests" });
    await expect(it.previews.get(id, ofAcme)).rejects.toMatchObject({ code: "preview_not_found" });
    await expect(it.previews.get("../x", everyone)).rejects.toMatchObject({ code: "preview_not_found" });
    await untilOver(it.previews, id);
    await expect(it.previews.start(body, everyone)).resolves.toMatchObject({ status: "queued" });
  });

  test("begins again when the configuration changes, and compares with the one of now", async (context) => {
    const it = await caseOf(context, []);
    await it.ingest(eventBytes("a-1"));
    const { config } = it.deps;
    const { preview_id: id } = await it.previews.start(
      bodyOf({ from: sinceEver, resources: [], prune: true }),
      everyone,
    );
    it.previews.stop();
    const resources = [resourceOf("two", { ...everything, types: ["kyc.*"] })];
    const changed = editedConfig(config(), { resources, prune: false }).config;
    const next = createPreviews({ ...it.deps, config: () => changed });
    context.onTestFinished(() => next.stop());
    expect((await untilOver(next, id)).events).toMatchObject({ read: 1, deliveries: { before: 2, after: 0 } });
  });
});

/** A partner as a resource that reaches the endpoint of a case. */
function retriedResource(name: string, url: string, scheduleSeconds: readonly number[]): Resource {
  return resourceOf(name, everything, {
    endpoint: { url: `${new URL(url).origin}/v1/${name}` },
    networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
    retry: { scheduleSeconds, maxAgeSeconds: 3_600, jitterPercent: 0 },
  });
}

/** Three partners that refuse two attempts and take the third, and one event that all of them got. */
async function retriedCase(context: Cleanup): Promise<Case> {
  const configFor = (url: string): RuntimeConfig => {
    const resources = names.map((name) => retriedResource(name, url, [1, 2, 2]));
    return editedConfig(configOf(), { resources, prune: false }).config;
  };
  return caseOf(context, [], ({ attempt }) => ({ status: attempt < 3 ? 503 : 200 }), configFor);
}

/** Status and start of the attempts for an event that the first partner got. */
async function attemptsOf({ engine }: Case, id: string) {
  const look = async () => {
    const history = await engine.history.event(id, ["*"]);
    const isDone = history?.deliveries.length === 3 && history.deliveries.every(({ state }) => state === "delivered");
    return isDone ? history.deliveries.find(({ partner }) => partner === "default/one")?.attempts : undefined;
  };
  const attempts = await waitFor(look, { timeoutMs: waitMs, what: `the delivery of ${id}` });
  return attempts.map(({ status, at }) => ({ status, atMs: Date.parse(at) }));
}

describe.concurrent("a preview of recorded attempts", () => {
  test("is exact up to the first instant that the edit moves, as the applied edit shows", async (context) => {
    const it = await retriedCase(context);
    await it.ingest(eventBytes("before-1"));
    const before = await attemptsOf(it, "before-1");
    const resources = [retriedResource("one", it.endpoint.url, [1, 3, 3])];
    const { events } = await preview(it, { resources });
    const exact = 2;
    expect(events?.attempts.partners).toEqual([
      { partner: "default/one", exact, moved: 1, gone: 0, would_retry: 0, would_end: 0 },
    ]);
    it.engine.apply(editedConfig(it.deps.config(), { resources, prune: false }).config);
    await it.ingest(eventBytes("after-1"));
    const after = await attemptsOf(it, "after-1");
    const statuses = (attempts: typeof after) => attempts.map(({ status }) => status);
    expect(statuses(after)).toEqual(statuses(before));
    const waits = after.slice(1).map(({ atMs }, index) => atMs - (after[index]?.atMs ?? 0));
    expect(waits.slice(0, exact - 1).filter((wait) => wait < 1_000)).toEqual([]);
    expect(waits[exact - 1]).toBeGreaterThanOrEqual(3_000);
  });

  test("counts attempts that are gone, and simulates nothing", async (context) => {
    const it = await retriedCase(context);
    await it.ingest(eventBytes("before-1"));
    await attemptsOf(it, "before-1");
    const gone = await preview(it, { resources: [resourceOf("two", { ...everything, types: ["kyc.*"] })] });
    expect(gone.events).toMatchObject({
      attempts: {
        oldest_attempt: expect.any(String) as unknown,
        events: 1,
        skipped: 0,
        partners: [{ partner: "default/two", exact: 0, moved: 0, gone: 3, would_retry: 0, would_end: 0 }],
      },
      simulated: null,
    });
  });
});

test.each([
  ["no resources", {}, "resources"],
  ["a member that is not known", { resources: [], since: "24h" }, "since"],
  ["a time of another form", { resources: [], from: "yesterday" }, "from"],
  ["an end before the start", { resources: [], from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" }, "to"],
  ["an object of another kind", { resources: [{ kind: "Secret" }] }, "resources[0].kind"],
  ["an invalid field", { resources: [{ ...resourceOf("x", everything), spec: {} }] }, "resources[0].spec"],
  [
    "an object twice",
    { resources: [resourceOf("x", everything), resourceOf("x", everything)] },
    "resources[1].metadata.name",
  ],
])("a request with %s is refused with the field", async (_, body, field) => {
  const deps = { nats: {}, layout: createLayout("none"), config: () => configOf(), pods: {}, log: memoryLog().log };
  const previews = createPreviews(deps as unknown as PreviewDeps);
  const refusal = await previews.start(bodyOf(body), everyone).catch((error: unknown) => error);
  previews.stop();
  const { errors } = refusal as { readonly errors: readonly { readonly field: string }[] };
  expect(errors.some((error) => error.field.startsWith(field))).toBe(true);
});
