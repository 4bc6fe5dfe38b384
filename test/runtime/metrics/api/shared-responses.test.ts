import { describe, expect, test } from "vitest";
import { classDefaults } from "../../../../crds/compile/class-defaults.ts";
import { stallMsMax, waitFor } from "../../../support/wait.ts";
import { type StoreReply } from "../../stores/scripted-store.ts";
import { everyone, parameters } from "../oracle/universe.ts";
import {
  answering,
  ask,
  deadlineMs,
  gauge,
  isInstant,
  lastFiveMinutes,
  never,
  nowMs,
  overloaded,
  refusalOf,
  run,
  silent,
  statesOf,
} from "./run-api.ts";

/** Equal queries at the same time: one reads, the others get its response. */

describe("a response", () => {
  test("of equal queries that are read at the same time has one body, which one of them reads", async () => {
    const running = await run({ eu: answering(1) });
    running.api.apply({ ...running.config, classDefaults });
    const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => ask(running)));
    expect(new Set(others.map(({ body }) => body))).toEqual(new Set([first?.body]));
    expect([first?.status, first?.headers["X-Query-Cache"]]).toEqual([200, expect.stringMatching(/^memory;hit=0;/u)]);
    expect(Number(first?.headers["X-Query-Cost"])).toBeGreaterThan(0);
    for (const { status, headers } of others)
      expect([status, headers["X-Query-Cache"], headers["X-Query-Cost"]]).toEqual([200, "answer;age=0", "0"]);
  });

  test("is read by the next of equal queries when the caller of the first one leaves", async () => {
    const held: (() => void)[] = [];
    let isHeld = true;
    const holding: StoreReply = (response, request) => {
      if (isHeld && !isInstant(request)) held.push(() => answering(1)(response, request));
      else answering(1)(response, request);
    };
    const running = await run({ eu: holding });
    running.api.apply({ ...running.config, classDefaults });
    const controller = new AbortController();
    const first = ask(running, [], controller.signal);
    first.catch(() => undefined);
    const others = Array.from({ length: 5 }, () => ask(running));
    await waitFor(() => held.length > 0, { timeoutMs: stallMsMax, what: "the read of the first query" });
    isHeld = false;
    controller.abort(new Error("the caller left"));
    await expect(first).rejects.toThrow("the caller left");
    const responses = await Promise.all(others);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const readings = responses.filter(({ headers }) => headers["X-Query-Cache"] !== "answer;age=0");
    expect(readings).toHaveLength(1);
  });

  test("that lacks a late region is the same for equal queries at the same time, none later than its deadline", async () => {
    const running = await run({ eu: answering(5), latam: silent }, gauge, { deadlineMs });
    const startMs = performance.now();
    const responses = await Promise.all(Array.from({ length: 20 }, () => ask(running)));
    expect(performance.now() - startMs).toBeLessThan(deadlineMs + stallMsMax);
    expect(new Set(responses.map(statesOf))).toEqual(new Set(["eu=ok latam=late"]));
    expect(responses.map(({ headers }) => headers["Cache-Control"])).toEqual(responses.map(() => "no-store"));
  });

  test("that lacks a region is read again by an equal query that waited for it and has time left", async () => {
    let ranges = 0;
    const failsOnce: StoreReply = (response, request) => {
      if (isInstant(request)) answering(5)(response, request);
      else
        (request.form.get("query")?.includes("count_over_time") !== true && ranges++ === 0 ? overloaded : answering(5))(
          response,
          request,
        );
    };
    const running = await run({ eu: answering(5), latam: failsOnce });
    const [first, second] = await Promise.all([ask(running), ask(running)]);
    expect([first && statesOf(first), second && statesOf(second)]).toEqual(["eu=ok latam=failed", "eu=ok latam=ok"]);
  });

  test("is read once for those who stay when others who wait for it leave", async () => {
    const held: (() => void)[] = [];
    const holding: StoreReply = (response, request) => {
      if (isInstant(request)) answering(1)(response, request);
      else held.push(() => answering(1)(response, request));
    };
    const running = await run({ eu: holding });
    running.api.apply({ ...running.config, classDefaults });
    const first = ask(running);
    const leaving = new AbortController();
    const left = ask(running, [], leaving.signal);
    left.catch(() => undefined);
    await waitFor(() => held.length === 2, { timeoutMs: stallMsMax, what: "both statistics of the first query" });
    leaving.abort(new Error("the caller left"));
    await expect(left).rejects.toThrow("the caller left");
    const later = ask(running);
    for (const release of held.splice(0)) release();
    const [own, shared] = await Promise.all([first, later]);
    expect([own.status, shared.headers["X-Query-Cache"]]).toEqual([200, "answer;age=0"]);
    expect(held).toEqual([]);
  });

  test("of a caller with other rights is not shared", async () => {
    const running = await run({ eu: answering(1), latam: answering(2) });
    running.api.apply({ ...running.config, classDefaults });
    const ofRegion = { ...everyone, regions: ["eu"] };
    const responses = await Promise.all(
      [everyone, ofRegion, everyone, ofRegion].map((caller) =>
        running.api.query(parameters(lastFiveMinutes), caller, never(), { correlationId: "id-1", nowMs }),
      ),
    );
    expect(responses.map(statesOf)).toEqual(["eu=ok latam=ok", "eu=ok", "eu=ok latam=ok", "eu=ok"]);
  });

  test("that shows messages of stores is shared only with callers who may see them", async () => {
    // Less than half of the deadline is left then, so the error is shared.
    const slowly: StoreReply = (response, request) =>
      void setTimeout(() => overloaded(response, request), 2 * deadlineMs);
    const running = await run({ eu: slowly }, gauge, { deadlineMs: 3.5 * deadlineMs });
    const asAll = { ...everyone, scopes: ["metrics:read", "metrics:explain"] };
    const asReader = { ...everyone, scopes: ["metrics:read"] };
    const asked = [asAll, asReader, asAll, asReader].map((caller) =>
      refusalOf(running.api.query(parameters(lastFiveMinutes), caller, never(), { correlationId: "id-1", nowMs })),
    );
    const refusals = await Promise.all(asked);
    expect(refusals.map(({ errors }) => JSON.stringify(errors).includes("too many samples"))).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});
