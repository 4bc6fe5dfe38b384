import { rename, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openKubernetesAccess } from "../../../../runtime/config/kubernetes/api-access.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("access");
});

afterEach(async () => folder.remove());

const file = (name: string) => join(folder.path, name);

/** As a projected volume does it: the new file appears whole. */
async function put(name: string, text: string): Promise<string> {
  await writeFile(file(`.${name}`), text);
  await rename(file(`.${name}`), file(name));
  return file(name);
}

describe("a pod's service account", () => {
  const inPod = (host = "10.96.0.1", port?: string) =>
    openKubernetesAccess({
      environment: { KUBERNETES_SERVICE_HOST: host, ...(port === undefined ? {} : { KUBERNETES_SERVICE_PORT: port }) },
      serviceAccountFolder: folder.path,
    });

  beforeEach(async () => {
    await put("token", "first\n");
    await put("ca.crt", "CA");
    await put("namespace", "shop\n");
  });

  test("is read from its files and the pod's environment", async () => {
    const access = await inPod("10.96.0.1", "6443");
    expect(access.namespace).toBe("shop");
    expect(await access.read()).toEqual({
      server: "https://10.96.0.1:6443",
      headers: { authorization: "Bearer first" },
      tls: { ca: Buffer.from("CA") },
    });
  });

  test("reaches a server at an IPv6 address", async () => {
    expect(await (await inPod("fd00::1")).read()).toMatchObject({ server: "https://[fd00::1]:443" });
  });

  test("is read again each time, so that a rotated token and CA count", async () => {
    const access = await inPod();
    await access.read();
    await put("token", "second");
    await put("ca.crt", "CB");
    expect(await access.read()).toMatchObject({
      headers: { authorization: "Bearer second" },
      tls: { ca: Buffer.from("CB") },
    });
  });

  test("is missed with a sentence outside of a pod", async () => {
    await expect(openKubernetesAccess({ environment: {} })).rejects.toThrow("this is no pod");
  });
});

describe("a kubeconfig", () => {
  const text = (user: object, cluster: object = {}) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:6443/", ...cluster } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "shop" } }],
      "current-context": "x",
    });
  const open = async (user: object, cluster?: object) =>
    openKubernetesAccess({ kubeconfig: await put("config", text(user, cluster)) });

  test("gives server, token, CA and the context's namespace", async () => {
    const access = await open(
      { token: "secret" },
      { "certificate-authority": await put("ca", "CA"), "tls-server-name": "api" },
    );
    expect(access.namespace).toBe("shop");
    const { server, headers, tls } = await access.read();
    expect({ server, headers }).toEqual({
      server: "https://127.0.0.1:6443",
      headers: { Authorization: "Bearer secret" },
    });
    expect({ ...tls, ca: String(tls.ca) }).toEqual({ ca: "CA", servername: "api" });
  });

  test.each([
    ["tokenFile", async () => ({ tokenFile: await put("token", "first") })],
    [
      "auth-provider",
      async () => ({ "auth-provider": { name: "tokenFile", config: { tokenFile: await put("token", "first") } } }),
    ],
  ])("with a token file (%s) gives the token that stands there now", async (_name, user) => {
    const access = await open(await user());
    expect((await access.read()).headers).toEqual({ Authorization: "Bearer first" });
    await put("token", "second");
    expect((await access.read()).headers).toEqual({ Authorization: "Bearer second" });
  });

  test("of the environment is one of several files, and stands back behind one that is named", async () => {
    const whole = JSON.parse(text({ tokenFile: "token" })) as Record<string, unknown>;
    const { users, ...rest } = whole;
    const own = await put("own", JSON.stringify({ ...rest, users: [] }));
    const others = await put(
      "others",
      JSON.stringify({ apiVersion: "v1", kind: "Config", clusters: [], contexts: [], users }),
    );
    await put("token", "first");
    const environment = { KUBECONFIG: ["", own, others].join(delimiter), KUBERNETES_SERVICE_HOST: "10.96.0.1" };
    const access = await openKubernetesAccess({ environment });
    expect(await access.read()).toMatchObject({
      server: "https://127.0.0.1:6443",
      headers: { Authorization: "Bearer first" },
    });
    const named = await openKubernetesAccess({
      environment,
      kubeconfig: await put("config", text({ token: "named" })),
    });
    expect((await named.read()).headers).toEqual({ Authorization: "Bearer named" });
    await put("ca.crt", "CA");
    const inPod = await openKubernetesAccess({
      environment: { ...environment, KUBECONFIG: "" },
      serviceAccountFolder: folder.path,
    });
    expect((await inPod.read()).server).toBe("https://10.96.0.1:443");
  });

  test("that is rewritten gives its new credentials", async () => {
    const access = await open({ token: "first" });
    await put("config", text({ token: "second" }));
    expect((await access.read()).headers).toEqual({ Authorization: "Bearer second" });
  });

  test("is refused with a sentence when it asks for a proxy or is not there", async () => {
    await expect(open({ token: "t" }, { "proxy-url": "http://proxy:1" })).rejects.toThrow(
      "proxy, which is not supported",
    );
    await expect(openKubernetesAccess({ kubeconfig: file("nowhere") })).rejects.toThrow("ENOENT");
  });
});
