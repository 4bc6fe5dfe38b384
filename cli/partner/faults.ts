import type { DeliveryFault } from "../../runtime/recipient/verify-delivery.ts";

/** What each fault means and what to look at. */
export const faultSentences: Readonly<Record<DeliveryFault, string>> = {
  signature_missing: "a header of the signature is missing or repeated; check --scheme, and what a proxy removes",
  timestamp_missing: "the time of the attempt is missing or repeated",
  timestamp_malformed: "the time of the attempt is no such time",
  timestamp_outside_window: "the time of the attempt is more than 300 s from the clock; check the clock, or give --now",
  signature_malformed: "the signature has another form; it is base64 with its padding, at most eight of them",
  signature_mismatch: "no key made the signature over this method, path, time and body",
  digest_missing: "Content-Digest is missing or has no algorithm that is known",
  digest_mismatch: "Content-Digest is not the digest of this body",
  components_missing: "the signature covers too little, or a header that the request does not have",
  body_malformed: "the signature is valid, and the body is no event",
  event_id_differs: "the signature is valid, and X-Event-Id is not the event_id of the body",
};
