// Commands for partners: they sign, verify, send and receive deliveries on this machine. They reach no API.
import { type Flag, type Given, oneOf, UsageError } from "../command-line/flags.ts";
import { signingSchemes, type SigningScheme } from "../../crds/signing-key.ts";
import { outputFlag } from "../api/output.ts";

/** Flags of several commands for partners. */
export const keyFileFlag: Flag = {
  name: "key-file",
  value: "FILE",
  help: "Key file: a shared key (the exact bytes), a private key in PEM, or, to verify, a public key or a JWK set.",
  multiple: true,
};
export const keyFlag: Flag = { name: "key", help: "The key, if no file is given.", isSecret: true };
export const schemeFlag: Flag = {
  name: "scheme",
  value: "SCHEME",
  help: `Signature scheme: ${signingSchemes.join(", ")}.`,
  standard: "HmacV1",
};
/** The variable is no other command's `--data`. */
export const dataTextFlag: Flag = {
  name: "data",
  short: "d",
  value: "JSON",
  help: "Event data, a JSON object.",
  variable: "HELIOGRAPH_EVENT_DATA",
};
export const partnerOutputFlag: Flag = {
  ...outputFlag,
  help: "Output format: table, wide, json (one object per line) or yaml.",
};

/** Where the keys of a command are. */
export interface KeySource {
  readonly files: readonly string[];
  readonly text: string | undefined;
}

/** @throws UsageError when both ways are used */
export function keySourceOf(given: Given): KeySource {
  const files = given.list("key-file");
  const text = given.optional("key");
  if (files.length > 0 && text !== undefined)
    throw new UsageError("--key-file and HELIOGRAPH_KEY are mutually exclusive.");
  return { files, text };
}

/** @throws UsageError without a key */
export function requiredKeySourceOf(given: Given): KeySource {
  const source = keySourceOf(given);
  if (source.files.length > 0 || source.text !== undefined) return source;
  throw new UsageError("--key-file or HELIOGRAPH_KEY is required.");
}

/** @throws UsageError */
export function schemeOf(given: Given): SigningScheme {
  return oneOf(given, "scheme", signingSchemes);
}

const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/u;

/** Unix milliseconds of a flag; undefined when it is not given. @throws UsageError */
export function timeOf(given: Given, name: string): number | undefined {
  const text = given.optional(name);
  if (text === undefined) return undefined;
  const atMs = timeForm.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw new UsageError(`--${name} must be a UTC time such as 2026-01-31T12:00:00.000Z, not ${text}.`);
  return atMs;
}

/** An absolute http or https URL. @throws UsageError */
export function urlOf(name: string, text: string): URL {
  const url = URL.parse(text);
  if (url !== null && ["http:", "https:"].includes(url.protocol)) return url;
  throw new UsageError(`--${name} must be a URL such as http://127.0.0.1:8090/webhooks/v1/payout, not ${text}.`);
}
