import { stringify } from "yaml";
import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { CatalogConfig, PartnerConfig, StoreConfig } from "../../crds/config.ts";
import { resourcesOf } from "../../crds/part.ts";
import type { ConfigzError, ConfigzReport } from "../../crds/configz.ts";
import type { SourceProblem } from "../../runtime/config/yaml/yaml-documents.ts";
import { version } from "../../runtime/version.ts";
import { CommandError, type ExitName } from "../command-line/command.ts";
import { plain, say } from "../command-line/terminal.ts";
import { type Configuration, readConfiguration } from "./read-configuration.ts";

/** Longest wait for a running program. */
const adminMsMax = 10_000;

export interface CompileArguments {
  /** A folder, a file, or `-` for the standard input. */
  readonly place: string;
  readonly output: "yaml" | "json";
}

export interface ValidateArguments {
  /** A folder, a file, or `-` for the standard input. */
  readonly place: string;
  readonly output: ReportForm;
  /** Base URL of the admin port of a running program. @default none is read */
  readonly admin?: string;
}

/** What a running program does not apply as written. */
interface Running extends Pick<ConfigzReport, "errors"> {
  readonly warnings: readonly string[];
}

/** Form of a report: lines for people, or a document for programs. */
type ReportForm = "text" | "json" | "sarif";

/**
 * Writes the configuration that the operator makes of these resources, secrets replaced. Problems
 * go to standard error; their objects are left out.
 * @throws StartError `folder`
 */
export async function printCompiled({ place, output }: CompileArguments): Promise<ExitName> {
  const configuration = await readConfiguration(place);
  process.stdout.write(compiledText(configuration, output));
  process.stderr.write(problemReport("text", configuration, version));
  return configuration.problems.length === 0 ? "done" : "problems";
}

/** Equal resources give equal bytes: members are sorted, and no time is in it. */
function compiledText({ config, hash }: Configuration, output: CompileArguments["output"]): string {
  const material = Object.fromEntries(Object.entries(config.material).map(([id, base64]) => [id, hidden(base64)]));
  const partners = config.partners.map(withoutQueries);
  const catalogs = config.catalogs.map(withoutTokenQueries);
  const shown: unknown = JSON.parse(canonicalJson({ hash, config: { ...config, material, partners, catalogs } }));
  return output === "json" ? `${JSON.stringify(shown, undefined, 2)}\n` : stringify(shown, { lineWidth: 0 });
}

/** The query of a URL may be a credential. Digests distinguish its versions. */
function withoutQueries(partner: PartnerConfig): PartnerConfig {
  const { url, ackUrl, oauth2, ...endpoint } = partner.endpoint;
  const ack = ackUrl === undefined ? {} : { ackUrl: withoutQuery(ackUrl) };
  const token = oauth2 === undefined ? {} : { oauth2: { ...oauth2, tokenUrl: withoutQuery(oauth2.tokenUrl) } };
  return { ...partner, endpoint: { ...endpoint, url: withoutQuery(url), ...ack, ...token } };
}

function withoutTokenQueries(catalog: CatalogConfig): CatalogConfig {
  return { ...catalog, stores: catalog.stores.map(withoutTokenQuery) };
}

function withoutTokenQuery(store: StoreConfig): StoreConfig {
  const { prometheus, peer } = store;
  const hide = <Auth extends { readonly kind: string }>(auth: Auth): Auth =>
    "tokenUrl" in auth ? { ...auth, tokenUrl: withoutQuery(String(auth.tokenUrl)) } : auth;
  if (peer !== undefined) return { ...store, peer: { ...peer, auth: hide(peer.auth) } };
  return prometheus.auth === undefined
    ? store
    : { ...store, prometheus: { ...prometheus, auth: hide(prometheus.auth) } };
}

function withoutQuery(url: string): string {
  return url.replace(/\?.*$/su, "?***");
}

/** The ids of secrets, which the partners and stores name, distinguish their versions. */
function hidden(base64: string): string {
  return `secret of ${Buffer.from(base64, "base64").length} bytes`;
}

/**
 * Writes one line per problem to standard output, `file:line: field: reason: message`, or a
 * report for programs. Warnings and the sum go to standard error.
 * @throws StartError `folder`
 */
export async function printProblems({ place, output, admin }: ValidateArguments): Promise<ExitName> {
  const configuration = await readConfiguration(place);
  const { problems, warnings } = configuration;
  const running = admin === undefined ? undefined : await readRunning(admin);
  process.stdout.write(problemReport(output, configuration, version, running));
  for (const { message } of warnings) say(`warning: ${message}`);
  if (resourceCount(configuration) + problems.length === 0) say(`warning: ${place} has no resources`);
  for (const message of running?.warnings ?? []) say(`warning of the running program: ${plain(message)}`);
  process.stderr.write(`${resourceCount(configuration)} resources in force, ${problems.length} problems\n`);
  return problems.length + (running?.errors.length ?? 0) === 0 ? "done" : "problems";
}

/** @throws CommandError `unreachable` */
async function readRunning(admin: string): Promise<Running> {
  const url = `${admin}/configz`;
  const { readAdmin } = await import("../../runtime/debug/parts.ts");
  try {
    const report = JSON.parse(await readAdmin(url, AbortSignal.timeout(adminMsMax))) as Running;
    return { errors: report.errors, warnings: report.warnings };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError("unreachable", `${url} cannot be read on this machine: ${reason}`, error);
  }
}

/** The standard output of `validate`. */
export function problemReport(
  form: ReportForm,
  configuration: Configuration,
  productVersion: string,
  running?: Running,
): string {
  const { problems, warnings } = configuration;
  switch (form) {
    case "text":
      return [...problems.map(lineOf), ...(running?.errors.map(runningLine) ?? [])].map((line) => `${line}\n`).join("");
    case "json":
      return pretty({ resources: resourceCount(configuration), problems, warnings, running });
    case "sarif":
      return pretty(sarifLog(problems, warnings, productVersion));
  }
}

/** `file:line: field: reason: message` */
function lineOf({ file, line, field, reason, message }: SourceProblem): string {
  return plain([`${file}:${line}`, ...(field === "" ? [] : [field]), reason, message].join(": "));
}

/** `not applied: Kind/namespace/name: reason: message` */
function runningLine({ kind, namespace, name, reason, message }: ConfigzError): string {
  return plain(`not applied: ${kind}/${namespace}/${name}: ${reason}: ${message}`);
}

/** Resources in force. */
function resourceCount({ config }: Configuration): number {
  return resourcesOf(config).length;
}

function pretty(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** A log of one run. Source: OASIS SARIF 2.1.0, clauses 3.13, 3.14, 3.27. */
function sarifLog(
  problems: readonly SourceProblem[],
  warnings: readonly SourceProblem[],
  productVersion: string,
): object {
  const rules = [...new Set([...problems, ...warnings].map(({ reason }) => reason))].sort();
  const resultOf = (level: "error" | "warning") => (problem: SourceProblem) => sarifResult(problem, level, rules);
  const driver = { name: "heliograph", semanticVersion: productVersion, rules: rules.map((id) => ({ id })) };
  return {
    $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver },
        columnKind: "utf16CodeUnits",
        results: [...problems.map(resultOf("error")), ...warnings.map(resultOf("warning"))],
      },
    ],
  };
}

function sarifResult(problem: SourceProblem, level: string, rules: readonly string[]): object {
  const { file, line, field, reason, message } = problem;
  const physicalLocation = { artifactLocation: { uri: uriOf(file) }, region: { startLine: line } };
  const logical = field === "" ? {} : { logicalLocations: [{ fullyQualifiedName: field }] };
  return {
    ruleId: reason,
    ruleIndex: rules.indexOf(reason),
    level,
    message: { text: field === "" ? message : `${field}: ${message}` },
    locations: [{ physicalLocation, ...logical }],
  };
}

/** A relative path stays relative, so that a viewer resolves it against the checkout. */
function uriOf(file: string): string {
  const path = file.replaceAll("\\", "/").replace(/^\.\//u, "").split("/").map(encodeURIComponent).join("/");
  return path.startsWith("/") ? `file://${path}` : path;
}
