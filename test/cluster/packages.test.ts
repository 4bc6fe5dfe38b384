import { expect, test } from "vitest";
import { run } from "../tools/run.ts";
import { packagesScript, quoted } from "./packages.ts";

test("quoted stands for exactly its text in a shell", async () => {
  const text = `it's "$HOME" \\ \`id\` & more`;
  const { stdout } = await run("/bin/sh", ["-euc", `printf %s ${quoted(text)}`], { timeoutMs: 5_000 });
  expect(stdout).toBe(text);
});

test("packagesScript mounts the packages over this machine's files, which stay readable below", () => {
  const script = packagesScript("/cache/tree", { upper: "/state/upper", work: "/state/work" });
  expect(script.split("\n")[0]).toBe("mount -t overlay -o 'ro,lowerdir=/cache/tree/usr:/usr' overlay /usr");
  expect(script).toContain("'lowerdir=/var/lib,upperdir=/state/upper,workdir=/state/work' overlay /var/lib");
});
