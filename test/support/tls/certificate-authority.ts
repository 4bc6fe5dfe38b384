import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Certificate, type DistinguishedName, signCertificate } from "./x509.ts";

/** What a certificate is wanted for. */
export interface CertificateRequest extends DistinguishedName {
  /** Host names, addresses and URIs. @default none */
  readonly names?: readonly string[];
  /** Milliseconds from now until its end. @default a year */
  readonly validMs?: number;
}

/** A certificate authority of one's own: its root proves every certificate that it issues. */
export interface CertificateAuthority {
  /** The root certificate, PEM. */
  readonly cert: string;
  /** Makes a key and certifies it, for a server, a client, or both. */
  issue(request: CertificateRequest): Certificate;
}

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;

/** Makes an authority whose key exists only in this process. What it issues is valid for a year from an hour ago on. */
export function createCertificateAuthority(commonName: string, nowMs = Date.now()): CertificateAuthority {
  const root = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = { commonName };
  const certify = (
    subject: DistinguishedName,
    names: readonly string[],
    publicKey: KeyObject,
    isAuthority: boolean,
    notAfterMs = nowMs - hourMs + yearMs,
  ): string => {
    const validity = { notBeforeMs: nowMs - hourMs, notAfterMs };
    return signCertificate({ subject, issuer, names, publicKey, isAuthority, ...validity }, root.privateKey);
  };
  return {
    cert: certify(issuer, [], root.publicKey, true),
    issue: ({ names = [], validMs, ...subject }) => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      return {
        cert: certify(subject, names, publicKey, false, validMs === undefined ? undefined : Date.now() + validMs),
        key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      };
    },
  };
}
