import { JetStreamApiError } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";
import { Unanswered } from "../connection/requests.ts";
import { serveSubject } from "../messages/serve-subject.ts";

/** When each stream was made, by its name: another stream of the same name has another time. */
export type StreamIdentities = ReadonlyMap<string, string>;

/** A stream that held what was accepted is gone. The message says which, and what to do. */
export class StreamsLost extends Error {
  override readonly name = "StreamsLost";
}

const streamNotFound = 10059;
/** Under the subjects of pods, whose names never begin like this. */
const podOfAll = "_streams";
const topic = "made";
/** Well above a round trip; nobody answers at once where no other pod runs. */
const recallTimeoutMs = 2_000;

/**
 * The streams that are never made again while somebody remembers them. The others can be: deliveries are made again
 * from events, and marks and advisories hold nothing that was accepted.
 */
function lastingStreams({ streams }: Layout): readonly string[] {
  return [streams.events, streams.attempts, streams.deadLetters];
}

/** The lasting streams that are there. @throws Error when JetStream does not answer */
export async function readIdentities({ manager }: NatsConnectionHandle, layout: Layout): Promise<StreamIdentities> {
  const read = async (name: string): Promise<readonly (readonly [string, string])[]> => {
    try {
      return [[name, (await manager.streams.info(name)).created]];
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === streamNotFound) return [];
      throw error;
    }
  };
  return new Map((await Promise.all(lastingStreams(layout).map(read))).flat());
}

/** What became of streams that somebody remembers, in a sentence; undefined when they are there. */
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
    "or restore a backup. To begin without it, stop all runtime pods at once and start them again"
  );
}

/** What another pod remembers; nothing where no other runs, or none answers. */
export async function recallIdentities({ requests }: NatsConnectionHandle, layout: Layout): Promise<StreamIdentities> {
  try {
    const answer = await requests.ask(`${layout.podSubject(podOfAll)}.${topic}`, "", { timeoutMs: recallTimeoutMs });
    return identitiesOf(JSON.parse(Buffer.from(answer).toString()));
  } catch (error) {
    if (error instanceof Unanswered || error instanceof SyntaxError) return new Map();
    throw error;
  }
}

/** Tells pods that ask what this one remembers. @returns how to stop */
export function tellIdentities(
  handle: NatsConnectionHandle,
  layout: Layout,
  known: StreamIdentities,
): () => Promise<void> {
  return serveSubject(handle, layout.podSubject(podOfAll), podOfAll, (asked) => {
    if (asked.token === topic && asked.isAsking) asked.answer({ [topic]: Object.fromEntries(known) });
  });
}

/** A stream of somebody else's may take the question for an event of its own, and answer too. */
function identitiesOf(answer: unknown): StreamIdentities {
  const { [topic]: made }: Partial<Record<string, unknown>> = Object(answer);
  return new Map(
    Object.entries(Object(made)).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
