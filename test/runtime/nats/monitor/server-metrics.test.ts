import { describe, expect, test } from "vitest";
import { exposition, serverMetrics } from "../../../../runtime/nats/monitor/server-metrics.ts";

const own = { isReloadPending: false, reloadSignals: 0 };

describe("the metrics of a server", () => {
  test("have a sample for each number that the documents hold", () => {
    const text = serverMetrics({
      ...own,
      reloadSignals: 2,
      varz: {
        mem: 100,
        gomemlimit: 900,
        in_msgs: 7,
        tls_cert_not_after: "2026-01-01T00:00:00Z",
        cluster: { tls_cert_not_after: "2026-01-02T00:00:00Z" },
      },
      jsz: {
        storage: 10,
        config: { max_storage: 80 },
        meta_cluster: { leader: "" },
        account_details: [
          { stream_detail: [{ name: "A", state: { messages: 3 }, config: { max_bytes: -1 } }] },
          { stream_detail: [{ name: "B", state: { messages: 0 }, config: { max_bytes: 5 } }] },
        ],
      },
      volume: { sizeBytes: 100, availableBytes: 25 },
    });
    const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(samples.map((line) => line.replace("heliograph_nats_", "")).sort()).toEqual([
      'certificate_not_after_seconds{listener="client"} 1767225600',
      'certificate_not_after_seconds{listener="cluster"} 1767312000',
      "cluster_leader_known 0",
      "jetstream_storage_bytes 10",
      "jetstream_storage_limit_bytes 80",
      "memory_bytes 100",
      "memory_limit_bytes 900",
      'messages_total{direction="in"} 7',
      "reload_pending 0",
      "reload_signals_total 2",
      'stream_limit_bytes{stream="B"} 5',
      'stream_messages{stream="A"} 3',
      'stream_messages{stream="B"} 0',
      "up 1",
      "volume_available_bytes 25",
      "volume_bytes 100",
    ]);
  });

  test("of a server that is away say only that", () => {
    const text = serverMetrics({ ...own, isReloadPending: true });
    expect(text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
      "heliograph_nats_up 0",
      "heliograph_nats_reload_pending 1",
      "heliograph_nats_reload_signals_total 0",
    ]);
  });
});

describe("the text format", () => {
  test("escapes quotes, backslashes and line ends in labels", () => {
    const samples = [{ labels: { stream: 'a"b\\c\nd', kind: "x" }, value: 1 }];
    expect(exposition([{ name: "m", kind: "gauge", help: "A metric", samples }])).toBe(
      String.raw`# HELP m A metric
# TYPE m gauge
m{stream="a\"b\\c\nd",kind="x"} 1
`,
    );
  });
});
