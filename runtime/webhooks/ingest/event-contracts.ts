import { setImmediate } from "node:timers/promises";
import type { EventVersionConfig } from "../../../crds/config.ts";
import type { DeclaredType } from "../../../crds/declared-types.ts";
import { parseExactly } from "../../../crds/event-schema/long-number.ts";
import { parseSchema } from "../../../crds/event-schema/parse-schema.ts";
import { compileAhead, programsIn } from "../../../crds/event-schema/pattern.ts";
import { validateData } from "../../../crds/event-schema/validate-data.ts";
import { nodesBelow, type PointerProblem, type SchemaNode } from "../../../crds/event-schema/schema-node.ts";
import type { EventSettings } from "../../config/settings/settings.ts";
import type { ApiError } from "../../errors/api-error.ts";
import { contractError } from "../events/contract-error.ts";
import { type Envelope, eventText, type ValidEnvelope } from "../events/envelope.ts";
import type { Log } from "../log.ts";
import type { DeliveryMetrics } from "../telemetry/delivery-metrics.ts";

interface EventContractsDeps {
  /** What becomes of a type or version that no catalog declares. */
  readonly undeclared: EventSettings["undeclared"];
  readonly metrics: Pick<
    DeliveryMetrics,
    "undeclared" | "invalidData" | "deprecatedEvents" | "eventSchemaBytes" | "eventSchemaFaults"
  >;
  readonly log: Pick<Log, "warn" | "error">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Undeclared types that are logged between two configurations. A counter counts all of them. */
const loggedMax = 100;
/** Memory of one schema within a schema, with its names: 300 to 500 bytes in a heap of Node 24. */
const nodeBytes = 400;
/** Schemas within schemas that are parsed before an event needs them: 10 MB. */
const preparedNodesMax = 25_000;

/** Later turns of the event loop, which do not keep the process alive. */
const nextTurn = async (): Promise<void> => setImmediate(undefined, { ref: false });

/** The declared types of the applied configuration, which every event must match before it is stored. */
export class EventContracts {
  readonly #deps: EventContractsDeps;
  readonly #logged = new Set<string>();
  /** Parsed ahead, or with the first event of the version. A configuration keeps the objects that did not change. */
  readonly #roots = new WeakMap<EventVersionConfig, SchemaNode>();
  /** The last root of each type and version, for a schema that this pod cannot parse. */
  readonly #lastGood = new Map<string, SchemaNode>();
  #types: ReadonlyMap<string, DeclaredType> = new Map();
  /** False while every event passes: no type is declared, and others are accepted. */
  areNeeded: boolean;

  constructor(deps: EventContractsDeps) {
    this.#deps = deps;
    this.areNeeded = deps.undeclared !== "Accept";
  }

  /** Replaces the declared types. Schemas are parsed in later turns, or when an event needs them. */
  apply(types: ReadonlyMap<string, DeclaredType>): void {
    if (types !== this.#types) void this.#prepare(types);
    this.#types = types;
    this.areNeeded = this.#types.size > 0 || this.#deps.undeclared !== "Accept";
    this.#logged.clear();
    const { eventSchemaBytes } = this.#deps.metrics;
    eventSchemaBytes.reset();
    for (const key of this.#lastGood.keys()) {
      const [type = "", version = ""] = key.split(" ");
      const declared = this.#types.get(type)?.versions.get(version);
      if (declared === undefined) this.#lastGood.delete(key);
      else this.#measure(type, version);
    }
  }

  /**
   * Checks an event against its declared version, and counts the result.
   * @param onSteps called with the steps of the validation
   * @throws ApiError as in {@link judge}
   */
  check(envelope: Envelope, onSteps?: (steps: number) => void): void {
    const error = this.#errorOf(envelope, onSteps);
    this.#count(envelope, error);
    if (error !== undefined) throw error;
  }

  /**
   * Checks an event against its declared version. Nothing is counted.
   * @throws ApiError `invalid_data` with each field at fault, `version_retired`, `undeclared_type`
   */
  judge(envelope: Envelope): void {
    const error = this.#errorOf(envelope);
    if (error !== undefined) throw error;
  }

  /**
   * Parses schemas and compiles their patterns, one in each turn of the event loop, so that no event waits for it. The
   * examples of a version are validated with it, because code that runs for the first time is slow.
   */
  async #prepare(types: ReadonlyMap<string, DeclaredType>): Promise<void> {
    for (const _step of this.#preparation(types)) {
      await nextTurn();
      if (this.#types !== types) return;
    }
  }

  *#preparation(types: ReadonlyMap<string, DeclaredType>): Generator<undefined> {
    const versions = [...types].flatMap(([type, declared]) =>
      [...declared.versions.values()].map((one) => [type, one] as const),
    );
    let nodes = 0;
    for (const [type, version] of versions.filter(
      ([, one]) => (one.sunsetAtMs ?? Number.POSITIVE_INFINITY) > this.#deps.now(),
    )) {
      if (nodes > preparedNodesMax) return;
      for (const source of this.#roots.has(version) ? [] : programsIn(version.schema)) {
        yield;
        compileAhead(source);
      }
      yield;
      const root = this.#rootOf(type, version);
      if (root === undefined) continue;
      nodes += nodesBelow(root).size;
      for (const example of version.examples) validateData(root, example);
    }
  }

  #errorOf(envelope: Envelope, onSteps?: (steps: number) => void): ApiError | undefined {
    return contractError(this.#types, envelope, {
      rejectsUndeclared: this.#deps.undeclared === "Reject",
      nowMs: this.#deps.now(),
      rootOf: (type, declared) => this.#rootOf(type, declared),
      ...(onSteps === undefined ? {} : { onSteps }),
    });
  }

  #count({ type, version }: Envelope, error: ApiError | undefined): void {
    const { undeclared, metrics } = this.#deps;
    const declared = this.#types.get(type)?.versions.get(version);
    if (error?.code === "invalid_data") metrics.invalidData.inc({ type, version });
    else if (declared?.state === "Deprecated" && error === undefined) metrics.deprecatedEvents.inc({ type, version });
    if (declared !== undefined || undeclared === "Accept") return;
    metrics.undeclared.inc();
    if (error === undefined) this.#logUndeclared(type, version);
  }

  #logUndeclared(type: string, version: string): void {
    const key = `${type} ${version}`;
    if (this.#logged.size >= loggedMax || this.#logged.has(key)) return;
    this.#logged.add(key);
    this.#deps.log.warn({ type, version }, "event of an undeclared type accepted");
  }

  #rootOf(type: string, declared: EventVersionConfig): SchemaNode | undefined {
    const known = this.#roots.get(declared);
    if (known !== undefined) return known;
    const key = `${type} ${declared.version}`;
    const { root, problems } = parseSchema(declared.schema);
    const used = root ?? this.#lastGood.get(key);
    if (root === undefined) this.#reportFault(key, problems, used !== undefined);
    if (used === undefined) return undefined;
    this.#roots.set(declared, used);
    this.#lastGood.set(key, used);
    this.#measure(type, declared.version);
    return used;
  }

  /** A configuration may come from an operator of another version. */
  #reportFault(key: string, [problem]: readonly PointerProblem[], hasLast: boolean): void {
    if (this.#logged.has(`fault ${key}`)) return;
    this.#logged.add(`fault ${key}`);
    this.#deps.metrics.eventSchemaFaults.inc();
    const outcome = hasLast ? "last good schema kept" : "events are not validated";
    this.#deps.log.error({ version: key, ...problem }, `schema cannot be read, ${outcome}`);
  }

  #measure(type: string, version: string): void {
    const root = this.#lastGood.get(`${type} ${version}`);
    if (root !== undefined)
      this.#deps.metrics.eventSchemaBytes.set({ type, version }, nodesBelow(root).size * nodeBytes);
  }
}

/** The envelope of an event with every digit of its data. */
export function exactEnvelope({ envelope, bytes, hasLongNumbers }: ValidEnvelope): Envelope {
  if (!hasLongNumbers) return envelope;
  const { data = {} } = parseExactly(eventText(bytes)) as Pick<Envelope, "data">;
  return { ...envelope, data };
}
