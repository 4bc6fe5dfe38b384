import { describe, expect, test } from "vitest";
import type { PartnerFailure } from "../../../api/partner-health.ts";
import type { PartnerDetail, PartnerSummary } from "../../../api/partners.ts";
import { sorted } from "../../../console/components/sorted-table.tsx";
import { adviceOf, checkStep, editStep } from "../../../console/partners/advice.ts";
import {
  breakerOf,
  healthCounts,
  healthKind,
  healthReason,
  isHalfOpen,
} from "../../../console/partners/health-kind.ts";
import { keyUse } from "../../../console/partners/keys-section.tsx";
import { undueNote } from "../../../console/partners/live-section.tsx";
import { pingWait } from "../../../console/partners/ping-button.tsx";
import { latestFailure } from "../../../console/partners/latest-failure.ts";

const partner: PartnerSummary = {
  partner: "shop/acme",
  state: "active",
  reason: null,
  missing: null,
  rejected: null,
  subscriptions: [],
  keys: [],
};
const healthy = { kind: "healthy", reason: null, since: null, until: null } as const;
const failing = { ...healthy, kind: "failing", reason: "3 of 3 attempts failed in the last 15 min" } as const;

describe("rows of a table", () => {
  const rows = [{ at: 2 }, { at: null }, { at: 10 }, { at: 1 }];
  const value = ({ at }: (typeof rows)[number]): number | null => at;

  test("are sorted in both directions, and rows without a value are last", () => {
    expect(sorted(rows, value, false).map(value)).toEqual([1, 2, 10, null]);
    expect(sorted(rows, value, true).map(value)).toEqual([10, 2, 1, null]);
  });
});

describe("the health of partners", () => {
  test("is the state for a server of an earlier version", () => {
    expect(healthKind({ ...partner, health: failing })).toBe("failing");
    expect(healthKind({ ...partner, state: "held" })).toBe("held");
  });

  test("is counted, the most severe first", () => {
    const all = [healthy, failing, healthy].map((health) => ({ ...partner, health }));
    expect(healthCounts(all)).toEqual([
      ["failing", 1],
      ["healthy", 2],
    ]);
  });

  test("has a reason, which names what is missing and why an edit is rejected", () => {
    expect(healthReason({ ...partner, health: healthy })).toBe("");
    expect(healthReason({ ...partner, health: failing })).toBe(failing.reason);
    const held = { ...partner, state: "held", reason: "unresolved", missing: "SecretNotFound: shop/acme" } as const;
    expect(healthReason(held)).toBe("The Secret shop/acme is missing");
    const edited = { ...partner, health: failing, rejected: { reason: "Invalid", message: null } };
    expect(healthReason(edited)).toBe(`${failing.reason}. Last edit rejected: Invalid`);
    expect(healthReason({ ...edited, state: "rejected" })).toBe("Definition rejected: Invalid");
  });
});

describe("the circuit breaker on the page of a partner", () => {
  const live = { breaker: "half_open" } as unknown as PartnerDetail["live"];
  const open = { ...healthy, kind: "circuit_open", until: "2026-03-02T12:00:00.000Z" } as const;

  test("is as its health has it", () => {
    expect(breakerOf({ live, health: open })).toBe("open");
    expect(breakerOf({ live: { ...live, breaker: "open" }, health: { ...open, until: null } })).toBe("half_open");
    expect(breakerOf({ live: { ...live, breaker: "closed" }, health: healthy })).toBe("closed");
    expect([{ health: open }, { health: { ...open, until: null } }].map(isHalfOpen)).toEqual([false, true]);
  });

  test("does not make deliveries due that a held partner keeps waiting", () => {
    expect(undueNote({ ...partner, state: "held" })).toBe("none while the partner is held");
    expect(undueNote({ ...partner, health: healthy })).toBe("none is due now");
  });
});

describe("what to do about a partner", () => {
  const cluster = { source: "kubernetes", folder: null } as const;
  const folder = {
    source: "folder",
    folder: "/etc/helio graph",
    file: "acme.yaml",
    program: "npx heliograph",
  } as const;
  const paused = { ...healthy, kind: "paused" } as const;
  const adviceFor = (change: Partial<PartnerDetail>) => adviceOf({ ...partner, managed_by: cluster, ...change });

  test("is nothing if it is healthy, and a correction if its last edit is rejected", () => {
    expect(adviceFor({ health: healthy })).toBeUndefined();
    expect(adviceFor({ health: healthy, rejected: { reason: "Invalid", message: null } })?.step?.text).toBe(
      "kubectl describe webhookpartner acme -n shop",
    );
  });

  test("promises no retry of what was rejected", () => {
    expect(adviceFor({ health: failing })?.text).toBe(
      "Look at the failed deliveries, fix the endpoint or its URL, then redrive what is no longer retried.",
    );
  });

  test("is a ping if the circuit breaker is open and nothing waits, which would probe the endpoint", () => {
    const open = { ...healthy, kind: "circuit_open", reason: "10 consecutive failures" } as const;
    expect(adviceFor({ health: open, backlog: 0 })).toEqual({
      text: expect.stringContaining("send a ping to close it") as string,
      step: {
        label: "This sends a ping, as the button below does:",
        text: "heliograph partners ping shop/acme --wait",
      },
    });
    expect(adviceFor({ health: open, backlog: 0, managed_by: folder })?.step?.text).toBe(
      "npx heliograph partners ping shop/acme --wait",
    );
    const ending = { ...open, until: "2026-03-02T12:00:00.000Z" };
    expect(adviceFor({ health: ending, backlog: 0 })?.text).toContain("stays open until the next event or a ping");
    expect(adviceFor({ health: open, backlog: 0 })?.text).toContain("lets the next attempt through");
    for (const backlog of [3, null])
      expect(adviceFor({ health: open, backlog })?.step?.text).toBe("kubectl edit webhookpartner acme -n shop");
  });

  test("is a command for the cluster, or the file in the folder that has the definition", () => {
    expect(adviceFor({ health: paused })?.step?.text).toBe(
      `kubectl patch webhookpartner acme -n shop --type merge -p '{"spec":{"state":"Active"}}'`,
    );
    const file = { label: "Edit this file:", text: "/etc/helio graph/acme.yaml" };
    expect(adviceFor({ health: paused, managed_by: folder })?.step).toEqual(file);
    expect(adviceFor({ state: "rejected", managed_by: folder })?.step).toEqual(file);
    expect(adviceFor({ state: "held", managed_by: folder })?.step?.text).toBe(
      "npx heliograph validate '/etc/helio graph'",
    );
    expect(editStep({ partner: "shop/acme" })?.text).toBe("kubectl edit webhookpartner acme -n shop");
  });

  test("names the Secret that a held partner lacks in a cluster", () => {
    const stepFor = (missing: string) => adviceFor({ state: "held", missing })?.step?.text;
    expect(stepFor("SecretNotFound: keys/acme")).toBe(
      "kubectl create secret generic acme -n keys --from-file=KEY=FILE",
    );
    expect(stepFor("SecretKeyMissing: keys/acme")).toBe("kubectl describe secret acme -n keys");
    expect(stepFor("PolicyNotFound: keys/acme")).toBe("kubectl describe webhookpartner acme -n shop");
  });

  test("names the folder that lacks a Secret", () => {
    const stepFor = (missing: string) => adviceFor({ state: "held", missing, managed_by: folder })?.step;
    expect(stepFor("SecretNotFound: keys/acme")).toEqual({
      label: "The Secret keys/acme is missing. Add it to a file of this folder:",
      text: folder.folder,
    });
    expect(stepFor("SecretKeyMissing: keys/acme")?.label).toContain("A key of the Secret keys/acme is missing.");
  });

  test("says what ends a hold if nothing is missing", () => {
    const held = { health: { ...healthy, kind: "held" } } as const;
    const textOf = (change: Partial<PartnerDetail>) => adviceFor({ ...held, ...change })?.text;
    expect(textOf({ state: "held", reason: "conflicted" })).toContain("a key that no other partner has");
    expect(textOf({ state: "held", reason: "not_permitted" })).toContain("Restore the permission");
    expect(textOf({ state: "held", reason: "unresolved" })).toContain("Restore what is missing");
    expect(textOf({})).toBe("Add a signing key that is valid now. Deliveries wait and are sent afterwards.");
    const reasons = ["conflicted", "not_permitted"].map((reason) =>
      healthReason({ ...partner, state: "held", reason }),
    );
    expect(reasons).toEqual(["Another partner has its key", "A permission was withdrawn"]);
  });

  test("has no step in a folder that the token may not see, and the folder if its server names no file", () => {
    const hidden = { source: "folder", folder: null } as const;
    expect(checkStep({ partner: "shop/acme", managed_by: hidden })).toBeUndefined();
    expect(adviceFor({ health: paused, managed_by: hidden })).toEqual({
      text: "Set spec.state to Active to send the waiting deliveries.",
    });
    expect(editStep({ partner: "shop/acme", managed_by: { source: "folder", folder: "/etc/h" } })?.text).toBe("/etc/h");
  });
});

describe("the use of a key", () => {
  const nowMs = Date.parse("2026-03-02T12:00:00Z");
  const [first, old, ended] = [
    { id: "k2", not_after: null },
    { id: "k1", not_after: "2026-03-03T00:00:00Z" },
    { id: "k0", not_after: "2026-03-01T00:00:00Z" },
  ] as const;
  const usesOf = (keys: PartnerDetail["keys"], signing: PartnerDetail["signing"]) =>
    keys.map((key) => keyUse({ keys, signing }, key, nowMs).state);

  test("is to sign for the first valid one alone, and others are accepted", () => {
    expect(usesOf([first, old, ended], { scheme: "HmacV1" })).toEqual(["signs", "accepted", "expired"]);
    expect(usesOf([ended, old], { scheme: "HmacV1" })).toEqual(["expired", "signs"]);
  });

  test("is to sign side by side for all valid ones", () => {
    const signing = { scheme: "HmacV1", side_by_side: true } as const;
    expect(usesOf([first, old, ended], signing)).toEqual(["signs", "also_signs", "expired"]);
  });
});

describe("a ping", () => {
  test.each([
    ["circuit_open", /circuit breaker/u],
    ["paused", /until the partner is active/u],
  ] as const)("says what it waits for: %s", (kind, expected) => {
    expect(pingWait({ ...partner, health: { ...healthy, kind } })).toMatch(expected);
  });

  test.each(["healthy", "failing"] as const)("is sent at once if the partner is %s", (kind) => {
    expect(pingWait({ ...partner, health: { ...healthy, kind } })).toBeUndefined();
  });
});

describe("the latest failure", () => {
  const failure: PartnerFailure = {
    event_id: "bad",
    attempt: 2,
    at: "2026-03-02T12:00:00.000Z",
    status: null,
    reason: "tls",
    detail: "the TLS handshake failed: DEPTH_ZERO_SELF_SIGNED_CERT",
    response_body: null,
  };
  const response = (status: number, body: string): PartnerFailure => {
    return { ...failure, status, reason: `status_${status}`, detail: null, response_body: body };
  };

  test.each<[string, PartnerFailure, string, string, object]>([
    ["a status", response(503, ""), "HTTP 503", "at the partner", { status: "503" }],
    ["the status 401", response(401, ""), "HTTP 401", "its keys with those below", { status: "401" }],
    ["the status 403", response(403, ""), "HTTP 403", "may not allow the addresses", { status: "403" }],
    ["a certificate", failure, "self-signed", "certificates", { reason: "tls" }],
    ["the guard", { ...failure, reason: "guard", detail: null }, "guard", "in this installation", { reason: "guard" }],
    [
      "a limit",
      { ...failure, reason: "connect_timeout" },
      "timed out",
      "did not respond",
      { reason: "connect_timeout" },
    ],
  ])("of %s says what happened and whose side it is on", (_what, of, cause, side, filter) => {
    const expected = {
      cause: expect.stringContaining(cause),
      side: expect.stringContaining(side),
      filter,
      response: "",
    };
    expect(latestFailure(of)).toEqual(expected);
    expect(latestFailure(of).cause).not.toMatch(/\.$/u);
  });

  test("has the first line of the response", () => {
    const line = '{"error":"IP not on the allow list"}';
    expect(latestFailure(response(403, `\r\n ${line}\nmore`)).response).toBe(line);
    expect(latestFailure(response(500, "x".repeat(900))).response).toBe(`${"x".repeat(200)}…`);
  });
});
