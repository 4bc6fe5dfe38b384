import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import { succeed } from "../tools/run.ts";
import { repository } from "./names.ts";

/** How a signature is made or checked. */
export interface Signing {
  /** Path of the key: private to sign, public to verify. @default none: keyless, by the identity of the workflow */
  readonly key?: string;
  /** For a registry of this machine. @default false */
  readonly plainHttp?: boolean;
}

const cosignMsMax = 2 * 60_000;
/** A signing configuration without a transparency log and without an authority: a key needs neither. */
const offline = {
  mediaType: "application/vnd.dev.sigstore.signingconfig.v0.2+json",
  rekorTlogConfig: {},
  tsaConfig: {},
};

/**
 * Signs what a registry holds by this digest, and for an index each of its images. The password of a key is in
 * `COSIGN_PASSWORD`. Keyless signing has never been run.
 *
 * @throws Error with cosign's last lines
 */
export async function sign(reference: string, { key, plainHttp = false }: Signing): Promise<void> {
  const folder = await temporaryFolder("sign");
  try {
    const config = join(folder.path, "signing-config.json");
    await writeFile(config, JSON.stringify(offline));
    const by = key === undefined ? [] : ["--key", key, "--signing-config", config];
    await cosign(["sign", "--yes", "--recursive", ...by, ...http(plainHttp), reference]);
  } finally {
    await folder.remove();
  }
}

/**
 * Verifies that what a registry holds under this name was signed. @param version whose workflow signed without a key
 * @throws Error with cosign's last lines when there is no such signature
 */
export async function verify(reference: string, version: string, { key, plainHttp = false }: Signing): Promise<void> {
  const by = key === undefined ? identityOf(version) : ["--key", key, "--insecure-ignore-tlog=true"];
  await cosign(["verify", ...by, ...http(plainHttp), reference]);
}

/** The workflow of a tag, as GitHub's tokens name it. Source: GitHub documentation, "OpenID Connect reference". */
export function identityOf(version: string): readonly string[] {
  const workflow = `https://github.com/${repository}/.github/workflows/release.yml@refs/tags/v${version}`;
  const issuer = "https://token.actions.githubusercontent.com";
  return ["--certificate-identity", workflow, "--certificate-oidc-issuer", issuer];
}

const http = (plainHttp: boolean): readonly string[] => (plainHttp ? ["--allow-http-registry"] : []);

async function cosign(args: readonly string[]): Promise<string> {
  return succeed(await resolveTool("cosign"), args, { timeoutMs: cosignMsMax });
}
