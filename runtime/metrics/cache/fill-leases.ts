import { hash } from "node:crypto";
import { ownerOf, type Pods } from "../../pods/pods.ts";
import { StoreError } from "../../stores/store-error.ts";
import {
  createLeaseTable,
  leaseMs,
  unnamedLeaseMs,
  type Failure,
  type LeaseResult,
  type LeaseTable,
} from "./lease-table.ts";

/**
 * The outcome of a request for a fill lease. `own`: this pod reads the missing points and then ends the lease. `done`:
 * another pod has read them. `unknown`: the owner pod did not reply in time, there is no other pod, or the pod with the
 * lease does not read.
 */
type Lease = {
  /** The other pod that last read points of the query, if its owner pod knows one. */
  readonly holder?: string | undefined;
} & ({ readonly state: "own"; readonly end: (outcome: LeaseOutcome) => void } | { readonly state: "done" | "unknown" });

interface LeaseOutcome {
  /** Set when this pod has read points of the query and holds them. */
  readonly isHolder: boolean;
  /** The failure of the read, for the waiting pods. @default none */
  readonly failure?: StoreError | undefined;
}

/**
 * Single-flight over all pods: the owner pod of a query grants the lease of each of its reads. It also remembers which
 * pod last read points of the query.
 */
interface FillLeases {
  /**
   * Waits while another pod has the lease and reads. Each pod that is gone costs a wait of less than a second.
   *
   * @param key of the query
   * @param name of the read
   * @throws StoreError the failure of that pod's read
   */
  take(key: string, name: string): Promise<Lease>;
}

const topic = "lease";
/** One wait. After each one, the owner pod checks that the lease's pod reads, and its reply shows that it runs. */
const waitMs = 200;
/** Only a pod that is stalled takes so long to reply; one that is gone shows at once. */
const replyTimeoutMs = 500;

/** Texts of messages to an owner pod, and `check` to a pod with a lease. */
type Texts = Readonly<Record<"take" | "wait" | "end" | "check" | "key" | "holder" | "pod", unknown>>;

interface Message extends Texts {
  readonly failure?: Failure;
  /** Of a wait. A pod of an earlier version waits once, for the whole lease. */
  readonly forMs?: unknown;
}

/** Creates the fill leases and serves the leases that this pod owns. */
export function createFillLeases(pods: Pods): FillLeases {
  const table = createLeaseTable();
  /** Leases under which this pod reads now. */
  const reading = new Set<string>();
  serveLeases(pods, table, reading);
  return {
    async take(fullKey, fullName) {
      const names = pods.live();
      if (names.every((name) => name === pods.own) || !pods.isConnected()) return { state: "unknown" };
      const [key, name] = [digestOf(fullKey), digestOf(fullName)];
      const owner = ownerOf(key, names) ?? pods.own;
      const { state, failure, holder } = await ask(pods, table, { owner, key, name });
      if (failure !== undefined) throw new StoreError(failure.kind, failure.message);
      const other = holder === pods.own ? undefined : holder;
      if (state !== "own") return { state: state === "done" ? state : "unknown", holder: other };
      reading.add(name);
      return {
        state,
        holder: other,
        end({ isHolder, failure: error }) {
          reading.delete(name);
          const ended = error === undefined ? {} : { failure: { kind: error.kind, message: error.message } };
          const held = isHolder ? { key, holder: pods.own } : {};
          if (owner !== pods.own) return pods.publish(owner, topic, { end: name, ...held, ...ended });
          if (isHolder) table.hold(key, pods.own);
          table.end(name, { state: "done", ...ended });
        },
      };
    },
  };
}

/** A digest, since messages stay short and the pods of a query are found by it. */
function digestOf(key: string): string {
  return hash("sha256", key, "base64url");
}

function serveLeases(pods: Pods, table: LeaseTable, reading: ReadonlySet<string>): void {
  pods.serve(topic, (message) => {
    const { take, wait, end, check, key, holder, pod, failure, forMs } = (message ?? {}) as Message;
    const known = typeof key === "string" ? key : "";
    if (typeof check === "string") return { isReading: reading.has(check) };
    if (typeof end === "string") {
      if (typeof holder === "string") table.hold(known, holder);
      table.end(end, { state: "done", failure });
    }
    if (typeof take === "string")
      return { isFree: table.take(take, typeof pod === "string" ? pod : undefined), holder: table.holder(known) };
    const ownMs = typeof forMs === "number" ? Math.min(forMs, leaseMs) : unnamedLeaseMs;
    return typeof wait === "string" ? waitOnce(pods, table, { key: known, name: wait, forMs: ownMs }) : {};
  });
}

/** One read of a query. */
interface Wanted {
  readonly key: string;
  readonly name: string;
}

/** Takes a lease, or waits for its end. The waits of an owner pod that is gone or stalled fail. */
async function ask(
  pods: Pods,
  table: LeaseTable,
  { owner, key, name }: Wanted & { readonly owner: string },
): Promise<LeaseResult> {
  const isOwn = owner === pods.own;
  const send = (body: object, timeoutMs: number): Promise<unknown> => pods.request(owner, topic, body, timeoutMs);
  const wait = async (): Promise<LeaseResult> =>
    isOwn
      ? waitOnce(pods, table, { key, name, forMs: waitMs })
      : ((await send({ wait: name, key, forMs: waitMs }, waitMs + replyTimeoutMs)) as LeaseResult);
  try {
    // Two requests: a missing owner pod shows at the first one, long before a read would end.
    const reply = isOwn
      ? { isFree: table.take(name, owner), holder: table.holder(key) }
      : ((await send({ take: name, key, pod: pods.own }, replyTimeoutMs)) as Readonly<Record<string, unknown>>);
    if (typeof reply?.["isFree"] !== "boolean") return { state: "unknown" };
    const { isFree, holder } = reply as { readonly isFree: boolean; readonly holder?: string };
    return isFree ? { state: "own", holder } : await untilEnded(wait);
  } catch {
    return { state: "unknown" };
  }
}

async function untilEnded(wait: () => Promise<LeaseResult>): Promise<LeaseResult> {
  const endMs = performance.now() + leaseMs;
  for (;;) {
    const result = await wait();
    if (result.state !== "waiting" || performance.now() >= endMs) return result;
  }
}

interface Wait extends Wanted {
  readonly forMs: number;
}

/** One wait in the owner pod. */
async function waitOnce(pods: Pods, table: LeaseTable, { key, name, forMs }: Wait): Promise<LeaseResult> {
  const result = await table.wait(name, forMs);
  if (result.state === "waiting") void endUnread(pods, table, name);
  return { ...result, holder: table.holder(key) };
}

/** Ends a lease whose pod is gone, is stalled or does not read: it had given up before the lease was granted. */
async function endUnread(pods: Pods, table: LeaseTable, name: string): Promise<void> {
  const reader = table.reader(name);
  if (reader === undefined || reader === pods.own) return;
  if (await isReading(pods, reader, name)) return;
  if (table.reader(name) === reader) table.end(name, { state: "unknown" });
}

async function isReading(pods: Pods, reader: string, name: string): Promise<boolean> {
  try {
    const reply = (await pods.request(reader, topic, { check: name }, replyTimeoutMs)) as { isReading?: unknown };
    return reply?.isReading === true;
  } catch {
    return false;
  }
}
