import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import type { Layout } from "../../nats/layout.ts";
import {
  lossOf,
  readIdentities,
  serveIdentities,
  type StreamIdentities,
} from "../../nats/streams/stream-identities.ts";
import type { Log } from "../log.ts";

/** Whether the streams are still the ones that this pod started with. */
export interface StreamWatch {
  /** As they were at the start. */
  readonly known: StreamIdentities;
  /** What became of them, in a sentence; undefined while they are there. */
  readonly loss: string | undefined;
  /** Compares; rejects, and changes nothing, while JetStream does not answer. */
  look(): Promise<void>;
  /** Tells other pods nothing more. */
  stop(): Promise<void>;
}

/** @throws Error when JetStream does not answer */
export async function createStreamWatch(nats: NatsConnectionHandle, layout: Layout, log: Log): Promise<StreamWatch> {
  const known = await readIdentities(nats, layout);
  let loss: string | undefined;
  return {
    known,
    get loss() {
      return loss;
    },
    look: async () => {
      const before = loss;
      loss = lossOf(known, await readIdentities(nats, layout));
      if (loss !== undefined && loss !== before) log.error({ reason: loss }, "streams lost");
      if (loss === undefined && before !== undefined) log.info({}, "streams found again");
    },
    stop: serveIdentities(nats, layout, known),
  };
}
