import { orders } from "../../../api/events.ts";
import { type Parameters, readOne, readWord, rejectUnknown } from "../../metrics/request/parameters.ts";
import type { DeadLetterQuery } from "../../webhooks/replay/dead-letters-api.ts";
import { placeOf, readReason } from "./event-query.ts";

const listNames: readonly string[] = ["partner", "reason", "order", "cursor", "limit"];

/** Reads the parameters of `GET /webhooks/dead-letters`. @throws ApiError 400 that names the parameter at fault */
export function readDeadLetterQuery(query: Parameters): DeadLetterQuery {
  rejectUnknown(query, (name) => listNames.includes(name));
  const partner = readOne(query, "partner");
  const reason = readReason(query);
  return {
    isNewestFirst: readWord(query, "order", orders) === "desc",
    ...placeOf(query),
    ...(partner === undefined ? {} : { partner }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/**
 * Reads the parameter of `GET /webhooks/dead-letters/counts`. @throws ApiError 400 that names the parameter at fault
 */
export function readCountsPartner(query: Parameters): string | undefined {
  rejectUnknown(query, (name) => name === "partner");
  return readOne(query, "partner");
}
