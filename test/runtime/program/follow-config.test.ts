import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import type { FolderState } from "../../../runtime/config/folder/folder-state.ts";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { followConfig } from "../../../runtime/program/follow-config.ts";
import { folderLog } from "../../../runtime/program/config-log.ts";
import { stateOf } from "../config/folder-states.ts";

let lines: Record<string, unknown>[] = [];
let applied: FolderState[] = [];
let told: [FolderState, string | undefined][] = [];

beforeEach(() => {
  lines = [];
  applied = [];
  told = [];
});

/** Follows a source that the test moves; answers how to move it and how to end. */
function follow(initial: FolderState, now = initial, apply = (state: FolderState) => void applied.push(state)) {
  let current = now;
  const listeners = new Set<(state: FolderState) => void>();
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  const end = followConfig({
    source: {
      current: () => current,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    initial,
    apply,
    onState: (state, fault) => told.push([state, fault?.message]),
    logState: folderLog(log, defaultSettings.streams),
    log,
  });
  const move = (state: FolderState): void => {
    current = state;
    for (const listener of listeners) listener(state);
  };
  return { move, end };
}

const objects = () => lines.filter(({ msg }) => msg === "object");

describe("following a configuration", () => {
  test("logs every object at first and applies nothing twice", () => {
    follow(stateOf({ acme: {} }));
    expect(objects()).toMatchObject([{ object: "WebhookPartner/default/acme", outcome: "accepted" }]);
    expect(applied).toEqual([]);
  });

  test("applies what changed before it began", () => {
    const later = stateOf({ acme: {}, beta: {} });
    follow(stateOf({ acme: {} }), later);
    expect(applied).toEqual([later]);
  });

  test("applies each change and logs only what changed", () => {
    const { move } = follow(stateOf({ acme: {} }));
    lines = [];
    const next = stateOf({ acme: {}, beta: {} });
    move(next);
    expect(applied).toEqual([next]);
    expect(objects()).toMatchObject([{ object: "WebhookPartner/default/beta" }]);
    expect(lines.at(-1)).toMatchObject({ msg: "configuration", configHash: next.hash });
  });

  test("applies nothing when only problems changed, and logs each kept object as an error", () => {
    const { move } = follow(stateOf({ acme: {} }));
    const kept = stateOf({ acme: {} }, { kept: ["WebhookPartner/default/acme"] });
    move(kept);
    expect(applied).toEqual([]);
    expect(told).toEqual([[kept, undefined]]);
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, object: "WebhookPartner/default/acme" }));
  });

  test("goes on after a configuration that cannot be applied", () => {
    let fails = true;
    const initial = stateOf({});
    const { move } = follow(initial, undefined, (state) => {
      if (fails) throw new Error("no room");
      applied.push(state);
    });
    const refused = stateOf({ acme: {} });
    move(refused);
    // A configuration that applies already is no change.
    move(initial);
    expect(told).toEqual([
      [refused, "no room"],
      [initial, undefined],
    ]);
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, msg: "configuration not applied" }));
    fails = false;
    const next = stateOf({ acme: {}, beta: {} });
    move(next);
    expect(applied).toEqual([next]);
  });

  test("ends on request", () => {
    const { move, end } = follow(stateOf({ acme: {} }));
    end();
    move(stateOf({}));
    expect(applied).toEqual([]);
  });
});
