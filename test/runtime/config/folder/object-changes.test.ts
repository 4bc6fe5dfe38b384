import { describe, expect, test } from "vitest";
import { changesBetween } from "../../../../runtime/program/config-log.ts";
import { stateOf } from "../folder-states.ts";

const object = (name: string) => `WebhookPartner/default/${name}`;

describe("the changes between two states", () => {
  test("are all objects when there is no earlier state", () => {
    expect(changesBetween(undefined, stateOf({ acme: {}, beta: {} }))).toEqual([
      { object: object("acme"), outcome: "accepted" },
      { object: object("beta"), outcome: "accepted" },
    ]);
  });

  test("are none between equal states", () => {
    expect(changesBetween(stateOf({ acme: {} }), stateOf({ acme: {} }))).toEqual([]);
  });

  test("are the objects whose spec differs", () => {
    const after = stateOf({ acme: { "endpoint.timeoutSeconds": 3 }, beta: {} });
    expect(changesBetween(stateOf({ acme: {}, beta: {} }), after)).toEqual([
      { object: object("acme"), outcome: "accepted" },
    ]);
  });

  test("say why an object is out of force, though its spec is the same", () => {
    expect(changesBetween(stateOf({ acme: {} }), stateOf({ acme: {} }, { withoutSecrets: true }))).toEqual([
      {
        object: object("acme"),
        outcome: "refused",
        reason: "SecretNotFound",
        message: expect.stringContaining("spec.signing.keys[0].secretRef.name"),
        instead: "held",
      },
    ]);
  });

  test("name what is gone", () => {
    expect(changesBetween(stateOf({ acme: {}, beta: {} }), stateOf({ beta: {} }))).toEqual([
      { object: object("acme"), outcome: "removed" },
    ]);
  });

  test("carry the warnings of an object that is in force", () => {
    const [change] = changesBetween(undefined, stateOf({ acme: { "endpoint.url": "https://partner.example/hooks" } }));
    expect(change).toMatchObject({ outcome: "accepted", warnings: [expect.stringContaining("version")] });
  });
});
