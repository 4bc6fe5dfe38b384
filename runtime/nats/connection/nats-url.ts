import type { NatsAccess } from "./connect.ts";

/** Access to the NATS of a URL, whose user part may be `user:password` or a token. */
export function natsAccessOf(text: string): NatsAccess {
  const { protocol, host, username, password } = new URL(text);
  const servers = [`${protocol}//${host}`];
  if (username === "") return { servers };
  const user = decodeURIComponent(username);
  return password === "" ? { servers, token: user } : { servers, user, password: decodeURIComponent(password) };
}
