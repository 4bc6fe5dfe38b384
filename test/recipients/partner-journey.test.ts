import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../support/wait.ts";
import { valid } from "./vector-rows.ts";
import { walk, type Journey } from "./partner-journey.ts";
import { python } from "./programs.ts";

const walkMsMax = 180_000;
const timeoutMs = 20_000;
let hasPython: boolean;
let journey: Journey;

beforeAll(async () => {
  hasPython = (await python()) !== undefined;
  journey = await walk((line) => hasPython || !/python|:8090/u.test(line));
}, walkMsMax);

afterAll(async () => journey?.end());

const output = (part: string) => journey.outputs.find((text) => text.includes(part));
const count = (text: string, part: string | RegExp) => text.split(part).length - 1;
const delivered = /: 200 in \d+ ms: the event is delivered\n/u;

describe("a partner who types docs/how-to/receive-webhooks.md", () => {
  test("signs the worked example and finds it valid", () => {
    expect(output("valid: event evt_1, key example.key\n")).toBeDefined();
  });

  test("has endpoints in Node and Go that book each payout once", () => {
    const node = journey.logOf("node endpoint.js");
    expect(["p-1", "p-2", "p-3"].map((id) => count(node, `booked ${id} of `))).toEqual([1, 1, 1]);
    expect(count(journey.logOf("./go-endpoint"), "booked p-1 of ")).toBe(1);
  });

  test("has an endpoint in Python that takes an event", (context) => {
    context.skip(!hasPython, "there is no Python 3.9 on PATH");
    expect(journey.logOf("endpoint.py")).toMatch(/"POST \/webhooks\/v1\/payout HTTP\/1\.1" 200/u);
  });

  test("sends events that are delivered, and one that is not", () => {
    expect(count(journey.outputs.join(""), delivered)).toBe(hasPython ? 10 : 8);
    expect(count(output("evt-twice") ?? "", delivered)).toBe(2);
    expect(output(": 422 in ")).toMatch(/would not retry.*\n\{"error":"invalid_state".*\nended with 1\n$/u);
  });

  test("gets 200 for test events and for a type that no endpoint knows, which books nothing", () => {
    const tested = journey.outputs.map((text) => count(text, delivered));
    expect(Math.max(...tested)).toBe(hasPython ? 4 : 3);
    expect(count(journey.logOf("node endpoint.js"), "booked undefined")).toBe(0);
  });

  test("sees deliveries pass through listen", async () => {
    const line = /payout\.processed attempt 1 valid \(acme\.key\) 200 in/u;
    // It prints after its response.
    const found = () => line.test(journey.logOf("listen"));
    expect(await waitFor(found, { timeoutMs, what: "the line of the delivery" })).toBe(true);
  });

  test("learns why a delivery fails", () => {
    const text = output("invalid: signature_mismatch");
    expect(text).toContain("hint: it is valid without the trailing newline of the key");
    expect(text).toContain(valid["X-Timestamp"]);
    expect(text).toMatch(/ended with 1\n$/u);
  });
});
