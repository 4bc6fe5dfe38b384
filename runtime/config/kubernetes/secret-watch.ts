import type { ShardSecret } from "../../../crds/shards/shards.ts";
import type { BackoffOptions } from "../../../kube/backoff.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type KubeObject, secretType } from "../../../kube/client/resource.ts";
import type { Outage } from "../../../kube/outage.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";

/** Times of the lists and watches of a Secret. */
export interface FollowTimes {
  /** Longest time between two lists, in milliseconds; up to a third of it is random. */
  readonly relistMs: number;
  /** A watch fails after this time without a byte, in milliseconds. The server sends a bookmark each minute. */
  readonly silenceMs: number;
  /** Bound on a list, in milliseconds. */
  readonly listTimeoutMs: number;
  readonly backoff: BackoffOptions;
}

/**
 * @default of {@link FollowTimes}. Each Secret needs two requests in 30 to 45 minutes, and one try a minute while the
 * server is down: for 40 Secrets 0.04 and 0.9 requests per second.
 */
export const followTimes: FollowTimes = {
  relistMs: 45 * 60_000,
  silenceMs: 150_000,
  listTimeoutMs: 30_000,
  backoff: { baseMs: 200, maxMs: 60_000, jitter: 0.5 },
};

/** Receives the versions of one Secret. */
export interface FollowListener {
  /** Called with the present Secret, undefined without one. A list repeats the known version. */
  onSecret(secret: ShardSecret | undefined): void;
  /** Called when a list or a watch fails; the next one begins after the wait. */
  onFault(error: unknown, waitMs: number): void;
  /** Called when the server responds or sends bytes. */
  onData(): void;
}

interface FollowOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Of the Secret. */
  readonly name: string;
  readonly times: FollowTimes;
  readonly outage: Outage;
  readonly random: () => number;
  readonly listener: FollowListener;
}

const relistJitter = 1 / 3;
/** The server ends no watch before the next list is due. */
const watchSecondsPerRelist = 1.5;

/**
 * Follows one Secret by its name until the signal is aborted. Needs the rights get, list and watch on that name alone.
 */
export async function followSecret(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, name, times, outage, random, listener } = options;
  const reflector = new Reflector<KubeObject & ShardSecret>(
    {
      client,
      type: secretType,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      ...times,
      relistJitter,
      watchSeconds: Math.ceil((times.relistMs / 1000) * watchSecondsPerRelist),
      outage,
      random,
    },
    {
      // The server selects by name; the check keeps a Secret of another name out of this one's place.
      onList: (secrets) => listener.onSecret(secrets.find(({ metadata }) => metadata.name === name)),
      onEvent: ({ type, object }) => {
        if (type === "BOOKMARK" || object.metadata.name !== name) return;
        listener.onSecret(type === "DELETED" ? undefined : object);
      },
      onData: () => listener.onData(),
      onEnd: (end, { waitMs }) => {
        if (end.kind === "failed") listener.onFault(end.error, waitMs);
      },
    },
  );
  await reflector.run(signal);
}
