import * as fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { anonymous } from "../../../runtime/http/server/route.ts";
import { eventRoutes } from "../../../runtime/http/routes/events.ts";
import { webhookRoutes } from "../../../runtime/http/routes/webhooks.ts";
import { jsonParsers, missingParser, type ParsedValues } from "../../support/json-parsers.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { engineCase, partnerServer, type Cleanup, type EngineCase } from "./engine-cases.ts";
import { configOf, partnerConfig } from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;
const runs = 200;

/** An event as a producer in another language may write it: order, spaces, escapes and digits are its own. */
function oddEvent(id: string, values: string): string {
  return String.raw` {"z":{ "2":1,"1":2 } ,"data":{"values":[${values}],"e\u0078":"\/"},"ts":"2026-01-01T00:00:00.000Z",
  "version":"2026-01-01","type":"payout.processed","tenant":"acme","event_id":"${id}"}
`;
}

/** What each value is to a parser that loses nothing. */
const literals: readonly (readonly [literal: string, read: string])[] = [
  ["1180000000000000001", "integer 1180000000000000001"],
  ["9007199254740993", "integer 9007199254740993"],
  ["-18446744073709551617", "integer -18446744073709551617"],
  ["9".repeat(308), `integer ${"9".repeat(308)}`],
  ["1E2", "double 4059000000000000"],
  ["1.50", "double 3ff8000000000000"],
  ["1.7976931348623157e308", "double 7fefffffffffffff"],
  ["5e-324", "double 0000000000000001"],
  ["1e-400", "double 0000000000000000"],
  [String.raw`"\u00fc\ud83d\ude00\u0000\/"`, "text c3bcf09f9880002f"],
  ['"ü"', "text c3bc"],
];

/** Each is read by one parser as another value than by the next. */
const unportable: readonly (readonly [literal: string, code: string])[] = [
  ["1e400", "number_too_large"],
  ["-1E+309", "number_too_large"],
  ["9".repeat(5_000), "number_too_large"],
  [String.raw`"\ud800"`, "lone_surrogate"],
  [String.raw`"\udc00\ud800"`, "lone_surrogate"],
];

/** Both APIs over an engine, as a caller of every tenant. */
function api({ onTestFinished }: Cleanup, { engine }: EngineCase) {
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async () => ({ ...anonymous, tenants: ["*"], scopes: ["events:write", "webhooks:read"] }),
    routes: [...eventRoutes(engine), ...webhookRoutes(engine)],
  });
  onTestFinished(async () => app.close());
  const headers = { "content-type": "application/json" };
  return {
    post: async (payload: string) => app.inject({ method: "POST", url: "/events", payload, headers }),
    history: async (id: string) => app.inject({ method: "GET", url: `/webhooks/events/${id}` }),
  };
}

/** What every language reads; fails when one reads something else than another. */
async function readByAll({ skip }: TestContext, texts: readonly string[]): Promise<readonly ParsedValues[]> {
  const missing = await missingParser();
  if (missing !== undefined) skip(missing);
  const [first, ...others] = await Promise.all(
    Object.entries(jsonParsers).map(async ([name, parse]) => ({ name, read: await parse(texts) })),
  );
  for (const { name, read } of others) expect({ name, read }).toEqual({ name, read: first?.read });
  return first?.read ?? [];
}

describe.concurrent("the bytes of an event", () => {
  test("stand in its history and at the partner as they were sent, and three languages read the same", async (context) => {
    const partner = await partnerServer(context);
    const it = await engineCase(server.url, context, configOf(partnerConfig("one", partner.url)));
    const { post, history } = api(context, it);
    const text = oddEvent("e-1", literals.map(([literal]) => literal).join(" , "));
    expect((await post(text)).statusCode).toBe(202);
    const delivered = await waitFor(() => partner.of("e-1")[0], { timeoutMs, what: "the delivery" });
    const answer = await waitFor(
      async () => {
        const read = await history("e-1");
        return read.body.includes('"state":"delivered"') ? read : undefined;
      },
      { timeoutMs, what: "the history" },
    );
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(answer.body.slice(0, text.length + 10)).toBe(`{"event":${text},`);
    expect(delivered.body.toString()).toBe(text.replace(/\}\s*$/u, (end) => `,"attempt":1${end}`));
    await it.engine.replays.replay(Buffer.from('{"event_ids":["e-1"]}'), { client: "c", tenants: ["acme"] });
    const again = await waitFor(() => partner.of("e-1")[1], { timeoutMs, what: "the replay" });
    expect(again.body.toString()).toBe(delivered.body.toString().replace('"attempt":1', '"attempt":2'));
    const expected = literals.map(([, read]) => read);
    expect(await readByAll(context, [answer.body, `{"event":${delivered.body.toString()}}`])).toEqual([
      expected,
      expected,
    ]);
  });

  test("of a batch and of a NATS subject stand there too", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    const { post, history } = api(context, it);
    const [one, two] = [oddEvent("b-1", "1180000000000000001"), oddEvent("n-1", "1180000000000000001")];
    expect((await post(`[${one}]`)).statusCode).toBe(202);
    const answer = await it.nats.connection.request(`${it.prefix}.in.acme`, two, { timeout: timeoutMs });
    expect(answer.json()).toMatchObject({ status: 202 });
    expect((await history("b-1")).body).toContain(`{"event":${one.trim()},`);
    expect((await history("n-1")).body).toContain(`{"event":${two},`);
  });
});

describe("a value that parsers read differently", () => {
  test("is refused with a code and its field, and three languages do disagree", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    const { post } = api(context, it);
    for (const [literal, code] of unportable) {
      const answer = await post(oddEvent("e-1", `1,${literal}`));
      expect(answer.json()).toMatchObject({
        status: 422,
        code: "invalid_envelope",
        errors: [{ field: "data.values[1]", code }],
      });
    }
    const missing = await missingParser();
    if (missing !== undefined) context.skip(missing);
    const texts = unportable.map(([literal]) => `{"event":{"data":{"values":[${literal}]}}}`);
    const reads = await Promise.all(Object.values(jsonParsers).map(async (parse) => parse(texts)));
    texts.forEach((_, index) => expect(new Set(reads.map((read) => read[index]?.join())).size).toBeGreaterThan(1));
  });

  test("is none of those that are taken, whatever the number", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    const { post } = api(context, it);
    const digits = fc.stringMatching(/^(?:0|[1-9][0-9]{0,320})$/u);
    const number = fc
      .tuple(
        fc.constantFrom("", "-"),
        digits,
        fc.option(fc.stringMatching(/^[0-9]{1,20}$/u)),
        fc.option(fc.integer({ min: -400, max: 400 })),
      )
      .map(
        ([sign, whole, fraction, exponent]) =>
          `${sign}${whole}${fraction === null ? "" : `.${fraction}`}${exponent === null ? "" : `e${exponent}`}`,
      );
    const samples = fc.sample(number, runs);
    const answers = await Promise.all(
      samples.map((literal, index) => post(oddEvent(`r-${index}`, `"${literal.length}",${literal}`))),
    );
    const taken = samples.filter((_, index) => answers[index]?.statusCode === 202);
    expect(taken.length).toBeGreaterThan(runs / 4);
    const read = await readByAll(
      context,
      taken.map((literal) => `{"event":{"data":{"values":[${literal}]}}}`),
    );
    expect(read.flat()).not.toContain("refused");
  });
});
