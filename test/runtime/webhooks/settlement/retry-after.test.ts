import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHttpDate, retryAfterMs, retryAfterMsMax } from "../../../../runtime/webhooks/settlement/retry-after.ts";

const nowMs = Date.UTC(2026, 10, 6, 8, 49, 37);

describe("an HTTP date", () => {
  const example = Date.UTC(1994, 10, 6, 8, 49, 37);

  test.each([
    ["the preferred form", "Sun, 06 Nov 1994 08:49:37 GMT", example],
    ["the RFC 850 form", "Sunday, 06-Nov-94 08:49:37 GMT", example],
    ["the asctime form", "Sun Nov  6 08:49:37 1994", example],
    ["a two-digit year less than 50 years ahead", "Sunday, 06-Nov-74 08:49:37 GMT", Date.UTC(2074, 10, 6, 8, 49, 37)],
    ["a two-digit year more than 50 years ahead", "Sunday, 06-Nov-77 08:49:37 GMT", Date.UTC(1977, 10, 6, 8, 49, 37)],
    ["a month that does not exist", "Sun, 06 Foo 1994 08:49:37 GMT", undefined],
    ["another zone", "Sun, 06 Nov 1994 08:49:37 CET", undefined],
    ["an ISO date", "1994-11-06T08:49:37Z", undefined],
    ["nothing", "", undefined],
  ])("is read in %s (RFC 9110 §5.6.7)", (_, text, expected) => {
    expect(parseHttpDate(text, nowMs)).toBe(expected);
  });

  test("of any second is read as it was written", () => {
    const second = fc.date({ min: new Date(0), max: new Date(Date.UTC(2200, 0)), noInvalidDate: true });
    fc.assert(
      fc.property(second, (date) => {
        expect(parseHttpDate(date.toUTCString(), nowMs)).toBe(Math.floor(date.getTime() / 1_000) * 1_000);
      }),
    );
  });
});

describe("Retry-After", () => {
  test.each([
    ["seconds", { "retry-after": "120" }, 120_000],
    ["seconds with spaces around them", { "retry-after": " 120 " }, 120_000],
    ["more seconds than a number holds", { "retry-after": "9".repeat(400) }, retryAfterMsMax],
    ["a negative number", { "retry-after": "-1" }, undefined],
    ["a fraction", { "retry-after": "1.5" }, undefined],
    ["two values", { "retry-after": "5, 10" }, undefined],
    ["an empty value", { "retry-after": "" }, undefined],
    ["nothing", {}, undefined],
    ["a date", { "retry-after": "Fri, 06 Nov 2026 08:50:37 GMT" }, 60_000],
    ["a date that has passed", { "retry-after": "Fri, 06 Nov 2026 08:00:00 GMT" }, 0],
    ["a date far away", { "retry-after": "Fri, 06 Nov 2099 08:00:00 GMT" }, retryAfterMsMax],
    [
      "a date by a clock that is an hour late",
      { "retry-after": "Fri, 06 Nov 2026 07:50:37 GMT", date: "Fri, 06 Nov 2026 07:49:37 GMT" },
      60_000,
    ],
    ["a date beside an unreadable clock", { "retry-after": "Fri, 06 Nov 2026 08:50:37 GMT", date: "now" }, 60_000],
  ] as readonly (readonly [string, Readonly<Record<string, string>>, number | undefined])[])(
    "reads %s (RFC 9110 §10.2.3)",
    (_, headers, expected) => {
      expect(retryAfterMs(headers, nowMs)).toBe(expected);
    },
  );

  test("is always between nothing and a day", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (asked, date) => {
        const waitMs = retryAfterMs({ "retry-after": asked, date }, nowMs);
        expect(waitMs ?? 0).toBeGreaterThanOrEqual(0);
        expect(waitMs ?? 0).toBeLessThanOrEqual(retryAfterMsMax);
      }),
    );
  });
});
