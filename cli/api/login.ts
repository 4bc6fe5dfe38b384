import { resolve } from "node:path";
import type { Command } from "../command-line/command.ts";
import { type Environment, type Given, UsageError } from "../command-line/flags.ts";
import { HttpError } from "./http-error.ts";
import { clusterTargetOf } from "./cluster-flags.ts";
import { baseUrlOf, type Connect, connectionFlags, connectionOf } from "./connection.ts";
import { type Login, removeLogin, writeLogin } from "./login-file.ts";
import { send } from "./request.ts";
import { say } from "../command-line/terminal.ts";
import { withApi } from "./with-api.ts";

interface LoginArguments {
  readonly login: Login;
  readonly connect: Connect;
}

/** `heliograph login` */
export const loginCommand: Command<LoginArguments> = {
  summary: "Saves the server and the token source for other commands; the token itself is not saved.",
  flags: connectionFlags,
  read: (given) => ({ login: loginOf(given), connect: connectionOf(given) }),
  run: async (args, { environment }) => logIn(args, environment),
};

/** `heliograph logout` */
export const logoutCommand: Command<undefined> = {
  summary: "Removes the saved login.",
  flags: [],
  read: () => undefined,
  run: async (_, { environment }) => logOut(environment),
};

const [unauthorized, forbidden] = [401, 403];

/** @throws UsageError */
function loginOf(given: Given): Login {
  const tokenFile = given.optional("token-file");
  if (given.isSet("kubernetes")) {
    if (tokenFile !== undefined) throw new UsageError("login does not accept --token-file with --kubernetes.");
    return { kubernetes: clusterTargetOf(given) };
  }
  const url = given.optional("url");
  if (url === undefined) throw new UsageError("login needs --url or --kubernetes.");
  return { url: baseUrlOf(url), tokenFile };
}

/** Saves a login that the server takes. @throws CommandError `refused`, `unreachable`; StartError `kubernetes` */
async function logIn(
  { login, connect }: { readonly login: Login; readonly connect: Connect },
  environment: Environment,
): Promise<"done"> {
  await withApi(connect, async (connection) => {
    // A token without this scope is a login too, and so is a server for the token of each command.
    const hasToken = (await connection.token()) !== undefined;
    const expected = hasToken ? forbidden : unauthorized;
    await send(connection, { path: "/webhooks/events", query: { limit: 1 } }).catch((error: unknown) => {
      if (!(error instanceof HttpError) || error.status !== expected) throw error;
    });
  });
  const path = await writeLogin(withWholePaths(login), environment);
  say(`Login saved in ${path}.`);
  return "done";
}

async function logOut(environment: Environment): Promise<"done"> {
  await removeLogin(environment);
  return "done";
}

/** Later commands run in other folders. */
function withWholePaths(login: Login): Login {
  if ("kubernetes" in login) {
    const { kubeconfig } = login.kubernetes;
    return kubeconfig === undefined ? login : { kubernetes: { ...login.kubernetes, kubeconfig: resolve(kubeconfig) } };
  }
  return login.tokenFile === undefined ? login : { ...login, tokenFile: resolve(login.tokenFile) };
}
