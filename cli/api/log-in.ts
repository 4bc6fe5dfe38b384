import { resolve } from "node:path";
import type { Environment } from "../command-line/given.ts";
import { ApiRefusal } from "./api-error.ts";
import type { Connect } from "./connection.ts";
import { send } from "./request.ts";
import { say } from "./terminal.ts";
import { withApi } from "./with-api.ts";
import { type Login, removeLogin, writeLogin } from "./login-file.ts";

const [unauthorized, forbidden] = [401, 403];

/** Saves a login that the server takes. @throws CommandError `refused`, `unreachable`; StartError `kubernetes` */
export async function logIn(
  { login, connect }: { readonly login: Login; readonly connect: Connect },
  environment: Environment,
): Promise<"done"> {
  await withApi(connect, async (connection) => {
    // A token without this scope is a login too, and so is a server for the token of each command.
    const hasToken = (await connection.token()) !== undefined;
    const expected = hasToken ? forbidden : unauthorized;
    await send(connection, { path: "/webhooks/events", query: { limit: 1 } }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal) || error.status !== expected) throw error;
    });
  });
  const path = await writeLogin(withWholePaths(login), environment);
  say(`The login is saved in ${path}.`);
  return "done";
}

export async function logOut(environment: Environment): Promise<"done"> {
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
