import { setTimeout as sleep } from "node:timers/promises";
import { plainObject } from "../../crds/valid-objects.ts";
import { rounds, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { webhookPartner } from "./partner.ts";
import { deliver, partnersAt, withProgram, type Delivered, type Running, type WebhookStage } from "./stage.ts";

/** Programs over the same events: one without contracts, one that validates each event, one whose partners match it. */
type Side = "plain" | "declared" | "matched";

const partnerCount = 100;

/** The catalog of all types, whose schema describes every field of an event's data. */
function catalog(types: number): object {
  const schema = {
    type: "object",
    required: ["n", "place", "currency", "note"],
    properties: {
      n: { type: "integer", minimum: 0 },
      place: { type: "string", pattern: "^[0-9]+$", maxLength: 5 },
      currency: { type: "string", enum: ["EUR", "SEK"] },
      note: { type: "string", maxLength: 1_000 },
    },
  };
  const declared = Array.from({ length: types }, (_, place) => ({
    type: `bench.${place}.done`,
    description: "An event of the bench.",
    versions: [{ version: "2026-01-01", schema }],
  }));
  return plainObject("EventCatalog", { types: declared }, "bench");
}

/** Each partner subscribes to all types and selects its events by content. */
function matchingPartner(port: number, place: number): readonly object[] {
  const matchers = [{ pointer: "/data/place", op: "Equal", value: String(place) }];
  return webhookPartner(port, place, {
    "subscriptions[0].types": ["bench.*.done"],
    "subscriptions[0].matchers": matchers,
  });
}

const objectsOf: Readonly<Record<Side, (ports: readonly number[]) => readonly object[]>> = {
  plain: partnersAt,
  declared: (ports) => [...partnersAt(ports), catalog(ports.length)],
  matched: (ports) => ports.flatMap(matchingPartner),
};

/** What validation at ingest, and conditions on content, add to the CPU of a delivery at full rate. */
export function contracts(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const partners = bench.isSmall ? 5 : partnerCount;
  const [warm, count] = bench.isSmall ? [20, 40] : [30_000, 15_000];
  return withSides(stage, bench, partners, async (running) => {
    const sides = Object.entries(running) as readonly [Side, Running][];
    // Until then, all first attempts are stored.
    if (!bench.isSmall) await sleep(16_000);
    for (const [, one] of sides) await deliver(one, warm);
    const turns = await rounds(bench.rounds, async (round) => {
      const found: Partial<Record<Side, Delivered>> = {};
      for (const [side, one] of round % 2 === 0 ? sides : sides.toReversed()) found[side] = await deliver(one, count);
      return found;
    });
    const cpu = (side: Side): readonly number[] =>
      turns.map(({ [side]: turn }) => ((turn?.usage.cpuSeconds ?? Number.NaN) * 1_000) / count);
    const reference = { name: "without", values: cpu("plain") };
    const figure = (name: string, side: Side, atMost: number): Measured => ({
      name: `${partners} partners: CPU of the program ${name}`,
      unit: "s per 1,000",
      values: cpu(side),
      reference,
      bar: { atMost, of: "ratio" },
    });
    return [
      figure("with a schema for each event", "declared", 1.05),
      figure("with a matcher for each partner", "matched", 1.1),
    ];
  });
}

/** Runs some work on one program for each side. */
function withSides<T>(
  stage: WebhookStage,
  bench: Bench,
  partners: number,
  work: (running: Readonly<Record<Side, Running>>) => Promise<T>,
): Promise<T> {
  const delays = Array.from({ length: partners }, () => 0);
  const start = (side: Side, next: (running: Running) => Promise<T>): Promise<T> =>
    withProgram(stage, bench, delays, next, { objects: objectsOf[side] });
  return start("plain", (plain) =>
    start("declared", (declared) => start("matched", (matched) => work({ plain, declared, matched }))),
  );
}
