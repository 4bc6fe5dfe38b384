import { describe, expect, test } from "vitest";
import { startPrometheus } from "./prometheus.ts";

const startSeconds = 1_767_225_600;
const lines = Array.from({ length: 241 }, (_, i) => `bets_total{region="eu"} ${i * 3} ${startSeconds + i * 15}\n`);
const text = `# TYPE bets counter\n${lines.join("")}# EOF\n`;

interface Answer {
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

async function ask(url: string, query: string, time: number): Promise<string | undefined> {
  const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query, time: String(time) }).toString()}`);
  return ((await response.json()) as Answer).data.result[0]?.value[1];
}

describe("startPrometheus", () => {
  test("serves samples of any age that were there before it started", async () => {
    const store = await startPrometheus({ openMetrics: text });
    expect(await ask(store.url, "count_over_time(bets_total[1h])", startSeconds + 3600)).toBe("240");
    expect(await ask(store.url, "bets_total", startSeconds + 3600)).toBe("720");
    await store.stop();
  });

  test("takes OTLP, samples of earlier times and exponential histograms included", async () => {
    const store = await startPrometheus();
    const nowMs = Date.now();
    for (const ageMs of [0, 600_000]) {
      const response = await fetch(`${store.url}/api/v1/otlp/v1/metrics`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(exponentialHistogram(nowMs - ageMs)),
      });
      expect(response.status).toBe(200);
    }
    const count = await ask(store.url, "histogram_count(wait_seconds)", (nowMs - 600_000) / 1000);
    expect(count).toBe("6");
    await store.stop();
  });

  test("reports what promtool says of text that it does not take", async () => {
    await expect(startPrometheus({ openMetrics: "bets_total five\n" })).rejects.toThrow(
      "promtool did not take the samples",
    );
  });
});

function exponentialHistogram(atMs: number): object {
  const dataPoint = {
    startTimeUnixNano: `${startSeconds}000000000`,
    timeUnixNano: `${atMs}000000`,
    count: "6",
    sum: 9,
    scale: 0,
    zeroCount: "0",
    positive: { offset: 0, bucketCounts: ["2", "4"] },
  };
  const metric = {
    name: "wait",
    unit: "s",
    exponentialHistogram: { aggregationTemporality: 2, dataPoints: [dataPoint] },
  };
  return { resourceMetrics: [{ resource: { attributes: [] }, scopeMetrics: [{ metrics: [metric] }] }] };
}
