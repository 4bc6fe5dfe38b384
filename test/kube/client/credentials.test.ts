import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { createKubeClient } from "../../../kube/client/client.ts";
import { readCredentials } from "../../../kube/client/credentials.ts";
import { kubeConfigAccess, openKubeConfig } from "../../../kube/client/kube-config.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { answer, startScriptedApi } from "../../support/scripted-api.ts";
import { selfSignedCertificate } from "../../support/tls/self-signed-certificate.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

type Cluster = Parameters<KubeConfig["loadFromClusterAndUser"]>[0];
type User = Parameters<KubeConfig["loadFromClusterAndUser"]>[1];

function config(cluster: Partial<Cluster>, user: Partial<User> = {}): KubeConfig {
  const kubeConfig = new KubeConfig();
  const whole = { name: "c", server: "https://api.example:6443/", skipTLSVerify: false, ...cluster };
  kubeConfig.loadFromClusterAndUser(whole, { name: "u", ...user });
  return kubeConfig;
}

const encoded = (text: string): string => Buffer.from(text).toString("base64");

describe("credentials", () => {
  const rows: ReadonlyArray<readonly [string, Partial<User>, Readonly<Record<string, string>>]> = [
    ["a token", { token: "t" }, { Authorization: "Bearer t" }],
    ["a user and a password", { username: "u", password: "p" }, { Authorization: `Basic ${encoded("u:p")}` }],
    [
      "somebody to act as",
      { token: "t", impersonateUser: "other" },
      { Authorization: "Bearer t", "Impersonate-User": "other" },
    ],
    ["nothing", {}, {}],
  ];
  test.each(rows)("of %s become these headers", async (_name, user, headers) => {
    expect(await readCredentials(config({}, user))).toMatchObject({ server: "https://api.example:6443", headers });
  });

  test("of a plugin are those that the plugin returns", async () => {
    const credential = {
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token: "from-plugin" },
    };
    const exec = {
      apiVersion: credential.apiVersion,
      command: process.execPath,
      args: ["-p", JSON.stringify(JSON.stringify(credential))],
    };
    expect((await readCredentials(config({}, { exec }))).headers).toEqual({ Authorization: "Bearer from-plugin" });
  });

  test("ask for another connection when, and only when, the connection would be another", async () => {
    const base = { caData: encoded("ca-1") };
    const print = async (cluster: Partial<Cluster>, user: Partial<User> = {}) =>
      (await readCredentials(config(cluster, user))).fingerprint;
    const same = await print(base, { token: "one" });
    expect(await print(base, { token: "two" })).toBe(same);
    const others = await Promise.all([
      print({ caData: encoded("ca-2") }),
      print({ ...base, tlsServerName: "other" }),
      print({ ...base, proxyUrl: "http://proxy:3128" }),
      print({ ...base, server: "https://other:6443" }),
      print(base, { certData: encoded("cert"), keyData: encoded("key") }),
      print(base, { certData: encoded("cert"), keyData: encoded("key-2") }),
    ]);
    expect(new Set([same, ...others]).size).toBe(7);
  });

  test("whose files are missing are an error, not an anonymous call", async () => {
    await expect(readCredentials(config({ caFile: "/nowhere/ca.crt" }))).rejects.toThrow("/nowhere/ca.crt");
  });
});

test("calls go through the proxy that the kubeconfig names, and still prove the server by its CA", async () => {
  const tls = selfSignedCertificate(["127.0.0.1"]);
  const api = await startScriptedApi({ tls });
  api.always("GET", answer(200, { metadata: { name: "one" } }));
  const asked: string[] = [];
  const proxy = createServer().on("connect", (request, near, head) => {
    asked.push(request.url ?? "");
    const far = connect(Number(request.url?.split(":")[1]), "127.0.0.1", () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      far.write(head);
      near.pipe(far).pipe(near);
    });
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  const loaded = config({ server: api.url, caData: encoded(tls.cert), proxyUrl: `http://127.0.0.1:${port}` });
  const client = createKubeClient({
    access: kubeConfigAccess(() => loaded),
    userAgent: "test",
    metrics: createKubeMetrics(new Registry()),
  });
  const secrets = { group: "", version: "v1", kind: "Secret", plural: "secrets" };
  expect(await client.get(secrets, { namespace: "a", name: "one" })).toEqual({ metadata: { name: "one" } });
  expect(asked).toEqual([new URL(api.url).host]);
  await client.close();
  await api.stop();
  proxy.closeAllConnections();
  proxy.close();
});

describe("a kubeconfig", () => {
  test("is read with its context and namespace, and refused when it has no such context", async () => {
    const folder = await temporaryFolder("kubeconfig");
    const path = join(folder.path, "config");
    const context = (name: string, namespace?: string) => ({
      name,
      context: { cluster: "c", user: "u", ...(namespace === undefined ? {} : { namespace }) },
    });
    const text = JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "https://api.example:6443" } }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [context("one", "team-a"), context("two")],
      "current-context": "one",
    });
    await writeFile(path, text);
    expect(openKubeConfig([path]).namespace).toBe("team-a");
    expect(openKubeConfig([path], "two").namespace).toBeUndefined();
    expect(() => openKubeConfig([path], "three")).toThrow('no context "three"');
    await folder.remove();
  });
});
