import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubeApiHandle, startKubeApi } from "./kube-api.ts";

let kube: KubeApiHandle;
beforeAll(async () => {
  kube = await startKubeApi();
});
afterAll(() => kube.stop());

test("the admin may do anything", async () => {
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kept" }, data: { a: "b" } };
  expect(await kube.kubectl(["apply", "-f", "-"], JSON.stringify(configMap))).toMatchObject({ code: 0 });
  const read = await kube.kubectl(["get", "configmap", "kept", "-o", "jsonpath={.data.a}"]);
  expect(read).toEqual({ code: 0, stdout: "b", stderr: "" });
});

test("a service account may do only what a role grants", async () => {
  const mayRead = ["auth", "can-i", "get", "secrets/one", "--as=system:serviceaccount:default:reader"];
  expect((await kube.kubectl(["create", "serviceaccount", "reader"])).code).toBe(0);
  expect((await kube.kubectl(mayRead)).stdout.trim()).toBe("no");
  await kube.kubectl(["create", "role", "one", "--verb=get", "--resource=secrets", "--resource-name=one"]);
  await kube.kubectl(["create", "rolebinding", "one", "--role=one", "--serviceaccount=default:reader"]);
  expect((await kube.kubectl(mayRead)).stdout.trim()).toBe("yes");
});

test("a service account proves itself by a token that the server issued", async () => {
  await kube.kubectl(["create", "serviceaccount", "caller"]);
  const { stdout: token } = await kube.kubectl(["create", "token", "caller"]);
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: token.trim() } };
  const user = ["create", "-f", "-", "-o", "jsonpath={.status.user.username}"];
  expect((await kube.kubectl(user, JSON.stringify(review))).stdout).toBe("system:serviceaccount:default:caller");
});
