import type { Command } from "../command-line/command.ts";
import { oneOf } from "../command-line/flags.ts";
import type { RulesArguments } from "./print-rules.ts";

/** `heliograph rules` */
export const rulesCommand: Command<RulesArguments> = {
  summary: "Prints alert rules from the objectives of a folder, a file or the standard input (`-`).",
  operands: [{ name: "PATH" }],
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Form of the rules: prometheus (a file), vmalert (the tenant is a header) or prometheusrule (a resource).",
      variable: "HELIOGRAPH_RULES_OUTPUT",
      standard: "prometheus",
    },
    {
      name: "tenant",
      value: "TENANT",
      help: "Tenant that the rules are for; required where stores hold several tenants.",
      variable: "HELIOGRAPH_RULES_TENANT",
      multiple: true,
    },
  ],
  read: (given, [place = ""]) => ({
    place,
    output: oneOf(given, "output", ["prometheus", "vmalert", "prometheusrule"]),
    tenants: given.list("tenant"),
  }),
  run: async (args) => (await import("./print-rules.ts")).printRules(args),
};
