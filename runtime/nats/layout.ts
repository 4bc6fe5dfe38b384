// Names in NATS. Connections, messages and streams are in the rooms below.
/**
 * The one table of stream, subject and bucket names in NATS. It builds and parses names and does no I/O. The layout is
 * fixed: stored messages outlive the version of the program that stored them.
 *
 * | Stream | Subjects | Holds |
 * |---|---|---|
 * | `HG_EVENTS` | `hg.evt.<tenant>.<idhash>` | the event as received |
 * | `HG_DELIVERIES` | `hg.dlv.<lane>.<partner>.<did>` | a delivery that waits for its first attempt |
 * | | `hg.sch.<partner>.<did>` | a delivery that waits for the time of its next attempt |
 * | | `hg.dlr.<lane>.<partner>.<did>` | a delivery whose next attempt is due |
 * | `HG_ATTEMPTS` | `hg.att.<tenant>.<idhash>` | every attempt for an event, of every partner |
 * | `HG_DLQ` | `hg.dlq.<partner>.<reason>.<did>` | a delivery that ended without success |
 * | `HG_REPLAYS` | `hg.rpl.<replay>.<mark>.<did>` | the progress of one delivery of a replay |
 * | `HG_INDEX` | `hg.idx` | compact rows of events and attempts, for lists; made again when lost |
 * | `HG_USAGE` | `hg.usg.<hour>.<writer>.<chunk>` | usage of metrics in an hour, as one run of a pod counted it |
 * | `HG_ADVISORIES` | `$JS.EVENT.ADVISORY.…` | advisories about messages that a consumer gave up |
 *
 * Tokens: `tenant` is the envelope's (`-` for none); `idhash`, `did` and `partner` are hashes made in
 * `runtime/webhooks/ids.ts`; `reason` is an outcome code; `replay` is a replay id. A delivery has one live message, on
 * one of its three exact subjects. The hot path therefore reads without wildcards.
 */
export type Layout = ReturnType<typeof createLayout>;

/** First attempts and retries have separate consumers, so a backlog of retries does not delay new events. */
export const laneQueues = ["first", "retry"] as const;
export type LaneQueue = (typeof laneQueues)[number];

/** Version of {@link Layout}, stored in the metadata of every stream. */
export const layoutVersion = "1";

/** Entry in the metadata of a stream that is an unfinished copy. No runtime uses such a stream. */
export const copyMark = "heliograph_copy_of";

/**
 * Entry in the metadata of a stream that was copied: its identity instead of its time of creation. In a cluster, the
 * server that restored a stream has another time for it than the others have, until it restarts.
 */
export const identityEntry = "heliograph_identity";

/** Durable name of the router on `HG_EVENTS`. */
export const routerConsumer = "router";

/** Durable name of a lane's consumer on `HG_DELIVERIES`: `first-<lane>` or `retry-<lane>`. */
export function laneConsumer(queue: LaneQueue, lane: string): string {
  return `${queue}-${lane}`;
}

/** Reads back what {@link laneConsumer} builds; undefined for any other consumer. */
export function parseLaneConsumer(name: string): { readonly queue: LaneQueue; readonly lane: string } | undefined {
  const queue = laneQueues.find((candidate) => name.startsWith(`${candidate}-`));
  return queue && { queue, lane: name.slice(queue.length + 1) };
}

/** The tokens of a subject of an event, or of the attempts for an event. */
export interface EventSubject {
  readonly tenant: string;
  readonly idhash: string;
}

/** Reads back what `Layout.event` and `Layout.attempts` build, for any prefix; undefined for any other subject. */
export function parseEvent(subject: string): EventSubject | undefined {
  // Searches, since scans read a subject of every event and an array of parts costs more.
  const kindStart = subject.indexOf(".") + 1;
  const tenantStart = subject.indexOf(".", kindStart) + 1;
  const hashStart = subject.indexOf(".", tenantStart) + 1;
  if (kindStart === 0 || tenantStart === 0 || hashStart === 0 || subject.includes(".", hashStart)) return undefined;
  const kind = subject.slice(kindStart, tenantStart - 1);
  if (kind !== "evt" && kind !== "att") return undefined;
  return { tenant: subject.slice(tenantStart, hashStart - 1), idhash: subject.slice(hashStart) };
}

/** The tokens of a subject of a delivery. A delivery on a schedule is in no lane. */
export type DeliverySubject = (
  | { readonly place: LaneQueue; readonly lane: string }
  | { readonly place: "schedule"; readonly lane: undefined }
) & { readonly partner: string; readonly did: string };

/**
 * Reads back what `Layout.firstAttempt`, `Layout.retry` and `Layout.schedule` build, for any prefix; undefined for any
 * other subject.
 */
export function parseDelivery(subject: string): DeliverySubject | undefined {
  const [, kind, ...tokens] = subject.split(".");
  if (kind === scheduleToken) {
    const [partner, did] = tokens;
    const isWhole = partner !== undefined && did !== undefined && tokens.length === 2;
    return isWhole ? { place: "schedule", lane: undefined, partner, did } : undefined;
  }
  const place = laneQueues.find((queue) => queueTokens[queue] === kind);
  const [lane, partner, did] = tokens;
  const isWhole = lane !== undefined && partner !== undefined && did !== undefined && tokens.length === 3;
  return place !== undefined && isWhole ? { place, lane, partner, did } : undefined;
}

/** The tokens of a subject of a dead letter. */
export interface DeadLetterSubject {
  readonly partner: string;
  readonly reason: string;
  readonly did: string;
}

/** Reads back what `Layout.deadLetter` builds, for any prefix; undefined for any other subject. */
export function parseDeadLetterSubject(subject: string): DeadLetterSubject | undefined {
  const [, kind, partner, reason, did, ...more] = subject.split(".");
  const isWhole = partner !== undefined && reason !== undefined && did !== undefined && more.length === 0;
  return kind === "dlq" && isWhole ? { partner, reason, did } : undefined;
}

const queueTokens: Readonly<Record<LaneQueue, string>> = { first: "dlv", retry: "dlr" };
const scheduleToken = "sch";

/** @param prefix first token of every subject and, in capitals, of every stream name */
export function createLayout(prefix: string) {
  const name = (stream: string): string => `${prefix.toUpperCase()}_${stream}`;
  const inLane = (queue: LaneQueue, lane: string, partner: string, did: string): string =>
    `${prefix}.${queueTokens[queue]}.${lane}.${partner}.${did}`;
  return {
    streams: {
      events: name("EVENTS"),
      deliveries: name("DELIVERIES"),
      attempts: name("ATTEMPTS"),
      deadLetters: name("DLQ"),
      replays: name("REPLAYS"),
      advisories: name("ADVISORIES"),
      index: name("INDEX"),
      usage: name("USAGE"),
    },
    buckets: {
      pods: name("PODS"),
      disabledPartners: name("DISABLED"),
      promotedPartners: name("PROMOTED"),
      pausedPartners: name("HOLDS"),
      fullPartners: name("FULL"),
      partners: name("PARTNERS"),
      replays: name("REPLAY"),
      idempotency: name("IDEMPOTENCY"),
      previews: name("PREVIEWS"),
    },
    /** Every subject of a stream. */
    filters: {
      events: `${prefix}.evt.*.*`,
      deliveries: [`${prefix}.dlv.*.*.*`, `${prefix}.dlr.*.*.*`, `${prefix}.sch.*.*`],
      attempts: `${prefix}.att.*.*`,
      deadLetters: `${prefix}.dlq.*.*.*`,
      replays: `${prefix}.rpl.*.*.*`,
      usage: `${prefix}.usg.*.*.*`,
    },
    /** The only subject of the index of events. */
    indexSubject: `${prefix}.idx`,
    /** Producers publish on this subject followed by a tenant. No stream holds it. */
    ingestSubject: `${prefix}.in`,
    /** Requests to one pod use this subject followed by a topic. No stream holds it. */
    podSubject: (pod: string) => `${prefix}.pod.${pod}`,
    event: (tenant: string, idhash: string) => `${prefix}.evt.${tenant}.${idhash}`,
    attempts: (tenant: string, idhash: string) => `${prefix}.att.${tenant}.${idhash}`,
    firstAttempt: (lane: string, partner: string, did: string) => inLane("first", lane, partner, did),
    retry: (lane: string, partner: string, did: string) => inLane("retry", lane, partner, did),
    schedule: (partner: string, did: string) => `${prefix}.${scheduleToken}.${partner}.${did}`,
    /** The subject in another lane, in the same queue as `subject`. */
    sameQueue: (subject: string, lane: string, partner: string, did: string) =>
      inLane(parseDelivery(subject)?.place === "retry" ? "retry" : "first", lane, partner, did),
    /** In a filter, `reason` and `did` may be `*`. */
    deadLetter: (partner: string, reason: string, did: string) => `${prefix}.dlq.${partner}.${reason}.${did}`,
    /** In a filter, `did` may be `*`. */
    replayMark: (replay: string, mark: string, did: string) => `${prefix}.rpl.${replay}.${mark}.${did}`,
    usage: (hour: number, writer: string, chunk: number) => `${prefix}.usg.${hour}.${writer}.${chunk}`,
    /** Filter of the consumer that pulls a lane. */
    laneFilter: (queue: LaneQueue, lane: string) => `${prefix}.${queueTokens[queue]}.${lane}.>`,
    /** Filters of all messages of a partner, in any lane. They hold wildcards: not for the hot path. */
    partnerFilters: (partner: string) => [
      `${prefix}.dlv.*.${partner}.*`,
      `${prefix}.dlr.*.${partner}.*`,
      `${prefix}.sch.${partner}.*`,
    ],
  };
}
