import { generateKeyPairSync, sign } from "node:crypto";
import { isIPv4 } from "node:net";

/** A certificate that signs itself, with its private key; both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const sequenceTag = 0x30;
const setTag = 0x31;
const dayMs = 86_400_000;

/**
 * Makes a certificate for host names and IPv4 addresses, valid for a day. It is made anew in each run, so that no key
 * is ever kept. Source: RFC 5280 §4.1.
 */
export function selfSignedCertificate(names: readonly string[], nowMs = Date.now()): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const subject = der(sequenceTag, der(setTag, der(sequenceTag, objectId("2.5.4.3"), der(0x0c, Buffer.from("test")))));
  const algorithm = der(sequenceTag, objectId("1.2.840.10045.4.3.2"));
  const body = der(
    sequenceTag,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    subject,
    der(sequenceTag, time(nowMs - dayMs), time(nowMs + dayMs)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(sequenceTag, der(sequenceTag, objectId("2.5.29.17"), der(0x04, alternativeNames(names))))),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = der(sequenceTag, body, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString("base64").match(/.{1,64}/gu) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function alternativeNames(names: readonly string[]): Buffer {
  const entries = names.map((name) =>
    isIPv4(name) ? der(0x87, Buffer.from(name.split(".").map(Number))) : der(0x82, Buffer.from(name)),
  );
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
  if (length < 128) {
    return [length];
  }
  return length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}
