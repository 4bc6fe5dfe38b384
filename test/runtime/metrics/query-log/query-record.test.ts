import { describe, expect, test } from "vitest";
import { makeQuery } from "../../../../runtime/metrics/planning/query.ts";
import {
  clientShapesMax,
  createQueryRecord,
  recordedMs,
  shapeBytesMax,
  shapesMax,
} from "../../../../runtime/metrics/query-log/query-record.ts";
import { parameters } from "../oracle/universe.ts";
import { ask, configWith, contextOf, nowMs, type Pairs, reader } from "./recorded-queries.ts";

const lag: Pairs = [["metric", "lag"]];
const stepOf = (index: number): Pairs => [...lag, ["step", `${index + 60}s`]];
const clientOf = (index: number) => ({ ...reader, client: `client-${index}` });

describe("a record of queries", () => {
  test("counts queries of one shape together, whatever the values of their filters and their times", () => {
    const record = createQueryRecord(() => nowMs);
    for (const [service, from] of [
      ["secret-a", "2026-01-01T11:00:00Z"],
      ["secret-b", "2026-01-01T11:00:00.400Z"],
    ] as const)
      ask(record, { pairs: [...lag, ["filter[service]", service], ["from", from]] });
    const { seen, shapes } = record.read();
    expect(seen).toBe(2);
    expect(shapes).toMatchObject([
      { count: 2, shape: { filters: ["service"], windowSeconds: 3_600, tenant: "brand-a" } },
    ]);
    expect(JSON.stringify(shapes)).not.toContain("secret");
  });

  test("has a region and an environment only if a store, a quota or the token names it", () => {
    const record = createQueryRecord(() => nowMs);
    const place: Pairs = [
      ["filter[region]", "eu"],
      ["filter[environment]", "secret-place"],
    ];
    ask(record, { pairs: [...lag, ...place] });
    ask(record, { pairs: [...lag, ["filter[region]", "secret-region"]] });
    ask(record, { pairs: [...lag, ["filter[environment]", "prod"]], caller: { ...reader, environments: ["prod"] } });
    const { shapes } = record.read();
    expect(shapes.map(({ shape }) => [shape.region, shape.environment])).toEqual([
      ["eu", undefined],
      [undefined, undefined],
      [undefined, "prod"],
    ]);
    expect(JSON.stringify(shapes)).not.toContain("secret");
  });

  test("has the first of several regions", () => {
    const record = createQueryRecord(() => nowMs);
    const [params, context] = [parameters(lag), contextOf(configWith())];
    const query = makeQuery(params, reader, context, nowMs);
    const filters = new Map([["region", ["eu", "latam"]]] as const);
    record.add({ route: "query", params, caller: reader, nowMs, query: { ...query, filters } }, context);
    expect(record.read().shapes).toMatchObject([{ shape: { filters: ["region"], region: "eu" } }]);
  });

  test("leaves out queries that no configuration accepts", () => {
    const record = createQueryRecord(() => nowMs);
    for (const pair of [
      ["metric", "Jane Doe"],
      ["filter[player_id]", "7"],
      ["step", "soon"],
      ["filter[tenant]", "other"],
    ] as const)
      ask(record, { pairs: [...lag, pair] });
    expect(record.read()).toMatchObject({ seen: 0, shapes: [] });
  });

  test("holds a bounded number of shapes, of each client too, and still counts the queries of removed ones", () => {
    const record = createQueryRecord(() => nowMs);
    const perClient = clientShapesMax + 20;
    const clients = Math.ceil(shapesMax / clientShapesMax) + 1;
    for (let index = 0; index < perClient; index += 1) ask(record, { pairs: stepOf(index), caller: clientOf(0) });
    expect(record.read()).toMatchObject({ seen: perClient, shapes: { length: clientShapesMax } });
    for (let client = 1; client < clients; client += 1) {
      for (let index = 0; index < perClient; index += 1)
        ask(record, { pairs: stepOf(index), caller: clientOf(client) });
    }
    expect(record.read()).toMatchObject({ seen: clients * perClient, shapes: { length: shapesMax } });
  });

  test("does not hold a large shape, so that one message holds a whole record", () => {
    const record = createQueryRecord(() => nowMs);
    const roles = Array.from({ length: 200 }, (_, index) => `role-${index}`);
    ask(record, { pairs: lag, caller: { ...reader, roles } });
    expect(record.read()).toMatchObject({ seen: 1, shapes: [] });
    expect(shapesMax * shapeBytesMax).toBeLessThan(1_000_000);
  });

  test("removes a shape a day after its first query", () => {
    let time = nowMs;
    const record = createQueryRecord(() => time);
    ask(record, { pairs: lag });
    time += recordedMs - 1;
    ask(record, { pairs: lag });
    expect(record.read()).toMatchObject({ sinceMs: nowMs, seen: 2 });
    time += 1;
    expect(record.read()).toMatchObject({ sinceMs: nowMs, seen: 0, shapes: [] });
    ask(record, { pairs: lag });
    expect(record.read()).toMatchObject({ seen: 1, shapes: { length: 1 } });
  });
});
