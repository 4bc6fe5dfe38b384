import { expect, test } from "vitest";
import { readArguments } from "../../../cli/dispatch.ts";

const read = (line: string) => readArguments(line.split(" "), {});

test.each([
  { line: "login", says: "login needs --url or --kubernetes" },
  { line: "login --url http://a --kubernetes", says: "--url and --kubernetes name two servers" },
  { line: "login --kubernetes --token-file t", says: "login saves no --token-file beside --kubernetes" },
  { line: "login --url ftp://a", says: "--url is a base URL" },
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
