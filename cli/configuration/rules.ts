import type { Command } from "../command-line/command.ts";
import { oneOf } from "../command-line/flags.ts";
import type { RulesArguments } from "./print-rules.ts";

/** `heliograph rules` */
export const rulesCommand: Command<RulesArguments> = {
  summary: "Generates alert rules for the objectives in a folder, a file or standard input (`-`).",
  operands: [{ name: "PATH" }],
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Output format: prometheus (a rule file), vmalert (the tenant is a header) or prometheusrule (a resource).",
      variable: "HELIOGRAPH_RULES_OUTPUT",
      standard: "prometheus",
    },
    {
      name: "tenant",
      value: "TENANT",
      help: "Tenant to generate rules for; required if a store contains several tenants.",
      variable: "HELIOGRAPH_RULES_TENANT",
      multiple: true,
    },
    {
      name: "label",
      value: "NAME=VALUE",
      help: "Label of every rule, such as team=payments.",
      variable: "HELIOGRAPH_RULES_LABEL",
      multiple: true,
    },
  ],
  read: (given, [place = ""]) => ({
    place,
    output: oneOf(given, "output", ["prometheus", "vmalert", "prometheusrule"]),
    tenants: given.list("tenant"),
    labels: given.texts("label"),
  }),
  run: async (args) => (await import("./print-rules.ts")).printRules(args),
};
