import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP, isIPv4, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { CertificateForm, Settings, TrustedProxySettings } from "../../config/settings/settings.ts";

/** SHA-256 of a certificate's DER, 32 bytes; `x5t#S256` is its base64url. Source: RFC 8705 §3.1. */
export type Thumbprint = Uint8Array;

/** The certificate that a request's client has proven to hold; undefined when there is none, or it does not count. */
export type ReadCertificate = (socket: Socket, headers: IncomingHttpHeaders) => Thumbprint | undefined;

/** A form in which proxies write a certificate into a header. */
interface HeaderForm {
  readonly header: string;
  /** Undefined for what is not of the form. */
  readonly read: (value: string) => Thumbprint | undefined;
}

const forms: Readonly<Record<CertificateForm, HeaderForm>> = {
  Xfcc: { header: "x-forwarded-client-cert", read: ofXfcc },
  XfccAppend: { header: "x-forwarded-client-cert", read: ofXfccAppend },
  EscapedPem: { header: "x-ssl-client-cert", read: ofEscapedPem },
  ClientCert: { header: "client-cert", read: ofClientCert },
};

/**
 * Reads client certificates. From a trusted proxy it reads the header only, since the certificate of that connection is
 * the proxy's own. From every other sender it reads the connection only.
 */
export function createCertificateReader({
  tls,
  trustedProxies,
}: Pick<Settings, "tls" | "trustedProxies">): ReadCertificate {
  const readHeader = trustedProxies === undefined ? undefined : headerReader(trustedProxies);
  const hasClientCa = tls?.clientCaFile !== undefined;
  return (socket, headers) =>
    readHeader?.isTrusted(socket.remoteAddress) === true
      ? readHeader.read(headers)
      : connectionCertificate(socket, hasClientCa);
}

function headerReader({ addresses, certificateForm, certificateHeader }: TrustedProxySettings) {
  const form = forms[certificateForm];
  const name = (certificateHeader ?? form.header).toLowerCase();
  return {
    isTrusted: addressMatcher(addresses),
    read: (headers: IncomingHttpHeaders): Thumbprint | undefined => {
      const value = headers[name];
      return typeof value === "string" ? form.read(value) : undefined;
    },
  };
}

/**
 * The handshake has proven that the client holds the key. It is computed once per connection, none of which changes
 * keys.
 */
const ofConnections = new WeakMap<Socket, Thumbprint>();

function connectionCertificate(socket: Socket, hasClientCa: boolean): Thumbprint | undefined {
  if (!(socket instanceof TLSSocket) || (hasClientCa && !socket.authorized)) return undefined;
  const known = ofConnections.get(socket);
  if (known !== undefined) return known;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const thumbprint = thumbprintOf(certificate.raw);
  ofConnections.set(socket, thumbprint);
  return thumbprint;
}

function thumbprintOf(der: Uint8Array): Thumbprint {
  return createHash("sha256").update(der).digest();
}

/**
 * One element, as a proxy writes that sanitizes the header: `By=…;Hash=…;Subject="…";URI=…;DNS=…`. Envoy quotes neither
 * URI nor DNS names, which the client chooses and which follow the hash. So the first hash counts, and text that could
 * be another hash or another element invalidates the header.
 */
function ofXfcc(value: string): Thumbprint | undefined {
  const elements = xfccElements(value);
  return elements?.length === 1 ? hashOf(elements[0]) : undefined;
}

/**
 * The last element of a header to which each proxy appends its client. A client whose certificate has a URI or DNS name
 * with a comma can forge that element, because Envoy does not quote these names.
 */
function ofXfccAppend(value: string): Thumbprint | undefined {
  return hashOf(xfccElements(value)?.at(-1));
}

/** The elements of the header, with quoted texts removed; undefined if it is malformed. */
function xfccElements(value: string): readonly string[] | undefined {
  const unquoted = value.replaceAll(/="(?:[^"\\]|\\.)*"(?=[;,]|$)/gu, "=");
  return unquoted.includes('"') ? undefined : unquoted.split(",");
}

/** The hash of an element that contains exactly one. */
function hashOf(element = ""): Thumbprint | undefined {
  const hash = /(?:^|;)\s*hash=(?<hex>[0-9a-f]{64})\s*(?:;|$)/iu.exec(element)?.groups?.["hex"];
  const isOnly = element.match(/hash=/giu)?.length === 1;
  return hash !== undefined && isOnly ? Buffer.from(hash, "hex") : undefined;
}

function ofEscapedPem(value: string): Thumbprint | undefined {
  const lines = unescaped(value)?.match(
    /^-----BEGIN CERTIFICATE-----(?<body>[A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*$/u,
  );
  return lines?.groups?.["body"] === undefined ? undefined : ofBase64(lines.groups["body"].replaceAll(/\s/gu, ""));
}

function unescaped(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** A byte sequence of structured fields. Source: RFC 9440 §2.1, RFC 8941 §3.3.5. */
function ofClientCert(value: string): Thumbprint | undefined {
  const text = /^:(?<text>[^:]+):$/u.exec(value)?.groups?.["text"];
  return text === undefined ? undefined : ofBase64(text);
}

function ofBase64(text: string): Thumbprint | undefined {
  return /^[A-Za-z0-9+/]+={0,2}$/u.test(text) ? thumbprintOf(Buffer.from(text, "base64")) : undefined;
}

/** The address that a request came from, as far as it can be known; undefined for a socket that is closed. */
export type ReadAddress = (socket: Pick<Socket, "remoteAddress">, headers: IncomingHttpHeaders) => string | undefined;

/** A dual-stack socket reports IPv4 addresses as IPv4-mapped IPv6 addresses. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/iu, "");
}

/** Matches addresses in these CIDR blocks. */
function addressMatcher(blocks: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = "", bits] = block.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return (address) => {
    if (address === undefined) return false;
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && list.check(plain, isIPv4(plain) ? "ipv4" : "ipv6");
  };
}

/**
 * Reads the client's address. It is the address of the connection. On a connection of a trusted proxy, it is the last
 * entry of `X-Forwarded-For` that is no trusted proxy. Entries that the client wrote come before that one and have no
 * effect.
 */
export function createAddressReader({ trustedProxies }: Pick<Settings, "trustedProxies">): ReadAddress {
  const isProxy = addressMatcher(trustedProxies?.addresses ?? []);
  return ({ remoteAddress }, headers) => {
    if (!isProxy(remoteAddress)) return remoteAddress;
    const forwarded = String(headers["x-forwarded-for"] ?? "")
      .split(",")
      .map((address) => address.trim());
    const client = forwarded.findLast((address) => !isProxy(address));
    return client !== undefined && isIP(plainAddress(client)) !== 0 ? client : remoteAddress;
  };
}
