import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

interface Rules {
  readonly groups: readonly {
    readonly name: string;
    readonly headers?: readonly string[];
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly labels: Readonly<Record<string, string>>;
    }[];
  }[];
}

/** By domain and name. */
const objectives = [
  "bet-settlement",
  "rate",
  "login",
  "deposit",
  "soft-declines",
  "withdrawal",
  "api-availability",
  "queue-lag",
  "replication-lag",
];
const examples = ["rules", "docs/examples", "--tenant", "lumen"];

/** Runs the command on the example catalog, edited. */
async function rulesOfEdited(edit: (text: string) => string, ...args: readonly string[]) {
  const folder = await temporaryFolder("rules");
  onTestFinished(() => folder.remove());
  const place = join(folder.path, "catalog.yaml");
  await writeFile(place, edit(await readFile("docs/examples/metric-catalog.yaml", "utf8")));
  return runProgram(["rules", place, ...args]);
}

describe("heliograph rules", () => {
  test("prints the same bytes again, two alerts for each objective", async () => {
    const [one, other] = await Promise.all([runProgram(examples), runProgram(examples)]);
    const { groups } = parse(one.stdout) as Rules;
    expect(one).toEqual(other);
    expect(one).toMatchObject({ code: 0, stderr: "" });
    expect(groups.map(({ name }) => name)).toEqual(objectives.map((slo) => `default/operations/${slo}/lumen`));
    expect(new Set(groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)))).toEqual(
      new Set(["SloBurnsFast", "SloBurnsSlow"]),
    );
    expect(one.stdout).toContain('auth_success_rate{tenant="lumen"}[1h]');
  });

  test("names the tenant in a header for vmalert, and in no selector", async () => {
    const { stdout } = await runProgram([...examples, "--tenant", "atlas", "-o", "vmalert"]);
    const { groups } = parse(stdout) as Rules;
    expect(groups.map(({ headers }) => headers?.join())).toEqual(
      ["atlas", "lumen"].flatMap((tenant) =>
        Array.from({ length: objectives.length }, () => `X-Scope-OrgID: ${tenant}`),
      ),
    );
    expect(groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)).join("\n")).not.toContain("tenant=");
  });

  test("prints one resource of the Prometheus operator for each catalog", async () => {
    const { stdout } = await runProgram([...examples, "-o", "prometheusrule"]);
    const file = parse((await runProgram(examples)).stdout) as Rules;
    expect(parseAllDocuments(stdout).map((document) => document.toJS() as unknown)).toEqual([
      {
        apiVersion: "monitoring.coreos.com/v1",
        kind: "PrometheusRule",
        metadata: { name: "operations-slos", namespace: "default" },
        spec: file,
      },
    ]);
  });

  test("prints an empty list of groups without objectives, and says so", async () => {
    const { code, stdout, stderr } = await rulesOfEdited((text) => text.slice(0, text.indexOf("  slos:")));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "groups: []\n" });
    expect(stderr).toContain("No catalog has objectives");
  });

  test("needs no tenant where series belong to none", async () => {
    const platform = (text: string): string =>
      text.replaceAll("settleSeconds: 120", "settleSeconds: 120\n      tenancy: Platform");
    const { code, stdout, stderr } = await rulesOfEdited(platform);
    expect(code).toBe(0);
    expect(stderr).toContain("the rules of default/operations have no tenant, because its series belong to none");
    expect(stdout).toContain("auth_success_rate[1h]");
    expect(stdout).not.toContain("tenant");
  });

  test("asks for a tenant where stores hold several, and refuses one that no request may name", async () => {
    const without = await runProgram(["rules", "docs/examples"]);
    const card = await runProgram(["rules", "docs/examples", "--tenant", "4111111111111111"]);
    expect([without.code, card.code]).toEqual([2, 2]);
    expect(without.stderr).toContain(
      "The catalog default/operations has series of several tenants; pass --tenant for each",
    );
    expect(card.stderr).toContain("looks like a card number");
  });

  test("gives every rule the labels of --label, literally", async () => {
    const { stdout } = await runProgram([...examples, "--label", "team=a,b=c", "--label", "note={{ x }}"]);
    const { groups } = parse(stdout) as Rules;
    const labels = groups.flatMap(({ rules }) => rules.map((rule) => rule.labels));
    expect(labels).toHaveLength(26);
    expect(labels.every(({ team, note, slo }) => team === "a,b=c" && note === '{{ "{{" }} x }}' && slo !== "")).toBe(
      true,
    );
  });

  test.each([
    ["that has no value", ["team"], "--label must be NAME=VALUE with the name of a label, not team."],
    ["that has an empty value", ["team="], "--label must be NAME=VALUE"],
    ["whose name has a hyphen", ["on-call=a"], "--label must be NAME=VALUE"],
    ["whose name is reserved", ["__name__=a"], "--label must be NAME=VALUE"],
    ["that the rules set", ["severity=page"], "--label cannot set severity, which the rules themselves set."],
    ["that is given twice", ["team=a", "team=b"], "--label sets team twice."],
  ])("rejects a label %s", async (_name, given, message) => {
    const { code, stderr } = await runProgram([...examples, ...given.flatMap((label) => ["--label", label])]);
    expect({ code, message: stderr }).toEqual({ code: 2, message: expect.stringContaining(message) as string });
  });

  test("warns of windows that the class does not permit", async () => {
    const wide = await rulesOfEdited(
      (text) => text.replace("    - name: login\n", "    - name: login\n      windowDays: 90\n"),
      "--tenant",
      "lumen",
    );
    expect(wide.stderr).toContain("the alerts of the objective login read 9d, more than the 7d of class A");
  });
});
