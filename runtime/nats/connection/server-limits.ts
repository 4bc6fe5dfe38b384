/** Limits of the server and the account. -1 and an absent value mean no limit. */
interface ServerLimits {
  readonly maxPayloadBytes: number | undefined;
  readonly streams: number;
  readonly consumers: number;
}

/** Holds a dead letter with the largest body and its last attempts. It is also the default of nats-server. */
const payloadBytesMin = 1_048_576;
/** Eight streams and nine buckets. */
const streamsMin = 17;
/** Those of the router and of the index of events, and two for the first partner. */
const consumersMin = 6;

/** The oldest nats-server that fires scheduled messages as deliveries need it. */
export const serverVersionMin = "2.14";

/** The limits of the server or of the account that are too low, in one sentence; undefined when none is. */
export function limitsFault({ maxPayloadBytes, streams, consumers }: ServerLimits): string | undefined {
  if (maxPayloadBytes !== undefined && maxPayloadBytes < payloadBytesMin)
    return `max_payload of nats-server is ${maxPayloadBytes} bytes; set it to ${payloadBytesMin} or more`;
  if (streams >= 0 && streams < streamsMin)
    return `the NATS account allows ${streams} streams; allow ${streamsMin} or more`;
  return consumers >= 0 && consumers < consumersMin
    ? `the NATS account allows ${consumers} consumers; allow ${consumersMin}, and two more for each further partner`
    : undefined;
}

/** True for a version like `2.15.2` that is at least {@link serverVersionMin}. */
export function isVersionEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin = 0, minorMin = 0] = serverVersionMin.split(".").map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
