import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reasons } from "../../crds/reasons.ts";
import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import { decideConditions, type Facts, ownConditions, withTimes } from "../../operator/conditions.ts";
import type { ResourceStatus } from "../../operator/resource-types.ts";
import { statusDefault } from "../crds/status-default.ts";
import { goodResult as good } from "./good-result.ts";

const refused = (reason: ResourceResult["accepted"]["reason"]): ResourceResult => ({
  ...good,
  accepted: { status: false, reason, message: "it is not" },
  resolvedRefs: { status: false, reason: "NotChecked", message: "not looked up" },
});

const unresolved = (reason: ResourceResult["resolvedRefs"]["reason"]): ResourceResult => ({
  ...good,
  resolvedRefs: { status: false, reason, message: "it is missing" },
});

/** An object of generation 4 that every pod applies. */
const inForce: Facts = {
  generation: 4,
  isPaused: false,
  isSuspended: false,
  columns: {},
  result: good,
  isTooLarge: false,
  inForce: 4,
  isPublished: true,
  rollout: { kind: "programmed" },
  disabled: undefined,
};
const outOfForce: Facts = { ...inForce, inForce: undefined, rollout: { kind: "waiting", untilMs: 0 } };

interface Row {
  readonly when: string;
  readonly facts: Facts;
  /** `Type=Status/Reason@generation`, in their order. */
  readonly say: readonly string[];
}

const rows: readonly Row[] = [
  {
    when: "every pod applies it",
    facts: inForce,
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
    ],
  },
  {
    when: "a key of it is base64 without a prefix, which only warns",
    facts: { ...inForce, result: { ...good, ambiguousKeys: ["the key one", "the key two"] } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
      "SigningKeysUnambiguous=False/UnprefixedKey@4",
    ],
  },
  {
    when: "a pattern of it matches no declared type, which only warns",
    facts: { ...inForce, result: { ...good, unresolvedTypes: ["payout.processd"] } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
      "TypesResolved=False/TypeNotDeclared@4",
    ],
  },
  {
    when: "fields stay excluded whose class no catalog declares any more, which only warns",
    facts: { ...inForce, result: { ...good, unresolvedTypes: ["payout.processd"], keptFields: ["/iban of payout.a"] } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
      "TypesResolved=False/ClassNotDeclared@4",
    ],
  },
  {
    when: "its namespace cannot be listed",
    facts: { ...inForce, unavailable: "403" },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
      "NamespaceWatched=False/NamespaceUnavailable@4",
    ],
  },
  {
    when: "it was not looked at yet",
    facts: { ...outOfForce, result: undefined, isPublished: false },
    say: [
      "Accepted=Unknown/Pending@4",
      "ResolvedRefs=Unknown/Pending@4",
      "Programmed=Unknown/Pending@4",
      "Ready=Unknown/Pending@4",
      "Reconciling=True/Pending@4",
    ],
  },
  ...(["Invalid", "Incompatible", "Conflicted", "SharedSigningKey"] as const).map((reason) => ({
    when: `it is ${reason}`,
    facts: { ...outOfForce, result: refused(reason) },
    say: [
      `Accepted=False/${reason}@4`,
      "ResolvedRefs=False/NotChecked@4",
      "Programmed=False/NotInForce@4",
      `Ready=False/${reason}@4`,
      `Stalled=True/${reason}@4`,
    ],
  })),
  {
    when: "a grant for it can still arrive",
    facts: { ...outOfForce, result: refused("NotPermitted") },
    say: [
      "Accepted=False/NotPermitted@4",
      "ResolvedRefs=False/NotChecked@4",
      "Programmed=False/NotInForce@4",
      "Ready=False/NotPermitted@4",
      "Reconciling=True/NotPermitted@4",
    ],
  },
  {
    when: "it is refused and the shards still hold it",
    facts: { ...outOfForce, result: refused("Invalid"), isPublished: false },
    say: [
      "Accepted=False/Invalid@4",
      "ResolvedRefs=False/NotChecked@4",
      "Programmed=Unknown/Pending@4",
      "Ready=False/Invalid@4",
      "Stalled=True/Invalid@4",
    ],
  },
  ...(
    [
      "SecretNotFound",
      "SecretKeyMissing",
      "KeyTooShort",
      "KeyUnusable",
      "CredentialInvalid",
      "CertificateInvalid",
    ] as const
  ).map((reason) => ({
    when: `its reference is ${reason}`,
    facts: { ...outOfForce, result: unresolved(reason) },
    say: [
      "Accepted=True/Accepted@4",
      `ResolvedRefs=False/${reason}@4`,
      "Programmed=False/NotInForce@4",
      `Ready=False/${reason}@4`,
      `Reconciling=True/${reason}@4`,
    ],
  })),
  {
    when: "its Secret cannot be read and generation 3 stays in force",
    facts: { ...inForce, inForce: 3, result: unresolved("SecretNotReadable") },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=False/SecretNotReadable@4",
      "Programmed=True/Programmed@3",
      "Ready=False/SecretNotReadable@4",
      "Reconciling=True/SecretNotReadable@4",
    ],
  },
  {
    when: "its Secret is gone and generation 3 is the last good version",
    facts: {
      ...inForce,
      inForce: 3,
      result: { ...unresolved("SecretNotFound"), lastGood: { sinceMs: 0, untilMs: 1_000 } },
    },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=False/SecretNotFound@4",
      "Programmed=True/Programmed@3",
      "Ready=False/UsingLastGood@4",
      "Reconciling=True/UsingLastGood@4",
    ],
  },
  {
    when: "its Secret cannot be read and generation 3 is the last good version",
    facts: {
      ...inForce,
      inForce: 3,
      result: { ...unresolved("SecretNotReadable"), lastGood: { sinceMs: 0, untilMs: 1_000 } },
    },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=False/SecretNotReadable@4",
      "Programmed=True/Programmed@3",
      "Ready=False/UsingLastGood@4",
      "Reconciling=True/UsingLastGood@4",
    ],
  },
  {
    when: "its last good version is about to be published",
    facts: {
      ...inForce,
      isPublished: false,
      rollout: { kind: "waiting", untilMs: 0 },
      result: { ...unresolved("SecretNotFound"), lastGood: { sinceMs: 0, untilMs: 1_000 } },
    },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=False/SecretNotFound@4",
      "Programmed=Unknown/Pending@4",
      "Ready=False/UsingLastGood@4",
      "Reconciling=True/UsingLastGood@4",
    ],
  },
  {
    when: "its events wait for a Secret that never was there",
    facts: { ...inForce, result: { ...unresolved("SecretNotFound"), held: "unresolved" } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=False/SecretNotFound@4",
      "Programmed=False/Held@4",
      "Ready=False/SecretNotFound@4",
      "Reconciling=True/SecretNotFound@4",
    ],
  },
  {
    when: "its events wait and a pod does not know that yet",
    facts: {
      ...inForce,
      result: { ...unresolved("SecretNotFound"), held: "unresolved" },
      rollout: { kind: "lagging", pods: "rt-1 of 2 ready pods" },
    },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=False/SecretNotFound@4",
      "Programmed=False/PartiallyApplied@4",
      "Ready=False/SecretNotFound@4",
      "Reconciling=True/SecretNotFound@4",
    ],
  },
  {
    when: "it is paused and the policy withdrew what it names",
    facts: { ...inForce, isPaused: true, inForce: 3, result: { ...refused("NotPermitted"), held: "not_permitted" } },
    say: [
      "Accepted=False/NotPermitted@4",
      "ResolvedRefs=False/NotChecked@4",
      "Programmed=False/Held@3",
      "Ready=False/NotPermitted@4",
      "Reconciling=True/NotPermitted@4",
    ],
  },
  {
    when: "its shard is full",
    facts: { ...outOfForce, isTooLarge: true },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=False/ConfigTooLarge@4",
      "Ready=False/ConfigTooLarge@4",
      "Stalled=True/ConfigTooLarge@4",
    ],
  },
  {
    when: "it is about to be published",
    facts: { ...inForce, isPublished: false, rollout: { kind: "waiting", untilMs: 0 } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=Unknown/Pending@4",
      "Ready=Unknown/Pending@4",
      "Reconciling=True/Pending@4",
    ],
  },
  {
    when: "pods are about to apply it",
    facts: { ...inForce, rollout: { kind: "waiting", untilMs: 0 } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=Unknown/Pending@4",
      "Ready=Unknown/Pending@4",
      "Reconciling=True/Pending@4",
    ],
  },
  {
    when: "a pod is behind",
    facts: { ...inForce, rollout: { kind: "lagging", pods: "rt-1 of 2 ready pods" } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=False/PartiallyApplied@4",
      "Ready=False/PartiallyApplied@4",
      "Reconciling=True/PartiallyApplied@4",
    ],
  },
  {
    when: "a pod cannot apply it",
    facts: {
      ...inForce,
      rollout: { kind: "failed", pod: "rt-1", reason: "MaterialMissing", message: "it has not arrived" },
    },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=False/RuntimeError@4",
      "Ready=False/RuntimeError@4",
      "Reconciling=True/RuntimeError@4",
    ],
  },
  {
    when: "there is no pod",
    facts: { ...inForce, rollout: { kind: "noPods" } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=False/NoReadyPods@4",
      "Ready=False/NoReadyPods@4",
      "Reconciling=True/NoReadyPods@4",
    ],
  },
  {
    when: "the partner answered 410 (Webhook Event Delivery §7)",
    facts: { ...inForce, disabled: "it answered 410" },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=False/PartnerDisabled@4",
      "Stalled=True/PartnerDisabled@4",
    ],
  },
  ...(
    [
      ["Verified", "True"],
      ["ConsentRefused", "False"],
      ["ConsentUnanswered", "False"],
    ] as const
  ).map(([reason, status]) => ({
    when: `its endpoint was validated: ${reason}`,
    facts: { ...inForce, validation: { reason, message: "it said so" } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
      `EndpointVerified=${status}/${reason}@4`,
    ],
  })),
  ...(
    [
      ["MatchesStores", "True"],
      ["ForbiddenLabel", "False"],
      ["Mismatch", "False"],
      ["StoreUnavailable", "Unknown"],
      ["NotChecked", "Unknown"],
    ] as const
  ).map(([reason, status]) => ({
    when: `a pod compared it with its stores: ${reason}`,
    facts: { ...inForce, observed: { reason, message: "it is so", generation: 3, metrics: [] } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
      `Observed=${status}/${reason}@3`,
    ],
  })),
  ...(
    [
      ["Written", "True"],
      ["Conflict", "False"],
      ["TenantRequired", "False"],
      ["KindMissing", "False"],
      ["TooLarge", "False"],
      ["WriteRejected", "False"],
      ["Contested", "False"],
    ] as const
  ).map(([reason, status]) => ({
    when: `the operator writes its rules: ${reason}`,
    facts: { ...inForce, rules: { reason, message: "it is so", generation: 3 } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Ready@4",
      `RulesWritten=${status}/${reason}@3`,
    ],
  })),
  {
    when: "its spec is paused and every pod applies that",
    facts: { ...inForce, isSuspended: true },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=True/Paused@4",
    ],
  },
  {
    when: "its spec is paused and some pod does not apply that yet",
    facts: { ...inForce, isSuspended: true, rollout: { kind: "lagging", pods: "rt-1 of 1 ready pod" } },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=False/PartiallyApplied@4",
      "Ready=False/PartiallyApplied@4",
      "Reconciling=True/PartiallyApplied@4",
    ],
  },
  {
    when: "its spec is paused and its partner answered 410 before",
    facts: { ...inForce, isSuspended: true, disabled: "it answered 410" },
    say: [
      "Accepted=True/Accepted@4",
      "ResolvedRefs=True/ResolvedRefs@4",
      "Programmed=True/Programmed@4",
      "Ready=False/PartnerDisabled@4",
      "Stalled=True/PartnerDisabled@4",
    ],
  },
  {
    when: "it is paused by its annotation and generation 3 is in force",
    facts: { ...inForce, isPaused: true, inForce: 3, result: refused("Invalid") },
    say: [
      "Accepted=True/Accepted@3",
      "ResolvedRefs=True/ResolvedRefs@3",
      "Programmed=True/Programmed@3",
      "Ready=True/ReconcilePaused@3",
    ],
  },
  {
    when: "it is paused and a pod does not apply what is in force",
    facts: { ...inForce, isPaused: true, inForce: 3, rollout: { kind: "lagging", pods: "rt-1 of 1 ready pod" } },
    say: [
      "Accepted=True/Accepted@3",
      "ResolvedRefs=True/ResolvedRefs@3",
      "Programmed=False/PartiallyApplied@3",
      "Ready=False/PartiallyApplied@3",
      "Reconciling=True/PartiallyApplied@3",
    ],
  },
  {
    when: "it is paused and nothing was ever published",
    facts: { ...outOfForce, isPaused: true, result: undefined },
    say: [
      "Accepted=Unknown/Pending@4",
      "ResolvedRefs=Unknown/Pending@4",
      "Programmed=Unknown/Pending@4",
      "Ready=False/NothingPublished@4",
      "Stalled=True/NothingPublished@4",
    ],
  },
  {
    when: "it is paused and an older object drove it out",
    facts: { ...outOfForce, isPaused: true, result: refused("Conflicted") },
    say: [
      "Accepted=False/Conflicted@4",
      "ResolvedRefs=False/NotChecked@4",
      "Programmed=False/NotInForce@4",
      "Ready=False/Conflicted@4",
      "Stalled=True/Conflicted@4",
    ],
  },
];

const said = (facts: Facts): readonly string[] =>
  decideConditions(facts).map(
    ({ type, status, reason, observedGeneration }) => `${type}=${status}/${reason}@${observedGeneration}`,
  );

describe("conditions", () => {
  test.each(rows)("when $when", ({ facts, say }) => {
    expect(said(facts)).toEqual(say);
  });

  test("reach every reason of the table", () => {
    const reached = new Set(
      rows.flatMap(({ facts }) => decideConditions(facts).map(({ type, reason }) => `${type} ${reason}`)),
    );
    const table = Object.entries(reasons).flatMap(([type, byReason]) =>
      Object.keys(byReason).map((reason) => `${type} ${reason}`),
    );
    // That one the API server says.
    expect(table.filter((reason) => !reached.has(reason))).toEqual(["Ready NoOperator"]);
  });

  test("have the status that the table gives their reason", () => {
    const drafts = rows.flatMap(({ facts }) => decideConditions(facts));
    for (const { type, status, reason } of drafts) {
      const row = Object.entries(reasons).find(([condition]) => condition === type)?.[1];
      const listed = Object.entries(row ?? {}).find(([name]) => name === reason)?.[1] as
        | { readonly status: string }
        | undefined;
      expect(listed?.status ?? status, `${type} ${reason}`).toBe(status);
    }
  });

  test("say who is behind, which pod failed and why, and which generation a pause holds", () => {
    const messageOf = (facts: Facts, type: string) =>
      decideConditions(facts).find((draft) => draft.type === type)?.message;
    const failed: Facts["rollout"] = {
      kind: "failed",
      pod: "rt-1",
      reason: "MaterialMissing",
      message: "the key has not arrived",
    };
    expect(messageOf({ ...inForce, rollout: { kind: "lagging", pods: "rt-1 of 2 ready pods" } }, "Ready")).toBe(
      "Generation 4 is not applied by rt-1 of 2 ready pods.",
    );
    expect(messageOf({ ...inForce, rollout: failed }, "Ready")).toBe(
      "The pod rt-1 has not applied generation 4: MaterialMissing: the key has not arrived",
    );
    expect(messageOf({ ...inForce, isPaused: true, inForce: 3 }, "Ready")).toMatch(/That is generation 3\.$/u);
    expect(messageOf({ ...inForce, disabled: "it answered 410" }, "Ready")).toBe("it answered 410");
    const lastGood = { ...unresolved("SecretNotFound"), lastGood: { sinceMs: 0, untilMs: 86_400_000 } };
    expect(messageOf({ ...inForce, inForce: 3, result: lastGood }, "Ready")).toBe(
      "A reference cannot be read, so the last good version stays in force. That is generation 3, since " +
        "1970-01-01T00:00:00Z and until 1970-01-02T00:00:00Z at the latest. it is missing",
    );
  });

  test("never show what looks like a secret, nor more than 1 KiB", () => {
    const message = `password=hunter22 ${"x".repeat(5_000)}`;
    const facts: Facts = { ...inForce, rollout: { kind: "failed", pod: "rt-1", reason: "Broken", message } };
    for (const draft of decideConditions(facts)) {
      expect(draft.message).not.toContain("hunter22");
      expect(Buffer.byteLength(draft.message)).toBeLessThanOrEqual(1024);
    }
  });

  const anyFacts: fc.Arbitrary<Facts> = fc.record({
    generation: fc.constant(4),
    isPaused: fc.boolean(),
    isSuspended: fc.boolean(),
    columns: fc.constant({}),
    result: fc.constantFrom(
      undefined,
      good,
      refused("Invalid"),
      unresolved("SecretNotFound"),
      unresolved("SecretNotReadable"),
    ),
    isTooLarge: fc.boolean(),
    inForce: fc.constantFrom(undefined, 3, 4),
    isPublished: fc.boolean(),
    rollout: fc.constantFrom<Facts["rollout"]>(
      { kind: "programmed" },
      { kind: "waiting", untilMs: 1 },
      { kind: "noPods" },
      { kind: "lagging", pods: "rt" },
    ),
    disabled: fc.constantFrom(undefined, "it answered 410"),
  });

  test("are what kstatus can read: Ready unless it is at fault, and then Reconciling or Stalled, never both", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const drafts = decideConditions(facts);
        const types = drafts.map(({ type }) => type);
        expect(new Set(types).size).toBe(types.length);
        const ready = drafts.find(({ type }) => type === "Ready");
        const passing = drafts.filter(({ type }) => ["Reconciling", "Stalled"].includes(type));
        expect(passing).toHaveLength(ready?.status === "True" ? 0 : 1);
        for (const draft of passing)
          expect(draft).toMatchObject({ status: "True", reason: ready?.reason, message: ready?.message });
      }),
    );
  });

  test("say Ready only of what is accepted, resolved and programmed", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const drafts = decideConditions(facts);
        const isReady = drafts.some(({ type, status }) => type === "Ready" && status === "True");
        const others = drafts.filter(({ type }) => ["Accepted", "ResolvedRefs", "Programmed"].includes(type));
        expect(isReady && others.some(({ status }) => status !== "True")).toBe(false);
        expect(drafts.every(({ message, reason }) => message !== "" && /^[A-Za-z]+$/u.test(reason))).toBe(true);
      }),
    );
  });
});

describe("the time of a condition", () => {
  const [now, earlier] = ["2026-11-21T12:00:00Z", "2026-11-20T12:00:00Z"];
  const before = [
    {
      type: "Ready",
      status: "True" as const,
      reason: "Ready",
      message: "",
      lastTransitionTime: earlier,
      observedGeneration: 3,
    },
  ];

  test("stays while the status does, whatever the reason and the generation", () => {
    const [ready] = withTimes(
      [{ type: "Ready", status: "True", reason: "Paused", message: "", observedGeneration: 4 }],
      before,
      now,
    );
    expect(ready).toMatchObject({ lastTransitionTime: earlier, reason: "Paused", observedGeneration: 4 });
  });

  test("is now when the status changes, and for a condition that was not there", () => {
    const drafts = [
      { type: "Ready", status: "False" as const, reason: "Invalid", message: "", observedGeneration: 4 },
      { type: "Stalled", status: "True" as const, reason: "Invalid", message: "", observedGeneration: 4 },
    ];
    expect(withTimes(drafts, before, now).map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([now, now]);
  });
});

test("conditions of others in a status are not ours, nor what the API server puts into a new object", () => {
  const condition = (type: string) => ({
    type,
    status: "True" as const,
    reason: "R",
    message: "",
    lastTransitionTime: "",
    observedGeneration: 1,
  });
  expect(ownConditions({ conditions: ["Ready", "Audited", "Stalled"].map(condition) }).map(({ type }) => type)).toEqual(
    ["Ready", "Stalled"],
  );
  expect(ownConditions(undefined)).toEqual([]);
  expect(ownConditions(statusDefault("webhook-partner") as ResourceStatus)).toEqual([]);
});
