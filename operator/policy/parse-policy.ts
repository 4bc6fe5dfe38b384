import { Ajv, type ErrorObject } from "ajv";
import { parseDocument } from "yaml";
import { fieldOf } from "../../crds/checks/schema-problems.ts";
import { parseCidr } from "../../crds/networks.ts";
import type { InstallationPolicy, NamespaceGrant } from "../../crds/policy.ts";
import { policySchema } from "./policy-schema.ts";

/** The policy is refused as a whole: a part of it would grant other rights than intended. */
export class PolicyError extends Error {
  override readonly name = "PolicyError";
}

type GivenGrant = Pick<NamespaceGrant, "namespaces"> & Partial<NamespaceGrant>;

const aliasesMax = 100;
const problemsShownMax = 5;

/**
 * Parses the policy of a YAML or JSON text.
 *
 * @throws PolicyError naming each field at fault
 */
export function parsePolicy(text: string): InstallationPolicy {
  const value = readYaml(text);
  const validate = new Ajv({ allErrors: true, strict: true }).compile(policySchema);
  if (!validate(value)) throw new PolicyError(listed((validate.errors ?? []).map(problemOf)));
  const grants = (value as { readonly grants: readonly GivenGrant[] }).grants.map(withDefaults);
  const problems = grants.flatMap(cidrProblems);
  if (problems.length > 0) throw new PolicyError(listed(problems));
  return { grants };
}

function readYaml(text: string): unknown {
  const document = parseDocument(text, { uniqueKeys: true });
  const [fault] = document.errors;
  if (fault !== undefined) throw new PolicyError(fault.message.split("\n")[0] ?? "not YAML");
  try {
    return document.toJS({ maxAliasCount: aliasesMax });
  } catch (cause) {
    throw new PolicyError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function withDefaults({ namespaces, ...grant }: GivenGrant): NamespaceGrant {
  // The list of metrics is newer: a policy without it grants every metric.
  const nothing = {
    tenants: [],
    producers: [],
    storeHosts: [],
    metrics: ["*"],
    clients: [],
    cidrs: [],
    plaintext: false,
  };
  return { namespaces, ...nothing, ...grant };
}

function cidrProblems({ cidrs }: NamespaceGrant, index: number): readonly string[] {
  return cidrs.flatMap((text, at) =>
    parseCidr(text) === undefined ? [`grants[${index}].cidrs[${at}]: ${text} is not a CIDR block`] : [],
  );
}

/** The field at fault with the rule that it breaks. */
function problemOf(error: ErrorObject): string {
  const { keyword, message } = error;
  const field = fieldOf(error);
  const words =
    { additionalProperties: "is not a known field", required: "is required" }[keyword] ?? message ?? keyword;
  return `${field === "" ? "the policy" : field}: ${words}`;
}

function listed(problems: readonly string[]): string {
  const more = problems.length > problemsShownMax ? [`and ${problems.length - problemsShownMax} more`] : [];
  return [...problems.slice(0, problemsShownMax), ...more].join("; ");
}
