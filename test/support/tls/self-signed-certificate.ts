import { generateKeyPairSync } from "node:crypto";
import { type Certificate, signCertificate } from "./x509.ts";

const dayMs = 86_400_000;

/**
 * Makes a certificate for host names and addresses, valid for a day. It is made anew in each run, so that no key
 * is ever kept.
 */
export function selfSignedCertificate(
  names: readonly string[],
  nowMs = Date.now(),
  notAfterMs = nowMs + dayMs,
): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = { commonName: "test" };
  const fields = {
    subject: name,
    issuer: name,
    names,
    publicKey,
    isAuthority: false,
    notBeforeMs: nowMs - dayMs,
    notAfterMs,
  };
  return {
    cert: signCertificate(fields, privateKey),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
