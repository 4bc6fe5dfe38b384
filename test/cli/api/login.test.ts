import { expect, test } from "vitest";
import { readArguments } from "../../../cli/dispatch.ts";

const read = (line: string) => readArguments(line.split(" "), {});

test.each([
  { line: "login", says: "login needs --url or --kubernetes" },
  { line: "login --url http://a --kubernetes", says: "--url and --kubernetes are mutually exclusive" },
  { line: "login --kubernetes --token-file t", says: "login does not accept --token-file with --kubernetes" },
  { line: "login --url ftp://a", says: "--url must be a base URL" },
  { line: "login --url http://a --token secret", says: "Unknown option '--token'" },
])("$line is refused", async ({ line, says }) => {
  await expect(read(line)).rejects.toThrow(says);
});

test("a login through a cluster holds cluster, account and namespace", async () => {
  const { args } = await read("login --kubernetes -n shop --context one");
  expect(args).toMatchObject({
    login: { kubernetes: { namespace: "shop", context: "one", serviceAccount: "heliograph-cli" } },
  });
});
