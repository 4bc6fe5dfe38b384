import { hash, timingSafeEqual } from "node:crypto";
import type { RequestHead } from "./endpoints.ts";

const bearerForm = /^Bearer (?<token>[\x21-\x7e]+)$/iu;

/**
 * Checks for a bearer token of a list, in time that does not depend on the tokens.
 * @param tokens called for each request, so that a new token needs no restart
 */
export function bearerCallers(tokens: () => readonly string[]): (request: Pick<RequestHead, "headers">) => boolean {
  return ({ headers: { authorization } }) => {
    const token = typeof authorization === "string" ? bearerForm.exec(authorization)?.groups?.["token"] : undefined;
    if (token === undefined) return false;
    const given = hash("sha256", token, "buffer");
    return tokens().filter((one) => timingSafeEqual(hash("sha256", one, "buffer"), given)).length > 0;
  };
}
