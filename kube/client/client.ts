// The client of the API server: access, connections, calls and watches. It knows no kind of resource.
import {
  type ApplyOptions,
  applyRequest,
  type IssuedToken,
  issuedTokenOf,
  tokenCall,
  type TokenRequest,
} from "./apply.ts";
import { type ApiCall, Caller, type RequestCounter } from "./call.ts";
import { type Clock, systemClock } from "../../limits/clock.ts";
import { type ClusterAccess } from "./credentials.ts";
import { type PoolName, Transport } from "./transport.ts";
import { Outage } from "../outage.ts";
import { KubeError } from "./kube-error.ts";
import {
  apiVersionOf,
  collectionPath,
  type KubeList,
  type KubeObject,
  objectPath,
  type ObjectRef,
  type ResourceType,
} from "./resource.ts";
import { type RetryPolicy, retryPolicyDefault } from "./retry.ts";
import { type WatchEvent, watchEvents } from "./watch.ts";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call and its waits with an `aborted` error. */
  readonly signal?: AbortSignal;
  /** @default {@link retryPolicyDefault} */
  readonly retry?: RetryPolicy;
  /** Connection pool of the call. @default "calls" */
  readonly pool?: Exclude<PoolName, "watches">;
}

interface ReadOptions extends CallOptions {
  /**
   * Reads `metadata` only (`PartialObjectMetadata`). The rest, such as the data of a Secret, never leaves the server.
   *
   * @default false
   */
  readonly metadataOnly?: boolean;
}

/** Selects the objects of a list or a watch. */
export interface Selection {
  /** @default every namespace */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends ReadOptions, Selection {
  /** Objects per page. @default all objects in one page */
  readonly limit?: number;
  /** Token of the previous page. */
  readonly continue?: string;
}

export interface WatchOptions extends Selection {
  readonly metadataOnly?: boolean;
  /** The watch sends the changes after this state. */
  readonly resourceVersion: string;
  /** Time after which the server ends the watch. */
  readonly timeoutSeconds: number;
  /** The watch fails after this time without a byte. Bookmarks come about once a minute. */
  readonly silenceMs: number;
  /** Called for the head of the response and for every chunk of its body. */
  readonly onData?: () => void;
  readonly signal?: AbortSignal;
}

/** Preconditions of a delete; `conflict` when one does not hold. */
interface DeleteOptions extends CallOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * A client of the API server for any kind of resource. Every call has a deadline and bounded retries; a call that must
 * not be repeated is retried after a 429 only. All methods throw `KubeError`.
 */
export interface KubeClient {
  get<T extends KubeObject>(type: ResourceType, ref: ObjectRef, options?: ReadOptions): Promise<T>;
  /** Reads one page of the newest state. */
  list<T extends KubeObject>(type: ResourceType, options?: ListOptions): Promise<KubeList<T>>;
  /** Ends when the server ends the watch between two events. Throws for every other end. */
  watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncGenerator<WatchEvent<T>, void>;
  create<T extends KubeObject>(type: ResourceType, object: T, options?: CallOptions): Promise<T>;
  /** Replaces the whole object. Its resource version is the state that it replaces. */
  replace<T extends KubeObject>(type: ResourceType, object: T, options?: CallOptions): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubeObject>(type: ResourceType, object: T, options: ApplyOptions & CallOptions): Promise<T>;
  /** Server-side apply of the status subresource of an existing object. */
  applyStatus<T extends KubeObject>(type: ResourceType, object: T, options: ApplyOptions & CallOptions): Promise<T>;
  delete(type: ResourceType, ref: ObjectRef, options?: DeleteOptions): Promise<void>;
  /** Requests a token of a service account for one audience. */
  createToken(account: ObjectRef, request: TokenRequest, options?: CallOptions): Promise<IssuedToken>;
  /** Closes every connection at once. */
  close(): Promise<void>;
}

interface KubeClientOptions {
  readonly access: ClusterAccess;
  /** `User-Agent` of the requests, for example `heliograph-operator/0.1.0`. */
  readonly userAgent: string;
  readonly metrics: RequestCounter;
  /** @default the machine's */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
  /** The policy of calls without their own. @default {@link retryPolicyDefault} */
  readonly retry?: RetryPolicy;
  /** Records every call. @default its own */
  readonly outage?: Outage;
  /** @see TransportOptions.credentialsAgeMsMax */
  readonly credentialsAgeMsMax?: number;
}

const json = "application/json";
const partialObject = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const partialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** Creates a client with its own connections. It sends nothing before the first call. */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  return new HttpKubeClient(options);
}

class HttpKubeClient implements KubeClient {
  readonly #clock: Clock;
  readonly #retry: RetryPolicy;
  readonly #transport: Transport;
  readonly #caller: Caller;

  constructor(options: KubeClientOptions) {
    const { access, userAgent, metrics, credentialsAgeMsMax, random = Math.random } = options;
    const age = credentialsAgeMsMax === undefined ? {} : { credentialsAgeMsMax };
    const host = new URL(access.server).host;
    this.#clock = options.clock ?? systemClock;
    this.#retry = options.retry ?? retryPolicyDefault;
    this.#transport = new Transport(access, { clock: this.#clock, userAgent, ...age });
    const outage = options.outage ?? new Outage(this.#clock, random);
    this.#caller = new Caller({ transport: this.#transport, metrics, clock: this.#clock, random, outage, host });
  }

  async get<T extends KubeObject>(type: ResourceType, ref: ObjectRef, options: ReadOptions = {}): Promise<T> {
    const headers = { accept: options.metadataOnly === true ? partialObject : json };
    return await this.#json<T>({ method: "GET", path: objectPath(type, ref), headers, repeatable: true }, options);
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<KubeList<T>> {
    const list = await this.#json<WireList<T> | null>(
      {
        method: "GET",
        path: collectionPath(type, options.namespace),
        query: { ...selectionQuery(options), limit: options.limit?.toString(), continue: options.continue },
        headers: { accept: options.metadataOnly === true ? partialList : json },
        repeatable: true,
      },
      options,
    );
    return pageOf(list, type, options.metadataOnly === true);
  }

  watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncGenerator<WatchEvent<T>, void> {
    const call: ApiCall = {
      method: "GET",
      path: collectionPath(type, options.namespace),
      query: {
        ...selectionQuery(options),
        watch: "true",
        allowWatchBookmarks: "true",
        resourceVersion: options.resourceVersion,
        timeoutSeconds: options.timeoutSeconds.toString(),
      },
      headers: { accept: options.metadataOnly === true ? partialObject : json },
      pool: "watches",
      repeatable: true,
    };
    const { silenceMs, onData, signal } = options;
    return watchEvents<T>(this.#caller, this.#clock, call, {
      responseMs: this.#retry.tryTimeoutMs,
      silenceMs,
      onData,
      signal,
    });
  }

  async create<T extends KubeObject>(type: ResourceType, object: T, options: CallOptions = {}): Promise<T> {
    const path = collectionPath(type, object.metadata.namespace);
    return await this.#json<T>({ method: "POST", path, ...writeParts(type, object), repeatable: false }, options);
  }

  async replace<T extends KubeObject>(type: ResourceType, object: T, options: CallOptions = {}): Promise<T> {
    const path = objectPath(type, refOfObject(object));
    return await this.#json<T>({ method: "PUT", path, ...writeParts(type, object), repeatable: false }, options);
  }

  async apply<T extends KubeObject>(type: ResourceType, object: T, options: ApplyOptions & CallOptions): Promise<T> {
    const request = applyRequest(type, object, options);
    const path = objectPath(type, refOfObject(object));
    return await this.#json<T>({ method: "PATCH", path, ...request, repeatable: true }, options);
  }

  async applyStatus<T extends KubeObject>(
    type: ResourceType,
    object: T,
    options: ApplyOptions & CallOptions,
  ): Promise<T> {
    const request = applyRequest(type, object, options);
    const path = objectPath(type, refOfObject(object), "status");
    return await this.#json<T>({ method: "PATCH", path, ...request, repeatable: true }, options);
  }

  async delete(type: ResourceType, ref: ObjectRef, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion } = options;
    const body = JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid, resourceVersion } });
    const headers = { "content-type": json };
    await this.#json({ method: "DELETE", path: objectPath(type, ref), headers, body, repeatable: true }, options);
  }

  async createToken(account: ObjectRef, request: TokenRequest, options: CallOptions = {}): Promise<IssuedToken> {
    const call = tokenCall(account, request);
    return issuedTokenOf(call.path, await this.#json(call, options));
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #json<T>(call: ApiCall, options: CallOptions): Promise<T> {
    // The server's schema checks objects of this type. Callers that need more parse the object.
    const pooled = options.pool === undefined ? call : { ...call, pool: options.pool };
    return (await this.#caller.json(pooled, options.retry ?? this.#retry, options.signal)) as T;
  }
}

interface WireList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

function selectionQuery(selection: Selection): Record<string, string | undefined> {
  return { labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector };
}

function writeParts(type: ResourceType, object: KubeObject) {
  return {
    headers: { "content-type": json },
    body: JSON.stringify({ ...object, apiVersion: apiVersionOf(type), kind: type.kind }),
  };
}

function refOfObject(object: KubeObject): ObjectRef {
  return { namespace: object.metadata.namespace, name: object.metadata.name ?? "" };
}

/** Adds `apiVersion` and `kind` to the items: lists of built-in kinds omit both. */
function pageOf<T extends KubeObject>(
  list: WireList<T> | null,
  type: ResourceType,
  metadataOnly: boolean,
): KubeList<T> {
  const identity = metadataOnly ? {} : { apiVersion: apiVersionOf(type), kind: type.kind };
  const { resourceVersion = "", continue: next = "" } = list?.metadata ?? {};
  return {
    items: itemsOf(list, type).map((item) => ({ ...item, ...identity })),
    resourceVersion,
    ...(next === "" ? {} : { continue: next }),
  };
}

/** @throws KubeError `transient` for a response without a list, such as a proxy's error page */
function itemsOf<T>(list: WireList<T> | null, { plural }: ResourceType): readonly T[] {
  const items = list?.items;
  if (items === null) return [];
  if (Array.isArray(items)) return items as readonly T[];
  throw new KubeError("transient", `list ${plural}: the response is not a list`, { reason: "BadAnswer" });
}
