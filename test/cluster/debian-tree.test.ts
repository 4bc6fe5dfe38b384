import { expect, test } from "vitest";
import { newPackages } from "./debian-tree.ts";

test("newPackages leaves out what is installed and would only be brought up to date", () => {
  const simulation = [
    "The following NEW packages will be installed:",
    "  runc uidmap",
    "Inst login [1:4.13+dfsg1-1] (1:4.13+dfsg1-2 Debian:12.15/oldstable [amd64])",
    "Inst uidmap (1:4.13+dfsg1-2 Debian:12.15/oldstable [amd64])",
    "Inst runc (1.1.5+ds1-1 Debian:12.15/oldstable [amd64])",
    "Conf runc (1.1.5+ds1-1 Debian:12.15/oldstable [amd64])",
  ].join("\n");
  expect(newPackages(simulation)).toEqual(["uidmap", "runc"]);
});
