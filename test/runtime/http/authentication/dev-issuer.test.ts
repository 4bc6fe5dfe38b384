import { readdir } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../../runtime/http/authentication/authenticate.ts";
import { openDevIssuer } from "../../../../runtime/http/authentication/dev-issuer.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { nothingShown } from "../../../support/tokens.ts";

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("issuer");
});

afterEach(async () => folder.remove());

describe("the development issuer", () => {
  test("opened many times at once makes one key", async () => {
    const issuers = await Promise.all(Array.from({ length: 8 }, () => openDevIssuer(folder.path)));
    const [first] = issuers;
    const authenticate = createAuthenticate(
      first === undefined ? [] : [first.trusted],
      defaultSettings.claims,
      Date.now,
    );
    for (const issuer of issuers) {
      const token = await issuer.sign({ sub: "s" }, Date.now(), 60);
      expect(await authenticate(`Bearer ${token}`, nothingShown)).toMatchObject({ client: "s" });
    }
    expect(await readdir(folder.path)).toEqual(["dev-issuer.jwk.json"]);
  });

  test("issues tokens that need no binding, whatever the settings require of others", async () => {
    const issuer = await openDevIssuer(folder.path);
    const authenticate = createAuthenticate([issuer.trusted], defaultSettings.claims, Date.now, {
      tokenBinding: "Certificate",
    });
    expect(await authenticate(`Bearer ${await issuer.sign({ sub: "s" }, Date.now(), 60)}`, nothingShown)).toMatchObject(
      {
        client: "s",
      },
    );
  });

  test("publishes nothing private", async () => {
    const { trusted } = await openDevIssuer(folder.path);
    const key = await trusted.keys.getKey({ alg: "ES256" }, { payload: "", signature: "" });
    expect(key).toMatchObject({ type: "public" });
  });
});
