import { describe, expect, test } from "vitest";
import { UsageError } from "../../../cli/command-line/flags.ts";
import { readArguments } from "../../../cli/operator/arguments.ts";

const read = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  readArguments(args, environment);

describe("the command line", () => {
  test("without anything runs with the defaults", () => {
    expect(read([])).toEqual({
      command: "run",
      runtime: { service: "heliograph-runtime", portName: "admin" },
      prefix: "heliograph",
      counts: { config: 32, keys: 8 },
      lease: { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000, callTimeoutMs: 3_000 },
      lastGoodMs: 604_800_000,
      workers: 16,
      metricsPort: 9090,
      drainMs: 5_000,
      logLevel: "info",
    });
  });

  test("takes every flag", () => {
    const args = [
      "--namespace=core",
      "--watch-namespaces=a,b",
      "--watch-namespaces=c",
      "--selector=team in (x, y)",
      "--runtime-url=http://127.0.0.1:1",
      "--runtime-url=https://pod.example",
      "--policy=p.yaml",
      "--policy-config-map=hg-policy",
      "--config-prefix=hg",
      "--shards=4",
      "--key-shards=2",
      "--lease-seconds=10",
      "--lease-renew-seconds=5",
      "--lease-retry-seconds=1",
      "--last-good-seconds=3600",
      "--prometheus-rules=write",
      "--prometheus-rule-label=release=monitoring",
      "--prometheus-rule-label=example.com/team=",
      "--identity=me",
      "--workers=8",
      "--metrics-port=0",
      "--host=127.0.0.1",
      "--kubeconfig=k",
      "--context=c",
      "--drain-seconds=1",
      "--log-level=debug",
    ];
    expect(read(args)).toEqual({
      command: "run",
      namespace: "core",
      watched: ["a", "b", "c"],
      selector: "team in (x, y)",
      runtime: { urls: ["http://127.0.0.1:1", "https://pod.example"] },
      policyFile: "p.yaml",
      policyConfigMap: "hg-policy",
      prefix: "hg",
      counts: { config: 4, keys: 2 },
      rules: { mode: "write", labels: { release: "monitoring", "example.com/team": "" } },
      lease: { leaseMs: 10_000, renewDeadlineMs: 5_000, retryMs: 1_000, callTimeoutMs: 1_999 },
      lastGoodMs: 3_600_000,
      identity: "me",
      workers: 8,
      metricsPort: 0,
      host: "127.0.0.1",
      kubeconfig: "k",
      context: "c",
      drainMs: 1_000,
      logLevel: "debug",
    });
  });

  test("takes the environment where a flag is absent; empty variables are none", () => {
    const environment = {
      HELIOGRAPH_SHARDS: "5",
      HELIOGRAPH_KEY_SHARDS: "6",
      HELIOGRAPH_ALL_NAMESPACES: "true",
      HELIOGRAPH_SELECTOR: "",
    };
    expect(read(["--shards", "7"], environment)).toMatchObject({ counts: { config: 7, keys: 6 }, watched: "all" });
    expect(read([], environment)).not.toHaveProperty("selector");
    expect(read(["--all-namespaces"])).toMatchObject({ watched: "all" });
    expect(read([], { HELIOGRAPH_ALL_NAMESPACES: "false", HELIOGRAPH_WATCH_NAMESPACES: "a,b" })).toMatchObject({
      watched: ["a", "b"],
    });
  });

  test("passes over variables that Kubernetes makes of Services of such names", () => {
    const links = { HELIOGRAPH_METRICS_PORT: "tcp://10.0.0.1:80", HELIOGRAPH_RUNTIME_PORT: "udp://10.0.0.2:53" };
    expect(read([], links)).toMatchObject({ metricsPort: 9090, runtime: { portName: "admin" } });
  });

  test("asks for help or the version, whatever else stands there", () => {
    for (const flag of ["--help", "-h"]) expect(read(["--shards", "x", flag])).toEqual({ command: "help" });
    expect(read(["--version"])).toEqual({ command: "version" });
  });

  test.each([
    [["--shard=4"], "Unknown option '--shard'; see heliograph-operator --help."],
    [["here"], "Unexpected argument 'here'"],
    [["--namespace"], "Option '--namespace <value>' argument missing; see heliograph-operator --help."],
    [["--shards=0"], "--shards must be an integer from 1 to 100, not 0."],
    [["--key-shards=101"], "--key-shards must be an integer from 1 to 100, not 101."],
    [["--metrics-port=65536"], "--metrics-port must be an integer from 0 to 65535, not 65536."],
    [["--workers=many"], "--workers must be an integer from 1 to 64, not many."],
    [["--prometheus-rules=on"], "--prometheus-rules must be one of off, write, remove, not on."],
    [
      ["--prometheus-rules=write", "--prometheus-rule-label=a_/b=c"],
      "--prometheus-rule-label must be NAME=VALUE with a Kubernetes label, not a_/b=c.",
    ],
    [["--shards=1", "--shards=2"], "--shards is given 2 times."],
    [["--policy="], "--policy is empty."],
    [["--policy-config-map=hg"], "--policy-config-map requires --policy, which applies until the ConfigMap is read."],
    [["--watch-namespaces="], "--watch-namespaces is empty."],
    [["--namespace=No"], "No is not a valid namespace name."],
    [["--watch-namespaces=a,b c"], "b c is not a valid namespace name."],
    [["--watch-namespaces=a", "--all-namespaces"], "--all-namespaces and --watch-namespaces are mutually exclusive."],
    [["--runtime-url=ftp://pod"], "--runtime-url must be a URL such as http://127.0.0.1:9090, not ftp://pod."],
    [["--runtime-url=pod:9090"], "--runtime-url must be a URL such as http://127.0.0.1:9090, not pod:9090."],
    [["--config-prefix=Big"], "--config-prefix must be up to 40 lowercase letters, digits and hyphens, not Big."],
    [["--log-level=all"], "--log-level must be one of debug, info, warn, error, not all."],
    [
      ["--lease-seconds=10"],
      "--lease-seconds must exceed --lease-renew-seconds, which must exceed --lease-retry-seconds.",
    ],
    [
      ["--lease-renew-seconds=2"],
      "--lease-seconds must exceed --lease-renew-seconds, which must exceed --lease-retry-seconds.",
    ],
  ])("%j is refused in a sentence", (args, sentence) => {
    expect(() => read(args)).toThrow(UsageError);
    expect(() => read(args)).toThrow(sentence);
  });

  test("refuses a switch in the environment that is neither true nor false", () => {
    expect(() => read([], { HELIOGRAPH_ALL_NAMESPACES: "yes" })).toThrow(
      "--all-namespaces must be true or false in the environment, not yes.",
    );
  });

  test("always gives lease times that fit into each other", () => {
    for (const [lease, renew, retry] of [
      [3, 2, 1],
      [3_600, 3_599, 3_598],
      [30, 20, 19],
    ]) {
      const invocation = read([
        `--lease-seconds=${lease}`,
        `--lease-renew-seconds=${renew}`,
        `--lease-retry-seconds=${retry}`,
      ]);
      if (invocation.command !== "run") throw new Error("it does not run");
      const { leaseMs, renewDeadlineMs, retryMs, callTimeoutMs } = invocation.lease;
      expect(leaseMs).toBeGreaterThan(renewDeadlineMs);
      expect(renewDeadlineMs).toBeGreaterThan(retryMs + 2 * callTimeoutMs);
      expect(callTimeoutMs).toBeGreaterThan(0);
    }
  });
});
