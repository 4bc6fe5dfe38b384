import { beforeAll, describe, expect, test } from "vitest";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import type { TokenType } from "../../../../runtime/config/settings/settings.ts";
import { createAuthenticate } from "../../../../runtime/http/authentication/authenticate.ts";
import { KeySource } from "../../../../runtime/http/authentication/key-source.ts";
import { makeIssuer, nothingShown, signToken, type TestIssuer } from "../../../support/tokens.ts";

const nowMs = Date.UTC(2026, 0, 1);

let issuer: TestIssuer;
beforeAll(async () => {
  issuer = await makeIssuer("https://id.example");
});

/** What becomes of a token with this header `typ`, whose signature and claims are good. */
async function outcome(typ: string | undefined, tokenType?: TokenType): Promise<string> {
  const settings = {
    issuer: issuer.issuer,
    audiences: ["heliograph"],
    algorithms: [issuer.algorithm],
    ...(tokenType === undefined ? {} : { tokenType }),
  };
  const keys = new KeySource(
    async () => ({ keys: [issuer.publicJwk] }),
    () => nowMs,
  );
  const authenticate = createAuthenticate([{ settings, keys }], defaultSettings.claims, () => nowMs);
  const token = await signToken(
    issuer,
    { iss: issuer.issuer, aud: "heliograph", sub: "s", exp: nowMs / 1_000 + 60 },
    typ,
  );
  return authenticate(`Bearer ${token}`, nothingShown).then(
    () => "accepted",
    (error: Error & { readonly code?: string }) => `${error.code}: ${error.message}`,
  );
}

describe("a token's header typ (RFC 8725 §3.11)", () => {
  test.each([undefined, "JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])("%s is accepted", async (typ) => {
    expect(await outcome(typ)).toBe("accepted");
  });

  test.each([
    "dpop+jwt",
    "DPoP+JWT",
    "application/dpop+jwt",
    "logout+jwt",
    "secevent+jwt",
    "dpop+jwt;v=1",
    "application/logout+jwt ; v=1",
    "at+jwt;v=1",
  ])("%s is refused: it has another purpose", async (typ) => {
    expect(await outcome(typ)).toMatch(/^token_invalid: The token's typ header is .*not an access token/u);
  });

  test.each([undefined, "JWT", "dpop+jwt", "at+jwt;v=1", "at+jwt "])(
    "%s is refused where the issuer's settings require access tokens",
    async (typ) => {
      expect(await outcome(typ, "AccessToken")).toMatch(/^token_invalid: .*not at\+jwt/u);
    },
  );

  test.each(["at+jwt", "application/at+jwt"])("%s is accepted where they do", async (typ) => {
    expect(await outcome(typ, "AccessToken")).toBe("accepted");
  });
});
