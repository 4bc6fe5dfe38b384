import { connectionFlags, connectionOf, baseUrlOf, type Connect } from "./connection.ts";
import type { Command } from "../command-line/command.ts";
import { clusterTargetOf } from "./cluster-flags.ts";
import { UsageError, type Given } from "../command-line/given.ts";
import type { Login } from "./login-file.ts";

interface LoginArguments {
  readonly login: Login;
  readonly connect: Connect;
}

/** `heliograph login` */
export const loginCommand: Command<LoginArguments> = {
  summary: "Saves which server the other commands ask, and where their token comes from; no token is saved.",
  flags: connectionFlags,
  read: (given) => ({ login: loginOf(given), connect: connectionOf(given) }),
  run: async (args, { environment }) => (await import("./log-in.ts")).logIn(args, environment),
};

/** `heliograph logout` */
export const logoutCommand: Command<undefined> = {
  summary: "Removes what login saved.",
  flags: [],
  read: () => undefined,
  run: async (_, { environment }) => (await import("./log-in.ts")).logOut(environment),
};

/** @throws UsageError */
function loginOf(given: Given): Login {
  const tokenFile = given.optional("token-file");
  if (given.isSet("kubernetes")) {
    if (tokenFile !== undefined) throw new UsageError("login saves no --token-file beside --kubernetes; leave it out.");
    return { kubernetes: clusterTargetOf(given) };
  }
  const url = given.optional("url");
  if (url === undefined) throw new UsageError("login needs --url or --kubernetes.");
  return { url: baseUrlOf(url), ...(tokenFile === undefined ? {} : { tokenFile }) };
}
