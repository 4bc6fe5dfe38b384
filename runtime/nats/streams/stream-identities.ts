import { JetStreamApiError } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { copyMark, identityEntry, type Layout } from "../layout.ts";
import { NoReplyError } from "../connection/requests.ts";
import { serveSubject } from "../messages/pod-messages.ts";

/** Time of creation by stream name, or the identity of a copy. A replaced stream of the same name has another one. */
export type StreamIdentities = ReadonlyMap<string, string>;

/** A stream with accepted data is gone. The message names the stream and the remedy. */
export class StreamsLost extends Error {
  override readonly name = "StreamsLost";
}

/** The identities as they are kept outside NATS, where they outlive all pods and streams. */
export interface StreamRecord {
  /** Undefined while the record cannot be read. */
  read(): Promise<StreamIdentities | undefined>;
  /** Adds streams that the record lacks. @throws Error */
  add(found: StreamIdentities): Promise<void>;
}

const streamNotFound = 10059;
/** Takes the place of a pod in a subject. No key of a pod begins with an underscore. */
const podOfAll = "_streams";
const topic = "made";
/** Well above a round trip. Without another pod the request fails at once. */
const requestTimeoutMs = 2_000;

/**
 * The streams that are never created again while a pod knows their identity. The others can be: deliveries are
 * published again from events, and marks and advisories hold no accepted data.
 */
function lastingStreams({ streams }: Layout): readonly string[] {
  return [streams.events, streams.attempts, streams.deadLetters];
}

/**
 * Reads the identities of the existing lasting streams.
 *
 * @throws StreamsLost for the unfinished copy of a stream, and Error when JetStream does not respond
 */
export async function readIdentities({ manager }: NatsConnectionHandle, layout: Layout): Promise<StreamIdentities> {
  const read = async (name: string): Promise<readonly (readonly [string, string])[]> => {
    try {
      const { created, config } = await manager.streams.info(name);
      if (config.metadata?.[copyMark] !== undefined) throw new StreamsLost(unfinishedCopy(name));
      return [[name, config.metadata?.[identityEntry] ?? created]];
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === streamNotFound) return [];
      throw error;
    }
  };
  return new Map((await Promise.all(lastingStreams(layout).map(read))).flat());
}

function unfinishedCopy(name: string): string {
  return (
    `StreamsLost: ${name} is an unfinished copy. Run "heliograph nats migrate" again, or set nats.store back to the ` +
    "servers that were copied"
  );
}

/**
 * Describes missing streams while the record cannot be read; undefined when all exist. A stream that is there is used,
 * since a start must not need the API server.
 */
export function unknownOf(found: StreamIdentities, layout: Layout): string | undefined {
  const missing = lastingStreams(layout).filter((name) => !found.has(name));
  if (missing.length === 0) return undefined;
  const why = "the record of the streams cannot be read: no response from the API server";
  return `StreamsLost: ${missing.join(", ")} missing, and ${why}`;
}

/** Describes the loss or replacement of known streams; undefined when all exist. */
export function lossOf(known: StreamIdentities, found: StreamIdentities): string | undefined {
  const lost = [...known].filter(([name, made]) => found.get(name) !== made);
  if (lost.length === 0) return undefined;
  const words = lost.map(([name, made]) => {
    const instead = found.get(name);
    return instead === undefined
      ? `${name}, made ${made}, is gone`
      : `${name}, made ${made}, was replaced by one made ${instead}`;
  });
  return (
    `StreamsLost: ${words.join("; ")}. No empty stream is used in its place. Bring back the NATS that holds it ` +
    "(nats.replicas, volumes), " +
    'or restore a backup. docs/how-to/install.md, "Missing streams", tells how to begin without it'
  );
}

/** Requests the identities that another pod knows; empty when no other pod runs or answers. */
export async function requestIdentities({ requests }: NatsConnectionHandle, layout: Layout): Promise<StreamIdentities> {
  try {
    const reply = await requests.request(`${layout.podSubject(podOfAll)}.${topic}`, "", {
      timeoutMs: requestTimeoutMs,
    });
    return identitiesOf(JSON.parse(Buffer.from(reply).toString()));
  } catch (error) {
    if (error instanceof NoReplyError || error instanceof SyntaxError) return new Map();
    throw error;
  }
}

/** Handles requests of other pods for the known identities. @returns a function that ends it */
export function serveIdentities(
  handle: NatsConnectionHandle,
  layout: Layout,
  known: StreamIdentities,
): () => Promise<void> {
  return serveSubject(handle, layout.podSubject(podOfAll), podOfAll, (received) => {
    if (received.token === topic && received.isRequest) received.respond({ [topic]: Object.fromEntries(known) });
  });
}

/** Parses the response. It may come from a foreign stream that stored the request as its own message. */
function identitiesOf(reply: unknown): StreamIdentities {
  const { [topic]: made }: Partial<Record<string, unknown>> = Object(reply);
  return new Map(
    Object.entries(Object(made)).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
