import { createHmac } from "node:crypto";
import type { SigningScheme } from "../../crds/signing-key.ts";
import { deliveryHeaders } from "../../runtime/webhooks/signing/signed-request.ts";
import type { SigningKey } from "../../runtime/webhooks/signing/keys.ts";

/** One published vector. `docs/how-to/receive-webhooks.md` documents the members. */
export interface Vector {
  readonly name: string;
  readonly about: string;
  readonly scheme: SigningScheme;
  readonly method: string;
  /** Request target as it was received, query included. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
  /** Clock of the recipient, ISO 8601 UTC. */
  readonly now: string;
  /** Shared keys in force, in base64. */
  readonly secrets: readonly { readonly id: string; readonly key: string }[];
  readonly public_keys?: readonly { readonly id: string; readonly jwk: object }[];
  /** Event ids that had their effect before. @default none */
  readonly seen?: readonly string[];
  readonly expected: Expected;
}

export interface Expected {
  readonly result: "accepted" | "duplicate" | "refused";
  /** Fault of a refused delivery; null otherwise. */
  readonly reason: string | null;
  /** Id of the key that signed; null when the delivery is refused. */
  readonly key: string | null;
  /** Status of the response. */
  readonly status: 200 | 400 | 401;
}

const secondMs = 1_000;
export const sentAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
export const timestamp = new Date(sentAtMs).toISOString();
export const path = "/webhooks/v1/payout";
export const newSecret = Buffer.from("0123456789abcdef0123456789abcdef");
export const oldSecret = Buffer.from("fedcba9876543210fedcba9876543210");
export const newKey = { id: "2026-01", key: newSecret.toString("base64") };
export const oldKey = { id: "2025-07", key: oldSecret.toString("base64") };

export const event = {
  event_id: "evt_1",
  type: "payout.processed",
  version: "2026-01-01",
  ts: "2026-01-02T03:04:05.000Z",
  attempt: 1,
  data: { payout_id: "p-1", status: "paid", amount_minor: 1050, currency: "EUR" },
};
export const bodyText = JSON.stringify(event);

interface Making {
  readonly scheme?: SigningScheme;
  readonly keys?: readonly SigningKey[];
  readonly body?: string;
  readonly eventId?: string;
  /** Path and query of the endpoint. @default {@link path} */
  readonly target?: string;
}

/** Headers of an attempt as the product sends them. */
export function sent({
  scheme = "HmacV1",
  keys = [shared(newSecret)],
  body = bodyText,
  eventId = "evt_1",
  target = path,
}: Making = {}) {
  return deliveryHeaders(scheme, {
    keys,
    url: new URL(`https://partner.example${target}`),
    body: Buffer.from(body),
    eventId,
    sentAtMs,
    attempt: 1,
    producer: "payments",
    version: "0.1.0",
    endpointHeaders: {},
  });
}

export function shared(secret: Uint8Array): SigningKey {
  return { algorithm: "hmac-sha256", secret };
}

/** A signature over any text, as a sender with a fault makes it. */
function signatureOver(parts: readonly string[]): string {
  return `v1=${createHmac("sha256", newSecret).update(parts.join("\n")).digest("base64")}`;
}

export const valid = sent();

export function without(name: string): Vector["headers"] {
  return Object.fromEntries(Object.entries(valid).filter(([header]) => header !== name));
}

export function withHeaders(changes: Vector["headers"]): Vector["headers"] {
  return { ...valid, ...changes };
}

export function faulty(parts: readonly string[], changes: Vector["headers"] = {}): Vector["headers"] {
  return withHeaders({ ...changes, "X-Signature": signatureOver(parts) });
}

export function after(seconds: number, ms = 0): string {
  return new Date(sentAtMs + seconds * secondMs + ms).toISOString();
}

export const accepted: Expected = { result: "accepted", reason: null, key: newKey.id, status: 200 };

export function refused(reason: string, status: 400 | 401 = 401): Expected {
  return { result: "refused", reason, key: null, status };
}

/** The members that differ from a valid HmacV1 delivery of {@link event}. */
export type Change = Partial<Omit<Vector, "name" | "about" | "body" | "expected">> & { readonly body?: string };
export type Row = readonly [name: string, about: string, expected: Expected, change?: Change];

/** The vector of a row. */
export function vectorOf([name, about, expected, { body = bodyText, ...change } = {}]: Row): Vector {
  return {
    name,
    about,
    scheme: "HmacV1",
    method: "POST",
    path,
    headers: valid,
    body: Buffer.from(body).toString("base64"),
    now: after(1),
    secrets: [newKey],
    ...change,
    expected,
  };
}
