import { timingSafeEqual } from "node:crypto";
import type { TokenBinding } from "../../config/settings/settings.ts";
import { Refusal } from "../../errors/refusal.ts";
import type { Claims } from "./caller-claims.ts";
import type { Thumbprint } from "./client-certificate.ts";

/** Binding of a token, from its `cnf` claim; empty for an unbound token. Source: RFC 7800 §3. */
export interface Binding {
  /** Of a client certificate. Source: RFC 8705 §3.1. */
  readonly certificate?: Thumbprint;
  /** Thumbprint of a public key, base64url. Source: RFC 9449 §6.1. */
  readonly key?: string;
}

const thumbprintForm = /^[A-Za-z0-9_-]{43}$/u;

/** @throws Refusal `token_invalid` for an unknown binding, which would otherwise have no effect */
export function bindingOf({ cnf }: Claims): Binding {
  if (cnf === undefined) return {};
  const { "x5t#S256": certificate, jkt: key } = (typeof cnf === "object" && cnf !== null ? cnf : {}) as Readonly<
    Record<string, unknown>
  >;
  const isKnown = (certificate !== undefined || key !== undefined) && isThumbprint(certificate) && isThumbprint(key);
  if (!isKnown)
    throw new Refusal(
      "token_invalid",
      "The cnf claim of the token has an unknown form; known members are x5t#S256 and jkt.",
    );
  return {
    ...(certificate === undefined ? {} : { certificate: Buffer.from(certificate, "base64url") }),
    ...(key === undefined ? {} : { key }),
  };
}

function isThumbprint(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === "string" && thumbprintForm.test(value));
}

/** What a token may be bound to, by the binding that is required; each of them is enough. */
const acceptedBindings: Readonly<Record<Exclude<TokenBinding, "None">, readonly (keyof Binding)[]>> = {
  Certificate: ["certificate"],
  Key: ["key"],
  Any: ["certificate", "key"],
};
const bindingWords: Readonly<Record<keyof Binding, string>> = { certificate: "a client certificate", key: "a key" };

/** @throws Refusal `token_invalid` for a token without the required binding */
export function requireBound(binding: Binding, required: TokenBinding): void {
  if (required === "None") return;
  const accepted = acceptedBindings[required];
  if (accepted.some((name) => binding[name] !== undefined)) return;
  const to = accepted.map((name) => bindingWords[name]).join(" or ");
  throw new Refusal("token_invalid", `The token is not bound to ${to}, as this installation requires.`);
}

/** @throws Refusal `token_invalid` when the request does not show the certificate of the token */
export function requireCertificate(binding: Binding, shown: () => Thumbprint | undefined): void {
  const fault = certificateFault(binding, shown);
  if (fault !== undefined)
    throw new Refusal("token_invalid", `The token is bound to a client certificate, and ${fault}.`);
}

/** Fault of the certificate that a request shows; undefined when there is none, or when none is needed. */
export function certificateFault({ certificate }: Binding, shown: () => Thumbprint | undefined): string | undefined {
  if (certificate === undefined) return undefined;
  const own = shown();
  if (own !== undefined && own.length === certificate.length && timingSafeEqual(own, certificate)) return undefined;
  return own === undefined ? "the request shows no client certificate" : "the request shows another one";
}
