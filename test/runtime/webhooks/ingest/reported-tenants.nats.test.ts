import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import type { Changes } from "../../../crds/valid-objects.ts";
import { waitFor } from "../../../support/wait.ts";
import { engineCase, partnerServer } from "../engine-cases.ts";
import { configOf, eventBytes, partnerConfig, type TestEngine } from "../engine-fixture.ts";

// Faults about tenants, subjects and event ids that users of other products reported.

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;

/** The outcome of an event, or the code and fields of its error. */
async function send({ ingest }: TestEngine, id: string, event: Changes): Promise<unknown> {
  try {
    return { duplicate: (await ingest(eventBytes(id, event))).duplicate };
  } catch (error) {
    const { code, status, errors } = error as {
      readonly code: string;
      readonly status: number;
      readonly errors: readonly { readonly field: string }[];
    };
    return { code, status, fields: errors.map(({ field }) => field) };
  }
}

describe.concurrent("tenants", () => {
  test.for([
    ["a name with a dot falls to no default tenant (hfs#450)", "acme.corp"],
    ["a name with a colon is no tenant (hawkular-metrics#904)", "acme:corp"],
    ["a wildcard is no tenant (conductor#796)", "*"],
    ["a tail wildcard is no tenant (conductor#796)", ">"],
    ["the mark of events without a tenant is no tenant", "-"],
    ["an empty name is no tenant", ""],
    ["a name of 65 characters is not cut (autumn#2150)", "t".repeat(65)],
  ] as const)("%s", async ([, tenant], context) => {
    const it = await engineCase(server.url, context, configOf());
    expect(await send(it, "e-1", { tenant })).toEqual({ code: "invalid_envelope", status: 422, fields: ["tenant"] });
    expect((await it.nats.manager.streams.info(it.layout.streams.events)).state.messages).toBe(0);
  });

  test("whose names differ in case only share no event (hfs#384)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    expect(await send(it, "e-1", { tenant: "Acme" })).toEqual({ duplicate: false });
    expect(await it.engine.history.event("e-1", ["acme"])).toBeUndefined();
    expect(await it.engine.history.event("e-1", ["Acme"])).toBeDefined();
    expect(await send(it, "e-1", { tenant: "acme" })).toMatchObject({ code: "event_id_reused", status: 409 });
  });

  test("whose names share 63 characters share no event (autumn#2150)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    const [one, other] = [`${"t".repeat(63)}a`, `${"t".repeat(63)}b`];
    expect(await send(it, "e-1", { tenant: one })).toEqual({ duplicate: false });
    expect(await it.engine.history.event("e-1", [other])).toBeUndefined();
  });

  test("need no consumer or subscription each (stan.net#178, nats-server#4888)", async (context) => {
    const partner = await partnerServer(context);
    const it = await engineCase(server.url, context, configOf(partnerConfig("shared", partner.url)));
    const consumers = async (stream: string): Promise<number> =>
      (await it.nats.manager.streams.info(stream)).state.consumer_count;
    await send(it, "first", { tenant: "t-0" });
    await waitFor(() => partner.of("first")[0], { timeoutMs, what: "the first delivery" });
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => send(it, `e-${n}`, { tenant: `t-${n}` })));
    await waitFor(() => partner.of("e-999")[0] && partner.of("e-0")[0], { timeoutMs, what: "the deliveries" });
    // The router has one, and the index of events reads with another. The partner has one or two.
    expect(await consumers(it.layout.streams.events)).toBeLessThanOrEqual(2);
    expect(await consumers(it.layout.streams.deliveries)).toBeLessThanOrEqual(2);
  });
});

describe.concurrent("an event id", () => {
  test("that is sent again is a duplicate, and with other content a conflict, never a 500 (svix#1454)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    expect(await send(it, "b295a740-898f-41b9-bdd3-1157f3071a0c", {})).toEqual({ duplicate: false });
    expect(await send(it, "b295a740-898f-41b9-bdd3-1157f3071a0c", {})).toEqual({ duplicate: true });
    const other = await send(it, "b295a740-898f-41b9-bdd3-1157f3071a0c", { data: { n: 2 } });
    expect(other).toMatchObject({ code: "event_id_reused", status: 409 });
  });

  test("that is reused replaces no stored event (edgex-go#2723)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    const stored = eventBytes("e-1", { data: { n: 1 } });
    await it.ingest(stored);
    await send(it, "e-1", { data: { n: 2 } });
    expect(Buffer.from((await it.engine.history.event("e-1", ["acme"]))?.event ?? [])).toEqual(Buffer.from(stored));
  });

  test("that is sent at once many times is accepted each time and stored once (outpost#563)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => send(it, "e-1", {})));
    expect(outcomes.filter((one) => (one as { readonly duplicate?: boolean }).duplicate === false)).toHaveLength(1);
    expect(outcomes.filter((one) => (one as { readonly duplicate?: boolean }).duplicate === true)).toHaveLength(49);
  });

  test("is compared in full: ids that share 127 characters are different (autumn#2150)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    expect(await send(it, `${"e".repeat(127)}1`, {})).toEqual({ duplicate: false });
    expect(await send(it, `${"e".repeat(127)}2`, {})).toEqual({ duplicate: false });
    expect(await send(it, "e".repeat(129), {})).toMatchObject({ fields: ["event_id"] });
  });

  test("is checked against its own subject, whatever came after it (nats-server#7361)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    for (const n of [1, 2, 3]) expect(await send(it, `e-${n}`, { tenant: `t-${n}` })).toEqual({ duplicate: false });
    for (const n of [3, 2, 1]) expect(await send(it, `e-${n}`, { tenant: `t-${n}` })).toEqual({ duplicate: true });
  });

  test("with characters of subjects is an id like any other (conductor#796)", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    for (const id of ["a.b", "a.*", "a.>", "*", ">", "$JS.API.INFO", "a..b"]) {
      expect(await send(it, id, {})).toEqual({ duplicate: false });
      expect(Buffer.from((await it.engine.history.event(id, ["acme"]))?.event ?? []).toString()).toContain(
        JSON.stringify(id),
      );
    }
  });
});
