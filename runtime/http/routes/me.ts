import type { PartnersClaim } from "../../config/settings/settings.ts";
import { type Caller, consoleAdminScope } from "../../metrics/authorization/access.ts";
import { rejectUnknown } from "../../metrics/request/parameters.ts";
import type { Operation } from "../openapi/operation.ts";
import { chooseMediaType } from "../representation/representations.ts";
import type { Route } from "../server/route.ts";

/** `GET /v1/me` */
const meOperation: Operation = {
  id: "readMe",
  summary: "Permissions of the token; every valid token may ask, whatever its scopes",
  answers: { "200": { description: "Client, permissions and expiry of the token", schema: "Me" } },
};

interface MeOptions {
  /** Version of the program. */
  readonly version: string;
  /** @default "Optional" */
  readonly partnersClaim?: PartnersClaim;
}

/** `GET /v1/me`: what a token may do. Every valid token may ask. */
export function meRoute({ version, partnersClaim = "Optional" }: MeOptions): Route {
  return {
    method: "GET",
    path: "/v1/me",
    scopes: [],
    takesAnyToken: true,
    operation: meOperation,
    answer: async ({ caller, query, accept }) => {
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
      };
      return { status: 200, headers: { "Cache-Control": "no-store" }, body };
    },
  };
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
