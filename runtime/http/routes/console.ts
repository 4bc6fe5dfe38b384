import type { BoundToken } from "../../../api/console.ts";
import type { ConsoleSettings } from "../../config/settings/settings.ts";
import { ApiError } from "../../errors/api-error.ts";
import { chooseAmong } from "../representation/representations.ts";
import { isOnThisMachine } from "../server/configz.ts";
import type { ApiRequest, ApiResponse, Route } from "../server/route.ts";

/** Codings of a file of the console, the smallest first. */
export const consoleCodings = ["br", "gzip"] as const;
type ConsoleCoding = (typeof consoleCodings)[number] | "identity";

/** Bytes of one file in one coding. */
interface ConsoleBytes {
  readonly bytes: Uint8Array;
  /** Strong: equal tags are equal bytes. */
  readonly etag: string;
}

/** One file of the built console. Each has the coding `identity`. */
export interface ConsoleFile {
  readonly mediaType: string;
  readonly codings: ReadonlyMap<ConsoleCoding, ConsoleBytes>;
}

/** The built console by its paths below `/console/`, such as `assets/index-1a2b.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

/** The issuer of the data folder of a program on this machine. */
interface LocalIssuer {
  /** Signs a nonce and the origin of this server. */
  readonly proveOrigin: (nonce: string, origin: string) => Promise<string>;
  /** Binds a token of this issuer to the key of a thumbprint; undefined for a token that is invalid or bound. */
  readonly bindToKey: (
    token: string,
    jkt: string,
    origin: string | undefined,
  ) => Promise<{ readonly token: string; readonly expiresAtMs: number } | undefined>;
  readonly dataFolder: string;
  /** How the program was started: `heliograph` or `npx heliograph`. */
  readonly program: string;
}

interface ConsoleOptions {
  /** Undefined when the console was not built. */
  readonly files: ConsoleFiles | undefined;
  readonly settings: ConsoleSettings;
  /** Present when the program trusts tokens that commands on this machine sign. */
  readonly local?: LocalIssuer | undefined;
  /** Version of the program. */
  readonly version: string;
}

const pageName = "index.html";
const assetsFolder = "assets/";

/**
 * `/console`: the built page, its files and its configuration. They need no token and set no cookie. Each path without
 * a file is the page, which shows what the path names. Files are looked up by their whole name, so that no path leads
 * out of the folder.
 */
export function consoleRoutes(options: ConsoleOptions): readonly Route[] {
  const { settings, local, version, files } = options;
  const config = {
    issuer: settings.issuer ?? null,
    client_id: settings.clientId ?? null,
    scopes: settings.scopes ?? null,
    is_local: local !== undefined,
    version,
  };
  const policy = policyOf(settings);
  const handle = async (request: ApiRequest): Promise<ApiResponse> =>
    fileResponse(findFile(files, request.path["*"] ?? ""), request, policy);
  return [
    { ...open, path: "/console", handle },
    { ...open, path: "/console/*", handle },
    {
      ...open,
      path: "/console/config.json",
      handle: async (request) => ({
        status: 200,
        body: { ...config, open_command: openCommand(request, local), ...(await originProof(request, local)) },
      }),
    },
    ...(local === undefined ? [] : [bindingRoute(local)]),
  ];
}

/** The command that opens this console, for people on this machine; null for everyone else. */
function openCommand({ address, origin }: ApiRequest, local: LocalIssuer | undefined): string | null {
  if (local === undefined || origin === undefined || !isOnThisMachine({ remoteAddress: address() })) return null;
  const quoted = /^[\w./-]+$/u.test(local.dataFolder)
    ? local.dataFolder
    : `'${local.dataFolder.replaceAll("'", String.raw`'\''`)}'`;
  return `${local.program} open --data ${quoted} --url ${origin}`;
}

/** `POST /console/token`: binds the token of `heliograph open` to a key of the page, before the page stores it. */
function bindingRoute({ bindToKey }: LocalIssuer): Route {
  return {
    ...open,
    method: "POST",
    path: "/console/token",
    bodyBytesMax: bindingBytesMax,
    handle: async ({ body, origin, nowMs }) => {
      const { token, jkt } = parseBinding(body);
      const bound = await bindToKey(token, jkt, origin);
      if (bound === undefined)
        throw new ApiError("token_invalid", "The token is not valid here, or it is already bound to a key.");
      const response: BoundToken = {
        token: bound.token,
        expires_in: Math.max(0, Math.floor((bound.expiresAtMs - nowMs) / 1_000)),
      };
      return { status: 200, headers: { "Cache-Control": "no-store" }, body: response };
    },
  };
}

const bindingBytesMax = 16_384;
const thumbprintForm = /^[\w-]{43}$/u;

/** @throws ApiError `invalid_request` */
function parseBinding(body: Uint8Array): { readonly token: string; readonly jkt: string } {
  const { token, jkt } = membersOf(body);
  if (typeof token === "string" && typeof jkt === "string" && thumbprintForm.test(jkt)) return { token, jkt };
  throw new ApiError("invalid_request", "The body is JSON with token and jkt, the SHA-256 thumbprint of a public key.");
}

function membersOf(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** The proof that a nonce in the query asks for: the key of the data folder signs it with the origin of this server. */
async function originProof(
  { query, origin }: ApiRequest,
  local: LocalIssuer | undefined,
): Promise<{ readonly proof?: string }> {
  const nonce = query.get("nonce")?.[0];
  if (local === undefined || nonce === undefined || origin === undefined) return {};
  if (!nonceForm.test(nonce)) throw new ApiError("invalid_request", "nonce must be 22 to 128 base64url characters.");
  return { proof: await local.proveOrigin(nonce, origin) };
}

const nonceForm = /^[\w-]{22,128}$/u;

const open = { method: "GET", scopes: [], isOpen: true } as const;

/** The page loads nothing from elsewhere, runs no text as a script, and speaks to this server and the issuer. */
function policyOf({ issuer }: ConsoleSettings): string {
  const origin = issuer === undefined ? "" : ` ${new URL(issuer).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

interface FoundFile {
  readonly file: ConsoleFile;
  /** True for a name that holds the digest of its contents. */
  readonly isForever: boolean;
}

/** @throws ApiError `not_found` */
function findFile(files: ConsoleFiles | undefined, name: string): FoundFile {
  const page = files?.get(pageName);
  if (files === undefined || page === undefined)
    throw new ApiError("not_found", "The console is not built: run `npm run console` and restart the server.");
  const isForever = name.startsWith(assetsFolder);
  const file = files.get(name);
  if (file !== undefined) return { file, isForever };
  // A page of another version requests files that are not here: a page in their place would be run as a script.
  if (isForever)
    throw new ApiError("not_found", "This version of the console does not have this file: reload the page.");
  return { file: page, isForever: false };
}

function fileResponse({ file, isForever }: FoundFile, { acceptEncoding }: ApiRequest, policy: string): ApiResponse {
  const offered = consoleCodings.filter((coding) => file.codings.has(coding));
  const coding = chooseAmong(acceptEncoding, offered);
  const found = file.codings.get(coding);
  if (found === undefined) throw new Error("a console file is empty");
  return {
    status: 200,
    headers: {
      "Content-Type": file.mediaType,
      ...(coding === "identity" ? {} : { "Content-Encoding": coding }),
      ETag: found.etag,
      Vary: "Accept-Encoding",
      "Cache-Control": isForever ? "public, max-age=31536000, immutable" : "no-cache",
      "Content-Security-Policy": policy,
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
    },
    body: found.bytes,
  };
}
