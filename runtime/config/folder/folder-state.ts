import { byText, ContentHash } from "../../../crds/compile/canonical-json.ts";
import { createCompiler } from "../../../crds/compile/compile.ts";
import type { ResourceResult } from "../../../crds/compile/resource-result.ts";
import type { NotAppliedPartner, RuntimeConfig } from "../../../crds/config.ts";
import { type Before, lastGoodMsDefault } from "../../../crds/compile/last-good.ts";
import type { ConfigzError } from "../../../crds/configz.ts";
import type { InstallationPolicy } from "../../../crds/policy.ts";
import type { ConfigState } from "../config-source.ts";
import type { SourceProblem } from "../yaml/yaml-documents.ts";
import {
  noObjects,
  objectKey,
  readObjects,
  type FolderFile,
  type FolderObjects,
  type RejectedObject,
} from "./folder-objects.ts";

/** The present state of a folder. */
export interface FolderState extends ConfigState {
  /** Result of each object that is valid by itself. */
  readonly results: readonly ResourceResult[];
  /** All faults of files and objects, by file and line. */
  readonly problems: readonly SourceProblem[];
  /** What works but is probably not meant, at the object's first line. */
  readonly warnings: readonly SourceProblem[];
  /** `Kind/namespace/name` of objects that stay in force in an earlier version. */
  readonly kept: readonly string[];
  /** Names of the files that declare partners, by `namespace/name`. */
  readonly files: ReadonlyMap<string, string>;
}

interface Compilation {
  readonly policy: InstallationPolicy;
  readonly before: Before;
  /** Of one folder: it reuses the results of unchanged objects. */
  readonly compile: ReturnType<typeof createCompiler>;
  /** Of one folder: they keep the hashes of unchanged objects. */
  readonly hashes: ContentHash;
}

/** Compiles files that were read otherwise. */
export function compileFiles(files: readonly FolderFile[], policy: InstallationPolicy): FolderState {
  const before: Before = { partOf: () => undefined, nowMs: Date.now(), lastGoodMs: lastGoodMsDefault, mayForget: true };
  return stateOf(
    readObjects(files, noObjects),
    { policy, before, compile: createCompiler(), hashes: new ContentHash() },
    [],
  ).state;
}

/** Compiles the objects of a folder. `againMs` is the time at which time alone makes another state. */
export function stateOf(
  { objects, problems, kept, rejected, isPartial }: FolderObjects,
  { policy, before, compile, hashes }: Compilation,
  folderProblems: readonly SourceProblem[],
): { readonly state: FolderState; readonly againMs: number } {
  const all = [...objects];
  const {
    config: compiled,
    results,
    againMs,
  } = compile({
    resources: all.flatMap(([, { resource }]) => resource ?? []),
    secrets: new Map(
      all.flatMap(([key, { secret }]) => (secret === undefined ? [] : [[key.slice("Secret/".length), secret]])),
    ),
    policy,
    before,
  });
  const isWhole = !isPartial && folderProblems.length === 0;
  const unread = rejected.flatMap(({ file: _file, kind, ...partner }) => (kind === "WebhookPartner" ? [partner] : []));
  const config = withNotApplied(compiled, [...unread, ...results.flatMap(notAppliedResult)], !isWhole);
  const state = {
    config,
    hash: hashes.of(compiled),
    results,
    errors: [...rejected.map(rejectionError), ...results.flatMap((result) => resultError(result) ?? [])],
    problems: [...folderProblems, ...problems, ...results.flatMap((result) => resultProblems(result, objects))],
    warnings: results.flatMap((result) => resultWarnings(result, objects)),
    kept: [...kept, ...results.flatMap((result) => lastGoodKey(result) ?? [])],
    files: filesOf({ objects, rejected }),
  };
  return { state, againMs };
}

/** A rejected edit may be in another file than the version in force. */
function filesOf({ objects, rejected }: Pick<FolderObjects, "objects" | "rejected">): FolderState["files"] {
  const label = (namespace: string, name: string): string => `${namespace}/${name}`;
  return new Map([
    ...[...objects.values()].flatMap(({ resource, file }) =>
      resource?.kind === "WebhookPartner"
        ? [[label(resource.metadata.namespace, resource.metadata.name), file] as const]
        : [],
    ),
    ...rejected.flatMap(({ kind, namespace, name, file }) =>
      kind === "WebhookPartner" ? [[label(namespace, name), file] as const] : [],
    ),
  ]);
}

/** The configuration with what the folder contains beyond it. A partner keeps its first reason. */
function withNotApplied(
  config: RuntimeConfig,
  partners: readonly NotAppliedPartner[],
  isPartial: boolean,
): RuntimeConfig {
  if (partners.length === 0 && !isPartial) return config;
  const byUid = new Map(partners.toReversed().map((partner) => [partner.uid, partner]));
  const sorted = [...byUid.values()].toSorted((a, b) => byText(a.namespace, b.namespace) || byText(a.name, b.name));
  return { ...config, notApplied: { partners: sorted, isPartial } };
}

function notAppliedResult(result: ResourceResult): readonly NotAppliedPartner[] {
  const error = resultError(result);
  if (error === undefined || error.kind !== "WebhookPartner") return [];
  const { namespace, name, reason, message } = error;
  return [{ uid: result.uid, namespace, name, reason, message }];
}

/** Objects of a folder have no generations. */
const generation = 1;

function rejectionError({ kind, namespace, name, reason, message }: RejectedObject): ConfigzError {
  return { kind, namespace, name, generation, reason, message };
}

function resultError({ kind, namespace, name, accepted, resolvedRefs }: ResourceResult): ConfigzError | undefined {
  if (accepted.status && resolvedRefs.status) return undefined;
  const { reason, message } = accepted.status ? resolvedRefs : accepted;
  return { kind, namespace, name, generation, reason, message };
}

function lastGoodKey({ kind, namespace, name, lastGood }: ResourceResult): string | undefined {
  return lastGood === undefined ? undefined : objectKey(kind, namespace, name);
}

function resultProblems(result: ResourceResult, objects: FolderObjects["objects"]): readonly SourceProblem[] {
  const object = objects.get(objectKey(result.kind, result.namespace, result.name));
  if (object === undefined) return [];
  return result.problems.map((problem) => ({ ...problem, file: object.file, line: object.lineOf(problem.field) }));
}

function resultWarnings(result: ResourceResult, objects: FolderObjects["objects"]): readonly SourceProblem[] {
  const { kind, namespace, name, warnings } = result;
  const object = objects.get(objectKey(kind, namespace, name));
  if (object === undefined) return [];
  return warnings.map((message) => ({
    file: object.file,
    line: object.lineOf(""),
    field: "",
    reason: "Warning",
    message: `${kind} ${namespace}/${name}: ${message}`,
  }));
}
