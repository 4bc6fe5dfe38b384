import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { Shutdown } from "../../../runtime/program/shutdown.ts";

const silent = pino({ level: "silent" });

describe("closing", () => {
  test("goes in reverse order, waits for each part and passes the rest of the drain", async () => {
    const shutdown = new Shutdown(silent);
    const order: string[] = [];
    let left = Number.NaN;
    shutdown.add("first", (remainingMs) => {
      order.push("first");
      left = remainingMs;
    });
    shutdown.add("second", async () => {
      await Promise.resolve();
      order.push("second");
    });
    await shutdown.run(1000);
    expect(order).toEqual(["second", "first"]);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(1000);
  });

  test("goes on past a part that fails, and logs it", async () => {
    const lines: Record<string, unknown>[] = [];
    const shutdown = new Shutdown(
      pino({}, { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }),
    );
    let isClosed = false;
    shutdown.add("first", () => {
      isClosed = true;
    });
    shutdown.add("second", () => {
      throw new Error("stuck");
    });
    await shutdown.run(1000);
    expect(isClosed).toBe(true);
    expect(lines).toMatchObject([{ level: 50, part: "second", err: { message: "stuck" } }]);
  });

  test("runs once", async () => {
    const shutdown = new Shutdown(silent);
    let count = 0;
    shutdown.add("part", () => {
      count += 1;
    });
    await Promise.all([shutdown.run(1000), shutdown.run(1000)]);
    expect(count).toBe(1);
  });
});
