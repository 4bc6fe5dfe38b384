import type { PodMessages } from "../../nats/messages/pod-messages.ts";
import type { Log } from "../log.ts";

/** Which partners a pod still has in its configuration, or sends something to. */
export interface RunningPartners {
  /** Of these tokens, those that a live pod has configured, and those of which a live pod does not say. */
  among(tokens: readonly string[]): Promise<ReadonlySet<string>>;
}

interface RunningPartnersDeps {
  /** Requests between pods; undefined: no other pod is asked. */
  readonly peers: Pick<PodMessages, "ask" | "serve"> | undefined;
  /** Names of the live pods, this one among them. */
  readonly livePods: () => readonly string[];
  readonly own: string;
  /** Whether this pod has a partner configured, or an attempt to it under way. */
  readonly has: (token: string) => boolean;
  readonly log: Log;
}

const topic = "partners";
const askMs = 1_000;
/** Tokens of one question; those beyond count as running. */
const tokensMax = 256;

/**
 * Answers other pods from now on, and asks them. A pod of a version that does not answer counts as having every
 * partner.
 */
export function createRunningPartners({ peers, livePods, own, has, log }: RunningPartnersDeps): RunningPartners {
  peers?.serve(topic, (question) => ({ running: tokensOf(question, "tokens").filter(has) }));
  const silent = new Set<string>();
  const ask = async (pod: string, tokens: readonly string[]): Promise<readonly string[]> => {
    try {
      const answer = await peers?.ask(pod, topic, { tokens }, askMs);
      silent.delete(pod);
      return peers === undefined ? [] : tokensOf(answer, "running");
    } catch (error) {
      if (!silent.has(pod)) log.warn({ err: error, pod }, "pod not heard: deliveries of removed partners wait for it");
      silent.add(pod);
      return tokens;
    }
  };
  return {
    among: async (tokens) => {
      const asked = tokens.slice(0, tokensMax);
      const others = livePods().filter((pod) => pod !== own);
      const answers = await Promise.all(others.map((pod) => ask(pod, asked)));
      return new Set([...tokens.slice(tokensMax), ...asked.filter(has), ...answers.flat()]);
    },
  };
}

/** @throws Error when another version of the program speaks otherwise */
function tokensOf(message: unknown, name: string): readonly string[] {
  const tokens =
    typeof message === "object" && message !== null ? (message as Readonly<Record<string, unknown>>)[name] : undefined;
  if (!Array.isArray(tokens) || !tokens.every((token) => typeof token === "string")) {
    throw new Error(`a message about partners has no list of ${name}`);
  }
  return tokens;
}
