import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { Closing } from "../../../runtime/program/shutdown.ts";

const silent = pino({ level: "silent" });

describe("closing", () => {
  test("goes in reverse order, waits for each part and tells it what is left of the drain", async () => {
    const closing = new Closing(silent);
    const order: string[] = [];
    let left = Number.NaN;
    closing.add("first", (remainingMs) => {
      order.push("first");
      left = remainingMs;
    });
    closing.add("second", async () => {
      await Promise.resolve();
      order.push("second");
    });
    await closing.run(1000);
    expect(order).toEqual(["second", "first"]);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(1000);
  });

  test("goes on past a part that fails, and logs it", async () => {
    const lines: Record<string, unknown>[] = [];
    const closing = new Closing(
      pino({}, { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }),
    );
    let isClosed = false;
    closing.add("first", () => {
      isClosed = true;
    });
    closing.add("second", () => {
      throw new Error("stuck");
    });
    await closing.run(1000);
    expect(isClosed).toBe(true);
    expect(lines).toMatchObject([{ level: 50, part: "second", err: { message: "stuck" } }]);
  });

  test("runs once", async () => {
    const closing = new Closing(silent);
    let count = 0;
    closing.add("part", () => {
      count += 1;
    });
    await Promise.all([closing.run(1000), closing.run(1000)]);
    expect(count).toBe(1);
  });
});
