import { hash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isInRatio, parseTraceparent, traceparentOf } from "../../../runtime/tracing/trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const fields = `${traceId}-${spanId}`;

describe("a traceparent", () => {
  test.each([
    ["of version 00", `00-${fields}-01`, true],
    ["without the sampled flag", `00-${fields}-00`, false],
    ["with other flags set", `00-${fields}-fe`, false],
    ["of a later version", `cc-${fields}-01`, true],
    ["of a later version with more fields", `cc-${fields}-01-what-follows`, true],
  ])("%s is read", (_, text, isSampled) => {
    expect(parseTraceparent(text)).toEqual({ traceId, spanId, isSampled });
  });

  test.each([
    ["that is absent", undefined],
    ["that is empty", ""],
    ["of version ff", `ff-${fields}-01`],
    ["of version 00 with more fields", `00-${fields}-01-what`],
    ["in upper case", `00-${fields.toUpperCase()}-01`],
    ["with a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["with a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["of a later version whose fields run on", `cc-${fields}-01x`],
    ["with several values", `00-${fields}-01,00-${fields}-01`],
  ])("%s is ignored", (_, text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  test("is read as it was written", () => {
    const hex = (length: number) => fc.stringMatching(new RegExp(`^[1-9a-f]{${length}}$`, "u"));
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), (trace, span, isSampled) => {
        const context = { traceId: trace, spanId: span, isSampled };
        expect(parseTraceparent(traceparentOf(context))).toEqual(context);
      }),
    );
  });
});

describe("a ratio", () => {
  const ids = Array.from({ length: 4_000 }, (_, index) => hash("sha256", String(index), "hex").slice(0, 32));

  test.each([
    [0, 0, 0],
    [0.1, 300, 500],
    [0.5, 1_850, 2_150],
    [1, 4_000, 4_000],
  ])("of %d samples from %d to %d of 4,000 traces", (ratio, least, most) => {
    const sampled = ids.filter((id) => isInRatio(id, ratio)).length;
    expect(sampled).toBeGreaterThanOrEqual(least);
    expect(sampled).toBeLessThanOrEqual(most);
  });

  test("samples every trace that a smaller one samples", () => {
    expect(ids.filter((id) => isInRatio(id, 0.2) && !isInRatio(id, 0.3))).toEqual([]);
  });
});
