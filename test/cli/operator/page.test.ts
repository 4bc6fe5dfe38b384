import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { exitCodes, programHelp } from "../../../cli/operator/help.ts";
import { type Flag, usageOf, variableOf } from "../../../cli/command-line/flags.ts";
import { flags } from "../../../cli/operator/flags.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import {
  createOperatorMetrics,
  registerConditionMetrics,
  registerNamespaceMetrics,
} from "../../../operator/metrics.ts";

const page = readFileSync(new URL("../../../docs/reference/operator.md", import.meta.url), "utf8");

/** Cells of the first table below a heading, without the head of the table. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  const rows = own.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function documented(flag: Flag): readonly string[] {
  const notes = [
    ...(flag.standard === undefined ? [] : [`\`${flag.standard}\``]),
    ...(flag.multiple === true ? ["may be repeated"] : []),
  ];
  return [`\`${usageOf(flag)}\``, `\`${variableOf(flag)}\``, notes.join(", "), flag.help];
}

describe("the page of the operator", () => {
  test("holds every flag and no other", () => {
    expect(rowsBelow("Flags")).toEqual(flags.map(documented));
  });

  test("holds every exit code", () => {
    expect(rowsBelow("Exit codes")).toEqual(
      Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]),
    );
  });

  test("holds every metric and no other", async () => {
    const registry = new Registry();
    createOperatorMetrics(registry);
    createKubeMetrics(registry);
    registerNamespaceMetrics(registry, () => new Map());
    registerConditionMetrics(registry, () => []);
    const all = await registry.getMetricsAsJSON();
    expect(rowsBelow("Probes and metrics").map(([name, , help]) => [name, help])).toEqual(
      all.map(({ name, help }) => [`\`${name}\``, help]),
    );
  });
});

test("the help names every flag with its variable, and every exit code", () => {
  const text = programHelp();
  for (const flag of flags) {
    expect(text).toContain(usageOf(flag));
    expect(text).toContain(variableOf(flag));
  }
  for (const { meaning } of Object.values(exitCodes)) expect(text).toContain(meaning);
});
