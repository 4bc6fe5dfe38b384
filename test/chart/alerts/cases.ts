/** Series by their selectors, with values in promtool's notation, a minute apart. `stale` ends a series. */
type Series = Readonly<Record<string, string>>;
type Labels = Readonly<Record<string, string>>;

/** What an alert does at a time, over some series. */
interface Moment {
  readonly series: Series;
  readonly at: string;
  /** Labels of the alerts that fire, without those that each has. @default none fires */
  readonly fires?: readonly Labels[];
}

/** An alert over series that show the fault, over none, and over series that come and go. */
export interface AlertCase {
  readonly present: Moment;
  readonly absent: Moment;
  readonly flapping: Moment;
}

const none: Moment = { series: {}, at: "15m" };
const anotherRelease = ', namespace="NAMESPACE", release="OTHER"';
const day = 86_400;

/** A gauge above its threshold; it flaps when it is back below within the time that the alert waits. */
function gauge(
  selector: string,
  [bad, good]: readonly [bad: number, good: number],
  at: string,
  labels: Labels,
): AlertCase {
  return {
    present: { series: { [selector]: `${bad}x120` }, at, fires: [labels] },
    absent: none,
    flapping: { series: { [selector]: `${bad} ${good} `.repeat(60).trim() }, at },
  };
}

const mismatched = 'heliograph_catalog_metrics{catalog="shop/ops", status="False", pod="a"}';
const ready = "heliograph_pod_ready{pod=";
const leads = 'leader_election_master_status{name="hg-operator", pod=';

const operator: Readonly<Record<string, AlertCase>> = {
  HeliographOperatorGone: {
    present: { series: { [`${leads}"a"}`]: "0x30" }, at: "20m" },
    absent: { series: { [`${leads}"a"${anotherRelease}}`]: "1x30" }, at: "6m", fires: [{}] },
    flapping: { series: { [`${leads}"a"}`]: "1 stale _x2 1 stale _x2 1 stale _x2 1 stale _x2 1 stale" }, at: "16m" },
  },
  HeliographNoLeader: {
    present: {
      series: { [`${leads}"a"}`]: "0x30", [`${leads}"b"}`]: "0x30", [`${leads}"c"${anotherRelease}}`]: "1x30" },
      at: "6m",
      fires: [{}],
    },
    absent: none,
    flapping: { series: { [`${leads}"a"}`]: "1x3 0x20", [`${leads}"b"}`]: "0x5 1x20" }, at: "20m" },
  },
  HeliographWatchSilent: gauge(
    'heliograph_informer_last_event_age_seconds{informer="secrets", pod="a"}',
    [900, 20],
    "6m",
    { informer: "secrets", pod: "a" },
  ),
  HeliographNamespaceUnavailable: gauge(
    'heliograph_watched_namespace_available{watched_namespace="shop", pod="a"}',
    [0, 1],
    "6m",
    { watched_namespace: "shop" },
  ),
  HeliographPodsSilent: gauge('heliograph_runtime_pods{answers="false", pod="a"}', [1, 0], "6m", {}),
  HeliographResourceNotReady: gauge(
    'heliograph_resources{kind="WebhookPartner", type="Ready", status="False", pod="a"}',
    [2, 0],
    "16m",
    { kind: "WebhookPartner" },
  ),
  HeliographLastGoodInForce: gauge('heliograph_last_good_resources{kind="MetricCatalog", pod="a"}', [1, 0], "61m", {
    kind: "MetricCatalog",
  }),
  HeliographRulesNotWritten: gauge(
    'heliograph_resources{kind="MetricCatalog", type="RulesWritten", status="False", pod="a"}',
    [1, 0],
    "16m",
    {},
  ),
};

const runtime: Readonly<Record<string, AlertCase>> = {
  HeliographRuntimeGone: {
    present: { series: { [`${ready}"a"}`]: "0x30" }, at: "20m" },
    absent: { series: { [`${ready}"a"${anotherRelease}}`]: "1x30" }, at: "6m", fires: [{}] },
    flapping: { series: { [`${ready}"a"}`]: "1 stale _x2 1 stale _x2 1 stale _x2 1 stale _x2 1 stale" }, at: "16m" },
  },
  HeliographNoPodReady: {
    present: { series: { [`${ready}"a"}`]: "0x30", [`${ready}"b"}`]: "0x30" }, at: "3m", fires: [{}] },
    absent: none,
    // A rolling upgrade: one of the two is ready at any time.
    flapping: { series: { [`${ready}"a"}`]: "1x9 0x20", [`${ready}"b"}`]: "0x9 1x20" }, at: "20m" },
  },
  HeliographStreamsLost: gauge('heliograph_part_healthy{pod="a", part="streams"}', [0, 1], "2m", {}),
  HeliographNatsCredentialsPending: gauge('heliograph_nats_credentials_pending{pod="a"}', [1, 0], "11m", { pod: "a" }),
  HeliographPodUnhealthy: gauge('heliograph_part_healthy{pod="a", part="nats"}', [0, 1], "11m", {
    pod: "a",
    part: "nats",
  }),
  HeliographConfigurationNotObeyed: {
    present: {
      series: {
        'heliograph_config_shard_errors{pod="a"}': "0x30",
        'heliograph_config_resource_errors{pod="a"}': "1x30",
      },
      at: "6m",
      fires: [{ pod: "a" }],
    },
    absent: { series: { 'heliograph_config_shard_errors{pod="a"}': "1x30" }, at: "20m" },
    flapping: {
      series: {
        'heliograph_config_shard_errors{pod="a"}': "1x3 0 1x3 0 1x3 0x20",
        'heliograph_config_resource_errors{pod="a"}': "0x30",
      },
      at: "11m",
    },
  },
  HeliographConfigurationStale: {
    present: {
      series: { 'heliograph_config_api_heard_timestamp_seconds{pod="a"}': "0x60" },
      at: "22m",
      fires: [{ pod: "a" }],
    },
    absent: none,
    flapping: { series: { 'heliograph_config_api_heard_timestamp_seconds{pod="a"}': "0x18 1140x60" }, at: "22m" },
  },
};

const dead = (values: string): Series => ({
  'heliograph_webhook_dead_letters_total{state="dead", reason="exhausted", pod="a"}': values,
});
const late = 'heliograph_webhook_partner_oldest_due_seconds{partner="shop/one", pod="a"}';
const open = 'heliograph_webhook_partner_breaker_open{partner="shop/one", pod="b"}';
const bytes = (stream: string): string => `heliograph_webhook_stream_bytes{stream="${stream}", pod="a"}`;
const bytesMax = (stream: string): string => `heliograph_webhook_stream_bytes_max{stream="${stream}", pod="a"}`;
const refused = 'heliograph_http_requests_total{route="/events", status="503", method="POST", pod="a"}';
const taken = 'heliograph_webhook_ingest_total{outcome="taken", pod="a"}';

const delivery: Readonly<Record<string, AlertCase>> = {
  HeliographDeadLetters: {
    present: { series: dead("_x5 1x20"), at: "8m", fires: [{ state: "dead", reason: "exhausted" }] },
    absent: none,
    // A restart of the pod begins the count again, and the dead letter after it counts too.
    flapping: { series: dead("7x9 stale 1x20"), at: "12m", fires: [{ state: "dead", reason: "exhausted" }] },
  },
  HeliographPartnersBlocked: gauge('heliograph_webhook_blocked_partners{pod="a"}', [3, 0], "6m", {}),
  HeliographPartnersHeld: gauge('heliograph_webhook_held_partners{reason="conflicted", pod="a"}', [1, 0], "11m", {
    reason: "conflicted",
  }),
  HeliographEventsRefused: {
    present: { series: { [refused]: "0+5x30" }, at: "8m", fires: [{ status: "503" }] },
    absent: none,
    flapping: { series: { [refused]: "0x3 1x40" }, at: "12m" },
  },
  HeliographEventIdsTaken: {
    present: { series: { [taken]: "_x3 2x30" }, at: "5m", fires: [{}] },
    absent: none,
    flapping: { series: { [taken]: "_x3 2x60" }, at: "30m" },
  },
  HeliographManyTenants: gauge('heliograph_webhook_searched_tenants{pod="a"}', [1_200, 900], "16m", {}),
  HeliographAttemptRecordsLost: {
    present: {
      series: { 'heliograph_webhook_attempt_records_lost_total{pod="a"}': "0x3 1x30" },
      at: "6m",
      fires: [{}],
    },
    absent: none,
    flapping: { series: { 'heliograph_webhook_attempt_records_lost_total{pod="a"}': "1x30 stale 0x30" }, at: "40m" },
  },
  HeliographUsageLost: {
    present: { series: { 'heliograph_metrics_usage_lost_total{pod="a"}': "0x3 1x30" }, at: "6m", fires: [{}] },
    absent: none,
    flapping: { series: { 'heliograph_metrics_usage_lost_total{pod="a"}': "1x30 stale 0x30" }, at: "40m" },
  },
  HeliographCatalogMismatch: {
    present: { series: { [mismatched]: "2x40" }, at: "21m", fires: [{ catalog: "shop/ops" }] },
    absent: {
      series: { 'heliograph_catalog_metrics{catalog="shop/ops", status="Unknown", pod="a"}': "2x40" },
      at: "21m",
    },
    // Another pod compares the catalog.
    flapping: {
      series: { [mismatched]: "2 2 stale _x3 2 2 stale _x3 2x40" },
      at: "30m",
      fires: [{ catalog: "shop/ops" }],
    },
  },
  HeliographBacklogOld: {
    present: { series: { [late]: "400x30" }, at: "6m", fires: [{ partner: "shop/one" }] },
    absent: { series: { [open]: "1x30" }, at: "20m" },
    flapping: { series: { [late]: "400x3 0 400x3 0 400x40", [open]: "0x9 1x40" }, at: "30m" },
  },
  HeliographBreakerOpen: {
    present: { series: { [open]: "1x60" }, at: "31m", fires: [{ partner: "shop/one" }] },
    absent: none,
    // A probe closes it for a minute. The outage goes on.
    flapping: { series: { [open]: "1x9 0 1x9 0 1x9 0 1x20" }, at: "31m", fires: [{ partner: "shop/one" }] },
  },
  HeliographStreamNearlyFull: {
    present: {
      series: {
        [bytes("events")]: "90x30",
        [bytesMax("events")]: "100x30",
        [bytes("attempts")]: "100x30",
        [bytesMax("attempts")]: "100x30",
      },
      at: "6m",
      fires: [{ stream: "events" }],
    },
    absent: { series: { [bytesMax("events")]: "100x30" }, at: "20m" },
    flapping: {
      series: { [bytes("events")]: "90x2 75x2 90x2 75x2 90x2 75x20", [bytesMax("events")]: "100x30" },
      at: "15m",
    },
  },
};

const up = 'heliograph_nats_up{pod="n"';
const free = 'heliograph_nats_volume_available_bytes{pod="n"}';
const size = 'heliograph_nats_volume_bytes{pod="n"}';
const used = 'heliograph_nats_jetstream_storage_bytes{pod="n"}';
const limit = 'heliograph_nats_jetstream_storage_limit_bytes{pod="n"}';
const memory = 'heliograph_nats_memory_bytes{pod="n"}';
const memoryMax = 'heliograph_nats_memory_limit_bytes{pod="n"}';
const loaded = 'heliograph_nats_certificate_not_after_seconds{listener="client", pod="n"}';

const nats: Readonly<Record<string, AlertCase>> = {
  HeliographNatsGone: {
    present: { series: { [`${up}}`]: "0x30" }, at: "20m" },
    absent: { series: { [`${up}${anotherRelease}}`]: "1x30" }, at: "6m", fires: [{}] },
    flapping: { series: { [`${up}}`]: "1 stale _x2 1 stale _x2 1 stale _x2 1 stale _x2 1 stale" }, at: "16m" },
  },
  HeliographNatsDown: gauge(`${up}}`, [0, 1], "3m", { pod: "n" }),
  HeliographNatsNoClusterLeader: gauge('heliograph_nats_cluster_leader_known{pod="n"}', [0, 1], "3m", { pod: "n" }),
  HeliographNatsJetStreamOff: gauge('heliograph_nats_jetstream_enabled{pod="n"}', [0, 1], "1m30s", { pod: "n" }),
  HeliographNatsFilesGone: gauge('heliograph_nats_streams_without_files{pod="n"}', [2, 0], "1m30s", { pod: "n" }),
  HeliographNatsVolumeFull: {
    present: { series: { [free]: "5x30", [size]: "100x30" }, at: "6m", fires: [{ pod: "n" }] },
    absent: { series: { [size]: "100x30" }, at: "20m" },
    flapping: { series: { [free]: "5x2 20x2 5x2 20x2 5x2 20x20", [size]: "100x30" }, at: "14m" },
  },
  HeliographNatsStorageFull: {
    present: { series: { [used]: "95x30", [limit]: "100x30" }, at: "6m", fires: [{ pod: "n" }] },
    absent: { series: { [used]: "95x30" }, at: "20m" },
    flapping: { series: { [used]: "95x2 50x2 95x2 50x2 95x2 50x20", [limit]: "100x30" }, at: "14m" },
  },
  HeliographNatsMemoryHigh: {
    present: { series: { [memory]: "99x30", [memoryMax]: "100x30" }, at: "11m", fires: [{ pod: "n" }] },
    absent: { series: { [memory]: "99x30" }, at: "20m" },
    flapping: { series: { [memory]: "99x4 50 99x4 50 99x4 50x20", [memoryMax]: "100x30" }, at: "14m" },
  },
  HeliographNatsCertificateExpires: {
    present: { series: { [loaded]: `${10 * day}x60` }, at: "20m", fires: [{ pod: "n", listener: "client" }] },
    absent: none,
    flapping: { series: { [loaded]: `${10 * day}x9 ${90 * day}x60` }, at: "20m" },
  },
  HeliographNatsReloadPending: gauge('heliograph_nats_reload_pending{pod="n"}', [1, 0], "11m", { pod: "n" }),
};

const read = (outcome: string): string =>
  `heliograph_store_reads_total{store="eu", region="eu", outcome="${outcome}", pod="a"}`;
const key = 'heliograph_expiry_timestamp_seconds{kind="signing_key", partner="shop/one", key="old", pod="a"}';
const certificate = 'heliograph_expiry_timestamp_seconds{kind="server", pod="a"}';
const certificateOf = 'heliograph_expiry_timestamp_seconds{kind="endpoint_client", partner="shop/one", pod="a"}';

const others: Readonly<Record<string, AlertCase>> = {
  HeliographStoreFails: {
    present: {
      series: { [read("ok")]: "0+10x30", [read("timeout")]: "0+5x30" },
      at: "12m",
      fires: [{ store: "eu", region: "eu" }],
    },
    absent: { series: { [read("ok")]: "0+10x30" }, at: "20m" },
    flapping: { series: { [read("ok")]: "0+10x30", [read("timeout")]: "0x5 3x30" }, at: "9m" },
  },
  HeliographSigningKeyEnds: {
    present: { series: { [key]: `${5 * day}x60` }, at: "20m", fires: [{ partner: "shop/one", key: "old" }] },
    absent: none,
    // The key ends as planned, and the series with it.
    flapping: { series: { [key]: `${5 * day}x9 stale` }, at: "20m" },
  },
  HeliographCertificateExpires: {
    present: {
      series: { [certificate]: `${10 * day}x60`, [certificateOf]: "-60x60" },
      at: "20m",
      fires: [{ kind: "server" }, { kind: "endpoint_client", partner: "shop/one" }],
    },
    absent: none,
    flapping: { series: { [certificate]: `${10 * day}x9 ${90 * day}x60` }, at: "20m" },
  },
  HeliographCertificateExpiresNow: {
    present: {
      series: { [certificate]: `${day}x60`, [certificateOf]: "-60x60" },
      at: "6m",
      fires: [{ kind: "server" }, { kind: "endpoint_client", partner: "shop/one" }],
    },
    absent: none,
    flapping: { series: { [certificate]: `${day}x3 ${90 * day}x60` }, at: "20m" },
  },
};

const ends = (state: string): string =>
  `heliograph_webhook_partner_deliveries_total{partner="shop/one", state="${state}", pod="a"}`;
const requests = (status: string): string =>
  `heliograph_http_requests_total{route="/v1/metrics/query", status="${status}", method="GET", pod="a"}`;
const slow = "heliograph_http_request_duration_seconds";
const slowRoute = 'route="/v1/metrics/query", pod="a"';
const delivered = "heliograph_webhook_delivery_duration_seconds";

const slo: Readonly<Record<string, AlertCase>> = {
  HeliographSloBurnsFast: {
    present: {
      series: {
        [requests("200")]: "0+60x90",
        [requests("502")]: "0+3x90",
        [`${slow}_count{${slowRoute}}`]: "0+60x90",
        [`${slow}_bucket{le="1.5", ${slowRoute}}`]: "0+6x90",
        [ends("delivered")]: "0+60x90",
        [ends("dead")]: "0+3x90",
        [`${delivered}_count{pod="a"}`]: "0+60x90",
        [`${delivered}_bucket{le="3.0", pod="a"}`]: "0+6x90",
      },
      at: "80m",
      fires: ["api_availability", "api_latency", "delivery_success", "delivery_latency"].map((name) => ({ slo: name })),
    },
    absent: none,
    // One minute with a fifth of failures, and a single failure among few requests.
    flapping: {
      series: { [requests("200")]: "0+60x90", [requests("502")]: "0x60 12x30", [ends("dead")]: "0x60 1x30" },
      at: "65m",
    },
  },
  HeliographSloBurnsSlow: {
    present: {
      series: { [requests("200")]: "0+60x420", [requests("502")]: "0+1x420" },
      at: "400m",
      fires: [{ slo: "api_availability" }],
    },
    absent: none,
    flapping: { series: { [requests("200")]: "0+60x420", [requests("502")]: "0x300 20x120" }, at: "320m" },
  },
};

/** Every alert of the chart. */
export const alertCases: Readonly<Record<string, AlertCase>> = {
  ...operator,
  ...runtime,
  ...delivery,
  ...others,
  ...slo,
  ...nats,
};
