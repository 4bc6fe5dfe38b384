import { isIP } from "node:net";
import { Ajv, type ErrorObject } from "ajv";
import { fieldOf } from "../../../crds/checks/schema-problems.ts";
import { defaultAlgorithms, defaultSettings, settingsSchema } from "./settings-schema.ts";
import type { IssuerSettings, Settings } from "./settings.ts";
import { readYaml, type SourceProblem, type YamlDocument } from "../yaml/yaml-documents.ts";

/** The settings file is rejected as a whole: a part of the settings would be worse than none. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly problems: readonly SourceProblem[];

  constructor(problems: readonly SourceProblem[]) {
    super(problems.map(({ file, line, field, message }) => `${file}:${line}: ${field}: ${message}`).join("\n"));
    this.problems = problems;
  }
}

/** Settings as written: anything may be absent. */
type Given<T> = { readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : Given<T[K]> };

/**
 * Settings of a YAML or JSON text, with every default filled in.
 * @param file name for messages
 * @throws SettingsError naming each field at fault
 */
export function parseSettings(text: string, file = "settings"): Settings {
  const { documents, problems } = readYaml(file, text);
  if (problems.length > 0) throw new SettingsError(problems);
  const [document, second] = documents;
  if (document === undefined) return defaultSettings;
  const problem = problemsIn(file, document);
  if (second !== undefined) throw new SettingsError([problem("", "InvalidYaml", "more than one document")]);
  throwIfAny(schemaProblems(document.value).map(([field, message]) => problem(field, "Invalid", message)));
  const settings = withDefaults(document.value as Given<Settings>);
  throwIfAny(ruleProblems(settings).map(([field, message]) => problem(field, "Invalid", message)));
  return settings;
}

type Finding = readonly [field: string, message: string];

function problemsIn(file: string, document: YamlDocument) {
  return (field: string, reason: string, message: string): SourceProblem => ({
    file,
    line: document.lineOf(field),
    field,
    reason,
    message,
  });
}

function throwIfAny(problems: readonly SourceProblem[]): void {
  if (problems.length > 0) throw new SettingsError(problems);
}

function schemaProblems(value: unknown): readonly Finding[] {
  const validate = new Ajv({ allErrors: true, strict: true }).compile(settingsSchema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map((error) => [fieldOf(error), messageOf(error)]);
}

function messageOf({ keyword, message, params }: ErrorObject): string {
  if (keyword === "additionalProperties") return "is not a known setting";
  if (keyword === "required") return "is required";
  if (keyword === "enum") return `must be one of ${(params as { allowedValues: unknown[] }).allowedValues.join(", ")}`;
  return message ?? keyword;
}

function withDefaults(given: Given<Settings>): Settings {
  const issuers = (given.issuers ?? []).map((issuer) => ({
    ...issuer,
    issuer: issuer.issuer ?? "",
    algorithms: issuer.algorithms ?? defaultAlgorithms,
  }));
  // The schema requires the members without a default.
  return { ...(merged(defaultSettings, given) as Settings), issuers };
}

/** The given value with the defaults of absent members, at every depth of objects. Lists are replaced. */
function merged(defaults: unknown, given: unknown): unknown {
  if (!isObject(defaults) || !isObject(given)) return given;
  const members = Object.entries(given).map(([name, value]) => [name, merged(defaults[name], value)]);
  return { ...defaults, ...(Object.fromEntries(members) as object) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Rules that the schema cannot express. */
function ruleProblems(settings: Settings): readonly Finding[] {
  const { issuers, streams, events } = settings;
  return [
    ...bindingProblems(settings),
    ...issuers.flatMap((issuer, index) => issuerProblems(issuer, `issuers[${index}]`)),
    ...repeatedIssuers(issuers),
    ...consoleProblems(settings),
    ...(events.idCheck === "Tenant" && !events.idForms.includes("TenantPrefix")
      ? ([["events.idCheck", "Tenant needs TenantPrefix in events.idForms"]] as const)
      : []),
    ...(["events", "attempts"] as const)
      .filter((stream) => streams[stream].maxAgeSeconds < streams.deadLetters.maxAgeSeconds)
      .map((stream): Finding => [
        `streams.${stream}.maxAgeSeconds`,
        `must not be less than streams.deadLetters.maxAgeSeconds (${streams.deadLetters.maxAgeSeconds})`,
      ]),
  ];
}

/** Token binding needs TLS or a proxy, else every token of the issuer would be rejected. */
function bindingProblems({ issuers, tokenBinding, tls, trustedProxies }: Settings): readonly Finding[] {
  const blocks = (trustedProxies?.addresses ?? []).flatMap((block, index): readonly Finding[] =>
    isCidr(block) ? [] : [[`trustedProxies.addresses[${index}]`, "must be a CIDR block such as 10.0.0.0/8"]],
  );
  if (tls !== undefined || trustedProxies !== undefined) return blocks;
  return issuers.flatMap((issuer, index): readonly Finding[] =>
    (issuer.tokenBinding ?? tokenBinding) === "Certificate"
      ? [
          [
            `issuers[${index}]`,
            "requires tokens bound to a certificate: set tls or trustedProxies, or change its tokenBinding",
          ],
        ]
      : [],
  );
}

function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  return (
    rest.length === 0 &&
    isIP(address) !== 0 &&
    /^\d{1,3}$/u.test(bits) &&
    Number(bits) <= (isIP(address) === 4 ? 32 : 128)
  );
}

function issuerProblems(issuer: IssuerSettings, field: string): readonly Finding[] {
  const problems: Finding[] = [];
  if ((issuer.jwksUrl === undefined) === (issuer.jwksFile === undefined))
    problems.push([field, "needs exactly one of jwksUrl and jwksFile"]);
  if (issuer.jwksUrl !== undefined && !isSafeUrl(issuer.jwksUrl))
    problems.push([`${field}.jwksUrl`, "must be an https URL, or http on a loopback address"]);
  if (issuer.issuer === "" && issuer.jwksTokenFile === undefined)
    problems.push([`${field}.issuer`, "is required without jwksTokenFile"]);
  for (const file of ["jwksCaFile", "jwksTokenFile"] as const) {
    if (issuer[file] !== undefined && issuer.jwksUrl === undefined)
      problems.push([`${field}.${file}`, "has no effect without jwksUrl"]);
  }
  const subjects = (issuer.grants ?? []).map(({ subject }) => subject);
  subjects.forEach((subject, index) => {
    if (subjects.indexOf(subject) !== index)
      problems.push([`${field}.grants[${index}].subject`, "is already used in another entry"]);
  });
  return problems;
}

/** People sign in with a key that no script can read, so that a token of the console is of no use elsewhere. */
function consoleProblems({ console: page, issuers, tokenBinding }: Settings): readonly Finding[] {
  const { issuer, clientId, scopes } = page;
  if (issuer === undefined) {
    const idle = Object.entries({ clientId, scopes }).filter(([, value]) => value !== undefined);
    return idle.map(([name]): Finding => [`console.${name}`, "has no effect without console.issuer: set both"]);
  }
  const own = issuers.find((other) => other.issuer === issuer);
  const binding = own?.tokenBinding ?? tokenBinding;
  const rules: readonly (readonly [isBroken: boolean, field: string, message: string])[] = [
    [clientId === undefined, "clientId", "is required with issuer: register the console there as a public client"],
    [!isSafeUrl(issuer), "issuer", "must be an https URL, or http on a loopback address: browsers read its metadata"],
    [own === undefined, "issuer", "is not one of issuers: add it there, with tokenBinding: Key"],
    [own !== undefined && binding !== "Key", "issuer", `has tokenBinding ${binding}: set it to Key`],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, field, message]): Finding => [`console.${field}`, message]);
}

const loopbackHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "https:" || (url.protocol === "http:" && loopbackHosts.has(url.hostname)));
}

function repeatedIssuers(issuers: readonly IssuerSettings[]): readonly Finding[] {
  const names = issuers.map(({ issuer }) => issuer);
  return names.flatMap((name, index): readonly Finding[] =>
    names.indexOf(name) === index ? [] : [[`issuers[${index}].issuer`, "is already used in another entry"]],
  );
}
