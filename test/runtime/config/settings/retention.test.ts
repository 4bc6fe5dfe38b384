import { describe, expect, test } from "vitest";
import { retentionFaults } from "../../../../runtime/config/settings/settings.ts";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import { stateOf } from "../folder-states.ts";

const { streams } = defaultSettings;
const daySeconds = 86_400;

describe("retention", () => {
  test("of the defaults is enough for partners of the default age", () => {
    expect(retentionFaults(streams, stateOf({ acme: {} }).config)).toEqual([]);
  });

  test("is enough for anything without partners", () => {
    const hasty = { ...streams, events: { ...streams.events, maxAgeSeconds: 3600 } };
    expect(retentionFaults(hasty, stateOf({}).config)).toEqual([]);
  });

  test("that ends before the longest delivery and its dead letter is a fault that names the partner", () => {
    const { config } = stateOf({ acme: {}, patient: { "retry.maxAgeSeconds": 8 * daySeconds } });
    expect(retentionFaults(streams, config)).toEqual([
      expect.stringMatching(/^streams\.events\.maxAgeSeconds is 1814400, .*default\/patient .* 1900800 s$/u),
      expect.stringMatching(/^streams\.attempts\.maxAgeSeconds is 1814400, .*default\/patient .* 1900800 s$/u),
    ]);
  });
});
