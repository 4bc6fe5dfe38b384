/**
 * Sends events and asks for a metric at fixed rates and prints a report as JSON. A query is asked again when its store
 * did not answer, which a machine that does much else may cause. An event whose connection ends without an answer is
 * sent again under its id, as producers do, who cannot know what became of it:
 * `API` is the base URL, `TOKEN` the bearer token, `PREFIX` the first part of event ids, `TYPES` the number of event
 * types. On a machine that cannot keep up it sends fewer, never more at once. After SIGTERM it sends no more.
 */
export interface LoadReport {
  readonly events: number;
  readonly queries: number;
  /** Events that were accepted. */
  readonly accepted: number;
  /** Requests with an event that ended without an answer and were repeated. */
  readonly resent: number;
  /** Queries that were answered in full. */
  readonly answered: number;
  /** Queries that were repeated since the store did not answer. */
  readonly askedAgain: number;
  /** What else became of requests: `event: 503 not_ready`. */
  readonly failures: Readonly<Record<string, number>>;
}

const { API: api = "", TOKEN: token = "", PREFIX: prefix = "", METRIC: metric = "" } = process.env;
const [eventsPerSecond, queriesPerSecond, seconds, types = 0] = ["EVENTS", "QUERIES", "SECONDS", "TYPES"].map((name) =>
  Number(process.env[name] ?? 0),
);
const authorization = `Bearer ${token}`;
const timeoutMs = 20_000;
const underWayMax = 32;
const sendsMax = 3;
const resendPauseMs = 250;
const asksMax = 3;
const askPauseMs = 1_000;
let isEnding = false;
process.once("SIGTERM", () => (isEnding = true));
const report = {
  events: 0,
  queries: 0,
  accepted: 0,
  resent: 0,
  answered: 0,
  askedAgain: 0,
  failures: {} as Record<string, number>,
};

async function send(index: number): Promise<void> {
  const event = {
    event_id: `${prefix}-${index}`,
    type: types === 0 ? "payout.processed" : `payout.p${index % types}`,
    version: "2026-01-01",
    ts: new Date().toISOString(),
    tenant: "lumen",
    data: { payout_id: `p-${index}`, status: "paid", amount_minor: 100, currency: "EUR" },
  };
  const headers = { authorization, "content-type": "application/json" };
  const once = (): Promise<string> =>
    outcome(
      fetch(`${api}/events`, {
        method: "POST",
        headers,
        body: JSON.stringify(event),
        signal: AbortSignal.timeout(timeoutMs),
      }),
    );
  let ended = await once();
  for (let sends = 1; sends < sendsMax && !/^\d/u.test(ended); sends++) {
    report.resent += 1;
    await new Promise((resolve) => setTimeout(resolve, resendPauseMs));
    ended = await once();
  }
  if (ended === "202") report.accepted += 1;
  else count(`event: ${ended}`);
}

async function ask(): Promise<void> {
  const url = `${api}/v1/metrics/instant?metric=${metric}&filter[tenant]=lumen&filter[region]=eu`;
  const once = (): Promise<string> =>
    outcome(fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(timeoutMs) }));
  let ended = await once();
  for (let asks = 1; asks < asksMax && ended.includes('"store_'); asks++) {
    report.askedAgain += 1;
    await new Promise((resolve) => setTimeout(resolve, askPauseMs));
    ended = await once();
  }
  if (ended === "200") report.answered += 1;
  else count(`query: ${ended}`);
}

async function outcome(request: Promise<Response>): Promise<string> {
  try {
    const answer = await request;
    const body = await answer.text();
    return answer.ok ? String(answer.status) : `${answer.status} ${/"code":"\w+"/u.exec(body)?.[0] ?? ""}`;
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: string } };
    return cause?.code ?? String(error);
  }
}

function count(what: string): void {
  report.failures[what] = (report.failures[what] ?? 0) + 1;
}

/**
 * Starts work at a rate until the time is over or SIGTERM comes, resolves when all of it has ended, and answers how
 * often it was started.
 */
async function atRate(perSecond: number, work: (index: number) => Promise<void>): Promise<number> {
  if (perSecond === 0) return 0;
  const endMs = performance.now() + (seconds ?? 0) * 1000;
  const underWay = new Set<Promise<void>>();
  let index = 0;
  const isOn = (dueMs: number): boolean => !isEnding && dueMs < endMs && performance.now() < endMs;
  for (let dueMs = performance.now(); isOn(dueMs); dueMs += 1000 / perSecond) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (underWay.size >= underWayMax) await Promise.race(underWay);
    const one = work(index).finally(() => underWay.delete(one));
    underWay.add(one);
    index += 1;
  }
  await Promise.all(underWay);
  return index;
}

[report.events, report.queries] = await Promise.all([
  atRate(eventsPerSecond ?? 0, send),
  atRate(queriesPerSecond ?? 0, ask),
]);
process.stdout.write(`${JSON.stringify(report)}\n`);
