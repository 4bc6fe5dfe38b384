import { rate, rounds, times, withUsage, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { portsOf } from "../harness/program.ts";
import { endMs, hourMs, serviceName } from "./long-store.ts";
import { panelPath, panelQuestion, requestText } from "./requests.ts";
import { askTexts, type MetricsStage } from "./stage.ts";

const repeatSeconds = 4;
const repeatConnections = 10;
const root = "/prometheus/api/v1";

/** One panel again and again: the native query, the same as PromQL, and as the form that clients send. */
export async function facade(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const question = panelQuestion(0, endMs).toString();
  const texts = {
    native: (token: string) => requestText(panelPath(0, endMs), token),
    url: (token: string) => requestText(`${root}/query_range?${question}`, token),
    form: (token: string) => formText(`${root}/query_range`, token, question),
  };
  const seconds = bench.isSmall ? 0.2 : repeatSeconds;
  // A token for each connection: one client alone would be held to its quota of 10,000 requests a second.
  const repeat = async (textOf: (token: string) => string): Promise<number> => {
    const clients = stage.tokens.slice(0, repeatConnections).map((token) => [textOf(token)]);
    return rate(await stage.load.run({ ports: portsOf(stage.subject), clients, seconds, perSecond: 0 }));
  };
  for (const text of Object.values(texts)) await repeat(text);
  const turns = await rounds(bench.rounds, async () => ({
    native: await repeat(texts.native),
    url: await repeat(texts.url),
    form: await repeat(texts.form),
  }));
  const reference = { name: "the native query", values: turns.map(({ native }) => native) };
  const bar = { of: "ratio", atLeast: 0.9 } as const;
  const name = `repeated, ${repeatConnections} connections, ${bench.pods} pods`;
  return [
    { name: `PromQL ${name}`, unit: "req/s", values: turns.map(({ url }) => url), reference, bar },
    { name: `PromQL as a form ${name}`, unit: "req/s", values: turns.map(({ form }) => form), reference },
  ];
}

const [ruleCount, ruleSeconds, evaluations] = [100, 15, 4];
/** Minutes before the end of the store at which the first round is; nobody else asks for these. */
const rulesEndMs = endMs - hourMs;

/** A hundred alert rules every 15 s, four times: what share of one core they take, beside native instants. */
export async function rules(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const token = stage.tokens[0] ?? "";
  const count = bench.isSmall ? 3 : ruleCount;
  const share = async (textOf: (rule: number, timeMs: number) => string, round: number): Promise<number> => {
    const startMs = rulesEndMs - round * evaluations * ruleSeconds * 1_000;
    const texts = Array.from({ length: evaluations }, (_, turn) =>
      Array.from({ length: count }, (_rule, rule) => textOf(rule, startMs - turn * ruleSeconds * 1_000)),
    );
    const [result, { cpuSeconds }] = await withUsage(stage.subject, () => askTexts(stage, [texts.flat()]));
    times(result);
    return (100 * cpuSeconds) / (evaluations * ruleSeconds);
  };
  const selected = (rule: number) => ({
    tenant: `brand-${rule % stage.size.gaugeTenants}`,
    service: serviceName(Math.floor(rule / stage.size.gaugeTenants)),
  });
  const expression = (rule: number, timeMs: number): string => {
    const { tenant, service } = selected(rule);
    const query = `avg(avg_over_time(lag{tenant="${tenant}",service="${service}"}[1m])) > 10`;
    return formText(
      `${root}/query?${new URLSearchParams({ query, time: String(timeMs / 1_000) }).toString()}`,
      token,
      "",
    );
  };
  const native = (rule: number, timeMs: number): string => {
    const { tenant, service } = selected(rule);
    const filters = `filter[tenant]=${tenant}&filter[service]=${service}`;
    return requestText(`/v1/metrics/instant?metric=lag&agg=avg&${filters}&ts=${new Date(timeMs).toISOString()}`, token);
  };
  const turns = await rounds(bench.rounds, async (round) => ({
    expression: await share(expression, 2 * round),
    // Of other minutes, so that neither finds what the other has read.
    native: await share(native, 2 * round + 1),
  }));
  return [
    {
      name: `${count} alert rules every ${ruleSeconds} s, ${bench.pods} pods`,
      unit: "% of a core",
      values: turns.map((turn) => turn.expression),
      reference: { name: "native instants", values: turns.map((turn) => turn.native) },
      bar: { atMost: 5 },
    },
  ];
}

function formText(path: string, token: string, form: string): string {
  return (
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
    `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${form.length}\r\n\r\n${form}`
  );
}
