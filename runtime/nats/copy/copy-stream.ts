import { createInbox, type Msg, type Subscription } from "@nats-io/transport-node";
import type { StreamConfig, StreamInfo } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { copyMark } from "../layout.ts";
import { answerOf, callJetStream, type SnapshotStart } from "./jetstream-api.ts";

/** Below the 1 MiB that a server takes as one message. */
const chunkBytes = 512 * 1024;
/** The source ends a backup whose parts wait for five seconds. */
const chunkTimeoutMs = 20_000;
/** The target checks and indexes the whole stream before it answers. */
const restoreTimeoutMs = 10 * 60_000;

/** The source ended a backup before its last part. */
export class BackupEnded extends Error {
  override readonly name = "BackupEnded";
}

/** One stream and the account that gets it. */
export interface StreamCopy {
  readonly from: NatsConnectionHandle;
  readonly to: NatsConnectionHandle;
  readonly stream: string;
  /** Text of the mark that the copy has until it is verified. */
  readonly mark: string;
  /** Copies of each message on the target. */
  readonly replicas: number;
}

/**
 * Copies a stream with its consumers: reads a backup and restores it, part by part. No part is kept: memory holds one
 * window of the source. Sequences, consumers and schedules stay. The target gives the stream a new time of creation.
 *
 * @throws JetStreamRefusal, Unanswered or BackupEnded. The target then keeps an unfinished stream with the mark: a
 * single server what came, a cluster an empty one.
 */
export async function copyStream({ from, to, stream, mark, replicas }: StreamCopy): Promise<StreamInfo> {
  const inbox = createInbox();
  const parts = from.connection.subscribe(inbox);
  try {
    const request = { deliver_subject: inbox, chunk_size: chunkBytes, jsck: true };
    const { config, state } = await callJetStream<SnapshotStart>(from, `STREAM.SNAPSHOT.${stream}`, request);
    const copied = { config: copyConfig(config, mark, replicas), state };
    const { deliver_subject: subject } = await callJetStream<RestoreStart>(to, `STREAM.RESTORE.${stream}`, copied);
    await forward(parts, to, subject, stream);
    const last = await to.requests.request(subject, "", { timeoutMs: restoreTimeoutMs });
    return answerOf(`restore of ${stream}`, last) as StreamInfo;
  } finally {
    parts.unsubscribe();
  }
}

interface RestoreStart {
  /** Takes the parts of the backup. */
  readonly deliver_subject: string;
}

/** The stream's configuration on the target. A single server refuses a stream with more copies than one. */
function copyConfig(config: StreamConfig, mark: string, replicas: number): StreamConfig {
  return { ...config, num_replicas: replicas, metadata: { ...config.metadata, [copyMark]: mark } };
}

async function forward(parts: Subscription, to: NatsConnectionHandle, subject: string, stream: string): Promise<void> {
  const silence = setTimeout(() => parts.unsubscribe(), chunkTimeoutMs);
  try {
    for await (const part of parts) {
      silence.refresh();
      if (part.data.length === 0) {
        assertWhole(part, stream);
        return;
      }
      await to.requests.request(subject, part.data, { timeoutMs: chunkTimeoutMs });
      // The source sends further parts after this answer only.
      part.respond();
    }
  } finally {
    clearTimeout(silence);
  }
  throw new BackupEnded(
    `the backup of ${stream} ended before its last part; the source or the connection to it is gone`,
  );
}

/** The last part is empty. It has a status when the source gave up. */
function assertWhole({ headers }: Msg, stream: string): void {
  const status = headers?.get("Status") ?? headers?.status ?? "";
  if (status !== "" && headers?.code !== 204) throw new BackupEnded(`the backup of ${stream} failed: ${status}`);
}
