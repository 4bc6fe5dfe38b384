import { batchEventsMax } from "../../../../api/events.ts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import type { Ingest } from "../../../../runtime/webhooks/ingest/ingest.ts";
import { ingestBatch, isBatch, splitBatch } from "../../../../runtime/webhooks/ingest/ingest-batch.ts";

const texts = (body: string): readonly string[] =>
  splitBatch(Buffer.from(body)).map((delivery) => Buffer.from(delivery).toString());

describe("a batch", () => {
  test.each([
    ["[1]", true],
    [' \n[{"a":1}]', true],
    ['{"a":[1]}', false],
    ["", false],
  ])("is told from one event: %j", (body, expected) => {
    expect(isBatch(Buffer.from(body))).toBe(expected);
  });

  test("keeps the bytes of each event as received", () => {
    expect(texts(' [ {"a" : "],[" , "b":{"c":[1,2]}} ,\n{"d":"\\"]"}\t] ')).toEqual([
      '{"a" : "],[" , "b":{"c":[1,2]}}',
      '{"d":"\\"]"}',
    ]);
  });

  test("of any JSON values is split where they end", () => {
    fc.assert(
      fc.property(
        fc.array(fc.json(), { minLength: 1, maxLength: 20 }),
        fc.constantFrom("", " ", "\n\t"),
        (values, space) => {
          const body = `[${values.map((value) => space + value + space).join(",")}]`;
          expect(texts(body)).toEqual(values.map((value) => value.trim()));
        },
      ),
    );
  });

  test.each(["[", "[1", '["', "[1]]", "[1],", '[{"a":1}', "[1] x", '["\\'])(
    "that does not end well is refused: %j",
    (body) => {
      expect(() => texts(body)).toThrow(new ApiError("invalid_json", "A batch must be a JSON array of events"));
    },
  );

  test.each([
    ["an empty one", "[ ]"],
    ["one too many", `[${Array.from({ length: batchEventsMax + 1 }, () => "1").join()}]`],
  ])("has bounds: %s is refused", (_, body) => {
    expect(() => texts(body)).toThrow(`A batch must have 1 to ${batchEventsMax} events`);
  });

  test("has a result for each event in order, and a limited number under way", async () => {
    let underWay = 0;
    let most = 0;
    const ingest: Ingest = async (bytes) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await Promise.resolve();
      underWay -= 1;
      const eventId = Buffer.from(bytes as Uint8Array).toString();
      if (Number(eventId) % 2 === 1) throw new ApiError("invalid_envelope", eventId);
      return { eventId, tenant: "acme", duplicate: false };
    };
    const items = Array.from({ length: 100 }, (_, index) => Buffer.from(String(index)));
    const results = await ingestBatch(ingest, items, { tenants: ["*"] });
    expect(results.map((result) => ("response" in result ? result.response.eventId : result.error.message))).toEqual(
      items.map(String),
    );
    expect(most).toBe(32);
  });
});
