import { resourceTypes, type ResourceObject } from "../../operator/resource-types.ts";
import type { OperatorCluster } from "../operator/operator-cluster.ts";
import { waitFor } from "../support/wait.ts";
import { CatalogTimeline } from "./catalog-timeline.ts";
import {
  contestedType,
  factsOf,
  schemaOf,
  specOf,
  versionKey,
  type CatalogSlot,
  type CatalogVerb,
} from "./catalog-walk.ts";
import { resultOf, type CatalogFacts, type EventFacts, type Undeclared, type IngestResult } from "./contracts.ts";
import { ignoreMissing, persist } from "./partners.ts";
import type { Responded } from "./traffic.ts";

interface CatalogStep {
  readonly verb: CatalogVerb;
  readonly catalog: CatalogSlot;
  /** Whether the walk waits until the status of a rejected edit says so. */
  readonly isWatched: boolean;
}

/** A setting of a pod, from when on it may be in force until when it is. */
interface UndeclaredChange {
  /** Undefined for all. */
  readonly pod: number | undefined;
  readonly undeclared: Undeclared;
  readonly beganMs: number;
  settledMs?: number;
}

/** A younger catalog, in the namespace of the other one. */
const rival = { namespace: "shop", name: "rival" } as const;
/** How far an end of a version lies ahead of its edit: some events are sent before, and some after it. */
const sunsetAheadMs = 2_000;
/** The clocks of pods follow that of JetStream. */
const clockSlackMs = 1_000;
/** How long a status may take while servers come and go. */
const statusMsMax = 30_000;

/** The event catalogs of the walk, what each declares over time, and the settings about undeclared types. */
export class Catalogs {
  readonly timelines: readonly CatalogTimeline[];
  /** Edits that were not rejected although they break their schema, in sentences. */
  readonly problems: string[] = [];
  readonly #cluster: OperatorCluster;
  readonly #identities = new Map<number, { readonly uid: string; readonly generation: number }>();
  readonly #sunsets = new Map<string, number>();
  readonly #undeclared: UndeclaredChange[] = [{ pod: undefined, undeclared: "Accept", beganMs: 0, settledMs: 0 }];
  readonly #typesOf: readonly (readonly string[])[];

  constructor(cluster: OperatorCluster, slots: readonly CatalogSlot[]) {
    this.#cluster = cluster;
    this.timelines = [...slots, rival].map(({ namespace, name }) => new CatalogTimeline(`${namespace}/${name}`));
    this.timelines.at(-1)?.began(Date.now(), undefined);
    this.#typesOf = slots.map(({ types }) => types.map(({ type }) => type));
  }

  async make(slot: CatalogSlot): Promise<void> {
    const change = this.#timeline(slot).began(Date.now(), factsOf(slot, this.#sunsets));
    const { uid, generation } = (await this.#put(slot)).metadata;
    change.applied({ uid, generation });
    this.#identities.set(slot.index, { uid, generation });
  }

  /** The policy changes for a catalog: the object stays, and the types that it may declare change. */
  policyBegan(slot: CatalogSlot): void {
    const facts = factsOf(slot, this.#sunsets);
    const identity = this.#identities.get(slot.index);
    const change = this.#timeline(slot).began(Date.now(), Object.keys(facts).length === 0 ? undefined : facts);
    if (identity !== undefined && Object.keys(facts).length > 0) change.applied(identity);
  }

  /** A younger catalog claims a type of another one, or leaves. It never gets the type. */
  async contest(hasRival: boolean): Promise<void> {
    const { namespace, name } = rival;
    if (!hasRival) {
      const remove = (): Promise<void> => this.#cluster.remove(namespace, "EventCatalog", name).catch(ignoreMissing);
      return persist(`delete ${namespace}/${name}`, remove);
    }
    const version = { version: "2026-01-01", schema: schemaOf(2) };
    const types = [{ type: contestedType, description: "A claim.", versions: [version] }];
    const { metadata } = await persist(`apply ${namespace}/${name}`, () =>
      this.#cluster.put(namespace, "EventCatalog", name, { owner: "rival", types }),
    );
    this.timelines.at(-1)?.rejects({ uid: metadata.uid, generation: metadata.generation }, "conflict");
  }

  async applyStep({ verb, catalog, isWatched }: CatalogStep): Promise<void> {
    if (verb === "delete_catalog") return this.#remove(catalog);
    if (verb === "break_catalog") return this.#break(catalog, isWatched);
    if (verb === "sunset") this.#end(catalog);
    return this.make(catalog);
  }

  /** The timeline of the catalog that may declare a type. */
  timelineOf(type: string): CatalogTimeline | undefined {
    return this.timelines[this.#typesOf.findIndex((types) => types.includes(type))];
  }

  /** The settings of a pod change from now on; the result is called when it has them. */
  undeclaredBegan(pod: number, undeclared: Undeclared): () => void {
    const change: UndeclaredChange = { pod, undeclared, beganMs: Date.now() };
    this.#undeclared.push(change);
    return () => {
      change.settledMs = Date.now();
    };
  }

  /** Everything that a pod may respond to a request between these two times, Unix milliseconds. */
  results(event: EventFacts, { pod, fromMs, toMs }: Omit<Responded, "code">): ReadonlySet<IngestResult> {
    const declared: readonly CatalogFacts[] = this.timelineOf(event.type)?.possible(fromMs, toMs) ?? [{}];
    const times = [fromMs - clockSlackMs, toMs + clockSlackMs];
    const modes = this.#modes(pod, fromMs, toMs);
    return new Set(
      declared.flatMap((facts) => modes.flatMap((mode) => times.map((atMs) => resultOf(event, facts, mode, atMs)))),
    );
  }

  #modes(pod: number, fromMs: number, toMs: number): readonly Undeclared[] {
    const own = this.#undeclared.filter((one) => (one.pod ?? pod) === pod);
    const before = own.findLastIndex(({ settledMs }) => settledMs !== undefined && settledMs <= fromMs);
    const possible = own.slice(Math.max(before, 0)).filter(({ beganMs }) => beganMs <= toMs);
    return possible.map(({ undeclared }) => undeclared);
  }

  async #break(slot: CatalogSlot, isWatched: boolean): Promise<void> {
    const { metadata } = await this.#put(slot);
    const { uid, generation } = metadata;
    this.#timeline(slot).rejects({ uid, generation }, slot.fault ?? "");
    if (isWatched) await this.#untilRejected(slot, generation);
  }

  async #untilRejected({ namespace, name, fault }: CatalogSlot, generation: number): Promise<void> {
    const reason = fault === "keyword" ? "Invalid" : "Incompatible";
    const what = `${namespace}/${name} of generation ${generation} to be ${reason}`;
    const look = async (): Promise<boolean> => {
      const { status } = await this.#cluster.client.get<ResourceObject>(resourceTypes.EventCatalog, {
        namespace,
        name,
      });
      const accepted = status?.conditions?.find(({ type }) => type === "Accepted");
      return accepted?.reason === reason && accepted.observedGeneration === generation;
    };
    await waitFor(look, { timeoutMs: statusMsMax, pollMs: 100, what }).catch((error: unknown) => {
      this.problems.push(String(error));
    });
  }

  async #remove({ namespace, name, ...slot }: CatalogSlot): Promise<void> {
    this.#timeline(slot).began(Date.now(), undefined);
    const remove = (): Promise<void> => this.#cluster.remove(namespace, "EventCatalog", name).catch(ignoreMissing);
    await persist(`delete ${namespace}/${name}`, remove);
  }

  /** Versions that end get a time; those that ended before keep theirs. */
  #end({ types }: CatalogSlot): void {
    const ended = types.flatMap(({ type, versions }) =>
      versions.filter(({ state }) => state === "Ended").map(({ version }) => versionKey(type, version)),
    );
    for (const key of ended) if (!this.#sunsets.has(key)) this.#sunsets.set(key, Date.now() + sunsetAheadMs);
  }

  async #put(slot: CatalogSlot): Promise<ResourceObject> {
    const { namespace, name, types } = slot;
    // A version that is revived may end again, later.
    for (const { type, versions } of types)
      for (const { version, state } of versions) if (state !== "Ended") this.#sunsets.delete(versionKey(type, version));
    const spec = Object.entries(specOf(slot, this.#sunsets));
    return persist(`apply ${namespace}/${name}`, () =>
      this.#cluster.put(namespace, "EventCatalog", name, Object.fromEntries(spec)),
    );
  }

  #timeline({ index }: Pick<CatalogSlot, "index">): CatalogTimeline {
    const timeline = this.timelines[index];
    if (timeline === undefined) throw new Error(`there is no catalog ${index}`);
    return timeline;
  }
}
