import { ownDomain } from "../../../api/events.ts";

/** Prefix of the ids of operational events. Producers must not use it, because ids are unique in the installation. */
export const ownIdPrefix = `${ownDomain}:`;

/** Type of a ping: a test event that a caller requests for one partner. */
export const pingType = `${ownDomain}.ping`;

/** True for the type of a ping, which no metric of an objective counts. */
export function isPing(type: string): boolean {
  return type === pingType;
}

/** True when a type is reserved for operational events and pings. */
export function isOwnType(type: string): boolean {
  return type.startsWith(`${ownDomain}.`);
}
