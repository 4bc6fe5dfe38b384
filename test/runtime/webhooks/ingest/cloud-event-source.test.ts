import { describe, expect, test } from "vitest";
import type { ApiError } from "../../../../runtime/errors/api-error.ts";
import { parseEnvelope } from "../../../../runtime/webhooks/events/envelope.ts";
import { personalDataRules } from "../../../../runtime/webhooks/events/personal-data.ts";
import { isJsonMediaType } from "../../../../runtime/webhooks/ingest/attribute-problems.ts";
import { cloudEventSource, type HeaderValues } from "../../../../runtime/webhooks/ingest/cloud-event-source.ts";
import type { EncodedEvent } from "../../../../runtime/webhooks/ingest/ingest.ts";
import { testSettings } from "../engine-fixture.ts";

const rules = personalDataRules(testSettings.personalData);
const event = {
  specversion: "1.0",
  id: "e-1",
  source: "/billing/eu",
  type: "payout.processed",
  time: "2026-01-31T12:00:00Z",
  version: "2026-01-01",
  tenant: "acme",
};
const stored =
  '{"event_id":"e-1","type":"payout.processed","version":"2026-01-01","ts":"2026-01-31T12:00:00.000Z",' +
  '"producer":"/billing/eu","tenant":"acme"';

/** The bytes of the envelope as text, or the errors as `field code`. */
function resultOf({ decode, describe: describeError }: EncodedEvent): string {
  try {
    return Buffer.from(parseEnvelope(decode(), rules).bytes).toString();
  } catch (error) {
    const { code, errors } = describeError(error as ApiError);
    return [code, ...errors.map((one) => `${one.field} ${one.code}`)].join(", ");
  }
}
function sourceOf(headers: HeaderValues, body: string, tenants: readonly string[]): EncodedEvent {
  const source = cloudEventSource({ headers, body: Buffer.from(body), tenants });
  if (source === undefined || "length" in source) throw new Error("no single CloudEvent");
  return source;
}
const structuredType = { "content-type": ["application/cloudevents+json"] };
const structured = (body: object | string, tenant = "*"): string =>
  resultOf(sourceOf(structuredType, typeof body === "string" ? body : JSON.stringify(body), [tenant]));
const attributeHeaders = Object.fromEntries(Object.entries(event).map(([name, value]) => [`ce-${name}`, [value]]));
const binary = (headers: Readonly<Record<string, readonly string[]>>, body = ""): string =>
  resultOf(sourceOf({ ...attributeHeaders, ...headers }, body, ["*"]));
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("a CloudEvent in structured mode", () => {
  test.each<readonly [string, object, string]>([
    ["has no data", {}, `${stored}}`],
    ["has null in place of data and of attributes", { data: null, subject: null }, `${stored}}`],
    [
      "has a subject and extensions, which are kept by name, as strings",
      { subject: "a b", seq: 7, dry: true, low: -1.0e1 },
      `${stored},"dry":"true","low":"-10","seq":"7","subject":"a b"}`,
    ],
    ["has JSON in base64", { data_base64: base64(' {"n":1.50}\n') }, `${stored},"data":{"n":1.50}}`],
    [
      "has a media type with a charset",
      { datacontenttype: "application/json; charset=UTF-8", data: {} },
      `${stored},"data":{}}`,
    ],
    [
      "has a media type with a suffix",
      { datacontenttype: "application/vnd.acme.v1+json", data: {} },
      `${stored},"data":{}}`,
    ],
  ])("%s", (_, more, bytes) => {
    expect(structured({ ...event, ...more })).toBe(bytes);
  });

  test("has the bytes of the same event in binary mode, whatever the types of its extensions", () => {
    const extensions = { "ce-seq": ["7"], "ce-dry": ["true"] };
    expect(structured({ ...event, seq: 7, dry: true })).toBe(binary(extensions));
  });

  test("keeps the bytes of its data, and all digits", () => {
    const data = '{ "n": 1.50, "big":9007199254740993 }';
    expect(structured(`${JSON.stringify(event).slice(0, -1)} , "data" : ${data}}`)).toBe(`${stored},"data":${data}}`);
  });

  test.each(["urn:acme:billing", "https://acme.example/a?b=c#d", "mailto:a@b.example", "billing", "./a:b", "%C3%A9"])(
    "keeps the source %s",
    (source) => {
      expect(structured({ ...event, source })).toContain(`"producer":"${source}"`);
    },
  );

  test.each([
    ["2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:00.123Z"],
    ["2026-01-31T12:00:00.1Z", "2026-01-31T12:00:00.100Z"],
    ["2026-01-31T01:00:00+02:00", "2026-01-30T23:00:00.000Z"],
    ["2026-01-31t12:00:00z", "2026-01-31T12:00:00.000Z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"],
    ["2017-01-01T01:59:60.25+02:00", "2016-12-31T23:59:59.250Z"],
    ["2016-12-31T23:58:60Z", undefined],
    ["2016-12-31T23:59:60+02:00", undefined],
    ["2016-12-31T23:59:61Z", undefined],
    ["2026-02-30T12:00:00Z", undefined],
    ["2026-01-31T12:00:00", undefined],
    ["2026-01-31 12:00:00Z", undefined],
    ["2026-01-31T24:01:00Z", undefined],
    ["2026-01-31T12:00:00+25:00", undefined],
    ["1769860800", undefined],
  ])("time %s is stored as %s", (time, ts) => {
    const expected =
      ts === undefined ? "invalid_envelope, time invalid" : stored.replace("2026-01-31T12:00:00.000Z", ts);
    expect(structured({ ...event, time })).toBe(ts === undefined ? expected : `${expected}}`);
  });

  test("takes its version from the extension, or from the date that ends its dataschema", () => {
    const { version: _, ...plain } = event;
    const dataschema = "https://schemas.example/payout/2026-01-01";
    expect(structured({ ...plain, dataschema })).toBe(`${stored},"dataschema":"${dataschema}"}`);
    expect(structured({ ...plain, dataschema: `${dataschema}.json` })).toContain('"version":"2026-01-01"');
    expect(structured(plain)).toBe("invalid_envelope, version required");
    expect(structured({ ...plain, dataschema: "https://schemas.example/v1" })).toBe(
      "invalid_envelope, version required",
    );
    expect(structured({ ...event, version: "2025-01-01", dataschema })).toContain('"version":"2025-01-01"');
    expect(structured({ ...plain, dataschema: "/2026-02-30" })).toBe("invalid_envelope, version invalid");
  });

  test("belongs to the only tenant of the token unless it names one", () => {
    const { tenant: _, ...plain } = event;
    expect(structured(plain, "acme")).toBe(`${stored}}`);
    expect(structured(event, "other")).toBe(`${stored}}`);
    expect(structured(plain)).not.toContain("tenant");
    expect(structured(plain, "-")).not.toContain("tenant");
    expect(resultOf(sourceOf(structuredType, JSON.stringify(plain), ["acme", "other"]))).not.toContain("tenant");
  });

  test.each<readonly [string, object | string, string]>([
    ["another version of CloudEvents", { ...event, specversion: "0.3" }, "specversion invalid"],
    ["a number as specversion", { ...event, specversion: 1 }, "specversion invalid"],
    ["an id with a space", { ...event, id: "a b" }, "id invalid"],
    ["an empty id", { ...event, id: "" }, "id invalid"],
    ["a reserved id", { ...event, id: 5 }, "id invalid"],
    ["a source with a space", { ...event, source: "a b" }, "source invalid"],
    ["a source with a colon and no scheme", { ...event, source: "1:2" }, "source invalid"],
    ["a source that is too long", { ...event, source: `/${"a".repeat(128)}` }, "source invalid"],
    ["a type without a dot", { ...event, type: "created" }, "type invalid"],
    ["a type with a slash", { ...event, type: "a.b/c" }, "type invalid"],
    ["a tenant with a space", { ...event, tenant: "a b" }, "tenant invalid"],
    ["a version that is no date", { ...event, version: "1" }, "version invalid"],
    ["data that is a list", { ...event, data: [1] }, "data invalid"],
    ["data that is a text", { ...event, data: "{}" }, "data invalid"],
    ["another media type", { ...event, datacontenttype: "text/plain", data: "x" }, "datacontenttype invalid"],
    ["another charset", { ...event, datacontenttype: "application/json;charset=utf-16" }, "datacontenttype invalid"],
    ["bytes that are not JSON", { ...event, data_base64: base64("\u0000\u0001") }, "data_base64 invalid"],
    ["base64 that is malformed", { ...event, data_base64: "e30=e30=" }, "data_base64 invalid"],
    ["data in both forms", { ...event, data: {}, data_base64: base64("{}") }, "data_base64 not_allowed"],
    ["an extension in upper case", { ...event, orderId: "1" }, "orderId invalid"],
    ["an extension with a name of objects", { ...event, constructor: {} }, "constructor invalid"],
    ["an extension that is an object", { ...event, ext: {} }, "ext invalid"],
    ["an extension that is a fraction", { ...event, ext: 1.5 }, "ext invalid"],
    ["an extension beyond 32 bits", { ...event, ext: 2_147_483_648 }, "ext invalid"],
    ["the number of an attempt", { ...event, attempt: 1 }, "attempt not_allowed"],
    ["an extension in place of the source", { ...event, producer: "x" }, "producer not_allowed"],
    ["an empty subject", { ...event, subject: "" }, "subject invalid"],
    ["an attribute twice", `{"id":"a",${JSON.stringify(event).slice(1)}`, "id repeated"],
    ["only data", { data: {} }, "specversion required, source required, time required, version required"],
  ])("with %s is rejected by its name", (_, body, errors) => {
    expect(structured(body)).toBe(`invalid_envelope, ${errors}`);
  });

  test.each<readonly [string, object | string, string]>([
    ["a list", "[]", "invalid_envelope"],
    ["text", "hello", "invalid_json"],
    ["a byte order mark", `\uFEFF${JSON.stringify(event)}`, "invalid_json"],
    ["an extension with a forbidden name", { ...event, email: "a@b.example" }, "personal_data, email forbidden_field"],
    ["a card number in its subject", { ...event, subject: "4111111111111111" }, "personal_data, subject card_number"],
    ["a card number in its id", { ...event, id: "4111111111111111" }, "personal_data, id card_number"],
    ["too many bytes", { ...event, data: { a: "x".repeat(262_144) } }, "body_too_large"],
  ])("that is %s is rejected", (_, body, errors) => {
    expect(structured(body)).toBe(errors);
  });

  test("names its attributes in the details of errors", () => {
    const { decode, describe: describeError } = sourceOf(structuredType, JSON.stringify({ ...event, id: "" }), ["*"]);
    expect(() => {
      try {
        parseEnvelope(decode(), rules);
      } catch (error) {
        throw new Error(describeError(error as ApiError).errors[0]?.detail, { cause: error });
      }
    }).toThrow(/^id must be 1 to 128/u);
  });
});

describe("a CloudEvent in binary mode", () => {
  test("is stored as the same bytes as in structured mode", () => {
    expect(binary({ "content-type": ["application/json; charset=utf-8"] }, ' {"n":1.50} ')).toBe(
      `${stored},"data":{"n":1.50}}`,
    );
    expect(binary({})).toBe(`${stored}}`);
  });

  test.each([
    ["Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"],
    ["a b", "a b"],
    ["100%", "100%"],
    ["50%25", "50%"],
    ["%2541", "%41"],
    ['"a \\"b\\" c"', 'a "b" c'],
    ['"a%22b"', 'a"b'],
    ["%22a%22", '"a"'],
  ])("the header %s is the text %s", (header, text) => {
    expect(binary({ "ce-subject": [header] })).toBe(`${stored},"subject":${JSON.stringify(text)}}`);
  });

  test.each<readonly [string, Readonly<Record<string, readonly string[]>>, string, string]>([
    ["bytes outside of ASCII", { "ce-subject": ["caf\u00c3\u00a9"] }, "", "invalid_envelope, subject invalid"],
    ["percent-encoding of no UTF-8", { "ce-subject": ["%C3%28"] }, "", "invalid_envelope, subject invalid"],
    ["a header twice", { "ce-id": ["a", "b"] }, "", "invalid_envelope, id repeated"],
    ["data in a header", { "ce-data": ["{}"] }, "", "invalid_envelope, data not_allowed"],
    [
      "its media type in a header",
      { "ce-datacontenttype": ["application/json"] },
      "",
      "invalid_envelope, datacontenttype not_allowed",
    ],
    ["a name with a hyphen", { "ce-a-b": ["1"] }, "", "invalid_envelope, a-b invalid"],
    ["a body that is text", {}, "hello", "invalid_json"],
    ["a body with further members", {}, '{},"tenant":"other"', "invalid_json"],
    ["a body that is a list", {}, "[1]", "invalid_envelope, data invalid"],
    ["another media type", { "content-type": ["text/plain"] }, "{}", "invalid_envelope, datacontenttype invalid"],
  ])("with %s is rejected", (_, headers, body, errors) => {
    expect(binary(headers, body)).toBe(errors);
  });
});

test.each([
  ["application/json", true],
  ['Application/CloudEvents+JSON; charset="UTF-8"', true],
  ["application/json;foo=bar; charset=utf8", true],
  ["text/json", true],
  ["application/json; charset=latin1", false],
  ["application/xml", false],
  ["application/jsonl", false],
  ["", false],
])("%s is a media type of JSON in UTF-8: %s", (mediaType, isJson) => {
  expect(isJsonMediaType(mediaType)).toBe(isJson);
});

describe("the format of a request", () => {
  const formOf = (headers: HeaderValues, body = "{}"): string => {
    try {
      const source = cloudEventSource({ headers, body: Buffer.from(body), tenants: ["*"] });
      if (source === undefined) return "default";
      return "length" in source ? `batch of ${source.length}` : "CloudEvent";
    } catch (error) {
      return (error as ApiError).code;
    }
  };

  test.each<readonly [string, HeaderValues, string, string]>([
    ["no headers", {}, "{}", "default"],
    ["JSON", { "content-type": ["application/json; charset=latin1"] }, "{}", "default"],
    ["an unrelated header of one extension", { "ce-foo": ["1"] }, "{}", "default"],
    ["attributes in headers", { "ce-id": ["1"] }, "{}", "CloudEvent"],
    ["both", { "ce-id": ["1"], "content-type": ["application/cloudevents+json"] }, "{}", "CloudEvent"],
    [
      "a media type in capitals",
      { "content-type": ["Application/CloudEvents+JSON;charset=UTF-8"] },
      "{}",
      "CloudEvent",
    ],
    ["a batch", { "content-type": ["application/cloudevents-batch+json; charset=utf-8"] }, "[{},{}]", "batch of 2"],
    ["an empty batch", { "content-type": ["application/cloudevents-batch+json"] }, "[]", "invalid_request"],
    ["a batch that is an object", { "content-type": ["application/cloudevents-batch+json"] }, "{}", "invalid_json"],
    [
      "another charset",
      { "content-type": ["application/cloudevents+json; charset=utf-16"] },
      "{}",
      "unsupported_media_type",
    ],
    ["another type of JSON", { "content-type": ["application/vnd.acme+json"] }, "{}", "unsupported_media_type"],
  ])("with %s is known", (_, headers, body, form) => {
    expect(formOf(headers, body)).toBe(form);
  });

  test("with a list in place of an event is rejected with the format of lists", () => {
    const { decode } = sourceOf(structuredType, JSON.stringify([event]), ["*"]);
    expect(decode).toThrow("A CloudEvent must be a JSON object; send a list as application/cloudevents-batch+json");
  });

  test("in another format is rejected with the formats of events and batches", () => {
    const body = Buffer.from("{}");
    expect(() => cloudEventSource({ headers: { "content-type": ["text/plain"] }, body, tenants: ["*"] })).toThrow(
      "Send events as application/json, application/cloudevents+json or application/cloudevents-batch+json.",
    );
  });
});
