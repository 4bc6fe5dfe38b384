import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runProgram, startProgram, type Program } from "../support/heliograph-process.ts";
import { resolveTool } from "../tools/resolve.ts";
import type { Version } from "../tools/version.ts";
import { tellMetricsStory } from "./metrics-story.ts";
import { startSurroundings, type Stops } from "../../demo/surroundings.ts";
import { createStage } from "./stage.ts";
import { tellWebhookStory } from "./webhook-story.ts";

/** How one run of the demo goes. */
interface DemoOptions {
  /** An empty folder for everything that is kept. */
  readonly folder: string;
  /** Port of both APIs; the next one is the admin port. */
  readonly port: number;
  /** Whether to end after the stories. */
  readonly once: boolean;
  /** Ends the demo. */
  readonly signal: AbortSignal;
  readonly write: (text: string) => void;
}

/** Older than the tests ask for: the demo's queries are exact on both boundaries of a range. */
const storeMinimum: Version = [2, 42, 0];
const examples = fileURLToPath(new URL("../../docs/examples", import.meta.url));
const tenant = "lumen";

/**
 * Starts stores, partners and `heliograph run docs/examples`, runs the stories, and leaves nothing running.
 *
 * @throws Error with a sentence when something does not start or is not as the demo claims
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const stops: Stops = [];
  const { folder, signal } = options;
  const say = (line: string): void => options.write(`${line}\n`);
  try {
    say("== Servers: NATS, two stores with a day of series, two partners, Heliograph");
    const natsServer = await resolveTool("nats-server");
    const prometheus = await resolveTool("prometheus", { minimum: storeMinimum });
    const surroundings = {
      prometheus,
      environment: process.env,
      folder,
      signal,
      say: (line: string) => say(`   ${line}`),
    };
    const partners = await startSurroundings(surroundings, stops);
    signal.throwIfAborted();
    const program = startHeliograph(options, natsServer, stops);
    const ready = await program.ready();
    say(`   Heliograph applies docs/examples: ${JSON.stringify(ready)}`);
    const token = await mintToken(folder);
    const stage = createStage(ready.url, options.write);
    await tellWebhookStory({ stage, token, reports: () => partners.flatMap(({ reports }) => reports) });
    signal.throwIfAborted();
    await tellMetricsStory(stage, token);
    if (!options.once) await stayUp(options, ready.url, ready.admin_url, token);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    say("\n== Stopping");
    for (const stop of stops.reverse()) await stop();
  }
}

function startHeliograph({ folder, port }: DemoOptions, natsServer: string, stops: Stops): Program {
  const ports = ["--port", String(port), "--admin-port", String(port + 1)];
  const program = startProgram(["run", examples, ...ports, "--data", folder, "--nats-server", natsServer]);
  stops.push(async () => {
    program.signal("SIGTERM");
    await program.ended();
  });
  return program;
}

async function mintToken(folder: string): Promise<string> {
  const scopes = ["events:write", "webhooks:read", "metrics:read"].flatMap((scope) => ["--scope", scope]);
  const args = ["dev-token", "--tenant", tenant, ...scopes, "--role", "metrics-finance", "--ttl", "12h"];
  const { code, stdout, stderr } = await runProgram([...args, "--data", folder]);
  if (code !== 0) throw new Error(`heliograph dev-token failed: ${stderr}`);
  return stdout.trim();
}

async function stayUp(
  { signal, write, folder }: DemoOptions,
  url: string,
  adminUrl: string,
  token: string,
): Promise<void> {
  const authorized = `-H "Authorization: Bearer $HELIOGRAPH_TOKEN"`;
  const api = "$HELIOGRAPH_URL";
  const envelope =
    `{"event_id":"evt-mine-1","type":"payout.created","version":"2026-01-01","ts":"'$(date -u ` +
    `+%FT%T.000Z)'","tenant":"${tenant}","data":{"payout_id":"mine","amount_minor":1250,"status":"created"}}`;
  const lines = [
    "\n== It stays up until Ctrl-C. Try:",
    `export HELIOGRAPH_URL=${url} HELIOGRAPH_TOKEN=${token}`,
    `curl -s ${authorized} -H 'Content-Type: application/json' -d '${envelope}' ${api}/events`,
    `curl -s ${authorized} ${api}/webhooks/events/evt-mine-1`,
    `curl -sgi ${authorized} "${api}/v1/metrics/query?metric=deposits_success_pct&group_by=psp&filter[region]=eu"`,
    `curl -sg ${authorized} "${api}/v1/metrics/instant?metric=queue_consumer_lag&group_by=component&` +
      `filter[region]=latam"`,
    `curl -s ${authorized} ${api}/v1/metrics/catalog`,
    `curl -s ${adminUrl}/metrics`,
    `npx heliograph open --data ${folder} --role metrics-finance`,
  ];
  write(`${lines.join("\n")}\n`);
  if (!signal.aborted) await once(signal, "abort");
}
