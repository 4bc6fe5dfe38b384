import { invalidField } from "../../errors/api-error.ts";
import { type Parameters, readOne, rejectUnknown } from "../../metrics/request/parameters.ts";
import type { ReplayPlace, ReplayQuery } from "../../webhooks/replay/list-replays.ts";
import { readPageLimit } from "./event-query.ts";

const names: readonly string[] = ["cursor", "limit"];
const cursorForm = /^(?<createdAtMs>\d{1,15})-(?<id>[\w-]{1,64})$/u;

/** Reads the parameters of `GET /webhooks/replay`. @throws ApiError 400 that names the parameter at fault */
export function readReplayQuery(query: Parameters): ReplayQuery {
  rejectUnknown(query, (name) => names.includes(name));
  const limit = readPageLimit(query);
  const cursor = readOne(query, "cursor");
  if (cursor === undefined) return { limit };
  const { createdAtMs, id } = cursorForm.exec(cursor)?.groups ?? {};
  if (createdAtMs === undefined || id === undefined)
    throw invalidField("invalid_request", "cursor", "cursor must be meta.cursor of an earlier page");
  return { limit, after: { createdAtMs: Number(createdAtMs), id } };
}

/** Writes the cursor that {@link readReplayQuery} reads. */
export function replayCursor({ createdAtMs, id }: ReplayPlace): string {
  return `${createdAtMs}-${id}`;
}
