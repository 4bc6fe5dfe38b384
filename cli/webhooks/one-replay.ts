import { createOutput } from "../api/output.ts";
import { send } from "../api/request.ts";
import { apiArguments, apiFlags, withApi, type ApiArguments } from "../api/with-api.ts";
import type { Command } from "../command-line/command.ts";
import { followFlag, followReplay, printReplay, replayPath } from "./replay-job.ts";

interface OneArguments extends ApiArguments {
  readonly id: string;
}

const operands = [{ name: "REPLAY" }] as const;

/** `heliograph replays get` */
export const getReplayCommand: Command<OneArguments & { readonly follows: boolean }> = {
  summary: "Prints the state and counts of a replay or redrive; with `--follow` until its deliveries have ended.",
  operands,
  flags: [followFlag, ...apiFlags],
  read: (given, [id = ""]) => ({ ...apiArguments(given), id, follows: given.isSet("follow") }),
  run: ({ connect, format, id, follows }, { environment }) =>
    withApi(connect, async (connection) => {
      const output = createOutput(format, environment);
      if (follows) return followReplay(connection, id, output);
      const { body } = await send(connection, { path: replayPath(id) });
      return printReplay(body, output);
    }),
};

/** `heliograph replays cancel` */
export const cancelReplayCommand: Command<OneArguments> = {
  summary: "Cancels a replay or redrive: it publishes nothing more, and what it has published is delivered.",
  operands,
  flags: apiFlags,
  read: (given, [id = ""]) => ({ ...apiArguments(given), id }),
  run: ({ connect, format, id }, { environment }) =>
    withApi(connect, async (connection) => {
      const { body } = await send(connection, { method: "DELETE", path: replayPath(id) });
      return printReplay(body, createOutput(format, environment));
    }),
};
