import { describe, expect, test } from "vitest";
import { attemptSpanIds, eventTraceOf, storedTrace } from "../../../../runtime/webhooks/telemetry/delivery-spans.ts";

const always = (): boolean => true;
const caller = "0af7651916cd43dd8448eb211c80319c";

describe("the trace of an event", () => {
  test("follows from its id, in every pod alike, with the spans that other pods name as parents", () => {
    const trace = eventTraceOf({ eventId: "e-1" }, always);
    expect(trace).toEqual(eventTraceOf({ eventId: "e-1" }, always));
    expect(trace.traceId).toMatch(/^[0-9a-f]{32}$/u);
    expect(trace.ingestSpanId).toMatch(/^[0-9a-f]{16}$/u);
    expect(trace.routeSpanId).toMatch(/^[0-9a-f]{16}$/u);
    expect(trace.routeSpanId).not.toBe(trace.ingestSpanId);
    expect(eventTraceOf({ eventId: "e-2" }, always).traceId).not.toBe(trace.traceId);
  });

  test.each([
    ["is the caller's, sampled as the caller says", "01", true],
    ["is the caller's, not sampled when the caller says so", "00", false],
  ])("%s", (_, flags, isSampled) => {
    const trace = storedTrace(`00-${caller}-b7ad6b7169203331-${flags}`);
    expect(eventTraceOf({ eventId: "e-1", trace }, () => !isSampled)).toMatchObject({ traceId: caller, isSampled });
  });

  test.each([
    ["without a caller's", undefined],
    ["of a caller whose header is not valid", storedTrace("nonsense")],
    ["of another form in the stored message", "nonsense"],
  ])("%s is sampled by the ratio", (_, trace) => {
    const own = eventTraceOf({ eventId: "e-1" }, always).traceId;
    expect(eventTraceOf({ eventId: "e-1", trace }, (id) => id === own)).toMatchObject({
      traceId: own,
      isSampled: true,
    });
    expect(eventTraceOf({ eventId: "e-1", trace }, () => false)).toMatchObject({ traceId: own, isSampled: false });
  });
});

test("an attempt and its request have a span each, and a repeated attempt keeps them", () => {
  const [first, again, second, other] = [
    attemptSpanIds("d", 1),
    attemptSpanIds("d", 1),
    attemptSpanIds("d", 2),
    attemptSpanIds("e", 1),
  ];
  expect(again).toEqual(first);
  expect(new Set([first, second, other].flatMap(({ attempt, request }) => [attempt, request])).size).toBe(6);
  expect(second.request).toMatch(/^[0-9a-f]{10}000002$/u);
});
