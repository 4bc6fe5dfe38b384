import { UsageError } from "./given.ts";
import type { Command } from "./command.ts";
import { shells, type Shell } from "./shells.ts";

/** `heliograph completion` */
export const completionCommand: Command<Shell> = {
  summary: "Prints a script that completes commands, flags and files in bash, zsh or fish.",
  operands: [{ name: "SHELL" }],
  flags: [],
  read: (_given, [name]) => {
    const shell = shells.find((one) => one === name);
    if (shell === undefined) throw new UsageError(`completion knows ${shells.join(", ")}, not ${name}.`);
    return shell;
  },
  run: async (shell, { commands }) => (await import("./print-completion.ts")).printCompletion(shell, commands),
};
