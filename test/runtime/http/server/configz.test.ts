import { pino } from "pino";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAdminServer } from "../../../../runtime/http/server/admin-server.ts";
import { pollsMax, type ConfigReport, type ConfigView } from "../../../../runtime/http/server/configz.ts";
import { waitFor } from "../../../support/wait.ts";
import { emptyReport } from "../config-reports.ts";

const token = "t".repeat(43);
const applied: ConfigReport = { ...emptyReport, version: "7", ready: true, hash: "ab" };

let current: ConfigReport;
let currentToken: string | undefined;
let waits: {
  readonly after: string;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly end: (report: ConfigReport) => void;
}[];
let app: ReturnType<typeof createAdminServer>;

const view: ConfigView = {
  report: () => current,
  token: () => currentToken,
  next: (after, waitMs, signal) => new Promise((end) => waits.push({ after, waitMs, signal, end })),
};

beforeEach(() => {
  current = applied;
  currentToken = token;
  waits = [];
  const registry = new Registry();
  app = createAdminServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    registry,
    health: () => [],
    config: view,
  });
});

afterEach(async () => app.close());

const ask = (
  url = "/configz",
  headers: Record<string, string> = { authorization: `Bearer ${token}` },
  remoteAddress = "10.0.0.9",
) => app.inject({ url, headers, remoteAddress });

describe("/configz", () => {
  test("shows the applied configuration to the bearer of the configuration's token", async () => {
    const answer = await ask();
    expect([answer.statusCode, answer.json()]).toEqual([200, applied]);
  });

  test.each<[string, Record<string, string>, string]>([
    ["no token", {}, "token_missing"],
    ["another scheme", { authorization: `Basic ${token}` }, "token_missing"],
    ["another token", { authorization: `Bearer ${"u".repeat(43)}` }, "token_invalid"],
    ["a prefix of the token", { authorization: `Bearer ${token.slice(1)}` }, "token_invalid"],
    ["the token and more", { authorization: `Bearer ${token}x` }, "token_invalid"],
  ])("is closed to %s, from this machine too", async (_name, headers, code) => {
    for (const address of ["10.0.0.9", "127.0.0.1"]) {
      const answer = await ask("/configz", headers, address);
      expect([answer.statusCode, answer.json().code]).toEqual([401, code]);
    }
  });

  test.each([
    ["127.0.0.1", 200],
    ["127.8.9.1", 200],
    ["::1", 200],
    ["::ffff:127.0.0.1", 200],
    ["10.0.0.9", 401],
    ["::ffff:10.0.0.9", 401],
    ["2001:db8::127", 401],
  ])("without a token in the configuration answers %s with %d", async (address, status) => {
    currentToken = undefined;
    expect((await ask("/configz", {}, address)).statusCode).toBe(status);
  });

  test("is not ready for others before a configuration is applied", async () => {
    [current, currentToken] = [emptyReport, undefined];
    const answer = await ask();
    expect([answer.statusCode, answer.json().code]).toEqual([503, "not_ready"]);
  });
});

describe("a long poll of /configz", () => {
  test("answers when the view does, and passes on the parameters", async () => {
    const asked = ask("/configz?wait=60&after=7");
    await waitFor(() => waits.length === 1, { timeoutMs: 20_000, what: "the poll" });
    expect(waits[0]).toMatchObject({ after: "7", waitMs: 60_000 });
    waits[0]?.end({ ...applied, version: "8" });
    expect((await asked).json()).toEqual({ ...applied, version: "8" });
  });

  test.each(["/configz?wait=30", "/configz?after=7", "/configz?wait=0&after=7"])("%s answers at once", async (url) => {
    expect((await ask(url)).json()).toEqual(applied);
    expect(waits).toEqual([]);
  });

  test.each([
    ["/configz?wait=61&after=7", "wait"],
    ["/configz?wait=-1&after=7", "wait"],
    ["/configz?wait=soon&after=7", "wait"],
    [`/configz?wait=1&after=${"7".repeat(129)}`, "after"],
  ])("%s is refused", async (url, field) => {
    const answer = await ask(url);
    expect([answer.statusCode, answer.json().errors]).toMatchObject([400, [{ field }]]);
  });

  test("is refused beyond a bound, and taken again when one has ended", async () => {
    const asked = Array.from({ length: pollsMax }, () => ask("/configz?wait=60&after=7"));
    await waitFor(() => waits.length === pollsMax, { timeoutMs: 20_000, what: "all polls" });
    const refused = await ask("/configz?wait=60&after=7");
    expect([refused.statusCode, refused.json().code, refused.headers["retry-after"]]).toEqual([
      429,
      "too_many_requests",
      "1",
    ]);
    // Whoever does not wait is answered all the same.
    expect((await ask()).statusCode).toBe(200);
    for (const { end } of waits.splice(0)) end(applied);
    await Promise.all(asked);
    const again = ask("/configz?wait=60&after=7");
    await waitFor(() => waits.length === 1, { timeoutMs: 20_000, what: "the poll after" });
    waits[0]?.end(applied);
    expect((await again).statusCode).toBe(200);
  });
});
