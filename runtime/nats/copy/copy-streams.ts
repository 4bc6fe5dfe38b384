// Copies all streams of one NATS to another. The source is read only; an interrupted copy is continued.
import { setTimeout as sleep } from "node:timers/promises";
import type { StreamInfo } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { NoReplyError } from "../connection/requests.ts";
import { copyMark, identityEntry } from "../layout.ts";
import { differenceOf, type StreamCount, suspects } from "./compare-streams.ts";
import {
  BackupEnded,
  callJetStream,
  copyStream,
  countMatching,
  durableConsumers,
  JetStreamApiError,
  streamInfo,
  streamNames,
} from "./jetstream-api.ts";

/** Source and target of a copy. */
export interface StreamsCopy {
  readonly from: NatsConnectionHandle;
  readonly to: NatsConnectionHandle;
  /** Copies of each message on the target: the number of its servers. */
  readonly replicas: number;
  /** Called after each step with one sentence. */
  readonly onStep: (sentence: string) => void;
  /** Bound on the wait for JetStream, for followers and for equal counts. @default 20 s */
  readonly waitMsMax?: number;
}

/** The copy cannot be made or is not equal to its source. The message states what to do. */
export class CopyFailed extends Error {
  override readonly name = "CopyFailed";
}

const waitMsMaxDefault = 20_000;
/** From the first rejection. Servers that just started drop requests until they have a leader. */
const rejectedMsMax = 60_000;
const firstRequestMs = 3_000;
const copyTriesMax = 3;
const pauseMs = 250;

/**
 * Copies every stream that the target lacks, compares each with its source, and then lifts the marks of all copies. A
 * marked stream is an unfinished copy, so a second run continues an interrupted first one.
 *
 * @returns the copies by name, as the target counts them
 * @throws CopyFailed when the target holds other streams, or a copy differs from its source
 */
export async function copyStreams(copy: StreamsCopy): Promise<readonly StreamInfo[]> {
  const names = inOrder(await firstNames(copy.from));
  if (names.length === 0) throw new CopyFailed("the source has no stream; check that it is the right NATS");
  await firstNames(copy.to);
  for (const name of names) await ensureCopy(copy, name);
  const strangers = (await streamNames(copy.to)).filter((name) => !names.includes(name));
  if (strangers.length > 0) throw new CopyFailed(`the target also holds ${strangers.join(", ")}, which no copy made`);
  // A second look at all: whatever was written meanwhile shows here.
  for (const name of names) await untilEqual(copy, name);
  for (const name of names) await liftMark(copy.to, name);
  copy.onStep(`${names.length} streams copied and compared`);
  return Promise.all(names.map((name) => streamInfo(copy.to, name)));
}

/** @throws NoReplyError and JetStreamApiError when JetStream is not there within a minute */
function firstNames(handle: NatsConnectionHandle): Promise<readonly string[]> {
  return repeated(rejectedMsMax, () => streamNames(handle, firstRequestMs));
}

/** The stream of events comes last: a runtime makes no stream where the others are and this one is not. */
function inOrder(names: readonly string[]): readonly string[] {
  const isLast = (name: string): number => Number(name.endsWith("_EVENTS"));
  return names.toSorted((one, other) => isLast(one) - isLast(other) || one.localeCompare(other));
}

/** The mark of a stream until its restore ends. A server already shows such a stream, and may drop it again. */
function restoring(mark: string): string {
  return `${mark}, restoring`;
}

async function ensureCopy(copy: StreamsCopy, name: string): Promise<void> {
  const { from, to, onStep } = copy;
  const mark = (await streamInfo(from, name)).created;
  const before = await findStream(to, name);
  if (before !== undefined) {
    const isRestoring = before.config.metadata?.[copyMark] === restoring(mark);
    const difference = isRestoring ? "not wholly restored" : await differenceNow(copy, name);
    if (difference === undefined) {
      onStep(`${name}: copied before`);
      return;
    }
    await removeUnfinished(copy, before, mark, difference);
  }
  await copyUntilEqual(copy, name, mark);
  const copied = await streamInfo(to, name);
  await setMetadata(to, copied, { [copyMark]: mark });
  const { state } = copied;
  onStep(`${name}: ${state.messages} messages, last sequence ${state.last_seq}, ${state.consumer_count} consumers`);
}

/** Copies again after a difference: a follower of the source that is behind gives an older state of the consumers. */
async function copyUntilEqual(copy: StreamsCopy, name: string, mark: string): Promise<void> {
  const copyOnce = (): Promise<StreamInfo> => copyStream({ ...copy, stream: name, mark: restoring(mark) });
  const onApiError = async (): Promise<void> => {
    const left = await findStream(copy.to, name);
    if (left !== undefined) await removeUnfinished(copy, left, mark, "made meanwhile");
  };
  for (let triesLeft = copyTriesMax - 1; ; triesLeft -= 1) {
    await repeated(copy.waitMsMax ?? rejectedMsMax, copyOnce, onApiError);
    try {
      return await untilEqual(copy, name);
    } catch (error) {
      if (!(error instanceof CopyFailed) || triesLeft === 0) throw error;
    }
    await callJetStream(copy.to, `STREAM.DELETE.${name}`);
  }
}

/**
 * Removes what an interrupted restore left: a single server keeps what came, a cluster the name and after five seconds
 * an empty stream, until somebody deletes it. Source: nats-server 2.15.2, `jsClusteredStreamRestoreRequest`.
 *
 * @throws CopyFailed unless the stream is a copy of this source that nobody verified
 */
async function removeUnfinished(copy: StreamsCopy, left: StreamInfo, mark: string, difference: string): Promise<void> {
  const { name, metadata = {} } = left.config;
  if (![mark, restoring(mark)].includes(metadata[copyMark] ?? "")) {
    throw new CopyFailed(
      `the target holds another stream ${name} (${difference}); empty the target before the copy: delete its volumes`,
    );
  }
  await callJetStream(copy.to, `STREAM.DELETE.${name}`);
  copy.onStep(`${name}: unfinished copy removed`);
}

/** Waits until followers have everything and both sides count the same. @throws CopyFailed with the difference */
async function untilEqual(copy: StreamsCopy, name: string): Promise<void> {
  const deadlineMs = performance.now() + (copy.waitMsMax ?? waitMsMaxDefault);
  for (;;) {
    const difference = await differenceOrError(copy, name);
    if (difference === undefined) return;
    if (performance.now() >= deadlineMs) {
      throw new CopyFailed(
        `the copy of ${name} differs: ${difference}. Nothing was removed. End every program that uses the source, ` +
          "and run the command again",
      );
    }
    await sleep(pauseMs);
  }
}

async function differenceOrError(copy: StreamsCopy, name: string): Promise<string | undefined> {
  try {
    return await differenceNow(copy, name);
  } catch (error) {
    if (isPassing(error)) return (error as Error).message;
    throw error;
  }
}

async function differenceNow({ from, to }: StreamsCopy, name: string): Promise<string | undefined> {
  const copied = await countOf(to, name);
  const behind = copied.info.cluster?.replicas?.find(({ current }) => !current);
  if (behind !== undefined) return `the server ${behind.name} has not everything yet`;
  const source = await countOf(from, name);
  const difference = differenceOf(copied, source);
  if (difference !== undefined) return difference;
  for (const suspect of suspects(copied, source)) {
    const { num_pending: pending, num_ack_pending: unsettled } = suspect;
    const stored = await countMatching(to, name, suspect.config.filter_subject ?? ">");
    if (stored > pending + unsettled)
      return `consumer ${suspect.name}: hands out ${pending + unsettled} of ${stored} messages`;
  }
  return undefined;
}

async function countOf(handle: NatsConnectionHandle, name: string): Promise<StreamCount> {
  const [info, consumers] = await Promise.all([streamInfo(handle, name), durableConsumers(handle, name)]);
  return { info, consumers };
}

async function liftMark(to: NatsConnectionHandle, name: string): Promise<void> {
  const copied = await streamInfo(to, name);
  if (copied.config.metadata?.[copyMark] === undefined) return;
  await setMetadata(to, copied, { [copyMark]: undefined, [identityEntry]: copied.created });
}

/** Sets entries of a stream's metadata. One that is undefined is removed. */
async function setMetadata(
  to: NatsConnectionHandle,
  { config }: StreamInfo,
  entries: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const metadata = { ...config.metadata, ...entries };
  await callJetStream(to, `STREAM.UPDATE.${config.name}`, { ...config, metadata });
}

const streamNotFound = 10059;

async function findStream(handle: NatsConnectionHandle, name: string): Promise<StreamInfo | undefined> {
  try {
    return await streamInfo(handle, name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === streamNotFound) return undefined;
    throw error;
  }
}

/** Repeats a step that JetStream rejects or does not respond. Between two runs, `onApiError` clears up. */
async function repeated<T>(waitMsMax: number, step: () => Promise<T>, onApiError?: () => Promise<void>): Promise<T> {
  let deadlineMs: number | undefined;
  for (;;) {
    try {
      if (deadlineMs !== undefined) await onApiError?.();
      return await step();
    } catch (error) {
      deadlineMs ??= performance.now() + waitMsMax;
      if (!isPassing(error) || performance.now() >= deadlineMs) throw error;
    }
    await sleep(pauseMs);
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof JetStreamApiError || error instanceof NoReplyError || error instanceof BackupEnded;
}
