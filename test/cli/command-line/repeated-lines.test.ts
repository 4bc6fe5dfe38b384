import { Writable } from "node:stream";
import { pino, type Logger } from "pino";
import { describe, expect, test } from "vitest";
import { limitRepeatedLines, repeatMs, type RepeatedLines } from "../../../cli/command-line/repeated-lines.ts";
import { NoReplyError } from "../../../runtime/nats/connection/requests.ts";
import { ManualClock } from "../../support/manual-clock.ts";

interface Line extends Readonly<Record<string, unknown>> {
  readonly msg: string;
  readonly repeated?: number;
}

interface Case {
  readonly log: Logger;
  readonly lines: readonly Line[];
  readonly clock: ManualClock;
  readonly limit: RepeatedLines;
}

function logOf(): Case {
  const lines: Line[] = [];
  const clock = new ManualClock();
  const limit = limitRepeatedLines(clock);
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    lines.push(JSON.parse(chunk.toString()) as Line);
    done();
  };
  return { log: pino({ level: "debug", hooks: limit.hooks }, new Writable({ write })), lines, clock, limit };
}

const shown = ({ lines }: Case) => lines.map(({ msg, repeated = 0 }) => [msg, repeated]);

/** Two lines that differ by what each item or try has. */
const repeats: readonly (readonly [
  line: string,
  level: "info" | "error",
  text: string,
  first: object,
  second: object,
])[] = [
  [
    "a failed attempt",
    "info",
    "attempt",
    { eventId: "e-1", type: "a.b", partner: "p", outcome: "retry", code: "status_503", nextAttemptAt: "2026-01-01" },
    { eventId: "e-2", type: "a.c", partner: "p", outcome: "retry", code: "status_503", nextAttemptAt: "2026-01-02" },
  ],
  [
    "an attempt without a response",
    "info",
    "attempt",
    { partner: "p", outcome: "retry", code: "connect", detail: "connect ECONNREFUSED 10.0.0.1:443", durationMs: 3 },
    { partner: "p", outcome: "retry", code: "connect", detail: "connect ECONNREFUSED 10.0.0.2:443", durationMs: 4 },
  ],
  [
    "a failed reconcile",
    "error",
    "reconcile failed",
    { name: "p", result: "error", queuedMs: 1, retry: 2, afterMs: 100, error: "conflict at version 17" },
    { name: "p", result: "error", queuedMs: 3, retry: 3, afterMs: 200, error: "conflict at version 18" },
  ],
  [
    "a store that is slow",
    "error",
    "store read failed",
    { store: "s", outcome: "timeout", reason: "no response in 2841 ms" },
    { store: "s", outcome: "timeout", reason: "no response in 2907 ms" },
  ],
  [
    "a pause by a partner",
    "info",
    "deliveries paused",
    { partner: "p", reason: "rate_limited", restMs: 900 },
    { partner: "p", reason: "rate_limited", restMs: 950 },
  ],
];

describe("a repeated cause", () => {
  test.each(repeats)("is logged once per interval: %s", (_line, level, text, first, second) => {
    const own = logOf();
    own.log[level](first, text);
    own.log[level](second, text);
    expect(shown(own)).toEqual([[text, 0]]);
    own.clock.advance(repeatMs);
    expect(own.lines.at(-1)).toMatchObject({ ...second, repeated: 1 });
  });

  test("is logged at once, then once a minute with a count, and at once again after a quiet minute", () => {
    const own = logOf();
    const { log, clock } = own;
    const fail = (count: number): void => {
      for (let number = 0; number < count; number += 1) {
        const err = new NoReplyError(`hg.dlv.lane.${number}`, "timeout");
        log.error({ err, eventId: `e-${number}`, durationMs: number }, "attempt failed");
      }
    };
    fail(6_385);
    expect(shown(own)).toEqual([["attempt failed", 0]]);
    clock.advance(repeatMs);
    expect(shown(own).slice(1)).toEqual([["attempt failed", 6_384]]);
    fail(3);
    clock.advance(repeatMs);
    expect(shown(own).slice(2)).toEqual([["attempt failed", 3]]);
    clock.advance(repeatMs);
    fail(1);
    expect(shown(own).slice(3)).toEqual([["attempt failed", 0]]);
  });

  test("keeps the fields of its last line, and is written by a flush too", () => {
    const own = logOf();
    own.log.warn({ code: "x", eventId: "first" }, "refused");
    own.log.warn({ code: "x", eventId: "last" }, "refused");
    own.limit.flush();
    expect(own.lines.map(({ eventId, repeated }) => [eventId, repeated])).toEqual([
      ["first", undefined],
      ["last", 1],
    ]);
    expect(own.clock.waiting).toBe(0);
  });
});

const rejected = (correlationId: string) => ({ route: "/events", status: 429, detail: "wait for 17 s", correlationId });
const failed = (partner: string) => ({ partner, outcome: "dead", code: "status_500" });

test.each<[string, (log: Logger) => void]>([
  ["other messages", (log) => (log.warn("a"), log.warn("b"))],
  ["other partners", (log) => (log.warn({ partner: "one" }, "a"), log.warn({ partner: "two" }, "a"))],
  ["other codes", (log) => (log.error({ code: "x", detail: "d" }, "a"), log.error({ code: "y", detail: "d" }, "a"))],
  [
    "errors of another reason",
    (log) => {
      log.error({ err: new NoReplyError("s", "timeout") }, "a");
      log.error({ err: new NoReplyError("s", "disconnected") }, "a");
    },
  ],
  ["lines of the audit log", (log) => (log.warn({ audit: "refused" }, "a"), log.warn({ audit: "refused" }, "a"))],
  ["lines without a cause", (log) => (log.info("a"), log.info("a"))],
  ["delivered attempts", (log) => (log.info({ outcome: "delivered" }, "a"), log.info({ outcome: "delivered" }, "a"))],
  ["rejected requests", (log) => (log.info(rejected("a"), "request"), log.info(rejected("b"), "request"))],
  ["requests with a result", (log) => (log.info({ status: 202 }, "a"), log.info({ status: 202 }, "a"))],
  ["lines for debugging", (log) => (log.debug({ reason: "x" }, "a"), log.debug({ reason: "x" }, "a"))],
  ["failed attempts of other partners", (log) => (log.info(failed("one"), "a"), log.info(failed("two"), "a"))],
  ["child loggers of other messages", (log) => (log.child({ server: "x" }).warn("a"), log.warn("b"))],
])("%s are written at once", (_sentence, write) => {
  const own = logOf();
  write(own.log);
  expect(own.lines).toHaveLength(2);
});

test("a message with ever new fields is bounded, and every line is counted", () => {
  const own = logOf();
  for (let number = 0; number < 1_000; number += 1) own.log.warn({ unknown: number }, "odd");
  expect(own.lines.length).toBeLessThan(130);
  own.clock.advance(repeatMs);
  const counted = own.lines.reduce((sum, { repeated = 1 }) => sum + repeated, 0);
  expect(counted).toBe(1_000);
});
