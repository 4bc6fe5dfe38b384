import { expect, test } from "vitest";
import type { UsageAnswer } from "../../api/usage.ts";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { waitFor } from "../support/wait.ts";
import { metric } from "./manifests.ts";
import type { User } from "./user.ts";

const responseMsMax = 120_000;

/** What people and programs read of the installed product, after its first event. */
export function describeReads(suite: () => { readonly user: User }): void {
  describeOnCluster("reads of the installed product", () => {
    test("answers a query from the store", async () => {
      const { user } = suite();
      const answered = async (): Promise<boolean> => (await user.ask()).value !== undefined;
      await waitFor(answered, { timeoutMs: responseMsMax, pollMs: 500, what: "a value of the metric" });
      expect(await user.ask()).toEqual({ status: 200, value: metric.value });
      const requests = async (): Promise<number> => {
        const { text } = await user.look("/v1/metrics/usage?group_by=tenant,metric", true);
        const { data } = JSON.parse(text) as UsageAnswer;
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
  });
}
