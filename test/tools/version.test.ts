import { describe, expect, test } from "vitest";
import { isAtLeast, parseVersion, type Version } from "./version.ts";

describe("parseVersion", () => {
  const rows: readonly (readonly [string, string, Version | undefined])[] = [
    ["nats-server", "nats-server: v2.15.2\n", [2, 15, 2]],
    ["a pre-release of nats-server", "nats-server: v2.14.0-RC.3", [2, 14, 0]],
    ["Prometheus", "prometheus, version 3.15.0 (branch: , revision: unknown)\n  go version: go1.26.8\n", [3, 15, 0]],
    ["Prometheus from Debian", "prometheus, version 2.42.0+ds (branch: debian/sid, revision: 2.42.0+ds-5)", [2, 42, 0]],
    ["a program that only knows its compiler", "promtool, version  (branch: )\n  go version: go1.26.8\n", undefined],
    ["etcd", "etcd Version: 3.6.8\nGit SHA: Not provided\nGo Version: go1.26.8\n", [3, 6, 8]],
    ["the API server", "Kubernetes v1.36.3\n", [1, 36, 3]],
    ["kubectl", "Client Version: v1.33.1\nKustomize Version: v5.5.0\n", [1, 33, 1]],
    ["a version of two numbers", "tool 1.4", [1, 4, 0]],
    ["silence", "", undefined],
  ];
  test.each(rows)("reads %s", (_program, output, version) => {
    expect(parseVersion(output)).toEqual(version);
  });
});

test("a version is at least another by numbers, not by letters", () => {
  expect(isAtLeast([2, 14, 0], [2, 14, 0])).toBe(true);
  expect(isAtLeast([2, 9, 25], [2, 14, 0])).toBe(false);
  expect(isAtLeast([3, 0, 0], [2, 42, 1])).toBe(true);
  expect(isAtLeast([2, 14, 1], [2, 14, 2])).toBe(false);
});
