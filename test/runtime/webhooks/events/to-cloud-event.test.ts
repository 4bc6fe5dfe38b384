import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cloudEventSource } from "../../../../runtime/webhooks/ingest/cloud-event-source.ts";
import { toCloudEvent } from "../../../../runtime/webhooks/events/to-cloud-event.ts";
import { spliceAttempt } from "../../../../runtime/webhooks/signing/signed-request.ts";

const envelope = { event_id: "e-1", type: "a.b", version: "2026-01-01", ts: "2026-01-31T12:00:00.000Z" };
const written = '{"specversion":"1.0","id":"e-1","type":"a.b","version":"2026-01-01","time":"2026-01-31T12:00:00.000Z"';
const converted = (event: object | string): string =>
  Buffer.from(toCloudEvent(Buffer.from(typeof event === "string" ? event : JSON.stringify(event)), "hg")).toString();

describe("an event as a CloudEvent", () => {
  test("has its attributes, the bytes of its data, and its attempt last", () => {
    const text = `{ ${JSON.stringify({ ...envelope, producer: "/billing", tenant: "acme" }).slice(1, -1)} , "data" : { "n": 1.50 } }`;
    expect(converted(text)).toBe(
      `${written},"tenant":"acme","source":"/billing","datacontenttype":"application/json","data":{ "n": 1.50 }}`,
    );
    expect(Buffer.from(spliceAttempt(Buffer.from(converted(text)), 3)).toString()).toContain(
      '{ "n": 1.50 },"attempt":3}',
    );
  });

  test("without data and producer has no media type, and the installation as its source", () => {
    expect(converted(envelope)).toBe(`${written},"source":"hg"}`);
  });

  test.each([
    ["billing service", "billing%20service"],
    ["a:b", "a:b"],
    ["1:2", "1%3A2"],
    ["100%", "100%25"],
    ["%2F", "%2F"],
    ['"x"<y>', "%22x%22%3Cy%3E"],
    ["./1:2", "./1:2"],
  ])("of producer %s has the source %s", (producer, source) => {
    expect(converted({ ...envelope, producer })).toBe(`${written},"source":"${source}"}`);
  });

  test.each([
    ['"text"', '"text"'],
    ["true", "true"],
    ["-2147483648", "-2147483648"],
    ["2147483648", '"2147483648"'],
    ["1.50", '"1.50"'],
    ["9007199254740993", '"9007199254740993"'],
    ["null", undefined],
    ['""', undefined],
    ['"a\\u0000b"', undefined],
    ["{}", undefined],
    ["[1]", undefined],
  ])("with a further member %s has the extension %s", (json, extension) => {
    const text = `${JSON.stringify(envelope).slice(0, -1)},"more":${json}}`;
    expect(converted(text)).toBe(`${written}${extension === undefined ? "" : `,"more":${extension}`},"source":"hg"}`);
  });

  test("leaves out members whose names no attribute can have", () => {
    const more = { orderId: "1", a_b: "1", id: "x", source: "x", time: "x", specversion: "2", datacontenttype: "x" };
    expect(converted({ ...envelope, ...more })).toBe(`${written},"source":"hg"}`);
  });

  test("is the CloudEvent that was sent, with its time in UTC and extensions as strings", () => {
    const attribute = fc.oneof(
      fc.string({ minLength: 1, unit: "binary" }).filter((one) => !/\p{Cc}/u.test(one) && one.isWellFormed()),
      fc.boolean(),
      fc.integer(),
    );
    const events = fc.record({
      source: fc.constantFrom("/billing", "urn:acme", "https://acme.example/a?b#c", "%C3%A9"),
      data: fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/u), fc.jsonValue(), { maxKeys: 3 }),
      extensions: fc.dictionary(fc.stringMatching(/^x[a-z0-9]{1,5}$/u), attribute, { maxKeys: 3 }),
    });
    const property = fc.property(events, ({ source, data, extensions }) => {
      const { event_id: id, type, version, ts: time } = envelope;
      const sent = { ...extensions, specversion: "1.0", id, type, version, time, source, tenant: "acme", data };
      const headers = { "content-type": ["application/cloudevents+json"] };
      const read = cloudEventSource({ headers, body: Buffer.from(JSON.stringify(sent)), tenants: ["*"] });
      if (read === undefined || !("decode" in read)) throw new Error("no CloudEvent");
      const delivered = JSON.parse(Buffer.from(toCloudEvent(read.decode(), "hg")).toString()) as object;
      const texts = Object.fromEntries(Object.entries(extensions).map(([name, value]) => [name, String(value)]));
      expect(delivered).toEqual({ ...JSON.parse(JSON.stringify(sent)), ...texts, datacontenttype: "application/json" });
    });
    fc.assert(property, { numRuns: 100, seed: 310 });
  });
});
