import type { Slo } from "../../api/objectives.ts";
import { HttpError } from "../api/http-error.ts";
import { type Output, outputFlag } from "../api/output.ts";
import { apiCommand } from "../api/with-api.ts";
import type { ExitName } from "../command-line/command.ts";
import { plain, say } from "../command-line/terminal.ts";
import { budgetLeft, burnText, percent, readSlos, regionsOf, sloFlags, sloParameters } from "./read-slos.ts";
import { missingRegions } from "./series.ts";

/** `heliograph gate` */
export const gateCommand = apiCommand({
  summary: "Exits with 0 if objectives allow a release, with 1 if they do not, and with 13 if that is unknown.",
  operands: [{ name: "NAME", isOptional: true }],
  flags: sloFlags,
  output: {
    ...outputFlag,
    help: "Output format: table (one line per objective), wide, json (one object) or yaml.",
  },
  read: (given, [name]) => ({ query: sloParameters(given, name) }),
  run: async (connection, { query, format }, output) => {
    const found = await readSlos(connection, query).catch((error: unknown) => withoutStores(error));
    return judgeGate(found, format === "table" || format === "wide", output);
  },
});

/** What an objective says about a release, and why. */
interface GateResult {
  readonly result: "green" | "red" | "undecided";
  readonly why: string;
}

interface JudgedSlo extends GateResult {
  readonly slo: Slo;
}

/** Codes of a server whose stores did not respond: it has objectives, but no data to judge them by. */
const storeCodes: readonly string[] = ["store_failed", "store_timeout"];

/** Prints the result of each objective. Red wins over undecided. */
async function judgeGate(found: readonly Slo[] | WithoutStores, isText: boolean, output: Output): Promise<ExitName> {
  if ("why" in found) {
    await output.one({ ...gateBody([]), why: found.why }, () => `undecided: ${found.why}`);
    return "undecided";
  }
  const judged = found.map((slo) => ({ slo, ...resultOf(slo) }));
  if (judged.length === 0) say("undecided: no objective is visible to this caller");
  if (judged.length > 0 || !isText) await output.one(gateBody(judged), () => linesOf(judged));
  const result = overallResult(judged);
  return result === "red" ? "problems" : result === "green" ? "done" : "undecided";
}

/** Why nothing is decided without any store. */
type WithoutStores = { readonly why: string };

/** @throws the error, unless it is that of the stores */
function withoutStores(error: unknown): WithoutStores {
  if (error instanceof HttpError && storeCodes.includes(error.code)) return { why: error.message };
  throw error;
}

function linesOf(judged: readonly JudgedSlo[]): string {
  return judged
    .map(({ slo, result, why }) => plain(`${result} ${slo.tenant}/${slo.name} in ${regionsOf(slo)}: ${why}`))
    .join("\n");
}

/** The result of all objectives, for programs. */
function gateBody(judged: readonly JudgedSlo[]): object {
  const objectives = judged.map(({ slo: { name, domain, tenant, status, regions }, result, why }) => {
    return { name, domain, tenant, result, why, status, regions };
  });
  return { result: overallResult(judged), objectives };
}

/** Red wins over undecided. Without an objective nothing is decided. */
function overallResult(judged: readonly JudgedSlo[]): GateResult["result"] {
  if (judged.some(({ result }) => result === "red")) return "red";
  return judged.length > 0 && judged.every(({ result }) => result === "green") ? "green" : "undecided";
}

const missingText = { late: "stores did not respond in time", failed: "stores failed" } as const;

const badStatuses: readonly Slo["status"][] = ["critical", "increasing"];
const goodStatuses: readonly Slo["status"][] = ["ok", "recovering"];

function isMissing(status: Slo["status"]): status is keyof typeof missingText {
  return Object.hasOwn(missingText, status);
}

/** Bad news of some regions is enough for red. Good news of some regions is not enough for green. */
export function resultOf(slo: Slo): GateResult {
  const { status, events, minimum_events: minimum, regions } = slo;
  const missing = missingRegions(regions);
  const lacking = missing.length === 0 ? [] : [`data is missing from ${missing.join(", ")}`];
  if (badStatuses.includes(status)) return { result: "red", why: [reasonOf(slo), ...lacking].join("; ") };
  if (status === "insufficient_data") {
    const few = `${Math.round(events?.total ?? 0)} ${countedBy(slo)} of at least ${minimum} required`;
    return { result: "undecided", why: [few, ...lacking].join("; ") };
  }
  if (isMissing(status)) return { result: "undecided", why: `${missingText[status]}: ${missing.join(", ")}` };
  if (lacking.length > 0) return { result: "undecided", why: lacking.join() };
  // A later server may have further statuses.
  if (!goodStatuses.includes(status)) return { result: "undecided", why: `the status ${status} is not known` };
  return { result: "green", why: `${percent(budgetLeft(slo)) ?? "?"} of the error budget is left` };
}

function countedBy({ over }: Slo): string {
  return over === undefined ? "events" : "time slices with a value";
}

function reasonOf(slo: Slo): string {
  const left = budgetLeft(slo);
  const fired = slo.tiers.find(({ factor, long, short }) => isAbove(long.rate, factor) && isAbove(short.rate, factor));
  const burn = fired === undefined ? [] : [`the burn rate is ${burnText(fired.long)}, above ${fired.factor}`];
  const spent = left !== undefined && left <= 0 ? ["the error budget is spent"] : [];
  return [...spent, ...burn, `${percent(left) ?? "?"} of the error budget is left`].join("; ");
}

function isAbove(rate: number | undefined, factor: number): boolean {
  return rate !== undefined && rate > factor;
}
