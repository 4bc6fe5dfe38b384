#!/usr/bin/env node
// The program `kubectl_complete-heliograph`, which kubectl runs to complete the words behind `kubectl heliograph`.
import { enableCompileCache } from "node:module";

enableCompileCache();
const { commands } = await import("./commands.ts");
const { completedCommands } = await import("./command-line/completion-words.ts");
const { completions } = await import("./command-line/completion-words.ts");
process.stdout.write(`${completions(await completedCommands(commands), process.argv.slice(2)).join("\n")}\n`);
