import { describe, expect, test } from "vitest";
import { keptFiles, textOf } from "../../architecture/named-files.ts";

const page = textOf("docs/recipients/README.md");
const sources = keptFiles.filter((path) => /^runtime\/recipient\/[\w-]+\.ts$/u.test(path)).map(textOf);

function found(text: string, form: RegExp): readonly string[] {
  return [...new Set([...text.matchAll(form)].map(({ groups }) => Object.values(groups ?? {}).join(" ")))].toSorted();
}

/** Names of the members of an interface. */
function membersOf(name: string): readonly string[] {
  const bodies = sources.flatMap((text) => [...text.matchAll(/interface (?<name>\w+)<[^{]*\{\n(?<body>[^]*?)\n\}/gu)]);
  const body = bodies.find(({ groups }) => groups?.["name"] === name)?.groups?.["body"] ?? "";
  return found(body, /^ {2}readonly (?<member>\w+)\??:/gmu);
}

describe("the page of the recipients' package", () => {
  test("has every error that the kit answers, with its status, and no other", () => {
    const answered = found(sources.join("\n"), /new DeliveryRefusal\((?<status>\d+), "(?<code>\w+)"/gu);
    expect(answered.length).toBeGreaterThan(10);
    expect(found(page, /^\| (?<status>\d+) \| `(?<code>\w+)` \|/gmu)).toEqual(answered);
  });

  test("has every option of a recipient, and no other", () => {
    const options = [...membersOf("RecipientOptions"), ...membersOf("EndpointOptions")];
    expect(options.length).toBeGreaterThan(8);
    const [, section = ""] = page.split("\n## Options\n");
    expect(found(section.split("\n## ")[0] ?? "", /^\| `(?<option>\w+)` \|/gmu)).toEqual(options.toSorted());
  });
});
