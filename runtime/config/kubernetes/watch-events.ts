import { faultOfStatus, KubernetesFault, statusOf } from "./api-fault.ts";

/** One event of a watch. Source: Kubernetes API concepts, "Efficient detection of changes". */
export interface WatchEvent {
  /** `BOOKMARK` carries nothing but the resource version up to which everything was sent. */
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: KubernetesObject;
}

/** The part of an object that is read here. */
export interface KubernetesObject {
  readonly metadata: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** A Secret holds at most 1 MiB, a third more in base64; far more is no Secret. */
export const objectBytesMax = 4 * 1024 * 1024;
const lineFeed = 0x0a;
const eventTypes: ReadonlySet<unknown> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

/**
 * The events of a watch's bytes, one frame per line wherever the network cut them. Ends when the server ends the answer
 * between two frames.
 * @throws KubernetesFault what an `ERROR` frame says; `unreachable` for half a frame, an endless one, or no JSON
 */
export async function* readFrames(what: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent, void> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of body) {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed)) {
      const event = eventOf(what, Buffer.from(bytes.subarray(0, end)).toString("utf8"));
      if (event !== undefined) yield event;
      bytes = bytes.subarray(end + 1);
    }
    if (bytes.length > objectBytesMax)
      throw new KubernetesFault("unreachable", `${what}: a frame exceeds ${objectBytesMax} bytes`);
    rest = bytes;
  }
  if (rest.length > 0) throw new KubernetesFault("unreachable", `${what}: ended inside a frame`);
}

/** Undefined for a type that is not known yet, and for an empty line. */
function eventOf(what: string, line: string): WatchEvent | undefined {
  if (line.trim() === "") return undefined;
  const { type, object } = jsonOf(what, line);
  if (type === "ERROR") throw faultOfStatus(what, statusOf(object));
  if (!isObject(object)) throw new KubernetesFault("unreachable", `${what}: a frame is no event`);
  return eventTypes.has(type) ? ({ type, object } as WatchEvent) : undefined;
}

function jsonOf(what: string, line: string): { readonly type?: unknown; readonly object?: unknown } {
  try {
    return (JSON.parse(line) ?? {}) as object;
  } catch (cause) {
    throw new KubernetesFault("unreachable", `${what}: a frame is not JSON`, { cause });
  }
}

/** Whether a value has the envelope of an object; the server's schema decides the rest. */
export function isObject(value: unknown): value is KubernetesObject {
  if (typeof value !== "object" || value === null) return false;
  const metadata: unknown = Reflect.get(value, "metadata");
  return typeof metadata === "object" && metadata !== null;
}
