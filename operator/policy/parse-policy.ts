import { Ajv, type ErrorObject } from "ajv";
import { parseDocument } from "yaml";
import { fieldOf } from "../../crds/checks/schema-problems.ts";
import { parseCidr } from "../../crds/networks.ts";
import type { InstallationPolicy, NamespaceGrant } from "../../crds/policy.ts";

const nameCharsMax = 253;
const namesMax = 10_000;
const grantsMax = 1_000;

const names = (description: string) => ({
  type: "array",
  description,
  maxItems: namesMax,
  items: { type: "string", minLength: 1, maxLength: nameCharsMax },
});

/**
 * JSON Schema of the file that holds the installation's policy. A list that is absent grants nothing.
 */
export const policySchema = {
  type: "object",
  additionalProperties: false,
  required: ["grants"],
  properties: {
    grants: {
      type: "array",
      description: "What namespaces may use. A namespace has the union of all grants that apply to it.",
      maxItems: grantsMax,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["namespaces"],
        properties: {
          namespaces: { ...names("Namespaces that the grant applies to; * is all namespaces."), minItems: 1 },
          tenants: names("Tenants allowed in subscriptions; * is all tenants, - is events without a tenant."),
          producers: names(
            "Producers allowed in subscriptions; * is all producers, also for subscriptions without producers.",
          ),
          storeHosts: names("Hosts allowed in store URLs, without port; *.example.com is all names below example.com."),
          awsRoles: names("ARNs of the AWS roles that stores may assume by web identity; * is all roles."),
          metrics: names(
            "Metric ids allowed in catalogs; shop_* is all ids that start with shop_. Without the list, all ids " +
              "are allowed.",
          ),
          eventTypes: names(
            "Event types allowed in event catalogs; payout.* is all types that start with payout. and its dot. " +
              "Without the list, all types are allowed.",
          ),
          clients: names("Client ids and scopes allowed in quotas; * is all clients, also for quotas without clients."),
          cidrs: names("CIDR blocks that networks.allowCidrs must be within."),
          plaintext: { type: "boolean", description: "Whether networks.allowPlaintext may be true." },
        },
      },
    },
  },
} as const;

/** The policy is rejected as a whole: a part of it would grant other rights than intended. */
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
  // The lists of metrics and event types are newer: a policy without them grants every one.
  const nothing = {
    tenants: [],
    producers: [],
    storeHosts: [],
    awsRoles: [],
    metrics: ["*"],
    eventTypes: ["*"],
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
