import { describe, expect, test } from "vitest";
import { chooseProvider } from "./provider.ts";

describe("chooseProvider", () => {
  test.each([
    { says: "takes kind where Docker works", asked: undefined, docker: true, chosen: "kind" },
    { says: "takes the node where it does not", asked: undefined, docker: false, chosen: "node" },
    { says: "reads an empty CLUSTER as none", asked: "", docker: false, chosen: "node" },
    { says: "takes the node where Docker works when asked to", asked: "node", docker: true, chosen: "node" },
    { says: "takes an existing cluster only when asked to", asked: "kubeconfig", docker: true, chosen: "kubeconfig" },
  ])("$says", ({ asked, docker, chosen }) => {
    expect(chooseProvider(asked, docker)).toBe(chosen);
  });

  test("refuses a name that it does not know, and says which it knows", () => {
    expect(() => chooseProvider("minikube", true)).toThrow(
      "CLUSTER=minikube is not known: use one of kind, node, kubeconfig.",
    );
  });
});
