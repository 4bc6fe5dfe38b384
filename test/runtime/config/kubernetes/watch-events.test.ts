import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { objectBytesMax, readFrames, type WatchEvent } from "../../../../runtime/config/kubernetes/watch-events.ts";

async function* chunked(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array, void> {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
  for (const [index, start] of places.slice(0, -1).entries()) yield bytes.subarray(start, places[index + 1]);
}

async function readAll(text: string, cuts: readonly number[] = []): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const found of readFrames("watch x", chunked(Buffer.from(text), cuts))) events.push(found);
  return events;
}

const event = (type: string, name: string) => ({ type, object: { metadata: { name } } });
const line = (value: unknown) => `${JSON.stringify(value)}\n`;

describe("the frames of a watch", () => {
  test("are the same wherever the network cut them", async () => {
    const names = fc.array(fc.string({ unit: "grapheme", maxLength: 12 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(names, fc.array(fc.nat(), { maxLength: 12 }), async (given, cuts) => {
        const events = given.map((name) => event("MODIFIED", name));
        expect(await readAll(events.map(line).join(""), cuts)).toEqual(events);
      }),
    );
  });

  test("skip empty lines and types that are not known yet", async () => {
    expect(await readAll(`\n${line(event("RENAMED", "a"))} \r\n${line(event("ADDED", "b"))}`)).toEqual([
      event("ADDED", "b"),
    ]);
  });

  test.each([
    ["half a frame", '{"type":"ADD', "unreachable"],
    ["a frame that is not JSON", "<html>\n", "unreachable"],
    ["a frame that is null", "null\n", "unreachable"],
    ["an event without an object", line({ type: "ADDED" }), "unreachable"],
    ["an endless frame", "x".repeat(objectBytesMax + 1), "unreachable"],
    [
      "an ERROR that the state is too old",
      line({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } }),
      "gone",
    ],
    ["an ERROR of the server", line({ type: "ERROR", object: { code: 500 } }), "busy"],
    ["an ERROR without a word", line({ type: "ERROR" }), "busy"],
  ])("fail for %s", async (_name, text, kind) => {
    await expect(readAll(text)).rejects.toMatchObject({ name: "KubernetesFault", kind });
  });
});
