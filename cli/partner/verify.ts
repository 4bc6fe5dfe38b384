import type { SigningScheme } from "../../crds/signing-key.ts";
import { verifyDelivery } from "../../runtime/recipient/verify-delivery.ts";
import { canonicalString, type ReceivedParts, verifyHmacV1 } from "../../runtime/webhooks/signing/hmac-v1.ts";
import type { VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import { type IncomingRequest, pathOf, singleHeader } from "../../runtime/webhooks/signing/verification-result.ts";
import { createOutput, type OutputFormat, outputFormatOf } from "../api/output.ts";
import { type Command, CommandError, type Context, type ExitName } from "../command-line/command.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { plain } from "../command-line/terminal.ts";
import { faultSentences } from "./faults.ts";
import {
  keyFileFlag,
  keyFlag,
  type KeySource,
  partnerOutputFlag,
  requiredKeySourceOf,
  schemeFlag,
  schemeOf,
  timeOf,
} from "./partner-flags.ts";
import { readInput, readVerificationKeys } from "./read-keys.ts";

const verifyFlags = [
  keyFileFlag,
  keyFlag,
  schemeFlag,
  {
    name: "headers",
    value: "FILE",
    help: "File with the received headers, one per line; the first line may be a request line such as `POST /path`.",
    required: true,
  },
  { name: "method", value: "METHOD", help: "HTTP method of the request.", standard: "POST" },
  {
    name: "path",
    value: "PATH",
    help: "Path of the received request; defaults to the path in the headers file.",
    variable: "HELIOGRAPH_ENDPOINT_PATH",
  },
  { name: "now", value: "TIME", help: "Current time of the recipient in UTC; defaults to now." },
  partnerOutputFlag,
] as const satisfies readonly Flag[];

/** `heliograph verify` */
export const verifyCommand: Command<VerifyArguments> = {
  summary: "Verifies a received delivery, whose body is a file or standard input, and reports which check failed.",
  operands: [{ name: "FILE", isOptional: true }],
  flags: verifyFlags,
  read: verifyArguments,
  run: async (args, context) => checkDelivery(args, context),
};

interface VerifyArguments {
  /** File of the body; `-` is the standard input. */
  readonly file: string;
  /** File of the headers. */
  readonly headers: string;
  readonly scheme: SigningScheme;
  readonly keys: KeySource;
  readonly method: string;
  readonly path: string | undefined;
  /** Unix milliseconds. @default now */
  readonly nowMs: number | undefined;
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

/** What was verified. */
interface Trial {
  readonly keys: readonly VerificationKey[];
  readonly parts: ReceivedParts;
}

const lineFeed = 10;

/** Common faults, each as the change that repairs it and the sentence about it. */
const repairs: readonly (readonly [sentence: string, change: (trial: Trial) => Trial])[] = [
  [
    "it is valid without the trailing newline of the key; write the key file without a newline, for example " +
      "with printf",
    (trial) => ({ ...trial, keys: trial.keys.map(withoutLineFeed) }),
  ],
  [
    "it is valid without the trailing newline of the body; verify the bytes as received",
    withBody((body) => (body.at(-1) === lineFeed ? body.subarray(0, -1) : body)),
  ],
  [
    "it is valid with a trailing newline after the body; verify the bytes as received",
    withBody((body) => Buffer.concat([body, Buffer.from("\n")])),
  ],
  [
    "it is valid for the same JSON without whitespace; verify the bytes before a framework parses them",
    withBody((body) => Buffer.from(JSON.stringify(JSON.parse(Buffer.from(body).toString())))),
  ],
  ["it is valid for the method POST", (trial) => ({ ...trial, parts: { ...trial.parts, method: "POST" } })],
];

function verifyArguments(given: Given, [file = "-"]: readonly string[]): VerifyArguments {
  const headers = given.text("headers");
  if (headers === "-" && file === "-")
    throw new UsageError("The headers and the body cannot both be read from standard input.");
  return {
    file,
    headers,
    scheme: schemeOf(given),
    keys: requiredKeySourceOf(given),
    method: given.text("method"),
    format: outputFormatOf(given),
    path: given.optional("path"),
    nowMs: timeOf(given, "now"),
  };
}

/** `heliograph verify`: prints whether a delivery is valid, and which check failed. @throws CommandError */
async function checkDelivery(args: VerifyArguments, { environment }: Context): Promise<ExitName> {
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
  if (target === undefined) {
    throw new CommandError(
      "usage",
      "--path is required, because the headers file has no request line such as POST /path",
    );
  }
  const headers = headersOf(first === undefined ? lines : lines.slice(1));
  return { method: first?.["method"] ?? method, target, headers, body };
}

/** The lines of a repeated header are joined, as servers do. Source: RFC 9110 §5.3. */
function headersOf(lines: readonly string[]): IncomingRequest["headers"] {
  const pairs = lines.map((line) => {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name !== undefined && value !== undefined) return [name.toLowerCase(), value] as const;
    throw new CommandError("usage", `the headers file has the invalid line ${line.slice(0, 60)}; use NAME: VALUE`);
  });
  const values = Map.groupBy(pairs, ([name]) => name);
  return Object.fromEntries([...values].map(([name, found]) => [name, found.map(([, value]) => value).join(", ")]));
}

/** Sentences about changes with which the signature of a HmacV1 delivery is valid. */
function nearMisses(request: IncomingRequest, keys: readonly VerificationKey[], nowMs: number): readonly string[] {
  const parts = {
    signature: singleHeader(request, "x-signature"),
    timestamp: singleHeader(request, "x-timestamp"),
    method: request.method,
    path: pathOf(request.target),
    body: request.body,
  };
  return repairs.flatMap(([sentence, change]) => (isRepaired({ keys, parts }, change, nowMs) ? [sentence] : []));
}

function isRepaired(trial: Trial, change: (trial: Trial) => Trial, nowMs: number): boolean {
  try {
    const { keys, parts } = change(trial);
    return verifyHmacV1(keys, parts, nowMs).ok;
  } catch {
    // The body is not JSON.
    return false;
  }
}

function withBody(change: (body: Uint8Array) => Uint8Array): (trial: Trial) => Trial {
  return (trial) => ({ ...trial, parts: { ...trial.parts, body: change(trial.parts.body) } });
}

function withoutLineFeed(key: VerificationKey): VerificationKey {
  if (!("secret" in key) || !(key.secret instanceof Uint8Array) || key.secret.at(-1) !== lineFeed) return key;
  return { ...key, secret: key.secret.subarray(0, -1) };
}
