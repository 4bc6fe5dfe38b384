import { describe, expect, test } from "vitest";
import { InvalidNatsUrl, natsAccessOf } from "../../../../runtime/nats/connection/nats-access.ts";

describe("the access of a NATS URL", () => {
  test.each([
    ["nats://h:4222", { servers: ["nats://h:4222"] }],
    ["nats://h:4222/", { servers: ["nats://h:4222"] }],
    ["NATS://h:4222", { servers: ["nats://h:4222"] }],
    ["nats://u:p%40w@h:4222", { servers: ["nats://h:4222"], user: "u", password: "p@w" }],
    ["tls://secret@h", { servers: ["tls://h"], token: "secret" }],
    ["nats://[::1]:4222", { servers: ["nats://[::1]:4222"] }],
    ["tls://u:p%2F@[fd00::1]:4222", { servers: ["tls://[fd00::1]:4222"], user: "u", password: "p/" }],
    ["nats://u:p@s@h:4222", { servers: ["nats://h:4222"], user: "u", password: "p@s" }],
    ["nats://u:p:w@h:4222", { servers: ["nats://h:4222"], user: "u", password: "p:w" }],
    ["nats://u:a+b=c$d&e'(f)!*;,~@h", { servers: ["nats://h"], user: "u", password: "a+b=c$d&e'(f)!*;,~" }],
    ['nats://u:a b"c<d>|^`{e}[f]é@h', { servers: ["nats://h"], user: "u", password: 'a b"c<d>|^`{e}[f]é' }],
    ["nats://u%3Aser:Ab%2FCd%2BEf%3D%23%3F%25@h", { servers: ["nats://h"], user: "u:ser", password: "Ab/Cd+Ef=#?%" }],
  ])("%s", (url, access) => {
    expect(natsAccessOf(url)).toEqual(access);
  });

  test.each([
    ["nats://u:Ab/Cd+Ef=@h:4222", "with / ? # and %"],
    ["nats://u:abc#def@h:4222", "with / ? # and %"],
    ["nats://u:p@s/s@h:4222", "with / ? # and %"],
    ["nats://u:p@s/s@h:4222/", "with / ? # and %"],
    ["nats://to/ken@h", "with / ? # and %"],
    ["nats://u:wh?t@h:4222", "with / ? # and %"],
    ["nats://u:100%@h:4222", "with / ? # and %"],
    ["nats://u:%zz@h:4222", "with / ? # and %"],
    ["nats://u:%ff@h:4222", "with / ? # and %"],
    ["nats://u:secret\n@h:4222", "with / ? # and %"],
    ["nats://u:secret@h:4222\n", "with / ? # and %"],
    [" nats://u:secret@h:4222", "with / ? # and %"],
    ["nats://u:secret@h:notaport", "with / ? # and %"],
    ["nats://u:@h", "both a user and a password"],
    ["nats://:secret@h", "both a user and a password"],
    ["http://h:4222", "nats://127.0.0.1:4222"],
    ["nats://h:4222/path", "nats://127.0.0.1:4222"],
    ["nats://h:4222?x=y", "nats://127.0.0.1:4222"],
    ["nats://", "nats://127.0.0.1:4222"],
    ["nats://h:99999", "nats://127.0.0.1:4222"],
    ["h:4222", "nats://127.0.0.1:4222"],
    ["", "nats://127.0.0.1:4222"],
  ])("%j is refused without a part of it", (url, sentence) => {
    const error = refusalOf(url);
    expect(error).toBeInstanceOf(InvalidNatsUrl);
    const words = String(error).split(/[\s,;]+/u);
    expect(String(error)).toContain(sentence);
    const parts = ["Ab", "Cd", "abc", "def", "p@s", "to", "wh?t", "100", "zz", "secret"];
    expect(parts.filter((part) => url.includes(part) && words.includes(part))).toEqual([]);
  });
});

function refusalOf(url: string): unknown {
  try {
    return natsAccessOf(url);
  } catch (error) {
    return error;
  }
}
