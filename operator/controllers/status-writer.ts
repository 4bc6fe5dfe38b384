import { fieldManagers } from "../../kube/client/apply.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { isLater } from "../../kube/client/resource-version.ts";
import type { OperatorMetrics } from "../metrics.ts";
import { type Condition, resourceTypes, type ResourceObject, type ResourceStatus } from "../resource-types.ts";

interface StatusWriterOptions {
  readonly client: Pick<KubeClient, "applyStatus">;
  readonly clock: Clock;
  readonly metrics: OperatorMetrics;
}

interface Written {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Undefined when the watch has brought it back. */
  readonly status: ResourceStatus | undefined;
  readonly atMs: number;
}

/**
 * Writes statuses and remembers each for as long as the watch has not brought it back: deciding anew on what was there
 * before would write it twice.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #written = new Map<string, Written>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** The status of an object, as new as anybody here knows it. */
  latest(object: ResourceObject): {
    readonly status: ResourceStatus | undefined;
    readonly writtenAtMs: number | undefined;
  } {
    const key = keyOf(object);
    const written = this.#written.get(key);
    if (written === undefined || written.uid !== object.metadata.uid)
      return { status: object.status, writtenAtMs: undefined };
    const isNewer =
      written.status !== undefined && isLater(written.resourceVersion, object.metadata.resourceVersion ?? "") === true;
    if (isNewer) return { status: written.status, writtenAtMs: written.atMs };
    // The watch has brought it, or what came after it: from now on only the time of the write matters.
    this.#written.set(key, { ...written, status: undefined });
    return { status: object.status, writtenAtMs: written.atMs };
  }

  /**
   * Writes the status of that very object as it is known here. An apply of a status does not look at the uid
   * (measured), so the resource version says which object is meant.
   *
   * @throws KubeError `notFound` when it is gone; `conflict` when it changed since, or another has its name
   */
  async write(object: ResourceObject, status: ResourceStatus, signal: AbortSignal): Promise<void> {
    await this.#apply(object, status, fieldManagers.status, signal);
  }

  /** Writes the condition that two installations share, or removes it, and nothing else. */
  async writeConflict(object: ResourceObject, conflict: Condition | "none", signal: AbortSignal): Promise<void> {
    const conditions = conflict === "none" ? [] : [conflict];
    await this.#apply(object, { conditions }, fieldManagers.conflict, signal);
  }

  async #apply(
    object: ResourceObject,
    status: ResourceStatus,
    fieldManager: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, metrics } = this.#options;
    const { kind, metadata } = object;
    const { namespace, name, uid } = metadata;
    const wanted = {
      ...object,
      metadata: { namespace, name, resourceVersion: this.#versionOf(object) },
      spec: undefined,
      status,
    };
    try {
      const after = await client.applyStatus(resourceTypes[kind], wanted as unknown as ResourceObject, {
        fieldManager,
        force: true,
        signal,
      });
      const resourceVersion = after.metadata.resourceVersion ?? "";
      this.#written.set(keyOf(object), { uid, resourceVersion, status: after.status, atMs: clock.nowMs() });
      metrics.statusWrites.inc({ kind, result: "written" });
    } catch (error) {
      metrics.statusWrites.inc({ kind, result: "failed" });
      throw error;
    }
  }

  /** The latest version that is known: what was written last, for as long as the watch has not brought it back. */
  #versionOf(object: ResourceObject): string {
    const { uid, resourceVersion = "" } = object.metadata;
    const written = this.#written.get(keyOf(object));
    if (written === undefined || written.uid !== uid) return resourceVersion;
    return isLater(written.resourceVersion, resourceVersion) === true ? written.resourceVersion : resourceVersion;
  }

  /** The object is gone. */
  forget(kind: ResourceObject["kind"], key: string): void {
    this.#written.delete(`${kind}/${key}`);
  }
}

function keyOf({ kind, metadata }: ResourceObject): string {
  return `${kind}/${metadata.namespace}/${metadata.name}`;
}
