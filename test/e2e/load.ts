import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../support/wait.ts";
import type { LoadReport } from "./image/load.ts";
import { toolsTag } from "./installation.ts";
import { metric } from "./manifests.ts";
import type { User } from "./user.ts";

/** How much of what for how long. */
interface LoadRequest {
  /** First part of event ids, and part of the job's name. */
  readonly prefix: string;
  readonly eventsPerSecond: number;
  readonly queriesPerSecond: number;
  /** Longest time. */
  readonly seconds: number;
  /** Number of event types, `payout.p0` and so on. @default every event is a `payout.processed` */
  readonly types?: number;
}

/** A load that runs. */
interface Load {
  /** Waits for its end. @throws Error when it takes far longer than asked */
  report(): Promise<LoadReport>;
  /** Ends it before its time, once it has gone on for five seconds after what the test did. @throws as `report` */
  stop(): Promise<LoadReport>;
}

const stopAfterMs = 5_000;

const graceMs = 60_000;
const settleMsMax = 90_000;
const doubledShareMax = 0.001;

/** Starts a load as a job in the user's namespace, which calls the service as any pod would. */
export async function startLoad(user: User, service: string, request: LoadRequest): Promise<Load> {
  const name = `load-${request.prefix}`;
  await user.kubectl(["apply", "--filename=-"], await jobOf(user, name, service, request));
  await user.kubectl(["wait", "--for=create", "pod", `--selector=job-name=${name}`, "--timeout=30s"]);
  await user.kubectl(["wait", "--for=condition=Ready", "pod", `--selector=job-name=${name}`, "--timeout=60s"]);
  const report = async (): Promise<LoadReport> => {
    const ended = async (): Promise<boolean> =>
      (await user.kubectl(["get", `job/${name}`, "--output=jsonpath={.status.succeeded}"])) === "1";
    await waitFor(ended, { timeoutMs: request.seconds * 1000 + graceMs, pollMs: 500, what: `the end of ${name}` });
    const logs = await user.kubectl(["logs", `job/${name}`]);
    return JSON.parse(logs.trim().split("\n").at(-1) ?? "") as LoadReport;
  };
  return {
    report,
    stop: async () => {
      await sleep(stopAfterMs);
      const end = ["exec", `job/${name}`, "--", "node", "--eval", 'process.kill(1, "SIGTERM")'];
      // It may have ended by itself.
      await user.kubectl(end).catch(() => undefined);
      return report();
    },
  };
}

async function jobOf(
  user: User,
  name: string,
  service: string,
  { prefix, eventsPerSecond, queriesPerSecond, seconds, types = 0 }: LoadRequest,
): Promise<object> {
  const token = (await user.kubectl(["create", "token", "caller", "--audience=heliograph"])).trim();
  const env = {
    API: `http://${service}`,
    TOKEN: token,
    PREFIX: prefix,
    METRIC: metric.id,
    EVENTS: eventsPerSecond,
    QUERIES: queriesPerSecond,
    SECONDS: seconds,
    TYPES: types,
  };
  const container = {
    name: "load",
    image: toolsTag,
    imagePullPolicy: "Never",
    command: ["node", "/e2e/load.ts"],
    env: Object.entries(env).map(([key, value]) => ({ name: key, value: String(value) })),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
  const securityContext = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
  const template = { spec: { restartPolicy: "Never", securityContext, containers: [container] } };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: { backoffLimit: 0, template } };
}

/** What became of a load's events at the partner. */
interface Fate {
  readonly arrived: number;
  /** Events that came more than once. */
  readonly doubled: number;
}

/** Waits until as many of a load's events as were accepted have arrived. @throws Error when some do not */
export async function fateOf(user: User, prefix: string, accepted: number): Promise<Fate> {
  const look = async (): Promise<Fate> => {
    const counts = Object.entries((await user.received()).events).filter(([id]) => id.startsWith(`${prefix}-`));
    return { arrived: counts.length, doubled: counts.filter(([, count]) => count > 1).length };
  };
  const all = async (): Promise<Fate | undefined> => {
    const fate = await look();
    if (fate.arrived < accepted) throw new Error(`${fate.arrived} of ${accepted} events arrived`);
    return fate;
  };
  return waitFor(all, { timeoutMs: settleMsMax, pollMs: 500, what: `the events of ${prefix}` });
}

/** The answer of `brokenPromises` when every promise was kept. */
export const allKept = { refused: 0, lost: 0, unanswered: 0, doubled: 0, failures: {} };

/**
 * How often which promise was broken. An event arrives twice when its attempt outlasts the time after which JetStream
 * takes its pod for dead, which a starved machine brings about: one in a thousand may.
 */
export async function brokenPromises(user: User, prefix: string, report: LoadReport): Promise<object> {
  const fate = await fateOf(user, prefix, report.accepted);
  console.log(`${prefix}: ${JSON.stringify({ ...report, ...fate })}`);
  const { events, queries, accepted, answered, failures } = report;
  const doubled = fate.doubled > events * doubledShareMax ? fate.doubled : 0;
  return {
    refused: events - accepted,
    lost: events - fate.arrived,
    unanswered: queries - answered,
    doubled,
    failures,
  };
}
