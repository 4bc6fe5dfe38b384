import { Writable } from "node:stream";
import { pino, type Logger } from "pino";
import { describe, expect, test } from "vitest";
import { limitRepeatedLines, repeatMs, type RepeatedLines } from "../../command-line/repeated-lines.ts";
import { Unanswered } from "../../runtime/nats/connection/requests.ts";
import { ManualClock } from "../support/manual-clock.ts";

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
  return { log: pino({ hooks: limit.hooks }, new Writable({ write })), lines, clock, limit };
}

const shown = ({ lines }: Case) => lines.map(({ msg, repeated = 0 }) => [msg, repeated]);

describe("a repeated cause", () => {
  test("is logged at once, then once a minute with a count, and at once again after a quiet minute", () => {
    const own = logOf();
    const { log, clock } = own;
    const fail = (count: number): void => {
      for (let number = 0; number < count; number += 1) {
        const err = new Unanswered(`hg.dlv.lane.${number}`, "timeout");
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

test.each<[string, (log: Logger) => void]>([
  ["other messages", (log) => (log.warn("a"), log.warn("b"))],
  ["other partners", (log) => (log.warn({ partner: "one" }, "a"), log.warn({ partner: "two" }, "a"))],
  ["other codes", (log) => (log.error({ code: "x", detail: "d" }, "a"), log.error({ code: "y", detail: "d" }, "a"))],
  [
    "errors of another reason",
    (log) => {
      log.error({ err: new Unanswered("s", "timeout") }, "a");
      log.error({ err: new Unanswered("s", "disconnected") }, "a");
    },
  ],
  ["lines of the audit log", (log) => (log.warn({ audit: "refused" }, "a"), log.warn({ audit: "refused" }, "a"))],
  ["lines below warnings", (log) => (log.info("a"), log.info("a"))],
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
