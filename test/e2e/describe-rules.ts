import { expect, test } from "vitest";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { prometheusRuleDefinition } from "../operator/rules/prometheus-rule-definition.ts";
import { waitFor } from "../support/wait.ts";
import type { Installation } from "./installation.ts";
import { backlogCatalog } from "./manifests.ts";
import type { User } from "./user.ts";

/** The suite's installation, which is there once its tests run. */
interface Suite {
  readonly installation: Installation;
  readonly user: User;
  readonly upgrade: (values: Readonly<Record<string, unknown>>) => Promise<string>;
}

interface WrittenRule {
  readonly metadata: { readonly uid: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[] };
}

const ruleMsMax = 120_000;
const wholeMsMax = 10 * 60_000;
const name = "ruled";

/** A catalog with metrics and objectives that no other one has. */
function ruledCatalog(): object {
  const text = JSON.stringify(backlogCatalog(new Date()))
    .replaceAll("e2e_backlog", "e2e_ruled")
    .replaceAll("e2e_missing", "e2e_unruled")
    .replaceAll('"backlog"', `"${name}"`)
    .replaceAll('"within"', '"ruled-within"')
    .replaceAll('"corrected"', '"ruled-corrected"')
    .replaceAll('"monthly"', '"ruled-monthly"');
  return JSON.parse(text) as object;
}

/** Shows the alert rules that the operator writes, in a cluster whose garbage collector runs. */
export function describeRules(suite: () => Suite): void {
  describeOnCluster("alert rules of the installed product", () => {
    const reason = (): Promise<string> => {
      const path = '{.status.conditions[?(@.type=="RulesWritten")].reason}';
      return suite().user.kubectl(["get", `metriccatalog/${name}`, `--output=jsonpath=${path}`]);
    };
    const becomes = (what: string): Promise<boolean> =>
      waitFor(async () => (await reason()) === what, {
        timeoutMs: ruleMsMax,
        pollMs: 200,
        what: `RulesWritten ${what}`,
      });
    const get = (...args: readonly string[]): Promise<string> =>
      suite().user.kubectl(["get", `prometheusrule/${name}-slos`, "--ignore-not-found", ...args]);
    const isGone = async (): Promise<boolean> => (await get("--output=name")) === "";

    test(
      "are written once the kind exists and tenants are named, evaluated, repaired, and end with their catalog",
      async () => {
        const { installation, user, upgrade } = suite();
        const labels = { release: "monitoring" };
        await upgrade({ "operator.prometheusRules": { mode: "Write", labels } });
        await user.kubectl(["apply", "--filename=-"], ruledCatalog());
        await becomes("TenantRequired");
        await user.kubectl(["annotate", `metriccatalog/${name}`, "heliograph.dev/rule-tenants=lumen"]);
        await becomes("KindMissing");
        await installation.kubectl(["apply", "--filename=-"], prometheusRuleDefinition);
        await becomes("Written");
        const { metadata, spec } = JSON.parse(await get("--output=json")) as WrittenRule;
        expect(metadata.labels).toMatchObject(labels);
        const expressions = spec.groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
        expect(expressions).toHaveLength(6);
        for (const expression of expressions) expect(await user.evaluate(expression)).toMatchObject({ status: 200 });
        await user.kubectl([
          "patch",
          `prometheusrule/${name}-slos`,
          "--type=merge",
          "--patch",
          '{"spec":{"groups":[]}}',
        ]);
        const isRepaired = async (): Promise<boolean> =>
          (JSON.parse(await get("--output=json")) as WrittenRule).spec.groups.length === 3;
        await waitFor(isRepaired, { timeoutMs: ruleMsMax, pollMs: 200, what: "the repair" });
        await user.kubectl(["delete", `metriccatalog/${name}`]);
        await waitFor(isGone, { timeoutMs: ruleMsMax, pollMs: 200, what: "the end of the rules" });
      },
      wholeMsMax,
    );

    test(
      "are removed by the mode Remove, and their condition with them",
      async () => {
        const { installation, user, upgrade } = suite();
        await user.kubectl(["apply", "--filename=-"], ruledCatalog());
        await user.kubectl(["annotate", `metriccatalog/${name}`, "heliograph.dev/rule-tenants=lumen"]);
        await becomes("Written");
        await upgrade({ "operator.prometheusRules.mode": "Remove" });
        await waitFor(isGone, { timeoutMs: ruleMsMax, pollMs: 200, what: "the removal of the rules" });
        await becomes("");
        expect(await reason()).toBe("");
        await upgrade({ "operator.prometheusRules.mode": "Disabled" });
        await user.kubectl(["delete", `metriccatalog/${name}`]);
        await installation.kubectl(["delete", `customresourcedefinition/${prometheusRuleDefinition.metadata.name}`]);
      },
      wholeMsMax,
    );
  });
}
