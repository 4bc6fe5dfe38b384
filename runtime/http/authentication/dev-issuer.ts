import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT, type JWK } from "jose";
import type { BindToKey, TrustedIssuer } from "./authenticate.ts";
import { KeySource } from "./key-source.ts";

/** `iss` of the local development issuer. */
export const devIssuerName = "urn:heliograph:standalone";
/** `aud` of its tokens, unless they name the origin of one server. */
export const devAudience = "heliograph";

const algorithm = "ES256";
const keyFileName = "dev-issuer.jwk.json";
const tokenType = "at+jwt";
const originProofType = "heliograph-origin+jwt";
/** Both processes are on one machine. */
const originProofSeconds = 60;

/** File of the key pair in a data folder. */
export function devKeyPath(dataFolder: string): string {
  return join(dataFolder, keyFileName);
}

/** An issuer of tokens that only a standalone program on the same data folder trusts. */
interface DevIssuer {
  /** Its public half, for verification. */
  readonly trusted: TrustedIssuer & Required<Pick<TrustedIssuer, "proveOrigin" | "bindToKey">>;
  /**
   * A signed token with these claims. Times are Unix milliseconds and seconds.
   * @param audience the one origin that shall accept the token @default every program on the data folder
   */
  sign(
    claims: Readonly<Record<string, unknown>>,
    nowMs: number,
    ttlSeconds: number,
    audience?: string,
  ): Promise<string>;
  /**
   * The origin of a server that holds the key of the folder. Whatever else listens there cannot sign the nonce, and one
   * that passes the nonce on receives the origin of the server that signed.
   * @returns undefined when this key did not sign the nonce
   */
  provenOrigin(proof: string, nonce: string): Promise<string | undefined>;
}

/**
 * Opens the issuer of a data folder; its key pair is made at the first opening, readable by the owner only.
 * @throws Error when the folder cannot be written or the key file is damaged
 */
export async function openDevIssuer(dataFolder: string): Promise<DevIssuer> {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const path = devKeyPath(dataFolder);
  const { d, ...publicJwk } = (await readKey(path)) ?? (await makeKey(path));
  const key = await importJWK({ ...publicJwk, d } as JWK, algorithm);
  const publicKey = await importJWK(publicJwk as JWK, algorithm);
  const header = { alg: algorithm, kid: String(publicJwk["kid"]), typ: tokenType };
  const proveOrigin = async (nonce: string, origin: string): Promise<string> =>
    new SignJWT({ nonce, origin })
      .setProtectedHeader({ alg: algorithm, typ: originProofType })
      .setIssuer(devIssuerName)
      .setExpirationTime(`${originProofSeconds}s`)
      .sign(key);
  const bindToKey: BindToKey = async (token, jkt, origin) => {
    const options = {
      issuer: devIssuerName,
      typ: tokenType,
      algorithms: [algorithm],
      audience: [devAudience, ...(origin === undefined ? [] : [origin])],
      requiredClaims: ["exp"],
    };
    const verified = await jwtVerify(token, publicKey, options).catch(() => undefined);
    // A bound token stays with its key.
    if (verified === undefined || verified.payload["cnf"] !== undefined) return undefined;
    const { payload } = verified;
    const bound = await new SignJWT({ ...payload, cnf: { jkt } }).setProtectedHeader(header).sign(key);
    return { token: bound, expiresAtMs: Number(payload.exp) * 1_000 };
  };
  return {
    trusted: {
      settings: {
        issuer: devIssuerName,
        audiences: [devAudience],
        jwksFile: path,
        algorithms: [algorithm],
        tokenBinding: "None",
      },
      keys: new KeySource(async () => ({ keys: [publicJwk] })),
      proveOrigin,
      bindToKey,
    },
    provenOrigin: async (proof, nonce) => {
      const options = { issuer: devIssuerName, typ: originProofType, algorithms: [algorithm], requiredClaims: ["exp"] };
      const verified = await jwtVerify(proof, publicKey, options).catch(() => undefined);
      const { nonce: signed, origin } = verified?.payload ?? {};
      return signed === nonce && typeof origin === "string" ? origin : undefined;
    },
    sign: (claims, nowMs, ttlSeconds, audience = devAudience) =>
      new SignJWT({ ...claims })
        .setProtectedHeader(header)
        .setIssuer(devIssuerName)
        .setAudience(audience)
        .setIssuedAt(Math.floor(nowMs / 1000))
        .setExpirationTime(Math.floor(nowMs / 1000) + ttlSeconds)
        .sign(key),
  };
}

type KeyFile = Readonly<Record<string, unknown>>;

/** Undefined when there is no key yet. */
async function readKey(path: string): Promise<KeyFile | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as KeyFile;
  } catch (cause) {
    throw new Error(`${path} is corrupt; delete it to create a new key at the next start`, { cause });
  }
}

async function makeKey(path: string): Promise<KeyFile> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(privateKey);
  const text = JSON.stringify({ ...jwk, kid: await calculateJwkThumbprint(jwk), alg: algorithm, use: "sig" });
  const ownPath = `${path}.${randomUUID()}`;
  await writeFile(ownPath, text, { mode: 0o600, flag: "wx" });
  // Of two processes that make the key at once, the first to link wins and both read its key.
  await link(ownPath, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(ownPath);
  return (await readKey(path)) ?? (JSON.parse(text) as KeyFile);
}
