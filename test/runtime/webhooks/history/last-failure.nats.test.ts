import { afterAll, beforeAll, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { heldDetails } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { engineCase, partnerServer, removedAtOnce } from "../engine-cases.ts";
import { configOf, eventBytes, partnerConfig } from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 25_000;
const label = "default/one";
const byEvent = <T extends { readonly event_id: string }>(items: readonly T[]): Readonly<Record<string, T>> =>
  Object.fromEntries(items.map((item) => [item.event_id, item]));

test("the last failure is the failed attempt that began last, also after its delivery expired", async (context) => {
  const body = '{"error":"no such account"}';
  const partner = await partnerServer(context, () => ({ status: 500, body }));
  const config = configOf(
    partnerConfig("one", partner.url, {
      retry: { scheduleSeconds: [2], maxAgeSeconds: 8, jitterPercent: 0 },
      circuitBreaker: { failures: 1, openMs: 600_000, maxOpenMs: 600_000 },
    }),
  );
  const { engine, ingest } = await engineCase(server.url, context, config, removedAtOnce);
  const read = async (caller: object) =>
    (await engine.partnerDetails.read(label, { tenants: ["*"], ...caller })).last_failure;
  expect(await read({})).toBeNull();
  await ingest(eventBytes("e-1"));
  await waitFor(() => partner.of("e-1").length > 0, { timeoutMs, what: "an attempt" });
  await ingest(eventBytes("e-2"));
  const found = async (id: string) => (await engine.history.event(id, ["acme"]))?.deliveries[0];
  for (const id of ["e-1", "e-2"]) {
    const isOver = async () => (await found(id))?.state === "dead";
    await waitFor(isOver, { timeoutMs, what: `the end of ${id}` }).catch(async (cause: unknown) => {
      throw new Error(JSON.stringify(await found(id)), { cause });
    });
  }
  expect((await found("e-1"))?.attempts.map(({ error }) => error?.reason)).toEqual([undefined, "held_expired"]);
  const listed = await engine.history.events({ tenants: ["acme"], fromMs: 0, toMs: Infinity, limit: 10 });
  const letters = await engine.deadLetters.list(
    { partner: label, afterSeq: 0, limit: 10 },
    { client: "support", tenants: ["*"] },
  );
  const made = listed.items.map(({ deliveries }) => deliveries[0]?.attempts);
  expect(made).toEqual([1, 0]);
  expect(new Set(letters.items.map(({ attempts }) => attempts))).toEqual(new Set([0, 1]));
  const cause = { status: 500, reason: "status_500" };
  expect(byEvent(letters.items)).toMatchObject({
    "e-1": { reason: "held_expired", detail: heldDetails.failures, last_failure: cause },
    "e-2": { reason: "held_expired", detail: heldDetails.failures },
  });
  const last = (await found("e-1"))?.attempts[0];
  const expected = {
    event_id: "e-1",
    attempt: last?.attempt,
    at: last?.at,
    status: 500,
    reason: "status_500",
    detail: null,
    response_body: body,
  };
  const known = await waitFor(async () => (await read({})) ?? undefined, { timeoutMs, what: "the index" });
  expect(known).toEqual(expected);
  expect(await read({ partners: [label] })).toEqual(expected);
  expect(await read({ tenants: ["acme"] })).toEqual(expected);
  // Lists have its cause, also for a delivery that was never attempted.
  const seen = { ...cause, at: last?.at };
  const page = await engine.partnerOverview.page({ tenants: ["*"], skipped: 0, limit: 10 });
  expect(page.items[0]).toMatchObject({ health: { kind: "circuit_open" }, last_failure: seen });
  const caller = { client: "support", tenants: ["acme"] };
  for (const query of [{ partner: label }, { isNewestFirst: true }]) {
    const { items } = await engine.deadLetters.list({ ...query, afterSeq: 0, limit: 10 }, caller);
    expect(byEvent(items)).toMatchObject({ "e-1": { last_failure: seen }, "e-2": { last_failure: seen } });
  }
  const counted = async (group?: "reason") => (await engine.deadLetters.counts({}, group, caller)).counts;
  expect(await counted()).toMatchObject([{ reason: "held_expired", count: 2, last_failure: seen }]);
  expect((await counted("reason"))[0]).not.toHaveProperty("last_failure");
});
