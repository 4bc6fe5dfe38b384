import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import type { Possession } from "../../runtime/http/authentication/authenticate.ts";

/** An issuer of tokens for tests: a key pair and the public half as others publish it. */
export interface TestIssuer {
  readonly issuer: string;
  readonly kid: string;
  readonly algorithm: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** Makes an issuer with a key of its own. */
export async function makeIssuer(issuer: string, kid = "k1", algorithm = "ES256"): Promise<TestIssuer> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: "sig" };
  return { issuer, kid, algorithm, privateKey, publicJwk };
}

/**
 * Signs exactly these claims; a claim that is undefined is left out. Times are Unix seconds. @param typ default none
 */
export async function signToken(
  from: TestIssuer,
  claims: Readonly<Record<string, unknown>>,
  typ?: string,
): Promise<string> {
  const present = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  return new SignJWT(present)
    .setProtectedHeader({ alg: from.algorithm, kid: from.kid, ...(typ === undefined ? {} : { typ }) })
    .sign(from.privateKey);
}

/** A request with nothing but its token. */
export const nothingShown: Possession = {
  certificate: () => undefined,
  proof: undefined,
  method: "GET",
  path: "/",
  host: undefined,
};
