import { execFile } from "node:child_process";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKubeClient } from "../../../kube/client/client.ts";
import type { ClusterAccess } from "../../../kube/client/credentials.ts";
import { openClusterAccess, type Surroundings } from "../../../kube/client/cluster-access.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { answer, startScriptedApi } from "../../support/scripted-api.ts";
import { selfSignedCertificate } from "../../support/tls/self-signed-certificate.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder("cluster-access");
});
afterEach(() => folder.remove());

/** A pod whose API server is there. */
async function pod({ host = "10.96.0.1", port = "443", ca = "ca-1" } = {}): Promise<Surroundings> {
  const serviceAccountFolder = join(folder.path, "serviceaccount");
  await mkdir(serviceAccountFolder, { recursive: true });
  for (const [name, text] of Object.entries({ token: "one\n", namespace: "team-a", "ca.crt": ca }))
    await writeFile(join(serviceAccountFolder, name), text);
  const environment = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port };
  return { environment, home: folder.path, serviceAccountFolder };
}

const mounted = (name: string): string => join(folder.path, "serviceaccount", name);

async function kubeconfig(path: string): Promise<string> {
  const cluster = { name: "c", cluster: { server: "https://api.example:6443" } };
  const context = { name: "one", context: { cluster: "c", user: "u", namespace: "team-b" } };
  await writeFile(
    path,
    JSON.stringify({
      clusters: [cluster],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [context],
      "current-context": "one",
    }),
  );
  return path;
}

describe("the way to the API server", () => {
  test("is the service account in a pod, with its namespace", async () => {
    const way = await openClusterAccess({}, await pod());
    expect([way.server, way.namespace]).toEqual(["https://10.96.0.1:443", "team-a"]);
    const six = await openClusterAccess({}, await pod({ host: "fd00::1", port: "6443" }));
    expect(six.server).toBe("https://[fd00::1]:6443");
    const surroundings = await pod();
    await rm(mounted("namespace"));
    expect((await openClusterAccess({}, surroundings)).namespace).toBeUndefined();
  });

  test("is a kubeconfig that is named or there, in a pod too", async () => {
    const surroundings = await pod();
    const path = await kubeconfig(join(folder.path, "config"));
    expect((await openClusterAccess({ path }, surroundings)).server).toBe("https://api.example:6443");
    await mkdir(join(folder.path, ".kube"));
    await kubeconfig(join(folder.path, ".kube", "config"));
    expect((await openClusterAccess({}, surroundings)).namespace).toBe("team-b");
    const { home: _home, ...noHome } = surroundings;
    expect((await openClusterAccess({}, noHome)).namespace).toBe("team-a");
  });

  test("reads the token and the CA anew each time, and asks for another connection when the CA is another", async () => {
    const way = await openClusterAccess({}, await pod());
    const first = await way.read();
    expect(first.headers).toEqual({ Authorization: "Bearer one" });
    await writeFile(mounted("token"), "two");
    const second = await way.read();
    expect(second).toMatchObject({ headers: { Authorization: "Bearer two" }, fingerprint: first.fingerprint });
    await writeFile(mounted("ca.crt"), "ca-2");
    expect((await way.read()).fingerprint).not.toBe(first.fingerprint);
    await rm(mounted("token"));
    await expect(way.read()).rejects.toThrow("token");
  });

  test("of a pod carries calls, and proves the server by the CA that is mounted", async () => {
    const tls = selfSignedCertificate(["127.0.0.1"]);
    const api = await startScriptedApi({ tls });
    api.always("GET", answer(200, { metadata: { name: "one" } }));
    const { hostname: host, port } = new URL(api.url);
    const access = await openClusterAccess({}, await pod({ host, port, ca: tls.cert }));
    const client = createKubeClient({ access, userAgent: "test", metrics: createKubeMetrics(new Registry()) });
    const secrets = { group: "", version: "v1", kind: "Secret", plural: "secrets" };
    expect(await client.get(secrets, { namespace: "a", name: "one" })).toEqual({ metadata: { name: "one" } });
    expect(api.requests()[0]?.headers["authorization"]).toBe("Bearer one");
    await client.close();
    await api.stop();
  });
});

describe("a kubeconfig", () => {
  const text = (user: object) => ({
    clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:6443/" } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
  const at = (name: string): string => join(folder.path, name);
  /** As a projected volume does it: the new file appears whole. */
  async function put(name: string, content: unknown): Promise<string> {
    await writeFile(at(`.${name}`), typeof content === "string" ? content : JSON.stringify(content));
    await rename(at(`.${name}`), at(name));
    return at(name);
  }
  const tokenOf = async (access: ClusterAccess) => (await access.read()).headers["Authorization"];

  test.each([
    ["tokenFile", async () => ({ tokenFile: await put("token", "first") })],
    [
      "auth-provider",
      async () => ({ "auth-provider": { name: "tokenFile", config: { tokenFile: await put("token", "first") } } }),
    ],
  ])("with a token file (%s) gives the token that stands there now", async (_name, user) => {
    const access = await openClusterAccess({ path: await put("config", text(await user())) });
    expect(await tokenOf(access)).toBe("Bearer first");
    await put("token", "second");
    expect(await tokenOf(access)).toBe("Bearer second");
  });

  test("that is rewritten gives its new credentials", async () => {
    const access = await openClusterAccess({ path: await put("config", text({ token: "first" })) });
    expect(await tokenOf(access)).toBe("Bearer first");
    await put("config", text({ token: "second" }));
    expect(await tokenOf(access)).toBe("Bearer second");
  });

  test("of the environment is one of several files, and stands back behind one that is named", async () => {
    const { users, ...rest } = text({ tokenFile: "token" });
    const own = await put("own", { ...rest, users: [] });
    const others = await put("others", { clusters: [], contexts: [], users });
    await put("token", "first");
    const surroundings = await pod();
    const environment = { ...surroundings.environment, KUBECONFIG: ["", own, others].join(delimiter) };
    const access = await openClusterAccess({}, { ...surroundings, environment });
    expect([access.server, await tokenOf(access)]).toEqual(["https://127.0.0.1:6443", "Bearer first"]);
    const path = await put("config", text({ token: "named" }));
    expect(await tokenOf(await openClusterAccess({ path }, { ...surroundings, environment }))).toBe("Bearer named");
  });

  test("or a service account is asked for with a sentence when there is neither", async () => {
    await expect(openClusterAccess({}, { environment: {} })).rejects.toThrow(
      "no kubeconfig and no service account found",
    );
    await expect(openClusterAccess({ path: at("nowhere") })).rejects.toThrow("ENOENT");
  });
});

test("the program does not load the library with every type of the API in a pod", async () => {
  const { environment, serviceAccountFolder } = await pod();
  const access = new URL("../../../kube/client/cluster-access.ts", import.meta.url);
  const run = new URL("../../../cli/operator/run.ts", import.meta.url);
  const script = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    await import(${JSON.stringify(run.href)});
    const { openClusterAccess } = await import(${JSON.stringify(access.href)});
    await openClusterAccess({}, ${JSON.stringify({ environment, home: folder.path, serviceAccountFolder })});
    process.stdout.write(JSON.stringify(loaded.filter((url) => /node_modules|operator|kube/u.test(url))));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  const loaded = JSON.parse(stdout) as readonly string[];
  expect(loaded.some((url) => url.endsWith("/kube/client/client.ts"))).toBe(true);
  expect(loaded.filter((url) => url.includes("@kubernetes/client-node"))).toEqual([]);
});
