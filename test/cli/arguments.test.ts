import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import { readArguments } from "../../cli/dispatch.ts";
import { variableOf } from "../../cli/command-line/flags.ts";
import { runtimeFlags } from "../../cli/serving/runtime.ts";

/** The name of the command with its arguments. */
async function readWords(words: readonly string[], environment: Record<string, string> = {}): Promise<object> {
  const { command, args } = await readArguments(words, environment);
  return { command, ...(args as object) };
}

const read = (line: string, environment?: Record<string, string>) =>
  readWords(line === "" ? [] : line.split(" "), environment);

describe("the command line", () => {
  test.each([
    ["", { command: "help" }],
    ["--help", { command: "help" }],
    ["help", { command: "help" }],
    ["help run", { command: "help", about: "run" }],
    ["help nats migrate", { command: "help", about: "nats migrate" }],
    ["run --help", { command: "help", about: "run" }],
    ["run config --port 1 -h", { command: "help", about: "run" }],
    ["nats migrate --help", { command: "help", about: "nats migrate" }],
    ["nats --help", { command: "help", about: "nats" }],
    ["--version", { command: "version" }],
    ["validate config", { command: "validate", place: "config", output: "text" }],
  ])("%j is understood", async (line, expected) => {
    await expect(read(line)).resolves.toEqual(expected);
  });

  test("of run has a default for everything but the folder", async () => {
    await expect(read("run config")).resolves.toEqual({
      command: "run",
      folder: "config",
      port: 8080,
      adminPort: 9090,
      host: "127.0.0.1",
      dataFolder: ".heliograph",
      drainMs: 20_000,
      logLevel: "info",
    });
  });

  test("of run takes every flag, before or after the folder", async () => {
    const line =
      "run --port 1 --admin-port=2 --host ::1 config --data d --nats nats://u:p@h:4222 --nats-server /x " +
      "--settings s.yaml --memory 1Gi --drain-seconds 0 --log-level debug --processes 3";
    await expect(read(line)).resolves.toEqual({
      command: "run",
      folder: "config",
      port: 1,
      adminPort: 2,
      host: "::1",
      dataFolder: "d",
      nats: { servers: ["nats://h:4222"], user: "u", password: "p" },
      natsServer: "/x",
      settingsFile: "s.yaml",
      memoryBytes: 1024 ** 3,
      drainMs: 0,
      logLevel: "debug",
      processes: "3",
    });
  });

  test.each(["1", "04", "64", "auto"])("of run and runtime take the deprecated --processes %s", async (processes) => {
    for (const line of ["run config", "runtime --config kubernetes --nats nats://n:4222"])
      await expect(read(`${line} --processes ${processes}`)).resolves.toMatchObject({ processes });
  });

  test("of runtime has a default for everything but the configuration and NATS", async () => {
    await expect(read("runtime --config kubernetes --nats nats://n:4222")).resolves.toEqual({
      command: "runtime",
      config: { kind: "kubernetes", prefix: "heliograph", counts: { config: 32, keys: 8 } },
      nats: { kind: "server", access: { servers: ["nats://n:4222"] } },
      podName: hostname(),
      unreadyMs: 5000,
      port: 8080,
      adminPort: 9090,
      host: "::",
      drainMs: 20_000,
      logLevel: "info",
    });
  });

  test("of runtime takes every flag of a pod", async () => {
    const kubernetes =
      "--config kubernetes --namespace shop --config-prefix p --shards 4 --key-shards 2 --kubeconfig k " +
      "--config-cache c --stream-record r";
    const nats = "--nats tls://u:p@n:4222 --nats-ca ca --nats-cert cert --nats-key key";
    const line = `runtime ${kubernetes} ${nats} --pod-name pod-1 --unready-seconds 0 --settings s`;
    await expect(read(line)).resolves.toMatchObject({
      config: {
        kind: "kubernetes",
        namespace: "shop",
        prefix: "p",
        counts: { config: 4, keys: 2 },
        kubeconfig: "k",
        cacheFolder: "c",
        streamRecord: "r",
      },
      nats: {
        access: {
          servers: ["tls://n:4222"],
          user: "u",
          password: "p",
          tls: { caFile: "ca", certFile: "cert", keyFile: "key" },
        },
      },
      podName: "pod-1",
      unreadyMs: 0,
      settingsFile: "s",
    });
  });

  test.each(["run config", "runtime --config kubernetes"])(
    "of %s takes files of credentials of NATS",
    async (words) => {
      const args: unknown = await read(`${words} --nats tls://n:4222 --nats-auth /etc/nats-auth`);
      expect(JSON.stringify(args)).toContain('{"servers":["tls://n:4222"],"auth":"/etc/nats-auth"}');
    },
  );

  test("of runtime takes a folder and an embedded NATS", async () => {
    await expect(read("runtime --config ./dir --nats embedded --data d --nats-server /x")).resolves.toMatchObject({
      config: { kind: "folder", path: "./dir" },
      nats: { kind: "embedded", dataFolder: "d", natsServer: "/x" },
    });
  });

  test("of dev-token splits lists at commas, scopes at blanks too, and collects what is repeated", async () => {
    const argv = ["dev-token", "--tenant", "a,b", "--tenant", "c", "--scope", "w,x y", "--scope", "z", "--ttl", "30m"];
    await expect(readWords(argv)).resolves.toMatchObject({
      tenants: ["a", "b", "c"],
      scopes: ["w", "x", "y", "z"],
      ttlSeconds: 1800,
      client: "dev",
      regions: [],
    });
  });
});

describe("an environment variable", () => {
  test("stands in for a flag, and a flag wins over it", async () => {
    const environment = { HELIOGRAPH_PORT: "1", HELIOGRAPH_ADMIN_PORT: "2", HELIOGRAPH_DATA: "d" };
    await expect(read("run config --port 3", environment)).resolves.toMatchObject({
      port: 3,
      adminPort: 2,
      dataFolder: "d",
    });
  });

  test("stands in for every flag of runtime, required ones too", async () => {
    const environment = Object.fromEntries(
      runtimeFlags.map((flag) => [
        variableOf(flag),
        flag.value === "COUNT" || flag.value === "PORT" || flag.value === "SECONDS" ? "7" : "warn",
      ]),
    );
    environment["HELIOGRAPH_MEMORY"] = "auto";
    Object.assign(environment, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318", OTEL_TRACES_SAMPLER_ARG: "0.25" });
    const given = { ...environment, HELIOGRAPH_CONFIG: "kubernetes", HELIOGRAPH_NATS: "nats://n" };
    await expect(read("runtime", given)).resolves.toMatchObject({
      config: {
        namespace: "warn",
        prefix: "warn",
        counts: { config: 7, keys: 7 },
        kubeconfig: "warn",
        cacheFolder: "warn",
      },
      nats: { access: { tls: { caFile: "warn", certFile: "warn", keyFile: "warn" } } },
      podName: "warn",
      settingsFile: "warn",
      port: 7,
      adminPort: 7,
      host: "warn",
      unreadyMs: 7000,
      drainMs: 7000,
      logLevel: "warn",
      tracing: { endpoint: "http://c:4318", ratio: 0.25, service: "warn" },
    });
  });

  test("that is empty is as good as none", async () => {
    await expect(read("run config", { HELIOGRAPH_PORT: "", HELIOGRAPH_NATS: "" })).resolves.toMatchObject({
      port: 8080,
    });
  });

  test("that Kubernetes makes of a Service of such a name is as good as none", async () => {
    const links = {
      HELIOGRAPH_PORT: "tcp://10.0.0.1:80",
      HELIOGRAPH_ADMIN_PORT: "sctp://10.0.0.2:9",
      HELIOGRAPH_PORT_80_TCP_PORT: "80",
    };
    await expect(read("run config", links)).resolves.toMatchObject({ port: 8080, adminPort: 9090 });
  });

  test("gives a list separated by commas", async () => {
    await expect(read("dev-token", { HELIOGRAPH_TENANT: "a,b", HELIOGRAPH_SCOPE: "s" })).resolves.toMatchObject({
      tenants: ["a", "b"],
    });
  });

  test("is checked like the flag", async () => {
    await expect(read("run config", { HELIOGRAPH_PROCESSES: "0" })).rejects.toThrow(
      "--processes must be an integer from 1 to 64 or auto, not 0.",
    );
    await expect(read("run config", { HELIOGRAPH_PORT: "http" })).rejects.toThrow(
      "--port must be an integer from 0 to 65535, not http.",
    );
  });
});

describe("a command of this machine below kubectl", () => {
  const plugin = { HELIOGRAPH_KUBERNETES: "true" };

  test.each([
    ["validate config --namespace shop", "validate runs on this machine only and does not accept --namespace."],
    ["validate config -n shop", "does not accept --namespace."],
    ["sign --context=a", "sign runs on this machine only and does not accept --context."],
    ["open -n shop", "for a release in a cluster, forward a port and paste a token (docs/how-to/console.md)."],
    ["debug bundle --kubeconfig a", "for a release in a cluster, run it in a pod (docs/reference/cli.md"],
  ])("says of %j that it does not reach the cluster", async (line, sentence) => {
    await expect(read(line, plugin)).rejects.toThrow(sentence);
  });

  test("runs without kubectl's flags, and others take them", async () => {
    await expect(read("validate config", plugin)).resolves.toMatchObject({ command: "validate" });
    await expect(read("resources -n shop", plugin)).resolves.toMatchObject({ command: "resources" });
    await expect(read("events list --namespace shop", plugin)).resolves.toMatchObject({ command: "events list" });
    await expect(read("validate config -n shop")).rejects.toThrow("Unknown option '-n'");
  });
});

describe("a command line is refused with a sentence", () => {
  test.each([
    ["for no process", "run config --processes 0", "--processes must be an integer from 1 to 64 or auto, not 0."],
    ["for too many processes", "run config --processes 65", "--processes must be an integer from 1 to 64 or auto"],
    [
      "for half a process",
      "run config --processes 1.5",
      "--processes must be an integer from 1 to 64 or auto, not 1.5.",
    ],
    ["for processes by another word", "run config --processes all", "from 1 to 64 or auto, not all."],
    ["for an unknown command", "serve config", "Unknown command serve; see heliograph --help."],
    ["for a word close to a command", "vaildate a", "Unknown command vaildate; did you mean validate;"],
    ["for help of an unknown command", "help serve", "Unknown command serve; see heliograph --help."],
    ["for two words close to a command", "debug bundel", "debug needs one of bundle; see heliograph debug --help."],
    ["for a joined command", "debg bundle", "Unknown command debg; did you mean debug bundle; see"],
    ["for the first word of a command", "nats", "nats needs one of migrate; see heliograph nats --help."],
    ["for an unknown flag", "run config --prot 1", "Unknown option '--prot'; see heliograph run --help."],
    [
      "for a flag of another command",
      "validate config --port 1",
      "Unknown option '--port'; see heliograph validate --help.",
    ],
    ["without the folder", "run", "run needs a DIR."],
    ["with two folders", "run a b", "run takes one DIR."],
    ["with a folder where none is taken", "dev-token a --tenant t --scope s", "dev-token takes no operand."],
    ["for a port that is none", "run a --port x", "--port must be an integer from 0 to 65535, not x."],
    ["for a port that is too high", "run a --port 65536", "--port must be an integer from 0 to 65535, not 65536."],
    ["for a negative port", "run a --port=-1", "--port must be an integer from 0 to 65535, not -1."],
    ["for a flag given twice", "run a --port 1 --port 2", "--port is given 2 times."],
    ["for an empty value", "run a --host=", "--host is empty."],
    ["for a NATS URL that is none", "run a --nats localhost", "--nats is a URL such as nats://127.0.0.1:4222."],
    ["for a NATS URL of HTTP", "run a --nats http://h:4222", "--nats is a URL such as nats://127.0.0.1:4222."],
    [
      "for credentials of an own nats-server",
      "run a --nats-auth x",
      "--nats-auth requires --nats: the embedded nats-server has generated credentials.",
    ],
    [
      "for credentials of NATS in two places",
      "run a --nats nats://u:p@h:4222 --nats-auth x",
      "NATS credentials must be in --nats-auth or in the URL of --nats, not both.",
    ],
    [
      "for a NATS URL with a password as it is",
      "run a --nats nats://u:Ab/Cd+Ef=@h:4222",
      "--nats is a URL such as nats://127.0.0.1:4222, with / ? # and % in the user and the password written as",
    ],
    [
      "for a memory without a unit",
      "run a --memory 512",
      "--memory must be auto or a size such as 512Mi or 1Gi, from 192Mi to 64Gi, not 512.",
    ],
    [
      "for a memory that does not hold the program",
      "run a --memory 191Mi",
      "--memory must be auto or a size such as 512Mi or 1Gi, from 192Mi to 64Gi, not 191Mi.",
    ],
    [
      "for a memory that no process uses",
      "run a --memory 65Gi",
      "--memory must be auto or a size such as 512Mi or 1Gi, from 192Mi to 64Gi, not 65Gi.",
    ],
    [
      "for an unknown log level",
      "run a --log-level loud",
      "--log-level must be one of debug, info, warn, error, not loud.",
    ],
    ["for a runtime without a configuration", "runtime --nats embedded", "--config is required."],
    ["for a runtime without NATS", "runtime --config d", "--nats is required."],
    ["for a runtime with an operand", "runtime d --config d --nats embedded", "runtime takes no operand."],
    [
      "for no shards",
      "runtime --config kubernetes --shards 0 --nats embedded",
      "--shards must be an integer from 1 to 100, not 0.",
    ],
    [
      "for too many shards",
      "runtime --config kubernetes --key-shards 101 --nats embedded",
      "--key-shards must be an integer from 1 to 100, not 101.",
    ],
    [
      "for a namespace that is none",
      "runtime --config kubernetes --namespace a/b --nats embedded",
      "--namespace must be a name of lowercase letters, digits, dots and dashes, not a/b.",
    ],
    [
      "for a certificate without its key",
      "runtime --config d --nats tls://n --nats-cert c",
      "--nats-cert and --nats-key must be given together.",
    ],
    ["for a token without a tenant", "dev-token --scope s", "--tenant is required."],
    ["for a list with an empty part", "dev-token --tenant t --scope a,,b", "--scope is empty."],
    ["for a token without a scope", "dev-token --tenant t", "--scope is required."],
    [
      "for a time to live that is none",
      "dev-token --tenant t --scope s --ttl 1y",
      /^--ttl must be a duration such as/u,
    ],
    [
      "for a time to live that is too long",
      "dev-token --tenant t --scope s --ttl 31d",
      /^--ttl must be a duration such as/u,
    ],
  ])("%s", async (_name, line, sentence) => {
    await expect(read(line)).rejects.toThrow(sentence);
  });

  test("for a flag without its value", async () => {
    await expect(read("run a --port")).rejects.toThrow(/--port.*argument missing; see heliograph run --help\.$/u);
  });
});
