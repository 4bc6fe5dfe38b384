import { fieldManagers } from "../../kube/client/apply.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../limits/clock.ts";
import { isLater } from "../../kube/client/resource.ts";
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
  /** Undefined once the watch has delivered it. */
  readonly status: ResourceStatus | undefined;
  readonly atMs: number;
}

/**
 * Writes statuses and keeps each until the watch delivers it. A decision on the older status would write it twice.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #written = new Map<string, Written>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** The newest known status of an object. */
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
    // The watch has delivered this or a later version: from now on only the time of the write matters.
    this.#written.set(key, { ...written, status: undefined });
    return { status: object.status, writtenAtMs: written.atMs };
  }

  /**
   * Writes the status of exactly this object. An apply of a status ignores the uid (measured), so the resource version
   * identifies the object.
   *
   * @throws KubeError `notFound` when it was deleted; `conflict` when it was changed or replaced
   */
  async write(object: ResourceObject, status: ResourceStatus, signal: AbortSignal): Promise<void> {
    await this.#apply(object, status, fieldManagers.status, signal);
  }

  /** Writes or removes only the condition that two installations share. */
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

  /** The latest known version: that of the last write, until the watch delivers it. */
  #versionOf(object: ResourceObject): string {
    const { uid, resourceVersion = "" } = object.metadata;
    const written = this.#written.get(keyOf(object));
    if (written === undefined || written.uid !== uid) return resourceVersion;
    return isLater(written.resourceVersion, resourceVersion) === true ? written.resourceVersion : resourceVersion;
  }

  /** Removes the record of a deleted object. */
  forget(kind: ResourceObject["kind"], key: string): void {
    this.#written.delete(`${kind}/${key}`);
  }
}

function keyOf({ kind, metadata }: ResourceObject): string {
  return `${kind}/${metadata.namespace}/${metadata.name}`;
}
