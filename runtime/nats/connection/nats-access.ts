/** Servers and credentials of NATS. */
export interface NatsAccess {
  /** `nats://host:port`, at least one. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** File of nsc, or folder of credentials, which is read again while connected (`credentials.ts`). */
  readonly auth?: string;
  /** PEM text of the authorities, or PEM files; present when the server requires TLS. */
  readonly tls?: {
    readonly ca?: string;
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /** Connects to the servers that the first one announces. @default true */
  readonly followsCluster?: boolean;
  /** Bound on the first connection, in milliseconds. @default 10000 */
  readonly firstConnectionTimeoutMs?: number;
}

/** The text is not a URL of NATS. The message is what it has to be, `a URL such as …`, without a part of the text. */
export class InvalidNatsUrl extends Error {
  override readonly name = "InvalidNatsUrl";
}

/** Everything after the last `@` of the authority is the server. RFC 3986 section 3.2 */
const form = /^(?<scheme>nats|tls):\/\/(?:(?<userInfo>[^/?#]*)@)?(?<server>[^/?#@\s\\]+)\/?$/iu;
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001F\u007F]/u;

/**
 * Access to the NATS of a URL, whose user part may be `user:password` or a token, both percent-encoded.
 * @throws InvalidNatsUrl also when a character of the user or password may as well be the end of the server's name
 */
export function natsAccessOf(text: string): NatsAccess {
  const { scheme, userInfo, server } = (controls.test(text) ? null : form.exec(text))?.groups ?? {};
  const url = URL.parse(`${scheme}://${server}`);
  if (url === null || scheme === undefined || url.hostname === "")
    throw text.includes("@") ? ambiguous() : new InvalidNatsUrl("a URL such as nats://127.0.0.1:4222");
  return { servers: [`${url.protocol}//${url.host}`], ...credentialsOf(userInfo ?? "") };
}

function ambiguous(): InvalidNatsUrl {
  return new InvalidNatsUrl(
    "a URL such as nats://127.0.0.1:4222, with / ? # and % in the user and the password written as %2F %3F %23 " +
      "and %25; --nats-auth takes them from files as they are",
  );
}

function credentialsOf(userInfo: string): Pick<NatsAccess, "user" | "password" | "token"> {
  if (userInfo === "") return {};
  const colon = userInfo.indexOf(":");
  if (colon === -1) return { token: decoded(userInfo) };
  const [user, password] = [decoded(userInfo.slice(0, colon)), decoded(userInfo.slice(colon + 1))];
  if (user !== "" && password !== "") return { user, password };
  throw new InvalidNatsUrl("a URL with both a user and a password before the @, or a token without a colon");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw ambiguous();
  }
}
