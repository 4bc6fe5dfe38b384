import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import { untilAvailable } from "../../nats/connection/retry-until-answered.ts";
import type { Layout } from "../../nats/layout.ts";
import {
  lossOf,
  readIdentities,
  serveIdentities,
  type StreamIdentities,
  type StreamRecord,
} from "../../nats/streams/stream-identities.ts";
import type { Log } from "../log.ts";

/** Detects streams that were deleted or replaced after this pod started. */
export interface StreamWatch {
  /** The streams at the start of this pod. */
  readonly known: StreamIdentities;
  /** Describes the loss; undefined while all streams exist. */
  readonly loss: string | undefined;
  /** Compares the streams with {@link known}. @throws Error when JetStream does not answer; nothing changes then */
  poll(): Promise<void>;
  /** Stops answering requests of other pods. */
  stop(): Promise<void>;
}

/**
 * @param record gets the streams that it lacks
 * @throws Error when JetStream does not answer
 */
export async function createStreamWatch(
  nats: NatsConnectionHandle,
  layout: Layout,
  log: Log,
  record?: Pick<StreamRecord, "add">,
): Promise<StreamWatch> {
  const known = await untilAvailable(() => readIdentities(nats, layout));
  let loss: string | undefined;
  let isRecorded = record === undefined;
  /** Tries until the record has the streams once. */
  const keep = async (): Promise<void> => {
    if (isRecorded) return;
    try {
      await record?.add(known);
      isRecorded = true;
    } catch (error) {
      log.warn({ err: error }, "streams not recorded, retry scheduled");
    }
  };
  await keep();
  return {
    known,
    get loss() {
      return loss;
    },
    poll: async () => {
      await keep();
      const before = loss;
      loss = lossOf(known, await readIdentities(nats, layout));
      if (loss !== undefined && loss !== before) log.error({ reason: loss }, "streams lost");
      if (loss === undefined && before !== undefined) log.info({}, "streams found again");
    },
    stop: serveIdentities(nats, layout, known),
  };
}
