import type { Me } from "../../../api/documents.ts";
import type { PartnersClaim } from "../../config/settings/settings.ts";
import { type Caller, consoleAdminScope, publicReadScope, readScope } from "../../metrics/authorization/access.ts";
import { rejectUnknown } from "../../metrics/request/parameters.ts";
import { mayNamePartner } from "../../webhooks/history/history-view.ts";
import type { Operation } from "../openapi/operation.ts";
import { chooseMediaType } from "../representation/representations.ts";
import type { Route } from "../server/route.ts";

/** `GET /v1/me` */
const meOperation: Operation = {
  id: "readMe",
  summary: "Permissions of the token; every valid token may ask, whatever its scopes",
  responses: { "200": { description: "Client, permissions and expiry of the token", schema: "Me" } },
};

/** Names in the applied configuration, sorted. */
export interface ConfiguredNames {
  /** Of metric stores. */
  readonly regions: readonly string[];
  readonly environments: readonly string[];
  /** Of public objectives and of clients in quotas. */
  readonly metricTenants: readonly string[];
  /** Tenants in the subscriptions of each partner, `namespace/name`. */
  readonly partnerTenants: ReadonlyMap<string, readonly string[]>;
}

interface MeOptions {
  /** Version of the program. */
  readonly version: string;
  /** @default "Optional" */
  readonly partnersClaim?: PartnersClaim;
  /** Names of the applied configuration. @default none */
  readonly names?: () => ConfiguredNames | undefined;
}

/** `GET /v1/me`: what a token may do. Every valid token may ask. */
export function meRoute({ version, partnersClaim = "Optional", names }: MeOptions): Route {
  return {
    method: "GET",
    path: "/v1/me",
    scopes: [],
    takesAnyToken: true,
    operation: meOperation,
    handle: async ({ caller, query, accept }) => {
      chooseMediaType(accept, ["application/json"]);
      rejectUnknown(query, () => false);
      const { client, tenants, regions, environments, metrics, roles, scopes, expiresAtMs } = caller;
      const body = {
        client,
        tenants,
        partners: visiblePartners(caller, partnersClaim),
        regions,
        environments,
        metrics,
        roles,
        scopes,
        expires_at: timeOf(expiresAtMs),
        is_console_admin: scopes.includes(consoleAdminScope),
        version,
        choices: choicesOf(caller, names?.(), partnersClaim),
      };
      return { status: 200, headers: { "Cache-Control": "no-store" }, body };
    },
  };
}

/** Names of one member, so that the document stays small. */
const choicesMax = 200;
const noNames: ConfiguredNames = { regions: [], environments: [], metricTenants: [], partnerTenants: new Map() };

/** The names that a caller can filter by. For a right to all of them, those that its scopes may see anyway. */
function choicesOf(caller: Caller, names: ConfiguredNames = noNames, partnersClaim: PartnersClaim): Me["choices"] {
  const { scopes, tenants, regions, environments } = caller;
  const readsMetrics = scopes.includes(readScope) || scopes.includes(publicReadScope);
  const ofPartners = scopes.includes("webhooks:read") ? visibleTenants(caller, names, partnersClaim) : [];
  const ofMetrics = readsMetrics ? names : noNames;
  return {
    tenants: chosen(tenants, [...ofMetrics.metricTenants, ...ofPartners]),
    regions: chosen(regions, ofMetrics.regions),
    environments: chosen(environments, ofMetrics.environments),
  };
}

function chosen(granted: readonly string[], configured: readonly string[]): string[] {
  const names = granted.includes("*") ? configured : granted;
  return [...new Set(names)].sort().slice(0, choicesMax);
}

/** Tenants in the subscriptions of partners that the caller may see. */
function visibleTenants(
  { partners }: Caller,
  { partnerTenants }: ConfiguredNames,
  partnersClaim: PartnersClaim,
): readonly string[] {
  const access = partners ?? (partnersClaim === "Required" ? [] : undefined);
  return [...partnerTenants].flatMap(([partner, tenants]) =>
    mayNamePartner(access === undefined ? {} : { partners: access }, partner) ? tenants : [],
  );
}

/** The last millisecond of the year 9999, after which a time has another form. */
const lastMs = 253_402_300_799_999;

function timeOf(ms: number | undefined): string | null {
  return ms === undefined || ms > lastMs ? null : new Date(ms).toISOString();
}

/** Partners that webhook routes show the caller; null for every one. */
function visiblePartners({ partners }: Caller, partnersClaim: PartnersClaim): readonly string[] | null {
  if (partners === undefined) return partnersClaim === "Required" ? [] : null;
  return partners.includes("*") ? null : partners;
}
