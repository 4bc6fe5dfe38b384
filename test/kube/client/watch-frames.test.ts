import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameSplitter, parseFrame } from "../../../kube/client/watch.ts";

/** Cuts the bytes at the given places. */
function cut(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const ends = [...new Set([...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe("the frame splitter", () => {
  test("gives the same frames wherever the network cuts the bytes, inside a character too", () => {
    const frame = fc.string({ unit: "binary", minLength: 1 }).map((text) => JSON.stringify({ text }));
    fc.assert(
      fc.property(fc.array(frame), fc.array(fc.nat()), (frames, places) => {
        const splitter = new FrameSplitter("watch");
        const bytes = Buffer.from(frames.map((line) => `${line}\n`).join(""), "utf8");
        const got = cut(bytes, places).flatMap((chunk) => splitter.push(chunk));
        splitter.end();
        expect(got).toEqual(frames.map((line) => Buffer.from(line, "utf8").toString("utf8")));
      }),
    );
  });

  test("refuses to end inside a frame, wherever it was cut", () => {
    const frame = Buffer.from('{"type":"ADDED","object":{"metadata":{}}}');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: frame.length }), (length) => {
        const splitter = new FrameSplitter("watch");
        expect(splitter.push(frame.subarray(0, length))).toEqual([]);
        expect(() => splitter.end()).toThrow("ended inside a frame");
      }),
    );
  });

  test("refuses a frame without an end before it fills the memory", () => {
    const splitter = new FrameSplitter("watch");
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const push = (): void => {
      for (let chunks = 0; chunks < 32; chunks += 1) splitter.push(chunk);
    };
    expect(push).toThrow("exceeds");
  });
});

describe("a frame", () => {
  test("of an unknown type is no event", () => {
    expect(parseFrame("watch", '{"type":"FUTURE","object":{"metadata":{}}}')).toBeUndefined();
  });

  test.each([
    "[]",
    "null",
    "1",
    '"x"',
    "{",
    '{"type":"ADDED"}',
    '{"object":{"metadata":{}}}',
    '{"type":"ADDED","object":{}}',
  ])("%s is refused as transient", (frame) => {
    expect(() => parseFrame("watch", frame)).toThrow(
      expect.objectContaining({ kind: "transient", reason: "BadFrame" }),
    );
  });

  test("of type ERROR without a Status is transient", () => {
    expect(() => parseFrame("watch", '{"type":"ERROR"}')).toThrow(
      expect.objectContaining({ kind: "transient", status: 500 }),
    );
  });

  test("of type ERROR keeps how long to wait", () => {
    const frame = JSON.stringify({
      type: "ERROR",
      object: { code: 429, reason: "TooManyRequests", details: { retryAfterSeconds: 3 } },
    });
    expect(() => parseFrame("watch", frame)).toThrow(
      expect.objectContaining({ kind: "transient", retryAfterMs: 3_000 }),
    );
  });
});
