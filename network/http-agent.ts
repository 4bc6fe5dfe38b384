import type { Agent } from "node:http";
import type { NetConnectOpts, Socket } from "node:net";
import { dialHost, type LookUp } from "./lookup-dial.ts";

/** Time limit of look-up and TCP. A request has its own. */
const connectTimeoutMs = 10_000;

/**
 * Lets the attempts of an agent of `node:http` or `node:https` to connect overlap. Without it, Node gives each address
 * 250 ms and then ends its attempt.
 *
 * @param lookUp default: the look-up of the operating system
 */
export function withOverlappingAttempts<T extends Agent>(agent: T, lookUp?: LookUp): T {
  const plain = agent.createConnection.bind(agent);
  const isSecure = (agent as unknown as { readonly defaultPort: number }).defaultPort === 443;
  agent.createConnection = (target, callback): undefined =>
    void connect(target as Target, callback as Settle, { lookUp, secure: isSecure ? plain : undefined });
  return agent;
}

/** The part of the options of a request that names the server. */
interface Target {
  readonly host: string;
  readonly port: number | string;
}

type Settle = (error: Error | null, socket?: Socket) => void;

interface Connecting {
  readonly lookUp: LookUp | undefined;
  /** Begins TLS on a socket; undefined for plain HTTP. */
  readonly secure: Agent["createConnection"] | undefined;
}

async function connect(target: Target, settle: Settle, { lookUp, secure }: Connecting): Promise<void> {
  const socket = await dialTarget(target, lookUp).catch((error: Error) => error);
  if (socket instanceof Error) settle(socket);
  else if (secure === undefined) settle(null, socket);
  else settle(null, secure({ ...target, socket } as NetConnectOpts) as Socket);
}

function dialTarget({ host, port }: Target, lookUp: LookUp | undefined): Promise<Socket> {
  const options = { host, port: Number(port), timeoutMs: connectTimeoutMs };
  return dialHost(lookUp === undefined ? options : { ...options, lookUp });
}
