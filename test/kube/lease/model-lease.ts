import type { CallOptions, KubeClient } from "../../../kube/client/client.ts";
import type { Clock } from "../../../limits/clock.ts";
import { KubeError } from "../../../kube/client/kube-error.ts";
import type { Lease } from "../../../kube/lease/lease-record.ts";

/**
 * How one process reaches the server. `fail`: calls are refused at once; `hang`: they are never answered and never
 * arrive; `late`: they arrive, but long after the caller has given up; `deaf`: they arrive, the answer does not;
 * `slow`: they arrive, and the answer to a write takes 3 s.
 */
export type Link = "ok" | "fail" | "hang" | "late" | "deaf" | "slow";

const lateMs = 7_000;
const slowMs = 3_000;

/** A server with one Lease, with the API server's optimistic locking, and processes that reach it more or less well. */
export class ModelLease {
  lease: Lease | undefined;
  /** Every call that was made, arrived or not. */
  readonly calls: Array<"get" | "create" | "replace"> = [];
  readonly #clock: Clock;
  #version = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A client of one process. */
  client(link: () => Link): KubeClient {
    const unused = (): never => {
      throw new Error("an election only reads and writes its lease");
    };
    const over = async (
      verb: "get" | "create" | "replace",
      options: CallOptions | undefined,
      act: () => Lease,
    ): Promise<unknown> => {
      this.calls.push(verb);
      const way = link();
      return await this.#over(way === "slow" && verb === "get" ? "ok" : way, options, act);
    };
    return {
      get: ((_type, _ref, options) => over("get", options, () => this.#read())) as KubeClient["get"],
      create: ((_type, object, options) => over("create", options, () => this.#create(object))) as KubeClient["create"],
      replace: ((_type, object, options) =>
        over("replace", options, () => this.#replace(object))) as KubeClient["replace"],
      list: unused,
      watch: unused,
      apply: unused,
      applyStatus: unused,
      delete: unused,
      createToken: unused,
      close: unused,
    };
  }

  /** Somebody who has nothing to do with the election edits the object. */
  annotate(): void {
    if (this.lease !== undefined)
      this.#store({ ...this.lease, metadata: { ...this.lease.metadata, annotations: { v: String(this.#version) } } });
  }

  async #over(link: Link, options: CallOptions | undefined, act: () => Lease): Promise<Lease> {
    if (link === "fail") throw new KubeError("transient", "refused");
    if (link === "ok") return act();
    if (link === "slow") return await this.#slowly(act());
    if (link === "late") this.#clock.after(lateMs, () => attempt(act));
    if (link === "deaf") attempt(act);
    return await new Promise((_resolve, reject) => {
      this.#clock.after(options?.retry?.tryTimeoutMs ?? lateMs, () => reject(new KubeError("transient", "timed out")));
    });
  }

  async #slowly(answer: Lease): Promise<Lease> {
    await new Promise<void>((resolve) => {
      this.#clock.after(slowMs, resolve);
    });
    return answer;
  }

  #read(): Lease {
    if (this.lease === undefined) throw new KubeError("notFound", "no lease");
    return this.lease;
  }

  #create(object: Lease): Lease {
    if (this.lease !== undefined) throw new KubeError("alreadyExists", "there is a lease");
    return this.#store(object);
  }

  #replace(object: Lease): Lease {
    if (object.metadata.resourceVersion !== this.#read().metadata.resourceVersion)
      throw new KubeError("conflict", "changed");
    return this.#store(object);
  }

  #store(object: Lease): Lease {
    this.#version += 1;
    this.lease = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    return this.lease;
  }
}

/** What arrives late may well be refused; nobody hears of it. */
function attempt(act: () => Lease): void {
  try {
    act();
  } catch {
    // The caller has gone.
  }
}
