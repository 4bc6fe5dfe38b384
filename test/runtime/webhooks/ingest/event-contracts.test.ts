import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { EventVersionConfig } from "../../../../crds/config.ts";
import { declaredTypes, type DeclaredType } from "../../../../crds/declared-types.ts";
import type { EventSettings } from "../../../../runtime/config/settings/settings.ts";
import type { ApiError } from "../../../../runtime/errors/api-error.ts";
import { EventContracts } from "../../../../runtime/webhooks/ingest/event-contracts.ts";
import { createDeliveryMetrics } from "../../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { waitFor } from "../../../support/wait.ts";
import { memoryLog } from "../engine-fixture.ts";

const nowMs = Date.parse("2026-06-01T00:00:00Z");
const schema = {
  type: "object",
  required: ["id"],
  properties: {
    id: { type: "string" },
    lines: { items: { type: "object", properties: { net: { type: "integer" } } } },
  },
};

function configOf(...versions: readonly Partial<EventVersionConfig>[]): ReadonlyMap<string, DeclaredType> {
  const origin = { uid: "u-1", namespace: "shop", name: "payouts", generation: 1, specDigest: "" };
  const full = versions.map((version): EventVersionConfig => ({
    version: "2026-01-01",
    schema,
    examples: [],
    state: "Active",
    ...version,
  }));
  const types = [{ type: "payout.processed", description: "Sent.", versions: full, sensitive: [] }];
  return declaredTypes({ eventCatalogs: [{ ...origin, owner: "team", types }] });
}

function contracts(undeclared: EventSettings["undeclared"] = "Accept") {
  const registry = new Registry();
  const { log, lines } = memoryLog();
  const it = new EventContracts({ undeclared, metrics: createDeliveryMetrics(registry), log, now: () => nowMs });
  const outcomeOf = (step: "check" | "judge", data?: object, type = "payout.processed", version = "2026-01-01") => {
    try {
      it[step]({
        eventId: "e-1",
        type,
        version,
        ts: "2026-06-01T00:00:00.000Z",
        tenant: "acme",
        ...(data === undefined ? {} : { data }),
      });
      return "accepted";
    } catch (error) {
      const { code, message, errors } = error as ApiError;
      return [code, ...(errors.length > 0 ? errors.map(({ field, detail }) => `${field}: ${detail}`) : [message])].join(
        " | ",
      );
    }
  };
  const outcome = (...event: readonly [data?: object, type?: string, version?: string]) => outcomeOf("check", ...event);
  const judged = (...event: readonly [data?: object, type?: string]) => outcomeOf("judge", ...event);
  const sample = async (text: string) =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith(`heliograph_webhook_${text}`));
  return { it, lines, outcome, judged, sample };
}

describe("event contracts", () => {
  test("accept everything while no catalog declares a type", () => {
    const { it, outcome } = contracts();
    it.apply(new Map());
    expect(outcome({ id: 1 })).toBe("accepted");
  });

  test("reject data that breaks the schema, with field and pointer of the event, and count it", async () => {
    const { it, outcome, sample } = contracts();
    it.apply(configOf({}));
    expect(outcome({ id: "po_1", lines: [{ net: 5, undeclared: true }] })).toBe("accepted");
    expect(outcome({ id: "po_1", lines: [{ net: 5 }, { net: "5" }] })).toBe(
      "invalid_data | data.lines[1].net: /data/lines/1/net must be of type integer",
    );
    expect(outcome()).toBe("invalid_data | data.id: /data/id is required");
    expect(await sample("invalid_data_total{")).toEqual([
      'heliograph_webhook_invalid_data_total{type="payout.processed",version="2026-01-01"} 2',
    ]);
    expect(await sample("event_schema_bytes{")).toEqual([
      'heliograph_webhook_event_schema_bytes{type="payout.processed",version="2026-01-01"} 2000',
    ]);
  });

  test("read a schema once, before its first event, and compile its patterns then", async () => {
    let reads = 0;
    const counted = {
      type: "object",
      get properties() {
        reads += 1;
        return { id: { type: "string", maxLength: 9, pattern: "^(po_)+[a-z]+$" } };
      },
    };
    const { it, outcome, sample } = contracts();
    it.apply(configOf({ schema: counted, examples: [{ id: "po_a" }] }));
    await waitFor(async () => (await sample("event_schema_bytes{")).length === 1, {
      timeoutMs: 20_000,
      what: "the schema",
    });
    const readBefore = reads;
    expect(readBefore).toBeGreaterThan(0);
    expect(outcome({ id: "po_a" })).toBe("accepted");
    expect(outcome({ id: "x" })).toMatch(/^invalid_data/u);
    expect(reads).toBe(readBefore);
  });

  test("are not prepared beyond a bound of memory, nor for an older configuration", async () => {
    const wide = (count: number) => ({
      type: "object",
      properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`field_${at}`, { type: "string" }])),
    });
    const { it, outcome, sample } = contracts();
    it.apply(configOf({ version: "2025-01-01" }));
    const versions = Array.from({ length: 60 }, (_, at) => ({ version: `2026-01-${at + 10}`, schema: wide(500) }));
    it.apply(configOf(...versions));
    const prepared = async () => (await sample("event_schema_bytes{")).length;
    await waitFor(async () => (await prepared()) >= 50, { timeoutMs: 20_000, what: "the schemas" });
    expect((await sample('event_schema_bytes{type="payout.processed",version="2025')).length).toBe(0);
    expect(await prepared()).toBe(50);
    expect(outcome({ field_0: 1 }, "payout.processed", "2026-01-69")).toMatch(/^invalid_data/u);
    expect(await prepared()).toBe(51);
  });

  test("judge an event of a dry run as any other, and count nothing", async () => {
    const { it, judged, outcome, sample, lines } = contracts("Warn");
    it.apply(configOf({ state: "Deprecated" }));
    expect(judged({ id: 1 })).toBe("invalid_data | data.id: /data/id must be of type string");
    expect([judged({ id: "po_1" }), judged({}, "payout.lost")]).toEqual(["accepted", "accepted"]);
    for (const text of ["invalid_data_total{", "deprecated_events_total{"]) expect(await sample(text)).toEqual([]);
    expect(lines).toEqual([]);
    expect(outcome({ id: 1 })).not.toBe("accepted");
    expect(await sample("invalid_data_total{")).toHaveLength(1);
  });

  test("follow an edit, and forget what it removes", async () => {
    const { it, outcome, sample } = contracts();
    it.apply(configOf({}));
    expect(outcome({ id: 1 })).toMatch(/^invalid_data/u);
    it.apply(configOf({ schema: { type: "object", properties: { id: { type: "integer" } } } }));
    expect(outcome({ id: 1 })).toBe("accepted");
    it.apply(new Map());
    expect(outcome({ id: "x" })).toBe("accepted");
    expect(await sample("event_schema_bytes{")).toEqual([]);
  });

  test("accept a deprecated version until its sunset and count it, and then retire it", async () => {
    const { it, outcome, sample } = contracts();
    it.apply(
      configOf(
        { state: "Deprecated", deprecatedAtMs: 1, sunsetAtMs: nowMs + 1 },
        { version: "2025-01-01", state: "Deprecated", deprecatedAtMs: 1, sunsetAtMs: nowMs },
      ),
    );
    expect(outcome({ id: "po_1" })).toBe("accepted");
    expect(outcome({ id: "po_1" }, "payout.processed", "2025-01-01")).toBe(
      "version_retired | Version 2025-01-01 of payout.processed ended at 2026-06-01T00:00:00.000Z; send a later " +
        "version",
    );
    expect(await sample("deprecated_events_total{")).toEqual([
      'heliograph_webhook_deprecated_events_total{type="payout.processed",version="2026-01-01"} 1',
    ]);
  });

  test.each<readonly [EventSettings["undeclared"], string, string, number, number]>([
    ["Accept", "accepted", "accepted", 0, 0],
    ["Warn", "accepted", "accepted", 3, 2],
    [
      "Reject",
      "undeclared_type | No event catalog declares the type payout.created; declare it or correct the event",
      "undeclared_type | The catalog shop/payouts declares no version 2027-01-01 of payout.processed; declare it or " +
        "correct the event",
      3,
      0,
    ],
  ])("with undeclared: %s treat an unknown type or version so", async (mode, type, version, counted, logged) => {
    const { it, outcome, lines, sample } = contracts(mode);
    it.apply(configOf({}));
    expect(outcome({}, "payout.created")).toBe(type);
    expect(outcome({}, "payout.created")).toBe(type);
    expect(outcome({}, "payout.processed", "2027-01-01")).toBe(version);
    expect(await sample("undeclared_total")).toEqual([`heliograph_webhook_undeclared_total ${counted}`]);
    expect(lines).toHaveLength(logged);
  });

  test("keep the last schema that could be read, and say so once", async () => {
    const { it, outcome, lines, sample } = contracts();
    it.apply(configOf({}));
    expect(outcome({ id: 1 })).toMatch(/^invalid_data/u);
    it.apply(configOf({ schema: { type: "object", contains: {} } }));
    expect([outcome({ id: 1 }).slice(0, 12), outcome({ id: "po_1" })]).toEqual(["invalid_data", "accepted"]);
    expect(lines.map(({ message }) => message)).toEqual(["schema cannot be read, last good schema kept"]);
    expect(await sample("event_schema_faults_total")).toEqual(["heliograph_webhook_event_schema_faults_total 1"]);
  });
});
