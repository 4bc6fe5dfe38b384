import { openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { startStep } from "../../runtime/program/start-error.ts";
import type { ExitName } from "../command-line/command.ts";

export interface TokenArguments {
  readonly dataFolder: string;
  readonly ttlSeconds: number;
  readonly client: string;
  readonly tenants: readonly string[];
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** Empty: the token does not restrict regions. */
  readonly regions: readonly string[];
  readonly environments: readonly string[];
  readonly metrics: readonly string[];
  readonly partners: readonly string[];
}

/**
 * `heliograph dev-token`: prints a token of the development issuer of the data folder. Claims have their default names.
 * @throws StartError `data`
 */
export async function printToken(args: TokenArguments): Promise<ExitName> {
  const { dataFolder, ttlSeconds } = args;
  const open = () => openDevIssuer(dataFolder);
  const issuer = await startStep("data", `the data folder ${dataFolder} cannot be used`, open);
  const token = await issuer.sign(claimsOf(args), Date.now(), ttlSeconds);
  process.stdout.write(`${token}\n`);
  return "done";
}

function claimsOf({
  client,
  tenants,
  scopes,
  roles,
  regions,
  environments,
  metrics,
  partners,
}: TokenArguments): object & Record<string, unknown> {
  const lists = { roles, regions, environments, metrics, partners };
  const narrowing = Object.entries(lists).filter(([, list]) => list.length > 0);
  return { sub: client, client_id: client, scope: scopes.join(" "), tenants, ...Object.fromEntries(narrowing) };
}
