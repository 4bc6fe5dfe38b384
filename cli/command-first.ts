import { parseArgs } from "node:util";
import { kubeconfigFlags } from "./api/cluster-flags.ts";

/**
 * Moves flags before the first word behind the words, since kubectl's users write `-n shop events list`. Only flags
 * that kubectl has too are moved; the rest of the command line is as it was.
 */
export function commandFirst(argv: readonly string[]): readonly string[] {
  const options = kubeconfigFlags.map((flag) => {
    const short = "short" in flag ? { short: flag.short } : {};
    return [flag.name, { type: "string", ...short }] as const;
  });
  const { tokens } = parseArgs({ args: [...argv], options: Object.fromEntries(options), strict: false, tokens: true });
  const isKnown = (name: string): boolean => kubeconfigFlags.some((flag) => flag.name === name);
  const end = tokens.findIndex((token) => token.kind !== "option" || !isKnown(token.name));
  const first = tokens[end]?.index ?? argv.length;
  const [flags, rest] = [argv.slice(0, first), argv.slice(first)];
  const terminator = rest.indexOf("--");
  const words = terminator < 0 ? rest.length : terminator;
  return [...rest.slice(0, words), ...flags, ...rest.slice(words)];
}
