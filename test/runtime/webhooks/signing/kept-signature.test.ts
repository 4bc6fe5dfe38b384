import { createHmac, verify } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { signingSchemes, type SigningScheme } from "../../../../crds/signing-key.ts";
import {
  deliveryHeaders,
  keepSignature,
  signedTextOf,
  type KeptSignature,
} from "../../../../runtime/webhooks/signing/signed-request.ts";
import { signingKeyOf, type Signer } from "../../../../runtime/webhooks/signing/keys.ts";
import type { SignedText } from "../../../../runtime/webhooks/signing/schemes.ts";
import { privateKeyOf, publicKeyOf, rfcEd25519, rfcP256 } from "./key-material.ts";

const secret = Buffer.from("a secret of thirty-two bytes, no more");
const shared: Signer = { id: "shared", algorithm: "hmac-sha256", secret };
const ed25519: Signer = { id: "ed", ...signingKeyOf({ algorithm: "ed25519", privateKey: privateKeyOf(rfcEd25519) }) };
const p256: Signer = {
  id: "p256",
  ...signingKeyOf({ algorithm: "ecdsa-p256-sha256", privateKey: privateKeyOf(rfcP256) }),
};

/** The signature of the newest key in the headers, and whether that key made it over the text. */
const byHand: Readonly<Record<string, (text: Uint8Array, headers: SignedText["headers"]) => boolean>> = {
  "HmacV1 shared": (text, headers) =>
    headers["X-Signature"]?.split(",")[0] === `v1=${createHmac("sha256", secret).update(text).digest("base64")}`,
  "StandardWebhooks shared": (text, headers) =>
    headers["webhook-signature"]?.split(" ")[0] === `v1,${createHmac("sha256", secret).update(text).digest("base64")}`,
  "StandardWebhooks ed": (text, headers) => {
    const signature = headers["webhook-signature"]?.split(" ")[0]?.slice("v1a,".length) ?? "";
    return verify(null, text, publicKeyOf(rfcEd25519), Buffer.from(signature, "base64"));
  },
  "HttpMessageSignatures ed": (text, headers) =>
    verify(null, text, publicKeyOf(rfcEd25519), firstSignature(headers["Signature"])),
  "HttpMessageSignatures p256": (text, headers) => {
    const key = { key: publicKeyOf(rfcP256), dsaEncoding: "ieee-p1363" } as const;
    return verify("sha256", text, key, firstSignature(headers["Signature"]));
  },
};

function firstSignature(field = ""): Buffer {
  return Buffer.from(/^sig1=:(?<base64>[^:]*):/u.exec(field)?.groups?.["base64"] ?? "", "base64");
}

const signersOf: Readonly<Record<SigningScheme, readonly (readonly Signer[])[]>> = {
  HmacV1: [[shared], [shared, { ...shared, id: "old" }]],
  StandardWebhooks: [[shared], [ed25519], [shared, ed25519], [ed25519, shared]],
  HttpMessageSignatures: [[ed25519], [p256], [p256, ed25519]],
};

interface Made {
  readonly eventId: string;
  readonly number: number;
  readonly sentAtMs: number;
  readonly producer: string;
  readonly path: string;
  readonly query: string;
  readonly port: string;
  readonly replayId: string | undefined;
  readonly body: Buffer;
}

const attempts: fc.Arbitrary<Made> = fc.record({
  eventId: fc.stringMatching(/^[!-~]{1,40}$/u),
  number: fc.integer({ min: 1, max: 999 }),
  sentAtMs: fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
  producer: fc.stringMatching(/^[!-~]([ -~]{0,10}[!-~])?$/u),
  path: fc.constantFrom("/", "/webhooks/v1/payout", "/a%20b/c"),
  query: fc.constantFrom("", "?a=1"),
  port: fc.constantFrom("", ":8443"),
  replayId: fc.option(fc.uuid(), { nil: undefined }),
  body: fc.json().map((json) => Buffer.from(`{"data":${json}}`)),
});

/** Bytes that a record grows by for each key. */
const bytesMax: Readonly<Record<SigningScheme, number>> = {
  HmacV1: 150,
  StandardWebhooks: 180,
  HttpMessageSignatures: 520,
};

/** What of a sent attempt is kept, read back, and the headers that were sent. */
function keptOf(scheme: SigningScheme, signers: readonly Signer[], made: Made) {
  const { eventId, number, sentAtMs, producer, path, query, port, replayId, body } = made;
  const url = new URL(`https://partner.example${port}${path}${query}`);
  const replay = replayId === undefined ? {} : { replayId };
  const sent = deliveryHeaders(scheme, {
    keys: signers,
    url,
    body,
    eventId,
    attempt: number,
    producer,
    sentAtMs,
    version: "1.2.3",
    endpointHeaders: { "X-Api-Key": "of the endpoint" },
    ...replay,
  });
  const stored = JSON.stringify(keepSignature(scheme, signers, url, sent));
  const request = { eventId, number, at: new Date(sentAtMs).toISOString(), body, ...replay };
  return { sent, stored, text: signedTextOf(JSON.parse(stored) as KeptSignature, request), request };
}

describe.each(signingSchemes)("a signature of %s", (scheme) => {
  test("is verified by hand with what was kept, and shows only headers that were sent", () => {
    const property = fc.property(attempts, fc.constantFrom(...signersOf[scheme]), (made, signers) => {
      const { sent, stored, text } = keptOf(scheme, signers, made);
      if (text === undefined) throw new Error("nothing was built again");
      const newest = signers[0]?.id ?? "";
      // The recipient knows its own query.
      const signed = Buffer.from(Buffer.from(text.text).toString("latin1").replace("?***", made.query), "latin1");
      expect(byHand[`${scheme} ${newest}`]?.(signed, text.headers)).toBe(true);
      expect(byHand[`${scheme} ${newest}`]?.(Buffer.concat([signed, Buffer.from("x")]), text.headers)).toBe(false);
      expect(sent).toMatchObject(text.headers);
      expect(JSON.parse(stored)).toMatchObject({ scheme, keys: signers.map(({ id }) => id) });
      expect(JSON.stringify(text.headers)).not.toContain("of the endpoint");
    });
    fc.assert(property, { numRuns: 100, seed: 20 });
  });

  test("holds no query, which may be the endpoint's secret, in its record or its text", () => {
    const made = { eventId: "evt-1", number: 1, sentAtMs: 1_700_000_000_000, producer: "p", path: "/v1", port: "" };
    for (const signers of signersOf[scheme]) {
      const more = { query: "?code=s3cr3t", replayId: undefined, body: Buffer.from("{}") };
      const { stored, text, request } = keptOf(scheme, signers, { ...made, ...more });
      const { url, ...earlier } = JSON.parse(stored) as KeptSignature;
      const plainUrl = url === undefined ? {} : { url: url.replace("?***", "?code=s3cr3t") };
      const texts = [text, signedTextOf({ ...earlier, ...plainUrl }, request)].map((one) =>
        Buffer.from(one?.text ?? "").toString(),
      );
      expect([stored, ...texts].join("\n")).not.toContain("s3cr3t");
      const shown = scheme === "HttpMessageSignatures" ? ['"@query": ?***', '"@query": ?***'] : [undefined, undefined];
      expect(texts.map((one) => /^"@query": .*$/mu.exec(one)?.[0])).toEqual(shown);
    }
  });

  test("takes few bytes of a record and no key", () => {
    const made = { number: 1, sentAtMs: 1_700_000_000_000, producer: "p", path: "/webhooks/v1/payout", query: "" };
    for (const signers of signersOf[scheme]) {
      const more = { eventId: "evt-1", port: "", replayId: undefined, body: Buffer.from("{}") };
      const { stored } = keptOf(scheme, signers, { ...made, ...more });
      expect(stored.length).toBeLessThan(bytesMax[scheme] * signers.length);
      expect(stored).not.toMatch(/PRIVATE|a secret of/u);
      expect(stored).not.toContain(secret.toString("base64"));
    }
  });
});

test("a scheme or a header of another version gives no text", () => {
  const request = { eventId: "e", number: 1, at: "2026-01-01T00:00:00.000Z", body: Buffer.from("{}") };
  const later = { scheme: "Later" as SigningScheme, keys: ["k"], headers: {} };
  expect(signedTextOf(later, request)).toBeUndefined();
  const malformed = { "Signature-Input": "sig1", Signature: "" };
  const url = "https://partner.example/";
  expect(signedTextOf({ scheme: "HttpMessageSignatures", keys: [], url, headers: malformed }, request)).toBeUndefined();
  const uncovered = { "Signature-Input": 'sig1=("x-webhook-replay");created=1', Signature: "" };
  expect(signedTextOf({ scheme: "HttpMessageSignatures", keys: [], url, headers: uncovered }, request)).toBeUndefined();
});
