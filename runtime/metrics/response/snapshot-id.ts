import { hash } from "node:crypto";
import { refuseField } from "../../errors/refusal.ts";
import type { Result } from "../reads/run-plan.ts";
import type { Query } from "../planning/query.ts";
import { widthApart } from "../request/window.ts";

const snapshotLength = 22;

/**
 * The name of the data of all pages: a digest of the window and of every series. A request for a page with the name of
 * other data is refused, so that pages never mix.
 */
export function snapshotOf({ series }: Result, { window }: Query): string {
  const times = [window.fromMs, window.toMs, window.stepSeconds, ...widthApart(window)];
  const parts: Uint8Array[] = [Buffer.from(JSON.stringify(times))];
  for (const { metric, labels, values } of series) {
    parts.push(Buffer.from(JSON.stringify([metric, labels])));
    parts.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  // One call for all bytes: a call for each series takes longer than their copy.
  return hash("sha256", Buffer.concat(parts), "base64url").slice(0, snapshotLength);
}

/** @throws Refusal `snapshot_gone` */
export function requireSnapshot(pinned: string | undefined, snapshot: string): void {
  if (pinned === undefined || pinned === snapshot) return;
  const detail = "the data has changed since that page; start again from page 1 with the from and to of its response";
  throw refuseField("snapshot_gone", "snapshot", detail);
}
