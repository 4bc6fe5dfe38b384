import { hash } from "node:crypto";

/**
 * Recipes of every key under which a delivery is stored. They never change: what is stored outlives the program.
 * Hashes are the first characters of SHA-256 in base64url, whose letters are safe in subjects and names.
 */

/** 96 bits. */
const partnerTokenLength = 16;
/** 128 bits and a little. */
const hashLength = 22;

/** Which try of a delivery a message stands for. */
export interface AttemptId {
  /** {@link deliveryId}. */
  readonly did: string;
  /** 0 for the event itself; each replay is one more. */
  readonly generation: number;
  /** From 1 in each generation. */
  readonly attempt: number;
  /** How often the message was published again without an attempt. */
  readonly hop: number;
}

/**
 * Subject token and consumer name of a partner: hash of `uid`. A partner that is deleted and made again under the same
 * name has another uid, so it never inherits deliveries that were meant for its predecessor.
 */
export function partnerKey(uid: string): string {
  return digest(uid, partnerTokenLength);
}

/**
 * Last token of an event's subject: hash of its id. The tenant is not in it, since it is a token of its own in the same
 * subject: so an event is found in one tenant, in some, or in all.
 */
export function eventHash(eventId: string): string {
  return digest(eventId, hashLength);
}

/**
 * The delivery of one event to one partner: hash of tenant, partner uid and event id, joined by line feeds, which
 * neither tenants nor uids hold.
 */
export function deliveryId(tenant: string, eventId: string, partnerUid: string): string {
  return digest(`${tenant}\n${partnerUid}\n${eventId}`, hashLength);
}

/**
 * Message id of every publish into the deliveries stream: `did:generation:attempt:hop`. A repeat of the same step has
 * the same id and is stored once; every other step has another.
 */
export function messageId({ did, generation, attempt, hop }: AttemptId): string {
  return `${did}:${generation}:${attempt}:${hop}`;
}

function digest(text: string, length: number): string {
  return hash("sha256", text, "base64url").slice(0, length);
}
