import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { errorTable } from "../../../runtime/errors/table.ts";

const page = readFileSync(new URL("../../../docs/reference/errors.md", import.meta.url), "utf8");
const rowPattern = /^\| `(?<code>\w+)` \| (?<status>\d{3}) \| (?<title>[^|]+) \| (?<retryable>yes|no) \|$/gmu;

const documented = [...page.matchAll(rowPattern)].map(({ groups }) => ({
  code: groups?.["code"],
  status: Number(groups?.["status"]),
  title: groups?.["title"],
  retryable: groups?.["retryable"] === "yes",
}));

describe("the error table", () => {
  test("and its page hold the same rows in the same order", () => {
    expect(documented).toEqual(Object.entries(errorTable).map(([code, row]) => ({ code, ...row })));
  });

  test("holds only error statuses", () => {
    const odd = Object.values(errorTable).filter(({ status }) => status < 400 || status > 599);
    expect(odd).toEqual([]);
  });

  test("has no retryable error that needs a change by the caller", () => {
    const odd = Object.entries(errorTable).filter(
      // The first request with the same idempotency key is running: it ends by itself.
      ([code, { status, retryable }]) =>
        retryable && status < 500 && status !== 408 && status !== 429 && code !== "idempotency_key_in_use",
    );
    expect(odd).toEqual([]);
  });
});
