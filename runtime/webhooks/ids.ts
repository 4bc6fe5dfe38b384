import { hash } from "node:crypto";

/**
 * Recipes of message ids, delivery ids, event hashes and partner keys, and lists of tenants; no I/O. The recipes never
 * change: stored messages outlive the program. A hash is the first characters of SHA-256 in base64url, which subjects
 * and names allow.
 */

/** 96 bits. */
const partnerKeyLength = 16;
/** 132 bits. */
const hashLength = 22;

/** One step of a delivery: an attempt of a generation, and how often it was republished. */
export interface AttemptId {
  /** {@link deliveryId}. */
  readonly did: string;
  /** 0 for the original delivery; incremented by each replay. */
  readonly generation: number;
  /** From 1 in each generation. */
  readonly attempt: number;
  /** Times that the message was republished without an attempt. */
  readonly hop: number;
}

/**
 * Subject token, consumer name and bucket key of a partner: hash of `uid`. A partner that is deleted and created again
 * under the same name has another uid. It therefore never gets the deliveries of its predecessor.
 */
export function partnerKey(uid: string): string {
  return digest(uid, partnerKeyLength);
}

/**
 * Last token of an event's subject: hash of its id. The tenant is a separate token of the subject, so one filter finds
 * an event in one tenant or in all.
 */
export function eventHash(eventId: string): string {
  return digest(eventId, hashLength);
}

/**
 * Id of the delivery of one event to one partner: hash of tenant, partner uid and event id, joined by line feeds.
 * Tenants and uids hold no line feed.
 */
export function deliveryId(tenant: string, eventId: string, partnerUid: string): string {
  return digest(`${tenant}\n${partnerUid}\n${eventId}`, hashLength);
}

/**
 * Message id of every publish into the deliveries stream: `did:generation:attempt:hop`. A repeat of the same step has
 * the same id and is stored once. Every other step has another id.
 */
export function messageId({ did, generation, attempt, hop }: AttemptId): string {
  return `${did}:${generation}:${attempt}:${hop}`;
}

function digest(text: string, length: number): string {
  return hash("sha256", text, "base64url").slice(0, length);
}

/** The entry of a list of tenants that includes all tenants. */
export const anyTenant = "*";

/** True when the list includes a tenant; {@link anyTenant} includes all. */
export function includesTenant(tenants: readonly string[], tenant: string): boolean {
  return tenants.includes(anyTenant) || tenants.includes(tenant);
}

/** True when events for an entry of a subscription may be events of a caller's tenants. */
export function mayConcern(entry: string, tenants: readonly string[]): boolean {
  return tenants.length > 0 && (entry === anyTenant || includesTenant(tenants, entry));
}

/** The tenant whose events are scanned: the only one of the list, or {@link anyTenant}. */
export function tenantToScan(tenants: readonly string[]): string {
  const [only = anyTenant, ...more] = tenants;
  return more.length === 0 ? only : anyTenant;
}
