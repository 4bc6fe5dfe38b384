import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { runsOf } from "../../../support/soak.ts";
import { waitFor } from "../../../support/wait.ts";
import { startEngine, streamsOf } from "../../webhooks/engine-fixture.ts";
import {
  partnerOf,
  startSetup,
  tenants,
  types,
  partnerRows,
  type Asked,
  type Claims,
  type Stored,
  type ShownResponse,
  type PartnerAccessSetup,
} from "./partner-access-setup.ts";

let server: NatsServerHandle;
let setup: PartnerAccessSetup;
beforeAll(async () => {
  server = await startNatsServer();
  setup = await startSetup(server.url);
});
afterAll(async () => {
  await setup?.close();
  await server?.stop();
});

const timeoutMs = 20_000;
const nobody = "shop/nobody";
const nothing = "no-such-event";
const labels = Object.keys(partnerRows);
const from = "2026-01-01T00:00:00Z";

const eventId = fc.constantFrom(
  nothing,
  ...tenants.flatMap((tenant) => types.flatMap((type) => [1, 2].map((count) => `${tenant}-${type}-${count}`))),
);
const label = fc.constantFrom(nobody, ...labels);
const narrowed: fc.Arbitrary<Claims & { readonly partners: readonly string[] }> = fc.record({
  tenants: fc.oneof(fc.subarray([...tenants]), fc.constant(["*"])),
  partners: fc.subarray([...labels, nobody]),
});

const mayName = (names: readonly string[], name: string): boolean => names.includes("*") || names.includes(name);
const deliveredTo = (claims: Claims, event: Stored): readonly string[] =>
  setup.wanting(event).filter((name) => mayName(claims.partners ?? ["*"], name));
const isVisible = (claims: Claims, event: Stored): boolean =>
  mayName(claims.tenants, event.tenant) && deliveredTo(claims, event).length > 0;
const visibleEvents = (claims: Claims): readonly Stored[] => setup.events.filter((event) => isVisible(claims, event));
const isVisibleId = (claims: Claims, id: string): boolean => visibleEvents(claims).some((event) => event.id === id);

/** The response, and the expected one. */
type Pair = readonly [shown: unknown, expected: unknown];

/** The same request where what it names does not exist is refused alike. */
async function likeNone(
  claims: Claims,
  asked: Asked,
  none: Asked,
  [name, absentName] = [named(asked), named(none)],
): Promise<Pair> {
  const [real, absent] = [await setup.ask(claims, asked), await setup.ask(claims, none)];
  if (absent.status < 400) throw new Error(`what does not exist is found: ${JSON.stringify(none)}`);
  return [JSON.parse(JSON.stringify(real).replaceAll(name, absentName)), absent];
}

/** What an error may repeat of a request: the partner that it names. */
function named({ path, body }: Asked): string {
  const inBody = body !== undefined && "partner" in body ? String(body.partner) : undefined;
  return inBody ?? new URLSearchParams(path.split("?")[1]).get("partner") ?? path;
}

type Items = readonly Readonly<Record<string, unknown>>[];
const items = ({ body }: ShownResponse, name: string): Items => body[name] as Items;
const sorted = (texts: readonly unknown[]): readonly string[] =>
  texts.map(String).toSorted((a, b) => a.localeCompare(b));
const idsOf = (list: Items): readonly string[] => list.map((item) => String(item["event_id"]));
const deadOf = (claims: Claims, partner: string): readonly Stored[] =>
  setup.events.filter(
    (event) =>
      (partnerRows[partner]?.status ?? 0) >= 400 &&
      deliveredTo(claims, event).includes(partner) &&
      mayName(claims.tenants, event.tenant),
  );
const pairsOf = (claims: Claims, events: readonly Stored[], partners: readonly string[]): readonly string[] =>
  events.flatMap(({ id, ...event }) =>
    deliveredTo(claims, { id, ...event }).flatMap((name) =>
      partners.length === 0 || partners.includes(name) ? [`${id} ${name}`] : [],
    ),
  );
const isForeign = (claims: Claims, partner: string): boolean =>
  partner === nobody || claims.partners?.includes(partner) !== true;

const withoutUrl = (name: string, value: unknown): unknown => (name === "url" ? undefined : value);

type Check = (claims: Claims) => Promise<Pair>;

const history = eventId.map((id): Check => async (claims) => {
  const path = `/webhooks/events/${id}?explain=true`;
  if (!isVisibleId(claims, id)) return likeNone(claims, { path }, { path: `/webhooks/events/${nothing}` });
  const shown = await setup.ask(claims, { path });
  const { partners: explained } = shown.body["explanation"] as { readonly partners: Items };
  const foreign = explained.map(({ partner }) => String(partner)).filter((name) => isForeign(claims, name));
  const routed = explained.filter((one) => one["routed"] === true).map(({ partner }) => partner);
  const internals = /"pod"|127\.0\.0\.1/u.exec(JSON.stringify(shown, withoutUrl));
  const urls = new Set(
    items(shown, "deliveries").flatMap(({ attempts }) =>
      (attempts as Items).map(({ request }) => (request as { url: string | null } | undefined)?.url === null),
    ),
  );
  const expected = setup.events.filter((event) => event.id === id).flatMap((event) => deliveredTo(claims, event));
  return [
    { partners: items(shown, "deliveries").map(({ partner }) => partner), internals, urls, foreign, routed },
    // Whose token names partners sees their endpoints.
    {
      partners: sorted(expected),
      internals: null,
      urls: new Set([claims.partners === undefined]),
      foreign: [],
      routed: sorted(expected),
    },
  ];
});

const list = fc
  .record({
    after: fc.option(eventId),
    partner: fc.option(label),
    type: fc.option(fc.constantFrom(...types)),
    order: fc.constantFrom("asc", "desc"),
  })
  .map(({ after, partner, type, order }): Check => async (claims) => {
    const given = Object.entries({ after_id: after, partner, type, order, from, limit: "200" }).filter(
      ([, value]) => value !== null,
    ) as [string, string][];
    const path = `/webhooks/events?${new URLSearchParams(given).toString()}`;
    if (after !== null && !isVisibleId(claims, after))
      return likeNone(claims, { path }, { path: path.replace(after, nothing) });
    const first = after === null ? 0 : setup.events.findIndex(({ id }) => id === after) + 1;
    const meant = setup.events
      .slice(first)
      .filter((event) => isVisible(claims, event) && (type ?? event.type) === event.type);
    const wanted = meant.filter((event) => partner === null || deliveredTo(claims, event).includes(partner));
    const shown = items(await setup.ask(claims, { path }), "data").map(({ event_id: id, deliveries }) => [
      id,
      (deliveries as Items).map((one) => one["partner"]),
    ]);
    const ordered = order === "asc" ? wanted : wanted.toReversed();
    return [shown, ordered.map((event) => [event.id, sorted(deliveredTo(claims, event))])];
  });

const stats = label.map((partner): Check => async (claims) => {
  const pathOf = (name: string): string => `/webhooks/partners/${name}/stats`;
  if (!isForeign(claims, partner)) return ["own", "own"];
  return likeNone(claims, { path: pathOf(partner) }, { path: pathOf(nobody) }, [partner, nobody]);
});

const deadLetters = label.map((partner): Check => async (claims) => {
  const path = `/webhooks/dead-letters?partner=${partner}&limit=200`;
  if (isForeign(claims, partner)) return likeNone(claims, { path }, { path: path.replace(partner, nobody) });
  const shown = items(await setup.ask(claims, { path }), "data");
  return [sorted(idsOf(shown)), sorted(deadOf(claims, partner).map(({ id }) => id))];
});

/** Every pair of event and partner that is a dead letter for the token. */
const allDead = (claims: Claims): readonly string[] =>
  labels.flatMap((partner) => deadOf(claims, partner).map(({ id }) => `${id} ${partner}`));

const allDeadLetters = fc
  .record({ order: fc.constantFrom("asc", "desc"), limit: fc.integer({ min: 1, max: 9 }) })
  .map(({ order, limit }): Check => async (claims) => {
    const found: string[] = [];
    const times: number[] = [];
    for (let place: string | undefined = ""; place !== undefined;) {
      const { body } = await setup.ask(claims, {
        path: `/webhooks/dead-letters?order=${order}&limit=${limit}${place}`,
      });
      found.push(...(body["data"] as Items).map((item) => `${String(item["event_id"])} ${String(item["partner"])}`));
      times.push(...(body["data"] as Items).map((item) => Date.parse(String(item["ended_at"]))));
      const { cursor } = body["meta"] as { readonly cursor: string | null };
      place = cursor === null ? undefined : `&cursor=${cursor}`;
    }
    const isOrdered = times.every((time, index) => {
      const step = time - (times[index - 1] ?? time);
      // Two pods' times of almost the same instant may be stored in the other order.
      return order === "desc" ? step <= 1_000 : step >= -1_000;
    });
    return [
      { found: sorted(found), isOrdered },
      { found: sorted(allDead(claims)), isOrdered: true },
    ];
  });

const deadLetterCounts = fc.option(label, { nil: undefined }).map((partner): Check => async (claims) => {
  const query = partner === undefined ? "" : `?partner=${partner}`;
  const path = `/webhooks/dead-letters/counts${query}`;
  if (partner !== undefined && isForeign(claims, partner))
    return likeNone(claims, { path }, { path: path.replace(partner, nobody) });
  const { body } = await setup.ask(claims, { path });
  const shown = items({ status: 200, body }, "data").map((one) => `${String(one["partner"])} ${String(one["count"])}`);
  const expected = labels
    .filter((name) => partner === undefined || name === partner)
    .flatMap((name) => (deadOf(claims, name).length === 0 ? [] : [`${name} ${deadOf(claims, name).length}`]));
  return [
    { shown: sorted(shown), meta: body["meta"] },
    { shown: sorted(expected), meta: { complete: true } },
  ];
});

const counts = ({ status, body: { matched, missing } }: ShownResponse): object => ({ status, matched, missing });
const post = (path: string, body: object): Asked => ({ method: "POST", path, body });

/** A replay of which the token may not see every partner is refused as one for a partner that does not exist. */
function foreignReplay(
  claims: Claims,
  partners: readonly string[],
  asked: (partners: readonly string[]) => Asked,
): Promise<Pair> | undefined {
  const foreign = partners.find((name) => isForeign(claims, name));
  return foreign === undefined ? undefined : likeNone(claims, asked(partners), asked([nobody]), [foreign, nobody]);
}

const replayByIds = fc
  .record({ ids: fc.uniqueArray(eventId, { minLength: 1 }), partners: fc.subarray([...labels, nobody]) })
  .map(({ ids, partners }): Check => async (claims) => {
    const asked = (names: readonly string[]): Asked =>
      post("/webhooks/replay", { event_ids: ids, partners: names, dry_run: true });
    const refused = foreignReplay(claims, partners, asked);
    if (refused !== undefined) return refused;
    const shown = await setup.ask(claims, asked(partners));
    const meant = visibleEvents(claims).filter(({ id }) => ids.includes(id));
    return [
      counts(shown),
      { status: 200, matched: pairsOf(claims, meant, partners).length, missing: ids.length - meant.length },
    ];
  });

const replayOfWindow = fc
  .record({ before: eventId, partners: fc.subarray([...labels, nobody]) })
  .map(({ before, partners }): Check => async (claims) => {
    const asked = (id: string, names = partners): Asked =>
      post("/webhooks/replay", { from, before_id: id, partners: names, dry_run: true });
    const refused = foreignReplay(claims, partners, (names) => asked(before, [...names]));
    if (refused !== undefined) return refused;
    if (!isVisibleId(claims, before)) return likeNone(claims, asked(before), asked(nothing));
    const meant = setup.events
      .slice(
        0,
        setup.events.findIndex(({ id }) => id === before),
      )
      .filter((event) => isVisible(claims, event));
    return [
      counts(await setup.ask(claims, asked(before))),
      { status: 200, matched: pairsOf(claims, meant, partners).length, missing: 0 },
    ];
  });

const redrive = label.map((partner): Check => async (claims) => {
  const asked = (name: string): Asked => post("/webhooks/dead-letters/redrive", { partner: name, dry_run: true });
  if (isForeign(claims, partner)) return likeNone(claims, asked(partner), asked(nobody));
  return [
    counts(await setup.ask(claims, asked(partner))),
    { status: 200, matched: deadOf(claims, partner).length, missing: 0 },
  ];
});

/** Of dead letters that the token sees, none is closed: the others are asked for again and again. */
const ack = fc.record({ id: eventId, partner: label }).map(({ id, partner }): Check => async (claims) => {
  const asked = (event: string, name: string): Asked => post("/webhooks/ack", { event_id: event, partner: name });
  if (isForeign(claims, partner)) return likeNone(claims, asked(id, partner), asked(nothing, nobody));
  return isVisibleId(claims, id)
    ? [undefined, undefined]
    : likeNone(claims, asked(id, partner), asked(nothing, partner));
});

const detail = label.map((partner): Check => async (claims) => {
  const asked = (name: string): Asked => ({ path: `/webhooks/partners/${name}` });
  const isListed = !isForeign(claims, partner) && partnerRows[partner]?.tenants.some((one) => isOneOf(claims, one));
  if (isListed !== true) return likeNone(claims, asked(partner), asked(nobody), [partner, nobody]);
  const { status, body } = await setup.ask(claims, asked(partner));
  const tenantsShown = (body["subscriptions"] as Items).flatMap((one) => one["tenants"]);
  const others = labels.filter((name) => name !== partner && JSON.stringify(body).includes(name));
  const mine = partnerRows[partner]?.tenants.filter((one) => isOneOf(claims, one));
  return [
    { status, name: body["partner"], tenantsShown, others },
    { status: 200, name: partner, tenantsShown: mine, others: [] },
  ];
});
const isOneOf = (claims: Claims, tenant: string): boolean => tenant === "*" || mayName(claims.tenants, tenant);

/** The replays that a token lists, over all pages. */
async function listedReplays(claims: Claims): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let place: string | undefined = ""; place !== undefined;) {
    const { body } = await setup.ask(claims, { path: `/webhooks/replay?limit=7${place}` });
    ids.push(...(body["data"] as Items).map((item) => String(item["replay_id"])));
    const { cursor } = body["meta"] as { readonly cursor: string | null };
    place = cursor === null ? undefined : `&cursor=${cursor}`;
  }
  return ids;
}

async function expectListed(claims: Claims, id: string, isExpected: boolean): Promise<void> {
  expect((await listedReplays(claims)).includes(id)).toBe(isExpected);
}

/** A token lists exactly the replays that it may read by their ids. */
async function expectReadable(claims: Claims): Promise<void> {
  const all = await listedReplays({ tenants: ["*"] });
  const statuses = await Promise.all(
    all.map(async (id) => [id, (await setup.ask(claims, { path: `/webhooks/replay/${id}` })).status] as const),
  );
  const readable = statuses.filter(([, status]) => status === 200).map(([id]) => id);
  expect(await listedReplays(claims)).toEqual(readable);
}

describe("statistics of deliveries", () => {
  const counters = ["attempts", "delivered", "failed", "retried"] as const;
  const path = "/webhooks/stats?step=1h";
  const rowsOf = async (claims: Claims, query = "") => items(await setup.ask(claims, { path: path + query }), "data");
  const sumOf = (rows: Items) =>
    Object.fromEntries(counters.map((name) => [name, rows.reduce((sum, row) => sum + Number(row[name]), 0)]));
  /** Counts of what the partners received. */
  const receivedBy = (claims: Claims) => {
    const own = setup.events
      .filter((event) => mayName(claims.tenants, event.tenant))
      .flatMap((event) => deliveredTo(claims, event));
    const failed = own.filter((name) => (partnerRows[name]?.status ?? 0) >= 400).length;
    return { attempts: own.length, delivered: own.length - failed, failed, retried: 0 };
  };

  test("count what was sent, within the tenants and partners of the token", async () => {
    const everyone = { tenants: ["*"] };
    expect(receivedBy(everyone).attempts).toBe(setup.recipient.received.length);
    const indexed = async () =>
      sumOf(await rowsOf(everyone))["attempts"] === receivedBy(everyone).attempts || undefined;
    await waitFor(indexed, { timeoutMs, what: "the attempts in the statistics" });
    const [first] = labels;
    const some: readonly Claims[] = [
      everyone,
      { tenants: ["acme"] },
      { tenants: ["*"], partners: [first ?? ""] },
      { tenants: ["vega", "luna"], partners: ["bank/one", "shop/one"] },
      { tenants: ["*"], partners: [nobody] },
    ];
    for (const claims of some) {
      const expected = receivedBy(claims);
      for (const group of ["partner", "tenant"] as const) {
        const rows = await rowsOf(claims, `&group_by=${group}`);
        expect(sumOf(rows)).toEqual(expected);
        expect(rows.every((row) => mayName(claims[`${group}s`] ?? ["*"], String(row[group])))).toBe(true);
      }
      const rows = await rowsOf(claims);
      expect(sumOf(rows)).toEqual(expected);
      const isNarrow = claims.partners !== undefined;
      const accepted = setup.events.filter(({ tenant }) => mayName(claims.tenants, tenant)).length;
      const shown = rows.reduce((sum, row) => sum + Number(row["accepted"]), 0);
      expect(isNarrow ? rows.every((row) => row["accepted"] === null) : shown >= accepted).toBe(true);
    }
    expect(await rowsOf({ tenants: ["vega"] }, "&group_by=partner&tenant=acme")).toEqual([]);
    expect(await rowsOf({ tenants: ["*"], partners: [nobody] }, `&group_by=tenant&partner=${first}`)).toEqual([]);
  });
});

describe("a token that names partners", () => {
  const checks = {
    history,
    list,
    stats,
    detail,
    deadLetters,
    allDeadLetters,
    deadLetterCounts,
    replayByIds,
    replayOfWindow,
    redrive,
    ack,
  };

  test.each(Object.entries(checks))(
    "sees nothing of others: %s",
    { timeout: 120_000 },
    async (_name, check: fc.Arbitrary<Check>) => {
      const property = fc.asyncProperty(narrowed, check, async (claims, run) => {
        const [shown, expected] = await run(claims);
        expect(shown).toEqual(expected);
      });
      await fc.assert(property, { numRuns: runsOf(400) });
    },
  );

  test("sees every partner when it names all, as one without the claim does", async () => {
    for (const event of setup.events) {
      const path = `/webhooks/events/${event.id}`;
      const everyone = await setup.ask({ tenants: ["*"] }, { path });
      expect(await setup.ask({ tenants: ["*"], partners: ["*"] }, { path })).toEqual(everyone);
      expect(items(everyone, "deliveries").map(({ partner }) => partner)).toEqual(sorted(setup.wanting(event)));
      expect(JSON.stringify(everyone)).toContain('"pod":"pod-1"');
    }
  });

  test(
    "reaches only its partners by replays, whatever it asks for, and others do not see them",
    { timeout: 120_000 },
    async () => {
      const asking = fc.record({
        claims: narrowed,
        partners: fc.subarray([...labels, nobody]),
        ids: fc.uniqueArray(eventId, { minLength: 1 }),
      });
      for (const { claims, partners: some, ids } of fc.sample(asking, runsOf(60))) {
        const partners = some.filter((name) => !isForeign(claims, name));
        const taken = await setup.ask(claims, {
          method: "POST",
          path: "/webhooks/replay",
          body: { event_ids: ids, partners, rate_per_second: 1_000 },
        });
        const id = String(taken.body["replay_id"]);
        const path = `/webhooks/replay/${id}`;
        const done = async () =>
          (await setup.ask(claims, { path })).body["status"] === "completed" ? true : undefined;
        await waitFor(done, { timeoutMs, what: "the replay" });
        const expected = pairsOf(
          claims,
          visibleEvents(claims).filter((event) => ids.includes(event.id)),
          partners,
        );
        const sent = () =>
          setup.recipient.received
            .filter(({ headers }) => headers["x-webhook-replay"] === id)
            .map((one) => `${one.eventId} ${partnerOf(one)}`);
        const { body } = await setup.ask(claims, { path });
        // What is on its way for another replay is left alone.
        await waitFor(() => sent().length >= Number(body["published"]) || undefined, {
          timeoutMs,
          what: "what was replayed",
        });
        expect(sent().filter((pair) => !expected.includes(pair))).toEqual([]);
        expect(Number(body["matched"])).toBe(expected.length);
        await expectListed(claims, id, true);
        const stranger = {
          tenants: ["*"],
          partners: labels.filter((name) => !claims.partners.includes(name)).slice(0, 1),
        };
        const reading = claims.partners.length === 0 ? [] : (["GET", "DELETE"] as const);
        for (const method of reading) {
          const [shown, none] = await likeNone(
            stranger,
            { method, path },
            { method, path: "/webhooks/replay/no-such-replay" },
          );
          expect(shown).toEqual(none);
        }
        if (claims.partners.length > 0) await expectListed(stranger, id, false);
      }
      await expectReadable({ tenants: ["*"], partners: ["bank/one"] });
      await expectReadable({ tenants: ["vega"] });
      await expectReadable({ tenants: ["*"] });
    },
  );

  test("gets no outcome of another token of its client with the same Idempotency-Key", async () => {
    const asked = {
      method: "POST",
      path: "/webhooks/replay",
      key: "k",
      body: { event_ids: ["vega-payout.done-1"], dry_run: true },
    } as const;
    expect((await setup.ask({ tenants: ["*"] }, asked)).body).toMatchObject({ matched: 2, missing: 0 });
    expect((await setup.ask({ tenants: ["*"], partners: ["bank/one"] }, asked)).body).toMatchObject({
      matched: 1,
      missing: 0,
    });
    expect((await setup.ask({ tenants: ["*"], partners: ["shop/two"] }, asked)).body).toMatchObject({
      matched: 0,
      missing: 1,
    });
  });

  test("closes dead letters of its partners alone", async () => {
    const body = { event_id: "vega-payout.done-2", partner: "bank/one" };
    const claims = { tenants: ["vega"], partners: ["bank/one"] };
    const look = async () => {
      const shown = await setup.ask(claims, { path: `/webhooks/events/${body.event_id}` });
      return items(shown, "deliveries")[0]?.["state"] === "rejected" || undefined;
    };
    await waitFor(look, { timeoutMs, what: "the end of what was replayed" });
    const letters = async (partner: string) =>
      idsOf(items(await setup.ask({ tenants: ["*"] }, { path: `/webhooks/dead-letters?partner=${partner}` }), "data"));
    await waitFor(async () => (await letters("bank/one")).includes(body.event_id) || undefined, {
      timeoutMs,
      what: "the dead letter",
    });
    expect(await setup.ask(claims, { method: "POST", path: "/webhooks/ack", body })).toMatchObject({
      status: 200,
      body: { handled: "manual" },
    });
    expect(await letters("bank/one")).not.toContain(body.event_id);
    expect(await letters("shop/one")).toContain(body.event_id);
  });
});

test("statistics of deliveries are the same in a process that starts later", async () => {
  const later = await startEngine(server.url, setup.config, { settings: streamsOf("pa"), podId: "pod-2" });
  onTestFinished(() => later.stop());
  const stepMs = 3_600_000;
  const toMs = Math.ceil(Date.now() / stepMs) * stepMs;
  const query = { tenants: ["*"], fromMs: toMs - 24 * stepMs, toMs, stepMs, groupBy: "partner" } as const;
  const [before, after] = await Promise.all(
    [setup.engine, later].map(({ engine }) => engine.history.deliveryStats(query)),
  );
  expect(after).toEqual(before);
  expect(after).toMatchObject({ isComplete: true });
  expect(after?.rows.map(({ partner }) => partner)).toEqual(expect.arrayContaining([...labels]));
});
