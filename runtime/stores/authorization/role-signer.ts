import { readFile } from "node:fs/promises";
import type { PrometheusConfig } from "../../../crds/config.ts";
import type { AwsRoleConfig } from "../../../crds/store-credentials.ts";
import { renewalOf } from "../../json/token-response.ts";
import { createByteBudget } from "../limits/fan-out.ts";
import { exchange, type Exchanged, openPool } from "../prometheus/store-http.ts";
import { StoreError } from "../store-error.ts";
import type { StoreSecrets, WebIdentity } from "../store-secrets.ts";
import type { Authorizer } from "./exchange-authorized.ts";
import { createRenewed, type Issued } from "./renewed.ts";
import { type AwsKeys, createStoreSigner, rejectedSignature } from "./store-signer.ts";
import { createStoreToken, withoutToken } from "./store-token.ts";

/** The authorizer of a store; undefined for fixed headers. */
export function authorizerOf(
  { auth, url, timeoutMs }: PrometheusConfig,
  secrets: StoreSecrets,
  webIdentity: WebIdentity | undefined,
): Authorizer | undefined {
  if (auth?.kind === "sigv4" && secrets.awsKeys !== undefined)
    return createStoreSigner(auth.region, url, secrets.awsKeys);
  if (auth?.kind === "awsRole") return createRoleSigner(auth, url, webIdentity, timeoutMs);
  return auth?.kind === "oauth2" ? createStoreToken(auth, secrets, timeoutMs) : undefined;
}

const sessionName = "heliograph";
const responseBytesMax = 65_536;
const tokenBytesMax = 20_000;
const forbidden = 403;
/** The issuer did not respond in time to the service, which requests another try. Its status is 400. */
const unreachedIssuer = "IDPCommunicationError";
/** Responses to keys that other keys may replace. */
const rejectedKeys = /security token[^<"]*(?:expired|invalid)|ExpiredToken|UnrecognizedClient/iu;

/**
 * Signs requests by temporary keys of a role. They are fetched on demand and renewed before they expire; while the
 * Security Token Service fails, the last ones are used until then. The catalog chooses neither the token nor the URL
 * that it is sent to, and the certificates of the store do not apply there.
 *
 * @param url of the store
 * @param identity undefined if the settings have none
 * @param timeoutMs bound on one fetch
 */
export function createRoleSigner(
  { region, roleArn }: AwsRoleConfig,
  url: string,
  identity: WebIdentity | undefined,
  timeoutMs: number,
): Authorizer {
  const stsUrl = identity?.stsUrl ?? stsUrlOf(region, roleArn);
  const { origin, pathname } = new URL(stsUrl);
  const { pool } = openPool({ url: stsUrl, timeoutMs }, { tls: {} });
  const fetchKeys = async (): Promise<Issued<AwsKeys>> => {
    if (identity === undefined) throw withoutSetting();
    const form = {
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: roleArn,
      RoleSessionName: sessionName,
      WebIdentityToken: await tokenOf(identity.tokenFile),
    };
    const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/xml" };
    const options = { path: pathname, headers, body: new URLSearchParams(form).toString() };
    const call = { signal: AbortSignal.timeout(timeoutMs), bytes: createByteBudget(responseBytesMax) };
    try {
      return keysOf(await exchange(pool, options, call), Date.now());
    } catch (error) {
      throw withoutToken(origin, error, timeoutMs, `keys of the role ${roleArn}`);
    }
  };
  const keys = createRenewed(fetchKeys);
  return {
    headers: async (request, signal) => createStoreSigner(region, url, await keys.get(signal)).headers(request, signal),
    rejected(headers, response) {
      const isReplaceable = response.status === forbidden && rejectedKeys.test(response.body.toString("utf8"));
      if (!isReplaceable) return rejectedSignature(response, Date.now());
      keys.drop(({ sessionToken }) => sessionToken === headers["x-amz-security-token"]);
      return true;
    },
    close: () => pool.destroy(),
  };
}

/** Partitions of AWS with another domain. Source: the endpoints of botocore, `partitions.json`. */
const domains: Readonly<Record<string, string>> = {
  "aws-cn": "amazonaws.com.cn",
  "aws-eusc": "amazonaws.eu",
  "aws-iso": "c2s.ic.gov",
  "aws-iso-b": "sc2s.sgov.gov",
  "aws-iso-e": "cloud.adc-e.uk",
  "aws-iso-f": "csp.hci.ic.gov",
};

/** The Security Token Service of a region, in the partition of a role. */
export function stsUrlOf(region: string, roleArn: string): string {
  const [, partition = ""] = roleArn.split(":");
  return `https://sts.${region}.${domains[partition] ?? "amazonaws.com"}/`;
}

function withoutSetting(): StoreError {
  const publicDetail = "the role of the store requires metrics.webIdentity in the settings";
  return new StoreError("status", publicDetail, { publicDetail });
}

/** The token as the file has it now. @throws StoreError */
async function tokenOf(file: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(file, "utf8")).trim();
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "not readable";
    throw new StoreError("status", `no web identity token in ${file}: ${code}`, { cause });
  }
  if (/^[\w.-]+$/u.test(text) && text.length <= tokenBytesMax) return text;
  throw new StoreError("status", `no web identity token in ${file}: the content is not a token`);
}

/**
 * Parses the response. Its times are those of its clock, so that the clock of the pod can differ. The error repeats the
 * code only: other parts may contain the token. @throws StoreError
 */
function keysOf({ status, headers, body }: Exchanged, nowMs: number): Issued<AwsKeys> {
  const text = body.toString("utf8");
  const member = (name: string): string =>
    new RegExp(`<${name}>([^<>&\\s]{1,8192})</${name}>`, "u").exec(text)?.[1] ?? "";
  if (status !== 200) {
    const code = /^\w{1,64}$/u.exec(member("Code"))?.[0];
    throw new StoreError("status", `HTTP ${status}${code === undefined ? "" : ` ${code}`}`, {
      isPassing: status >= 500 || code === unreachedIssuer,
    });
  }
  const [accessKeyId, secretAccessKey, sessionToken] = ["AccessKeyId", "SecretAccessKey", "SessionToken"].map(member);
  const date = Date.parse(String(headers["date"]));
  const lifeMs = Date.parse(member("Expiration")) - (Number.isNaN(date) ? nowMs : date);
  if (!accessKeyId || !secretAccessKey || !sessionToken || !(lifeMs > 0))
    throw new StoreError("malformed", "the response has no keys that are valid now");
  return { value: { accessKeyId, secretAccessKey, sessionToken }, ...renewalOf(lifeMs) };
}
