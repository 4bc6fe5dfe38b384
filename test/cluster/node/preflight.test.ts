import { describe, expect, test } from "vitest";
import { type MachineFacts, nodeProblems } from "./preflight.ts";

const fit: MachineFacts = {
  platform: "linux",
  userId: 0,
  missingPrograms: [],
  missingControllers: [],
  hasOverlay: true,
  folder: "/home/ci/heliograph/cluster",
};

describe("nodeProblems", () => {
  test("finds none on a machine that is fit", () => {
    expect(nodeProblems(fit)).toEqual([]);
  });

  test.each<{ says: string; facts: Partial<MachineFacts>; sentence: string }>([
    { says: "the operating system", facts: { platform: "darwin" }, sentence: "start Docker and use CLUSTER=kind" },
    { says: "a user who is not root", facts: { userId: 1000 }, sentence: "run the command as root" },
    {
      says: "a program and its package",
      facts: { missingPrograms: ["nsenter"] },
      sentence: "install Debian's package util-linux",
    },
    { says: "a controller", facts: { missingControllers: ["memory"] }, sentence: "controller memory is not mounted" },
    { says: "overlayfs", facts: { hasOverlay: false }, sentence: "modprobe overlay" },
    {
      says: "a folder that the node covers",
      facts: { folder: "/var/lib/ci/x" },
      sentence: "The node has a /var/lib of its own",
    },
  ])("names $says", ({ facts, sentence }) => {
    const problems = nodeProblems({ ...fit, ...facts });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(sentence);
  });

  test("names everything at once, and on another system only that", () => {
    const poor = {
      userId: 1,
      missingPrograms: ["dpkg", "apt-get"],
      missingControllers: ["cpu", "pids"],
      hasOverlay: false,
    };
    expect(nodeProblems({ ...fit, ...poor })).toHaveLength(6);
    expect(nodeProblems({ ...fit, ...poor, platform: "darwin" })).toHaveLength(1);
  });
});
