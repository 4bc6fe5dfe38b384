import { expect, test } from "vitest";
import { createSingleFlight } from "../../../runtime/bounds/single-flight.ts";

test("work of one name is done once while it is under way, and anew afterwards", async () => {
  const once = createSingleFlight<number>();
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const work = async (): Promise<number> => {
    begun += 1;
    await gate.promise;
    return begun;
  };
  const both = [once("a", work), once("a", work)];
  const other = once("b", work);
  expect(begun).toBe(2);
  gate.resolve();
  expect([...(await Promise.all(both)), await other]).toEqual([2, 2, 2]);
  expect(await once("a", work)).toBe(3);
});

test("work that fails fails for all who wait, and is tried anew by the next", async () => {
  const once = createSingleFlight<number>();
  const failing = [1, 2].map(() => once("a", () => Promise.reject(new Error("no"))));
  expect(await Promise.allSettled(failing)).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  expect(await once("a", () => Promise.resolve(7))).toBe(7);
});
