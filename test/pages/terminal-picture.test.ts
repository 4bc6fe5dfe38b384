import { expect, test } from "vitest";
import { textOf } from "../architecture/named-files.ts";
import { terminalPicture } from "./terminal-picture.ts";

const printed = [
  "== Servers",
  "\n== Deliveries, as the partners saw them\n   503  acme  refused   evt-1 <&>",
  "\n== History of the retried event\n        attempt 1",
  `\n== A percentile, merged\n${"x".repeat(200)}`,
].join("\n");

test("the picture shows three parts of the demo, each line within its width", () => {
  const picture = terminalPicture(printed);
  const lines = [...picture.matchAll(/<text [^>]*>([^<]*)<\/text>/gu)].map(([, line = ""]) => line);
  expect(lines).toEqual([
    "$ make demo",
    "",
    "== Deliveries, as the partners saw them",
    "   503  acme  refused   evt-1 &lt;&amp;&gt;",
    "",
    "== History of the retried event",
    "        attempt 1",
    "",
    "== A percentile, merged",
    `${"x".repeat(95)}…`,
  ]);
  expect(() => terminalPicture("== Servers\n")).toThrow("0 of the parts");
});

test("docs/demo.svg is such a picture of a run, and small", () => {
  const picture = textOf("docs/demo.svg");
  expect(picture.length).toBeLessThan(12_000);
  const lines = [...picture.matchAll(/<text [^>]*>([^<]*)<\/text>/gu)].map(([, line = ""]) => line);
  const printedAgain = lines
    .slice(1)
    .join("\n")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
  expect(terminalPicture(printedAgain)).toBe(picture);
});
