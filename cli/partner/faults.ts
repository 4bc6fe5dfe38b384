import type { DeliveryFault } from "../../runtime/recipient/verify-delivery.ts";

/** What each fault means and what to look at. */
export const faultSentences: Readonly<Record<DeliveryFault, string>> = {
  signature_missing: "a signature header is missing or repeated; check --scheme and whether a proxy removes headers",
  timestamp_missing: "the timestamp header is missing or repeated",
  timestamp_malformed: "the timestamp is not a valid time",
  timestamp_outside_window: "the timestamp differs from the clock by more than 300 s; check the clock or set --now",
  signature_malformed: "the signature is malformed; expected at most eight signatures in padded base64",
  signature_mismatch: "no key matches the signature of this method, path, timestamp and body",
  digest_missing: "Content-Digest is missing or has no supported algorithm",
  digest_mismatch: "Content-Digest does not match the body",
  components_missing: "the signature does not cover all required parts, or covers a header that is missing",
  body_malformed: "the signature is valid, but the body is not an event",
  event_id_differs: "the signature is valid, but X-Event-Id differs from the event_id of the body",
};
