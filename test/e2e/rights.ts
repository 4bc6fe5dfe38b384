import { readFileSync } from "node:fs";
import type { Installation } from "./installation.ts";

/** One rule of a Role, as far as the chart writes them. */
interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** One line of the API server's audit. Source: Kubernetes API reference, Event v1 audit.k8s.io. */
interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** Verb and resource, such as `get secrets` or `patch heliograph.dev/webhookpartners/status`. */
export type Right = string;

/** The rights that the Roles of a namespace with these names grant. */
export async function grantedRights(
  { kubectl }: Installation,
  namespace: string,
  roles: readonly string[],
): Promise<readonly Right[]> {
  const rules = await Promise.all(
    roles.map(
      async (role) =>
        (
          JSON.parse(await kubectl(["--namespace", namespace, "get", "role", role, "--output=json"])) as {
            readonly rules: readonly Rule[];
          }
        ).rules,
    ),
  );
  return distinct(rules.flat().flatMap(rightsOf));
}

function rightsOf({ apiGroups, resources, verbs }: Rule): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => right(verb, group, resource))),
  );
}

function right(verb: string, group: string, resource: string): Right {
  return `${verb} ${group === "" ? "" : `${group}/`}${resource}`;
}

/** What a service account asked of the API server, by how it was answered. */
interface Usage {
  readonly used: readonly Right[];
  readonly refused: readonly Right[];
}

/** Reads the audit of a node. @param path of its file */
export function usageOf(path: string, namespace: string, serviceAccount: string): Usage {
  const username = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const events = readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEvent);
  const own = events.filter(({ user, objectRef }) => user.username === username && objectRef?.resource !== undefined);
  const named = (from: readonly AuditEvent[]): readonly Right[] => {
    return distinct(
      from.map(({ verb, objectRef: { apiGroup = "", resource = "", subresource } = {} }) =>
        right(verb, apiGroup, subresource === undefined ? resource : `${resource}/${subresource}`),
      ),
    );
  };
  const isRefused = ({ responseStatus }: AuditEvent): boolean =>
    responseStatus?.code === 401 || responseStatus?.code === 403;
  return { used: named(own.filter((event) => !isRefused(event))), refused: named(own.filter(isRefused)) };
}

function distinct(rights: readonly Right[]): readonly Right[] {
  return [...new Set(rights)].sort();
}

/** Whether a service account may do something, as the API server says. @throws Error when that is no question */
export async function mayDo(
  { cluster }: Installation,
  namespace: string,
  serviceAccount: string,
  question: readonly string[],
): Promise<boolean> {
  const identity = [
    `--as=system:serviceaccount:${namespace}:${serviceAccount}`,
    "--as-group=system:serviceaccounts",
    "--as-group=system:authenticated",
  ];
  const { stdout, stderr } = await cluster.kubectl(["auth", "can-i", ...question, ...identity]);
  if (!["yes", "no"].includes(stdout.trim()))
    throw new Error(`kubectl auth can-i ${question.join(" ")}: ${stderr.trim()}`);
  return stdout.trim() === "yes";
}
