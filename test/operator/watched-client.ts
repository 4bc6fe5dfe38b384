import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/kube-error.ts";
import type { KubeObject, ResourceType } from "../../kube/client/resource.ts";
import { serviceAccountType } from "../../kube/client/apply.ts";
import type { WatchEvent } from "../../kube/client/watch.ts";

/** One call as RBAC sees it. */
interface SeenCall {
  readonly verb: "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";
  /** `group/plural` or `plural`, with `/status` for the subresource. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** How a replica dies between two writes. */
export interface Death {
  /** So many writes are let through. */
  readonly afterWrites: number;
  /** Whether the answer to the last of them still arrives. */
  readonly hearsTheLast: boolean;
}

const writingVerbs: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

/** A client that tells what is asked of it, and can die. */
export class WatchedClient implements KubeClient {
  readonly calls: SeenCall[] = [];
  readonly #client: KubeClient;
  #death: Death | undefined;
  #writes = 0;
  #isDead = false;

  constructor(client: KubeClient, death?: Death) {
    this.#client = client;
    this.#death = death;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** From now on nothing is sent and nothing heard. */
  kill(): void {
    this.#isDead = true;
  }

  /** Writes so far; those to Leases and Events do not count unless they are asked for. */
  writes(): readonly SeenCall[] {
    return this.calls.filter(({ verb }) => writingVerbs.has(verb));
  }

  readonly get: KubeClient["get"] = (type, ref, options) =>
    this.#call("get", type, ref, () => this.#client.get(type, ref, options));
  readonly list: KubeClient["list"] = (type, options) =>
    this.#call("list", type, { namespace: options?.namespace }, () => this.#client.list(type, options));
  readonly create: KubeClient["create"] = (type, object, options) =>
    this.#call("create", type, object.metadata, () => this.#client.create(type, object, options));
  readonly replace: KubeClient["replace"] = (type, object, options) =>
    this.#call("update", type, object.metadata, () => this.#client.replace(type, object, options));
  readonly apply: KubeClient["apply"] = (type, object, options) =>
    this.#call("patch", type, object.metadata, () => this.#client.apply(type, object, options));
  readonly applyStatus: KubeClient["applyStatus"] = (type, object, options) =>
    this.#call("patch", type, object.metadata, () => this.#client.applyStatus(type, object, options), "/status");
  readonly delete: KubeClient["delete"] = (type, ref, options) =>
    this.#call("delete", type, ref, () => this.#client.delete(type, ref, options));
  readonly createToken: KubeClient["createToken"] = (account, request, options) => {
    const send = () => this.#client.createToken(account, request, options);
    return this.#call("create", serviceAccountType, account, send, "/token");
  };

  async *watch<T extends KubeObject>(
    type: ResourceType,
    options: Parameters<KubeClient["watch"]>[1],
  ): AsyncGenerator<WatchEvent<T>, void> {
    this.#see("watch", type, { namespace: options.namespace });
    for await (const event of this.#client.watch<T>(type, options)) {
      if (this.#isDead) throw dead();
      yield event;
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #call<R>(
    verb: SeenCall["verb"],
    type: ResourceType,
    place: { readonly namespace?: string | undefined; readonly name?: string | undefined },
    send: () => Promise<R>,
    subresource = "",
  ): Promise<R> {
    if (this.#isDead) throw dead();
    this.#see(verb, type, place, subresource);
    if (!writingVerbs.has(verb) || this.#death === undefined) return await send();
    this.#writes += 1;
    const { afterWrites, hearsTheLast } = this.#death;
    if (this.#writes > afterWrites) {
      this.#isDead = true;
      throw dead();
    }
    if (this.#writes < afterWrites) return await send();
    const answer = await send();
    if (hearsTheLast) return answer;
    this.#isDead = true;
    throw dead();
  }

  #see(
    verb: SeenCall["verb"],
    type: ResourceType,
    { namespace, name }: { readonly namespace?: string | undefined; readonly name?: string | undefined },
    subresource = "",
  ): void {
    const group = type.group === "" ? "" : `${type.group}/`;
    this.calls.push({ verb, resource: `${group}${type.plural}${subresource}`, namespace, name });
  }
}

/** The same client as an object of functions, some of which somebody may put others in the place of. */
export function passThrough(client: KubeClient): KubeClient {
  return {
    get: (type, ref, options) => client.get(type, ref, options),
    list: (type, options) => client.list(type, options),
    watch: (type, options) => client.watch(type, options),
    create: (type, object, options) => client.create(type, object, options),
    replace: (type, object, options) => client.replace(type, object, options),
    apply: (type, object, options) => client.apply(type, object, options),
    applyStatus: (type, object, options) => client.applyStatus(type, object, options),
    delete: (type, ref, options) => client.delete(type, ref, options),
    createToken: (account, request, options) => client.createToken(account, request, options),
    close: () => client.close(),
  };
}

function dead(): KubeError {
  return new KubeError("aborted", "the replica is dead");
}
