import { plain } from "../command-line/plain.ts";
import type { SigningScheme } from "../../crds/signing-key.ts";
import { verifyDelivery } from "../../runtime/recipient/verify-delivery.ts";
import { canonicalString } from "../../runtime/webhooks/signing/hmac-v1.ts";
import type { VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import { pathOf, singleHeader, type IncomingRequest } from "../../runtime/webhooks/signing/verification-result.ts";
import { createOutput, type OutputFormat } from "../api/output.ts";
import { CommandError } from "../command-line/command-error.ts";
import type { Context } from "../command-line/command.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { faultSentences } from "./faults.ts";
import { nearMisses } from "./near-misses.ts";
import type { KeySource } from "./partner-flags.ts";
import { readInput, readVerificationKeys } from "./read-keys.ts";

export interface VerifyArguments {
  /** File of the body; `-` is the standard input. */
  readonly file: string;
  /** File of the headers. */
  readonly headers: string;
  readonly scheme: SigningScheme;
  readonly keys: KeySource;
  readonly method: string;
  readonly path?: string;
  /** Unix milliseconds. @default now */
  readonly nowMs?: number;
  readonly format: OutputFormat;
}

/** What `verify` found; the form of `-o json` and `-o yaml`. */
interface Finding {
  readonly valid: boolean;
  readonly event_id?: string;
  readonly key?: string;
  readonly fault?: string;
  readonly detail?: string;
  /** Changes with which the signature is valid. */
  readonly hints?: readonly string[];
  /** The text that HmacV1 signs, for a comparison with the own one. */
  readonly signed_text?: string;
}

/** `heliograph verify`: prints whether a delivery is valid, and which check failed. @throws CommandError */
export async function checkDelivery(args: VerifyArguments, { environment }: Context): Promise<ExitName> {
  const keys = await readVerificationKeys(args.keys, args.scheme);
  const request = requestOf(await readInput(args.headers), await readInput(args.file), args);
  const finding = findingOf(request, keys, args);
  await createOutput(args.format, environment).one(finding, () => textOf(finding));
  return finding.valid ? "done" : "problems";
}

function findingOf(
  request: IncomingRequest,
  keys: readonly VerificationKey[],
  { scheme, nowMs = Date.now() }: VerifyArguments,
): Finding {
  const result = verifyDelivery(request, keys, nowMs, scheme);
  if (result.ok) return { valid: true, event_id: result.event.event_id, key: result.keyId };
  const { fault } = result;
  const finding = { valid: false, fault, detail: faultSentences[fault] };
  if (fault !== "signature_mismatch" || scheme !== "HmacV1") return finding;
  return { ...finding, hints: nearMisses(request, keys, nowMs), signed_text: signedText(request) };
}

function signedText(request: IncomingRequest): string {
  const { method, target, body } = request;
  const timestamp = singleHeader(request, "x-timestamp") ?? "";
  return canonicalString({ timestamp, method, path: pathOf(target), body });
}

function textOf({ valid, event_id: eventId, key, fault, detail, hints = [], signed_text: signed }: Finding): string {
  if (valid) return `${plain(`valid: event ${eventId}, key ${key}`)}\n`;
  const lines = [`invalid: ${fault}: ${detail}`, ...hints.map((hint) => `hint: ${hint}`)];
  const text = signed === undefined ? [] : ["signed text:", ...signed.split("\n").map((line) => `  ${line}`)];
  return `${[...lines, ...text].map(plain).join("\n")}\n`;
}

/** A line of `curl --verbose` begins with `>`. */
const requestLine = /^(?:> )?(?<method>[A-Za-z]+) (?<target>\/\S*)(?: HTTP\/\d(?:\.\d)?)?$/u;
const headerLine = /^(?:> )?([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/u;

/** @throws CommandError when the file of headers is not readable, or no path is given */
function requestOf(written: Buffer, body: Buffer, { path, method }: VerifyArguments): IncomingRequest {
  const lines = written
    .toString("latin1")
    .split(/\r?\n/u)
    .filter((line) => !/^(?:> ?)?$/u.test(line));
  const first = requestLine.exec(lines[0] ?? "")?.groups;
  const target = path ?? first?.["target"];
  if (target === undefined)
    throw new CommandError("usage", "--path is missing, and the file of headers has no line such as POST /path");
  const headers = headersOf(first === undefined ? lines : lines.slice(1));
  return { method: first?.["method"] ?? method, target, headers, body };
}

/** The lines of a repeated header are joined, as servers do. Source: RFC 9110 §5.3. */
function headersOf(lines: readonly string[]): IncomingRequest["headers"] {
  const pairs = lines.map((line) => {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name !== undefined && value !== undefined) return [name.toLowerCase(), value] as const;
    throw new CommandError("usage", `the file of headers has the line ${line.slice(0, 60)}; write NAME: VALUE`);
  });
  const values = Map.groupBy(pairs, ([name]) => name);
  return Object.fromEntries([...values].map(([name, found]) => [name, found.map(([, value]) => value).join(", ")]));
}
