import { createRequire } from "node:module";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { EventTypeDetail } from "../../../../api/events.ts";
import { asyncApiDocument } from "../../../../runtime/http/openapi/async-api-document.ts";
import { findNpmFolder } from "../../../tools/npm-folder.ts";

const installMsMax = 300_000;
const text = { type: "string" };

interface Diagnostic {
  readonly severity: number;
  readonly message: string;
  readonly path: readonly unknown[];
}

/** The part of `@asyncapi/parser` that the test uses. */
interface ParserModule {
  readonly Parser: new () => { validate(document: string): Promise<readonly Diagnostic[]> };
}

const types: readonly EventTypeDetail[] = [
  {
    type: "payout.processed",
    description: "A payout was sent to the bank.",
    state: "Active",
    owner: "team-payouts",
    contact: "#payouts",
    versions: [
      {
        version: "2026-01-31",
        state: "Active",
        schema: {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          required: ["id", "amount"],
          properties: {
            id: { ...text, minLength: 1, examples: [{ $ref: "http://127.0.0.1:1/x" }] },
            status: { ...text, enum: ["processed"], "x-open-enum": true },
            note: { type: ["string", "null"], default: null },
            amount: { $ref: "#/$defs/money", description: "What the bank pays" },
            fee: { $ref: "#/$defs/money" },
            $ref: text,
            ["__proto__"]: { type: "integer" },
            lines: { type: "array", uniqueItems: true, items: { type: "integer", exclusiveMinimum: 0 } },
            method: {
              type: "object",
              oneOf: [{ required: ["a"], properties: { a: { const: 1 } } }, { properties: {} }],
            },
          },
          $defs: {
            money: { type: "object", required: ["minor"], properties: { minor: { $ref: "#/$defs/minor" } } },
            minor: { type: "integer", minimum: 0 },
            unused: text,
          },
        },
        examples: [
          { id: "po_1", amount: { minor: 1 }, note: null },
          { id: "po_2", amount: { minor: 1 }, $ref: "http://127.0.0.1:1/example" },
        ],
      },
      {
        version: "2025-01-31",
        state: "Deprecated",
        deprecated_at: "2026-01-31T00:00:00.000Z",
        sunset_at: "2027-01-31T00:00:00.000Z",
        schema: { type: "object", properties: {} },
        examples: [{}],
      },
    ],
  },
  {
    type: "refund-made.3_x",
    description: "A refund.",
    state: "Active",
    owner: "team",
    versions: [{ version: "2026-01-31", state: "Active", schema: { type: "object" }, examples: [] }],
  },
];
const every = ["HmacV1", "HttpMessageSignatures", "StandardWebhooks"] as const;

const found = await findNpmFolder("asyncapi");

describe.skipIf("missing" in found)("an AsyncAPI document, for the official parser,", () => {
  let problems: (document: object) => Promise<readonly string[]>;
  beforeAll(() => {
    if ("missing" in found) return;
    const { Parser } = createRequire(join(found.folder, "package.json"))("@asyncapi/parser") as ParserModule;
    problems = async (document) => {
      const diagnostics = await new Parser().validate(JSON.stringify(document));
      // Advice, such as to have an id or servers, is above 1.
      return diagnostics
        .filter(({ severity }) => severity <= 1)
        .map(({ message, path }) => `${path.join("/")}: ${message}`);
    };
  });

  test.each([
    ["of types with versions, definitions and examples", types, every, ["Envelope"] as const],
    ["of one signature scheme and both formats", types, ["HmacV1"] as const, ["CloudEvents", "Envelope"] as const],
    ["without a type and without a partner", [], [], []],
  ])("%s is valid", { timeout: installMsMax }, async (_what, content, schemes, formats) => {
    expect(await problems(await asyncApiDocument({ types: content, schemes, formats }))).toEqual([]);
  });

  test("is not valid with an operation that the specification lacks", async () => {
    const document = await asyncApiDocument({ types, schemes: every, formats: [] });
    const broken = JSON.parse(JSON.stringify(document).replace('"action":"send"', '"action":"emit"')) as object;
    expect((await problems(broken)).join()).toContain("action");
  });
});

describe("an AsyncAPI document", () => {
  test("has a channel for each type, and what deliveries have", async () => {
    const document = await asyncApiDocument({ types, schemes: ["HmacV1"], formats: ["Envelope"] });
    expect(document).toMatchObject({
      asyncapi: "3.0.0",
      channels: {
        "payout.processed": {
          address: null,
          messages: { "2026-01-31": { $ref: "#/components/messages/payout.processed.2026-01-31" } },
        },
      },
      operations: {
        "send.payout.processed": { action: "send", security: [{ $ref: "#/components/securitySchemes/HmacV1" }] },
      },
      components: {
        messages: { "payout.processed.2025-01-31": { tags: [{ name: "deprecated" }] } },
        securitySchemes: { HmacV1: { type: "symmetricEncryption" } },
      },
    });
    const { components } = document as { components: { schemas: Record<string, { required: readonly string[] }> } };
    expect(Object.keys(components.schemas)).toEqual([
      "DeliveryHeaders",
      "payout.processed.2026-01-31.money",
      "payout.processed.2026-01-31.minor",
    ]);
    expect(components.schemas["DeliveryHeaders"]?.required).toContain("X-Signature");
  });

  test("has a message for each format that is sent", async () => {
    const messagesOf = async (...formats: readonly ("CloudEvents" | "Envelope")[]): Promise<readonly string[]> => {
      const document = await asyncApiDocument({ types: types.slice(1), schemes: [], formats });
      const { messages } = (document as { components: { messages: Record<string, { contentType: string }> } })
        .components;
      return Object.entries(messages).map(([name, { contentType }]) => `${name} ${contentType.split(";")[0]}`);
    };
    const [envelope, cloudEvent] = [
      "refund-made.3_x.2026-01-31 application/json",
      "refund-made.3_x.2026-01-31.cloudevents application/cloudevents+json",
    ];
    expect(await messagesOf()).toEqual([envelope]);
    expect(await messagesOf("CloudEvents")).toEqual([cloudEvent]);
    expect(await messagesOf("CloudEvents", "Envelope")).toEqual([cloudEvent, envelope]);
  });

  test("has no reference that leads out of it", async () => {
    const document = JSON.stringify(await asyncApiDocument({ types, schemes: every, formats: [] }));
    const references = [...document.matchAll(/"\$ref":"(?<target>[^"]*)"/gu)].map(({ groups }) => groups?.["target"]);
    expect(references.length).toBeGreaterThan(5);
    expect(references.filter((target) => target?.startsWith("#/") !== true)).toEqual([]);
  });
});
