import { type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP, isIPv4 } from "node:net";

/** A certificate with its private key; both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Whom a certificate names. */
export interface DistinguishedName {
  readonly commonName: string;
  /** Kubernetes reads these as groups. @default none */
  readonly organizations?: readonly string[];
}

/** What a certificate says, apart from its signature. */
interface CertificateFields {
  readonly subject: DistinguishedName;
  readonly issuer: DistinguishedName;
  /** Host names, addresses and URIs of the subject. */
  readonly names: readonly string[];
  readonly publicKey: KeyObject;
  /** Whether the subject may sign certificates itself. */
  readonly isAuthority: boolean;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const sequenceTag = 0x30;
const setTag = 0x31;
const serialBytes = 8;

/** Signs a version 3 certificate with a P-256 key and answers it as PEM. Source: RFC 5280 §4.1. */
export function signCertificate(fields: CertificateFields, signer: KeyObject): string {
  const algorithm = der(sequenceTag, objectId("1.2.840.10045.4.3.2"));
  const body = der(
    sequenceTag,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(serialBytes)])),
    algorithm,
    distinguishedName(fields.issuer),
    der(sequenceTag, time(fields.notBeforeMs), time(fields.notAfterMs)),
    distinguishedName(fields.subject),
    fields.publicKey.export({ type: "spki", format: "der" }),
    ...extensions(fields),
  );
  const certificate = der(sequenceTag, body, algorithm, der(0x03, Buffer.from([0]), sign("sha256", body, signer)));
  const lines = certificate.toString("base64").replace(/.{64}/gu, "$&\n").trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function distinguishedName(name: DistinguishedName): Buffer {
  const part = (id: string, text: string): Buffer => {
    return der(setTag, der(sequenceTag, objectId(id), der(0x0c, Buffer.from(text))));
  };
  const organizations = (name.organizations ?? []).map((organization) => part("2.5.4.10", organization));
  return der(sequenceTag, ...organizations, part("2.5.4.3", name.commonName));
}

function extensions(fields: CertificateFields): readonly Buffer[] {
  const yes = der(0x01, Buffer.from([0xff]));
  const all = [
    ...(fields.isAuthority ? [der(sequenceTag, objectId("2.5.29.19"), yes, der(0x04, der(sequenceTag, yes)))] : []),
    ...(fields.names.length > 0
      ? [der(sequenceTag, objectId("2.5.29.17"), der(0x04, alternativeNames(fields.names)))]
      : []),
  ];
  return all.length === 0 ? [] : [der(0xa3, der(sequenceTag, ...all))];
}

function alternativeNames(names: readonly string[]): Buffer {
  const entries = names.map((name) => {
    if (isIP(name) !== 0) return der(0x87, addressBytes(name));
    return der(name.includes("://") ? 0x86 : 0x82, Buffer.from(name));
  });
  return der(sequenceTag, ...entries);
}

function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/gu, "");
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): readonly number[] {
  return value < 128 ? [value] : [...base128(Math.floor(value / 128)).map((byte) => byte | 0x80), value % 128];
}

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(content.length)]), content]);
}

function lengthBytes(length: number): readonly number[] {
  if (length < 128) return [length];
  return length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

/** The bytes of an address, as a certificate has them. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [left = [], right = []] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  const groups = [...left, ...zeros, ...right];
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
}
