import { expect, test } from "vitest";
import { keptFiles, textOf } from "../architecture/named-files.ts";

const pages = keptFiles.filter((path) =>
  /^docs\/(?!decisions\/archive\/|decisions\/\d)(?:[\w-]+\/)*[\w-]+\.md$/u.test(path),
);

test("each page of docs opens with its audience", () => {
  expect(pages.length).toBeGreaterThan(60);
  expect(pages.filter((page) => !/^# .+\n\nFor [a-z]/u.test(textOf(page)))).toEqual([]);
});
