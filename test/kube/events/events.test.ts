import * as fc from "fast-check";
import { type Logger, pino } from "pino";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { KubeClient } from "../../../kube/client/client.ts";
import { EventSeries, type KubeEvent, type Occurrence } from "../../../kube/events/event-series.ts";
import { EventRecorder } from "../../../kube/events/events.ts";
import { KubeError } from "../../../kube/client/kube-error.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";

const reporter = { controller: "heliograph.dev/operator", instance: "operator-0" };
const regarding = {
  apiVersion: "heliograph.dev/v1alpha1",
  kind: "WebhookPartner",
  namespace: "a",
  name: "one",
  uid: "u1",
};
const refused: Occurrence = {
  regarding,
  type: "Warning",
  reason: "InvalidSpec",
  action: "Compile",
  note: "no such Secret",
};

/** A recorder whose server fails with the given errors first. */
function start(errors: readonly Error[] = [], log: Logger = pino({ level: "silent" })) {
  const written: KubeEvent[] = [];
  const left = [...errors];
  const apply = async (_type: unknown, object: unknown): Promise<unknown> => {
    const error = left.shift();
    if (error !== undefined) throw error;
    written.push(object as KubeEvent);
    return object;
  };
  const registry = new Registry();
  const clock = new ManualClock();
  // Only what a recorder calls.
  const client = { apply } as unknown as KubeClient;
  const recorder = new EventRecorder({ client, reporter, log, metrics: createKubeMetrics(registry), clock });
  const counted = async (result: string): Promise<number> => {
    const text = await registry.getSingleMetricAsString("heliograph_kube_events_total");
    return Number(
      text
        .split("\n")
        .find((line) => line.includes(`"${result}"`))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  };
  return { recorder, clock, written, counted };
}

describe("an occurrence", () => {
  test("is written at once, with all that the API server demands", async () => {
    const { recorder, clock, written } = start();
    recorder.record(refused);
    await clock.advanceInSteps(1, 1);
    expect(written).toHaveLength(1);
    expect(written[0]).toMatchObject({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace: "a", name: expect.stringMatching(/^one\.[0-9a-f]{16}$/u) },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "heliograph.dev/operator",
      reportingInstance: "operator-0",
      reason: "InvalidSpec",
      action: "Compile",
      type: "Warning",
      note: "no such Secret",
      regarding,
    });
    expect(written[0]?.series).toBeUndefined();
  });

  test("that repeats becomes a series of the same event, written at most once a minute", async () => {
    const { recorder, clock, written, counted } = start();
    for (let second = 0; second < 150; second += 1) {
      recorder.record(refused);
      await clock.advanceInSteps(1_000, 1_000);
    }
    expect(written.map(({ series }) => series?.count)).toEqual([undefined, 61, 121]);
    expect(new Set(written.map(({ metadata }) => metadata.name)).size).toBe(1);
    expect(written[2]?.series?.lastObservedTime).toBe("2026-01-01T00:02:00.000000Z");
    expect([await counted("new"), await counted("repeated"), await counted("written")]).toEqual([1, 149, 3]);
  });

  test("that comes back after six quiet minutes is an event of its own", async () => {
    const { recorder, clock, written } = start();
    recorder.record(refused);
    await clock.advanceInSteps(6 * 60_000, 60_000);
    recorder.record(refused);
    await clock.advanceInSteps(1, 1);
    expect(new Set(written.map(({ metadata }) => metadata.name)).size).toBe(2);
    expect(written.map(({ series }) => series)).toEqual([undefined, undefined]);
  });

  test("with another note is a separate event, so that no event has a stale note", async () => {
    const { recorder, clock, written } = start();
    recorder.record(refused);
    recorder.record({ ...refused, note: "no such key" });
    await clock.advanceInSteps(1, 1);
    expect(written.map(({ note }) => note)).toEqual(["no such Secret", "no such key"]);
  });

  test("holds no secret and at most 1 KiB", async () => {
    const { recorder, clock, written } = start();
    recorder.record({ ...refused, note: `401 for Authorization: Bearer abc.def ${"é".repeat(2_000)}` });
    await clock.advanceInSteps(1, 1);
    expect(written[0]?.note).not.toContain("abc.def");
    expect(Buffer.byteLength(written[0]?.note ?? "")).toBeLessThanOrEqual(1_024);
  });

  test("about an object without a namespace goes to default", async () => {
    const { recorder, clock, written } = start();
    const { namespace: _namespace, ...clusterWide } = regarding;
    recorder.record({ ...refused, regarding: clusterWide });
    await clock.advanceInSteps(1, 1);
    expect(written[0]?.metadata.namespace).toBe("default");
  });
});

describe("an object", () => {
  test("with ever new notes has ten events at once and one more each minute; others are not affected", async () => {
    const { recorder, clock, written, counted } = start();
    for (let index = 0; index < 100; index += 1) recorder.record({ ...refused, note: `try ${index}` });
    recorder.record({ ...refused, regarding: { ...regarding, uid: "u2", name: "two" } });
    await clock.advanceInSteps(1, 1);
    expect(written).toHaveLength(11);
    expect(await counted("capped")).toBe(90);
    await clock.advanceInSteps(60_000, 60_000);
    for (let index = 0; index < 5; index += 1) recorder.record({ ...refused, note: `later ${index}` });
    await clock.advanceInSteps(1, 1);
    expect(written).toHaveLength(12);
  });
});

describe("a failure to write", () => {
  test("never reaches who reports, and is made up for a minute later", async () => {
    const { recorder, clock, written } = start([
      new KubeError("transient", "busy"),
      new KubeError("transient", "busy"),
    ]);
    expect(() => recorder.record(refused)).not.toThrow();
    await clock.advanceInSteps(1, 1);
    expect(written).toHaveLength(0);
    await clock.advanceInSteps(120_000, 10_000);
    expect(written).toHaveLength(1);
  });

  test("is given up when the server will not have the event, or after five tries", async () => {
    const lasting = start([new KubeError("forbidden", "no right")]);
    lasting.recorder.record(refused);
    await lasting.clock.advanceInSteps(120_000, 10_000);
    expect([lasting.written.length, await lasting.counted("failed")]).toEqual([0, 1]);
    const busy = start(Array.from({ length: 5 }, () => new KubeError("transient", "busy")));
    busy.recorder.record(refused);
    await busy.clock.advanceInSteps(600_000, 10_000);
    expect([busy.written.length, await busy.counted("failed")]).toEqual([0, 1]);
    expect(busy.clock.waiting).toBe(0);
  });
});

describe("more events than are held", () => {
  const ready = (index: number): Occurrence => ({
    ...refused,
    regarding: { ...regarding, uid: `u${index}`, name: `n${index}` },
    type: "Normal",
    reason: "Ready",
  });
  const broken = (index: number): Occurrence => ({ ...ready(index), type: "Warning", reason: "Broken" });

  test("of 3,000 objects within six minutes are all written", async () => {
    const { recorder, clock, written, counted } = start();
    for (let index = 0; index < 3_000; index += 1) {
      recorder.record(ready(index));
      await clock.advanceInSteps(100, 100);
    }
    expect(written).toHaveLength(3_000);
    expect(await counted("dropped")).toBe(0);
  });

  test("at once cost normal ones, never a warning, and are counted and logged once", async () => {
    const lines: string[] = [];
    const { recorder, clock, written, counted } = start(
      [],
      pino({ level: "warn" }, { write: (line) => lines.push(line) }),
    );
    for (let index = 0; index < 1_500; index += 1) recorder.record(ready(index));
    for (let index = 0; index < 300; index += 1) recorder.record(broken(index));
    await clock.advanceInSteps(1_000, 10);
    const types = written.map(({ type }) => type);
    expect([types.filter((type) => type === "Warning").length, types.length]).toEqual([300, 1_000]);
    expect(types.slice(0, 300)).not.toContain("Normal");
    expect([await counted("dropped"), await counted("written")]).toEqual([800, 1_000]);
    expect(lines).toHaveLength(1);
  });

  test("that are all warnings keep the first ones", async () => {
    const { recorder, clock, written, counted } = start();
    for (let index = 0; index < 1_100; index += 1) recorder.record(broken(index));
    recorder.record(ready(0));
    await clock.advanceInSteps(1_000, 10);
    expect(written.map(({ metadata }) => metadata.name?.split(".")[0])).toEqual(
      Array.from({ length: 1_000 }, (_, index) => `n${index}`),
    );
    expect(await counted("dropped")).toBe(101);
  });

  test("of one object, all good news, leave it its warnings", async () => {
    const { recorder, clock, written } = start();
    for (let index = 0; index < 20; index += 1) recorder.record({ ...ready(0), note: `news ${index}` });
    recorder.record(broken(0));
    await clock.advanceInSteps(1, 1);
    expect(written.filter(({ type }) => type === "Warning")).toHaveLength(1);
  });
});

describe("stopping", () => {
  test("writes what is still to be written and leaves no timer", async () => {
    const { recorder, clock, written } = start();
    recorder.record(refused);
    recorder.record(refused);
    await recorder.stop(1_000);
    recorder.record({ ...refused, note: "too late" });
    await settle();
    expect(written.map(({ series }) => series?.count)).toEqual([2]);
    expect(clock.waiting).toBe(0);
  });
});

/** Everything that was reported of what a series accepted: event name → its last count. */
class Reported {
  readonly counts = new Map<string, number>();

  write(series: EventSeries, untilMs: number): void {
    for (const key of series.due(untilMs)) {
      const write = series.event(key);
      if (write === undefined) continue;
      this.counts.set(write.event.metadata.name ?? "", write.count);
      series.written(key, write.count, untilMs);
    }
  }

  total(): number {
    return [...this.counts.values()].reduce((total, count) => total + count, 0);
  }
}

test("every accepted occurrence is counted in exactly one event, whatever is reported when", () => {
  const occurrences = fc.record({ uid: fc.nat(20), note: fc.nat(3), afterMs: fc.nat(120_000) });
  fc.assert(
    fc.property(fc.array(occurrences, { maxLength: 400 }), (given) => {
      const series = new EventSeries(reporter);
      const reported = new Reported();
      let nowMs = 0;
      let accepted = 0;
      for (const { uid, note, afterMs } of given) {
        nowMs += afterMs;
        const occurrence = { ...refused, regarding: { ...regarding, uid: `${uid}`, name: `${uid}` }, note: `${note}` };
        accepted += series.add(occurrence, { nowMs, wallMs: nowMs }).result === "capped" ? 0 : 1;
        reported.write(series, nowMs);
      }
      reported.write(series, Number.MAX_SAFE_INTEGER);
      expect(reported.total()).toBe(accepted);
    }),
  );
});

test("no more than 1,000 series are held, whatever is reported", () => {
  const series = new EventSeries(reporter);
  for (let index = 0; index < 5_000; index += 1)
    series.add({ ...refused, regarding: { ...regarding, uid: `${index}` } }, { nowMs: 0, wallMs: 0 });
  expect(series.due(0)).toHaveLength(1_000);
});
