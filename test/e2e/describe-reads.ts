import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { CatalogCheck } from "../../api/catalog.ts";
import type { SloAnswer } from "../../api/objectives.ts";
import type { PartnerHealth, PartnerHealthKind } from "../../api/partner-health.ts";
import type { PartnerSummary } from "../../api/partners.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { UsageAnswer } from "../../api/usage.ts";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { waitFor } from "../support/wait.ts";
import { run } from "../tools/run.ts";
import type { Installation } from "./installation.ts";
import { backlog, backlogCatalog, metric, unreachablePartner } from "./manifests.ts";
import type { User } from "./user.ts";

/** The suite's installation, which is there once its tests run. */
interface Suite {
  readonly installation: Installation;
  readonly user: User;
}

const responseMsMax = 120_000;
/** Each metric of a store is read within five minutes. */
const comparedMsMax = 480_000;
const commandMsMax = 60_000;
const cli = join(import.meta.dirname, "..", "..", "cli", "heliograph.ts");
const anyTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u) as string;

/** What people and programs read of the installed product, after its first event. */
export function describeReads(suite: () => Suite): void {
  describeOnCluster("reads of the installed product", () => {
    test("answers a query from the store", async () => {
      const { user } = suite();
      const answered = async (): Promise<boolean> => (await user.ask()).value !== undefined;
      await waitFor(answered, { timeoutMs: responseMsMax, pollMs: 500, what: "a value of the metric" });
      expect(await user.ask()).toEqual({ status: 200, value: metric.value });
      const requests = async (): Promise<number> => {
        const { text } = await user.look("/v1/metrics/usage?group_by=tenant,metric", true);
        const { data } = JSON.parse(text) as Partial<UsageAnswer>;
        if (data === undefined) throw new Error(text);
        return data.find((row) => row.metric === metric.id && row.tenant === "lumen")?.requests ?? 0;
      };
      const isCounted = async (): Promise<boolean> => (await requests()) > 0;
      await waitFor(isCounted, { timeoutMs: responseMsMax, pollMs: 500, what: "the usage of the query" });
    });

    test("serves the console of its image, with a policy, and says what a token may do", async () => {
      const { user } = suite();
      const page = await user.look("/console/partners", false);
      expect(page.status).toBe(200);
      expect(page.headers.get("content-security-policy")).toContain("require-trusted-types-for 'script'");
      const [script = ""] = /\/console\/assets\/[^"]+\.js/u.exec(page.text) ?? [];
      expect((await user.look(script, false)).headers.get("cache-control")).toContain("immutable");
      const mine = JSON.parse((await user.look("/v1/me", true)).text) as object;
      expect(mine).toMatchObject({ tenants: ["lumen"], is_console_admin: false });
      const seen = JSON.parse((await user.look(`/webhooks/partners/${user.namespace}/partner`, true)).text) as object;
      expect(seen).toMatchObject({ state: "active", live: { known: true, breaker: "closed" } });
      const isListed = async (): Promise<boolean> => {
        const { text } = await user.look("/webhooks/events?order=desc&status=2xx", true);
        const { data } = JSON.parse(text) as { readonly data: readonly { readonly event_id: string }[] };
        return data.some(({ event_id: id }) => id === "first-event");
      };
      await waitFor(isListed, { timeoutMs: responseMsMax, pollMs: 500, what: "the event in the index" });
    });

    test("answers a client of Prometheus, for the tenant of its expression", async () => {
      const { user } = suite();
      const average = (tenant: string): string =>
        `avg(avg_over_time(${metric.id}{tenant="${tenant}",region="eu"}[1m])) > 0`;
      expect(await user.evaluate(average("lumen"))).toMatchObject({
        status: 200,
        body: { status: "success", data: { resultType: "vector", result: [{ value: [expect.any(Number), "21.5"] }] } },
      });
      expect(await user.evaluate(average("umbra"))).toMatchObject({
        status: 422,
        body: { errorType: "execution" },
      });
      expect(await user.evaluate(metric.id)).toMatchObject({ status: 400, body: { errorType: "bad_data" } });
    });

    test("ranks the series of a metric, and compares them with an hour before", async () => {
      const { user } = suite();
      await user.kubectl(["apply", "--filename=-"], backlogCatalog(new Date()));
      await user.programmed(["metriccatalog/backlog"]);
      const selection = `metric=${backlog.id}&filter[tenant]=lumen&filter[region]=eu&group_by=component`;
      const query = `/v1/metrics/query?${selection}&last=2m&step=10s&top=1&compare=1h`;
      const { data, meta } = await readOnce<QueryAnswer>(query, (response) => response.data.length === 2);
      const last = data.map(({ rank, other, labels, points }) => ({ rank, other, labels, value: points.at(-1)?.[1] }));
      expect(last).toEqual([
        { rank: 1, labels: { component: "intake" }, value: backlog.intake },
        { other: 1, labels: {}, value: backlog.sender },
      ]);
      // Nothing was scraped an hour ago.
      expect(data.map(({ previous, change }) => [previous, change?.at(-1)])).toEqual([
        [[], [null, null]],
        [[], [null, null]],
      ]);
      expect(meta.compare).toMatchObject({ shift: "1h", partial: false });
      const [fromMs, earlierMs] = [Date.parse(meta.from), Date.parse(meta.compare?.from ?? "")];
      expect(fromMs - earlierMs).toBe(3_600_000);
    });

    test("counts the slices of a gauge, without those of a correction, and has a calendar month", async () => {
      // The slices of the month have five minutes, so none may have ended since the first scrape.
      const isCounted = ({ data }: SloAnswer): boolean =>
        data.length === 3 &&
        data.every(({ calendar, events, uncorrected }) => (calendar ?? uncorrected?.events ?? events) !== undefined);
      const { data } = await readOnce<SloAnswer>("/v1/metrics/slo?domain=platform", isCounted);
      const [corrected, monthly, within] = data.toSorted((one, other) => one.name.localeCompare(other.name));
      expect(within).toMatchObject({ name: "within", sli: 1, over: { operator: "AtMost", aggregation: "sum" } });
      expect(corrected).toMatchObject({
        name: "corrected",
        corrections: [{ reason: "Planned load", active: true, seconds: 86_400 }],
        uncorrected: { sli: 0, events: { good: 0 } },
      });
      expect(corrected).not.toHaveProperty("sli");
      expect(within).not.toHaveProperty("uncorrected");
      expect(monthly).toMatchObject({ name: "monthly", calendar: { period: "Month", time_zone: "Europe/Berlin" } });
    });

    test("reports a partner whose endpoint fails, then its open circuit, to the API and the command", async () => {
      const { user } = suite();
      const startMs = performance.now();
      const failures = 5;
      await user.kubectl(["apply", "--filename=-"], unreachablePartner(user.namespace, "failing", failures));
      onTestFinished(async () => {
        await user.kubectl(["delete", "webhookpartner/failing", "secret/signing-failing"]);
      });
      await user.programmed(["webhookpartner/failing"]);
      for (const id of ["failing-1", "failing-2", "failing-3"]) expect(await user.send(id)).toBe(202);
      const failing = await healthOnce("failing");
      expect(failing).toEqual({
        kind: "failing",
        reason: "3 of 3 attempts failed in the last 15 min",
        since: anyTime,
        until: null,
      });
      expect(await listedByCommand()).toMatch(lineOf(failing));
      for (const id of ["failing-4", "failing-5"]) expect(await user.send(id)).toBe(202);
      const open = await healthOnce("circuit_open");
      expect(open).toEqual({
        kind: "circuit_open",
        reason: `${failures} consecutive failures`,
        since: anyTime,
        until: anyTime,
      });
      expect(await listedByCommand()).toMatch(lineOf(open));
      console.log(`both kinds of health were seen after ${Math.round(performance.now() - startMs)} ms`);
    });
  });

  /** The response once it is as wanted. */
  async function readOnce<T>(path: string, isWanted: (response: T) => boolean): Promise<T> {
    const look = async (): Promise<T> => {
      const { status, text } = await suite().user.look(path, true);
      const response = JSON.parse(text) as T;
      if (status !== 200 || !isWanted(response)) throw new Error(text);
      return response;
    };
    return await waitFor(look, { timeoutMs: responseMsMax, pollMs: 500, what: path });
  }

  /** The health of the partner `failing` in the list, once it is of a kind. */
  async function healthOnce(kind: PartnerHealthKind): Promise<PartnerHealth> {
    const { user } = suite();
    const look = async (): Promise<PartnerHealth> => {
      const { text } = await user.look("/webhooks/partners?search=failing", true);
      const { data } = JSON.parse(text) as { readonly data: readonly PartnerSummary[] };
      const [health, ...more] = data.map((one) => one.health);
      if (health?.kind !== kind || more.length > 0) throw new Error(text);
      return health;
    };
    return await waitFor(look, { timeoutMs: responseMsMax, pollMs: 200, what: `a partner that is ${kind}` });
  }

  /** The line of the partner in the wide table of `heliograph partners`. */
  function lineOf({ kind, reason, since }: PartnerHealth): RegExp {
    const why = `${reason}; last failure: [a-z_]+`;
    return new RegExp(`^${suite().user.namespace}/failing +active +${kind} +${why} .* ${since} `, "mu");
  }

  async function listedByCommand(): Promise<string> {
    const { code, stdout, stderr } = await typed(suite(), "partners", "--search", "failing", "--output", "wide");
    if (code !== 0) throw new Error(`heliograph partners: ${stderr}`);
    return stdout;
  }
}

/** Runs a command of the checkout against the release. */
async function typed(
  { installation, user }: Suite,
  ...args: readonly string[]
): Promise<Awaited<ReturnType<typeof run>>> {
  const where = ["--kubeconfig", installation.cluster.kubeconfig, "--namespace", user.namespace];
  const account = ["--kubernetes", "--service-account", "caller"];
  return run(process.execPath, [cli, ...args, ...where, ...account], { timeoutMs: commandMsMax });
}

/**
 * Shows how catalogs compare with their stores. `describeReads` made them, so their metrics are read meanwhile.
 * `describeRunbooks` reads the mismatch, and deletes its catalog.
 */
export function describeObserved(suite: () => Suite): void {
  describeOnCluster("catalogs of the installed product", () => {
    test(
      "are compared with what their stores contain",
      async () => {
        const { user } = suite();
        const observed = async (name: string): Promise<string> => {
          const path = '{.status.conditions[?(@.type=="Observed")]}';
          const condition = await user.kubectl(["get", `metriccatalog/${name}`, `--output=jsonpath=${path}`]);
          const { status, reason, message } = JSON.parse(condition) as Readonly<Record<string, string>>;
          return `${status} ${reason}: ${message}`;
        };
        const both = async (): Promise<readonly string[]> => [await observed("catalog"), await observed("backlog")];
        expect(await waitFor(both, { timeoutMs: comparedMsMax, pollMs: 1_000, what: "Observed of both" })).toEqual([
          "True MatchesStores: The stores contain the series of all metrics, as the catalog declares them.",
          `False Mismatch: ${backlog.missing}: eu: no series ${backlog.missing} with these matchers.`,
        ]);
        const { code, stdout } = await typed(suite(), "catalog", "check", "--output", "json");
        const checks = stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as CatalogCheck]));
        const statuses = Object.fromEntries(checks.map((check) => [check.metric_id, check.status]));
        expect(statuses).toMatchObject({ [metric.id]: "True", [backlog.missing]: "False" });
        expect(code).toBe(1);
      },
      comparedMsMax,
    );
  });
}
