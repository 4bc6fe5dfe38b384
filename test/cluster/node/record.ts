import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Layout } from "./layout.ts";
import type { ProcessIdentity } from "./process-identity.ts";

/** What was started for a node, kept on disk so that any later process can end it. */
export interface NodeRecord {
  /** The process that made the namespaces; the first one inside is its child and ends with it. */
  readonly outer: ProcessIdentity;
  /** The first process inside. */
  readonly init?: ProcessIdentity;
  /** Whether the cluster was ready; one that is not was interrupted. */
  readonly ready: boolean;
}

/** Keeps the record in one step. */
export function writeRecord(layout: Layout, record: NodeRecord): void {
  const making = `${layout.record}.making`;
  writeFileSync(making, JSON.stringify(record, undefined, 2));
  renameSync(making, layout.record);
}

/** The record, if there is one. */
export function readRecord(layout: Layout): NodeRecord | undefined {
  try {
    return JSON.parse(readFileSync(layout.record, "utf8")) as NodeRecord;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
