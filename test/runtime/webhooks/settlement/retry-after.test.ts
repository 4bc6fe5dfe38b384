import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHttpDate, retryAfterMs, retryAfterMsMax } from "../../../../runtime/webhooks/settlement/settle.ts";

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
    ["30 February", "Sun, 30 Feb 2026 08:49:37 GMT", undefined],
    ["29 February of a common year", "Sun, 29 Feb 2026 08:49:37 GMT", undefined],
    ["29 February of a leap year", "Tue, 29 Feb 2028 08:49:37 GMT", Date.UTC(2028, 1, 29, 8, 49, 37)],
    ["31 April in the RFC 850 form", "Friday, 31-Apr-26 08:49:37 GMT", undefined],
    ["30 February in the asctime form", "Sun Feb 30 08:49:37 2026", undefined],
    ["day 0", "Sun, 00 Nov 1994 08:49:37 GMT", undefined],
    ["day 32", "Sun, 32 Dec 1994 08:49:37 GMT", undefined],
    ["24:00:00", "Sun, 06 Nov 1994 24:00:00 GMT", undefined],
    ["minute 60", "Sun, 06 Nov 1994 08:60:37 GMT", undefined],
    ["a leap second", "Sat, 31 Dec 2016 23:59:60 GMT", Date.UTC(2016, 11, 31, 23, 59, 59)],
    ["second 61", "Sat, 31 Dec 2016 23:59:61 GMT", undefined],
    ["the year 0000, which is not 1900", "Sat, 01 Jan 0000 00:00:00 GMT", Date.parse("0000-01-01T00:00:00Z")],
    ["the name of another day", "Sat, 06 Nov 1994 08:49:37 GMT", example],
    ["a name of no day", "Foo, 06 Nov 1994 08:49:37 GMT", undefined],
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
    ["a fraction", { "retry-after": "299.9971" }, 299_998],
    ["a fraction of a second", { "retry-after": "0.65" }, 650],
    ["a fraction without a number before it", { "retry-after": ".5" }, undefined],
    ["an exponent", { "retry-after": "1e3" }, undefined],
    ["the longer of two values", { "retry-after": "10, 5.5" }, 10_000],
    ["the longer of seconds and a date", { "retry-after": "5, Fri, 06 Nov 2026 08:50:37 GMT" }, 60_000],
    ["the longer of a date and seconds", { "retry-after": "Fri, 06 Nov 2026 08:50:37 GMT, 90" }, 90_000],
    ["two dates", { "retry-after": "Fri, 06 Nov 2026 08:50:37 GMT, Fri, 06 Nov 2026 08:50:38 GMT" }, 61_000],
    ["two forms of dates", { "retry-after": "Friday, 06-Nov-26 08:50:37 GMT, Fri Nov  6 08:50:38 2026" }, 61_000],
    ["seconds and another text", { "retry-after": "5, soon" }, undefined],
    ["seconds and an impossible date", { "retry-after": "5, Mon, 30 Feb 2027 08:50:37 GMT" }, undefined],
    ["seconds with a sign", { "retry-after": "+5" }, undefined],
    ["an impossible date", { "retry-after": "Mon, 30 Feb 2027 08:50:37 GMT" }, undefined],
    [
      "a date beside an impossible one of the response",
      { "retry-after": "Fri, 06 Nov 2026 08:50:37 GMT", date: "Fri, 30 Feb 2026 08:49:37 GMT" },
      60_000,
    ],
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
