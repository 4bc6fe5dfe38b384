import { nkeys } from "@nats-io/transport-node";

type KeyPair = ReturnType<typeof nkeys.createUser>;

/** An operator of NATS with one account, which signs its users as nsc does. */
export interface NatsOperator {
  /** Lines of the server's configuration that trust the operator. */
  readonly config: string;
  /** A new user of the account: its JWT and its seed, and both as a file of nsc. */
  user(expiresAtSeconds?: number): { readonly jwt: string; readonly nkey: string; readonly creds: string };
}

const header = Buffer.from(JSON.stringify({ typ: "JWT", alg: "ed25519-nkey" })).toString("base64url");
const open = { subs: -1, data: -1, payload: -1 };
const accountLimits = { ...open, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
const jetStreamLimits = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };

/** Source: github.com/nats-io/jwt, version 2. */
function signed(issuer: KeyPair, subject: string, nats: object, exp?: number): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = { jti: subject, iat, iss: issuer.getPublicKey(), name: subject, sub: subject, nats };
  const body = Buffer.from(JSON.stringify({ ...claims, ...(exp === undefined ? {} : { exp }) })).toString("base64url");
  const signature = Buffer.from(issuer.sign(Buffer.from(`${header}.${body}`))).toString("base64url");
  return `${header}.${body}.${signature}`;
}

/** Creates the operator, an account with JetStream and a system account. */
export function createNatsOperator(): NatsOperator {
  const [operator, account, system] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const accountJwt = (key: KeyPair, limits: object): string =>
    signed(operator, key.getPublicKey(), { type: "account", version: 2, limits });
  const self = signed(operator, operator.getPublicKey(), { type: "operator", version: 2 });
  const preload = [
    `${account.getPublicKey()}: ${accountJwt(account, { ...accountLimits, ...jetStreamLimits })}`,
    `${system.getPublicKey()}: ${accountJwt(system, accountLimits)}`,
  ];
  return {
    config: [
      `operator: ${self}`,
      `system_account: ${system.getPublicKey()}`,
      "resolver: MEMORY",
      `resolver_preload: { ${preload.join(", ")} }`,
    ].join("\n"),
    user: (expiresAtSeconds) => {
      const key = nkeys.createUser();
      const nkey = Buffer.from(key.getSeed()).toString();
      const jwt = signed(account, key.getPublicKey(), { type: "user", version: 2, ...open }, expiresAtSeconds);
      return { jwt, nkey, creds: credsOf(jwt, nkey) };
    },
  };
}

function credsOf(jwt: string, seed: string): string {
  const block = (title: string, text: string, dashes: string) =>
    `-----BEGIN ${title}-----\n${text}\n${dashes}END ${title}${dashes}\n`;
  return `${block("NATS USER JWT", jwt, "------")}\n${block("USER NKEY SEED", seed, "------")}`;
}
