import { describe, expect, test } from "vitest";
import { natsAccessOf } from "../../../../runtime/nats/connection/nats-url.ts";

describe("the access of a NATS URL", () => {
  test.each([
    ["nats://h:4222", { servers: ["nats://h:4222"] }],
    ["nats://u:p%40w@h:4222", { servers: ["nats://h:4222"], user: "u", password: "p@w" }],
    ["tls://secret@h", { servers: ["tls://h"], token: "secret" }],
    ["nats://[::1]:4222", { servers: ["nats://[::1]:4222"] }],
  ])("%s", (url, access) => {
    expect(natsAccessOf(url)).toEqual(access);
  });
});
