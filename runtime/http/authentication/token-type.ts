import type { TokenType } from "../../config/settings/settings.ts";
import { Refusal } from "../../errors/refusal.ts";

/** Source: RFC 9068 §2.1. */
const accessTokenType = "at+jwt";
const prefix = /^application\//u;
const shownCharactersMax = 64;

/**
 * Refuses tokens of another type. A proof, a logout token or any other JWT of an issuer has the same signature and is
 * no access token. Types are compared exactly, so one with parameters is no access token either. A token without a
 * type, or with the plain `JWT`, does not state its purpose. Source: RFC 8725 §3.11, RFC 7515 §4.1.9.
 * @param typ the `typ` header of the token
 * @throws Refusal `token_invalid`
 */
export function requireType(typ: string | undefined, required: TokenType = "Any"): void {
  const type = typ?.toLowerCase().replace(prefix, "");
  if (type === accessTokenType) return;
  if (required === "AccessToken") {
    throw new Refusal("token_invalid", "The header typ of the token is not at+jwt, as its issuer's settings require.");
  }
  if (type?.split(";", 1)[0]?.trimEnd().endsWith("+jwt") === true) {
    throw new Refusal(
      "token_invalid",
      `The header typ of the token is ${type.slice(0, shownCharactersMax)}: it is no access token.`,
    );
  }
}
