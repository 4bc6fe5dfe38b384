import { stringify } from "yaml";
import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { CatalogConfig, PartnerConfig, StoreConfig } from "../../crds/config.ts";
import { version } from "../../runtime/version.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { problemReport } from "./problem-report.ts";
import { readConfiguration, type Configuration } from "./read-configuration.ts";

export interface CompileArguments {
  /** A folder, a file, or `-` for the standard input. */
  readonly place: string;
  readonly output: "yaml" | "json";
}

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
export function compiledText({ config, hash }: Configuration, output: CompileArguments["output"]): string {
  const material = Object.fromEntries(Object.entries(config.material).map(([id, base64]) => [id, hidden(base64)]));
  const partners = config.partners.map(withoutQueries);
  const catalogs = config.catalogs.map(withoutTokenQueries);
  const shown: unknown = JSON.parse(canonicalJson({ hash, config: { ...config, material, partners, catalogs } }));
  return output === "json" ? `${JSON.stringify(shown, undefined, 2)}\n` : stringify(shown, { lineWidth: 0 });
}

/** The query of a URL may be a credential. Digests tell its versions apart. */
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
  const auth = store.peer?.auth;
  if (store.peer === undefined || auth?.kind !== "oauth2") return store;
  return { ...store, peer: { ...store.peer, auth: { ...auth, tokenUrl: withoutQuery(auth.tokenUrl) } } };
}

function withoutQuery(url: string): string {
  return url.replace(/\?.*$/su, "?***");
}

/** The ids of secrets, which the partners and stores name, tell their versions apart. */
function hidden(base64: string): string {
  return `secret of ${Buffer.from(base64, "base64").length} bytes`;
}
