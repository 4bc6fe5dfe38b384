// The installation policy from a file. Its rules are in `crds/policy.ts`.

import { readFile } from "node:fs/promises";
import type { Logger } from "pino";
import type { InstallationPolicy } from "../../crds/policy.ts";
import type { KubeObject, ResourceType } from "../../kube/client/resource.ts";
import type { Clock } from "../../limits/clock.ts";
import { Informer, type InformerOptions } from "../../kube/informer/informer.ts";
import type { OperatorMetrics } from "../metrics.ts";
import { parsePolicy, PolicyError } from "./parse-policy.ts";

interface PolicyFileOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: OperatorMetrics;
  /** Called after a change of the policy. */
  readonly onChange: () => void;
}

const bytesMax = 1024 * 1024;
/** Poll period. A mounted ConfigMap changes by swapping a link above it, which no watch of the file reports. */
const pollMs = 1_000;

/** Source: Kubernetes API reference, ConfigMap v1 core. */
const configMapType: ResourceType = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface PolicyConfigMapOptions extends Omit<InformerOptions<ConfigMap>, "type" | "fieldSelector" | "name"> {
  readonly namespace: string;
  readonly configMap: string;
  /** Called with each text of the policy; empty without the entry. A deleted ConfigMap changes nothing. */
  readonly onText: (text: string) => void;
}

const entry = "policy.yaml";

/**
 * The policy of a file, read again when the file changes, or of newer texts that somebody else reads. An invalid change
 * keeps the previous policy.
 */
export class PolicyFile {
  readonly #options: PolicyFileOptions;
  #text: string;
  #policy: InstallationPolicy;
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #fault: string | undefined;
  #isFollowed = false;

  private constructor(options: PolicyFileOptions, text: string) {
    this.#options = options;
    this.#text = text;
    this.#policy = parsePolicy(text);
    this.#schedule();
  }

  /** @throws PolicyError when the file cannot be read or holds no policy */
  static async open(options: PolicyFileOptions): Promise<PolicyFile> {
    return new PolicyFile(options, await readText(options.path));
  }

  get policy(): InstallationPolicy {
    return this.#policy;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #schedule(): void {
    if (!this.#isStopped && !this.#isFollowed)
      this.#cancel = this.#options.clock.after(pollMs, () => void this.#poll());
  }

  /**
   * Uses the present text of the object that is mounted as the file. The kubelet shows it there a minute later, so the
   * file is not read any more.
   */
  use(text: string): void {
    this.#isFollowed = true;
    this.#cancel?.();
    try {
      this.#take(text);
    } catch (error) {
      this.#rejected(error);
    }
  }

  async #poll(): Promise<void> {
    try {
      const text = await readText(this.#options.path);
      if (!this.#isFollowed) this.#take(text);
    } catch (error) {
      if (!this.#isFollowed) this.#rejected(error);
    } finally {
      this.#schedule();
    }
  }

  /** @throws PolicyError */
  #take(text: string): void {
    const { log, metrics, onChange, path } = this.#options;
    if (text === this.#text || this.#isStopped) return;
    this.#text = text;
    this.#policy = parsePolicy(text);
    this.#fault = undefined;
    metrics.policyReloads.inc({ result: "read" });
    log.info({ path, grants: this.#policy.grants.length }, "policy changed");
    onChange();
  }

  #rejected(error: unknown): void {
    const { log, metrics, path } = this.#options;
    const fault = String(error);
    if (fault !== this.#fault) log.error({ path, error: fault }, "policy rejected, previous version kept");
    this.#fault = fault;
    metrics.policyReloads.inc({ result: "failed" });
  }
}

async function readText(path: string): Promise<string> {
  try {
    const text = await readFile(path, "utf8");
    if (text.length > bytesMax) throw new PolicyError(`the file exceeds ${bytesMax} bytes`);
    return text;
  } catch (error) {
    if (error instanceof PolicyError) throw error;
    throw new PolicyError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Creates the watch of the ConfigMap that holds the policy. */
export function createPolicyWatch({ configMap, onText, ...options }: PolicyConfigMapOptions): Informer<ConfigMap> {
  const informer = new Informer<ConfigMap>({
    ...options,
    type: configMapType,
    name: "policy",
    fieldSelector: `metadata.name=${configMap}`,
  });
  informer.onChange(({ kind, object }) => {
    if (kind !== "deleted") onText(object.data?.[entry] ?? "");
  });
  return informer;
}
