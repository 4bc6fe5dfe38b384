import type { MaintenanceContext } from "./background-loops.ts";
import type { PendingEnder } from "./end-pending.ts";
import type { RegisteredPartner } from "../partners/partner-registry.ts";
import type { NamedPartner } from "../partners/partner.ts";
import type { PodMessages } from "../../nats/messages/pod-messages.ts";
import type { Log } from "../log.ts";

const detail = "the partner was removed before anything more could be sent to it";

/** Finds the partners that a pod still has configured, or has an attempt for. */
export interface RunningPartners {
  /** Of these keys, those of running partners. All keys count as running when a live pod does not answer. */
  among(keys: readonly string[]): Promise<ReadonlySet<string>>;
}

interface RunningPartnersDeps {
  /** Requests between pods; undefined: no other pod is requested. */
  readonly peers: Pick<PodMessages, "request" | "serve"> | undefined;
  /** Names of the live pods, including this one. */
  readonly livePods: () => readonly string[];
  readonly own: string;
  /** True when this pod has a partner configured, or an attempt to it under way. */
  readonly has: (key: string) => boolean;
  readonly log: Log;
}

const topic = "partners";
const requestMs = 1_000;
/** Keys of one request; keys beyond this number count as running. */
const keysMax = 256;

/**
 * Ends waiting deliveries of partners that no pod has configured any more, and then removes their consumers.
 *
 * @returns a function for one run; it resolves with true when nothing of the partner is left
 */
export function createRemovedEnder(
  { deliveries, mayExist }: MaintenanceContext,
  ender: PendingEnder,
): (entry: RegisteredPartner) => Promise<boolean> {
  return async (entry) => {
    const { token: key } = entry;
    const isRemoved = (): boolean => !mayExist(key);
    const progress = await ender.run({
      partner: named(entry),
      reason: "partner_removed",
      detail,
      acceptedUpToMs: Number.POSITIVE_INFINITY,
      isValid: isRemoved,
    });
    if (progress.kind !== "done" || !isRemoved() || !(await deliveries.removePartner(key))) return false;
    ender.forget(key);
    return true;
  };
}

/** The partner of an entry. An entry made from a stored message has the partner's key as its label. */
function named({ token, uid, label }: RegisteredPartner): NamedPartner {
  const at = label.indexOf("/");
  const [namespace, name] = at < 0 ? ["", label] : [label.slice(0, at), label.slice(at + 1)];
  return { key: token, label, config: { uid, namespace, name, specDigest: "" } };
}

/**
 * Serves requests of other pods from now on, and sends them. All partners of a pod that does not answer count as
 * running.
 */
export function createRunningPartners({ peers, livePods, own, has, log }: RunningPartnersDeps): RunningPartners {
  peers?.serve(topic, (request) => ({ running: keysIn(request, "tokens").filter(has) }));
  const silent = new Set<string>();
  const request = async (pod: string, keys: readonly string[]): Promise<readonly string[]> => {
    try {
      const response = await peers?.request(pod, topic, { tokens: keys }, requestMs);
      silent.delete(pod);
      return peers === undefined ? [] : keysIn(response, "running");
    } catch (error) {
      if (!silent.has(pod)) log.warn({ err: error, pod }, "pod did not answer, deliveries of removed partners stay");
      silent.add(pod);
      return keys;
    }
  };
  return {
    among: async (keys) => {
      const requested = keys.slice(0, keysMax);
      const others = livePods().filter((pod) => pod !== own);
      const running = await Promise.all(others.map((pod) => request(pod, requested)));
      return new Set([...keys.slice(keysMax), ...requested.filter(has), ...running.flat()]);
    },
  };
}

/** @throws Error when the message has another form, as from another version of the program */
function keysIn(message: unknown, name: string): readonly string[] {
  const keys =
    typeof message === "object" && message !== null ? (message as Readonly<Record<string, unknown>>)[name] : undefined;
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === "string")) {
    throw new Error(`message of another pod has no list of strings "${name}"`);
  }
  return keys;
}
