import { describe, expect, test } from "vitest";
import { type Route, routesTo, versionProblem } from "./routes.ts";
import { tools } from "./tool-table.ts";

const describeRoute = (route: Route): string => ("path" in route ? `${route.kind} ${route.path}` : route.kind);

describe("routesTo", () => {
  test("is only the named program when the environment names one", () => {
    const env = { HELIOGRAPH_NATS_SERVER: "/opt/nats-server", PATH: "/usr/bin" };
    expect(routesTo("nats-server", tools["nats-server"], env).map(describeRoute)).toEqual(["named /opt/nats-server"]);
  });

  test("looks on PATH, then in the cache, then at Debian, and builds last", () => {
    const routes = routesTo("prometheus", tools.prometheus, { PATH: "/usr/local/bin:/usr/bin" });
    expect(routes.map(describeRoute)).toEqual([
      "found /usr/local/bin/prometheus",
      "found /usr/bin/prometheus",
      "cache",
      "debian",
      "build",
    ]);
  });

  test("looks in KUBEBUILDER_ASSETS before PATH for the programs of Kubernetes", () => {
    const routes = routesTo("etcd", tools.etcd, { KUBEBUILDER_ASSETS: "/assets", PATH: "/usr/bin" });
    expect(routes.map(describeRoute)).toEqual(["found /assets/etcd", "found /usr/bin/etcd", "cache", "build"]);
  });

  test("does not look for the program that holds all of Kubernetes, which no package ships", () => {
    const routes = routesTo("kubernetes", tools.kubernetes, { KUBEBUILDER_ASSETS: "/assets", PATH: "/usr/bin" });
    expect(routes.map(describeRoute)).toEqual(["cache", "build"]);
  });

  test("passes over empty and relative parts of PATH, which would search the current folder", () => {
    const routes = routesTo("nats-server", tools["nats-server"], { PATH: ":bin:/usr/bin" });
    expect(routes.filter((route) => route.kind === "found").map(describeRoute)).toEqual(["found /usr/bin/nats-server"]);
  });

  test("takes an empty variable as none", () => {
    const routes = routesTo("nats-server", tools["nats-server"], { HELIOGRAPH_NATS_SERVER: "", PATH: "" });
    expect(routes.map(describeRoute)).toEqual(["cache", "debian", "build"]);
  });
});

describe("versionProblem", () => {
  test("is none for the minimum itself", () => {
    expect(versionProblem("/bin/nats-server", "nats-server: v2.14.0", [2, 14, 0])).toBeUndefined();
  });

  test("says what is there and what is needed when a program is too old", () => {
    const problem = versionProblem("/bin/nats-server", "nats-server: v2.9.25", [2, 14, 0]);
    expect(problem).toBe("/bin/nats-server is version 2.9.25; 2.14.0 or newer is needed");
  });

  test("refuses a program that does not say its version", () => {
    const problem = versionProblem("/bin/promtool", "promtool, version  (branch: )", [3, 9, 0]);
    expect(problem).toBe("/bin/promtool does not say its version; 3.9.0 or newer is needed");
  });
});
