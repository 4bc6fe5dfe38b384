import { describe, expect, test } from "vitest";
import { filesNamed, keptFiles, namedFiles, textOf } from "./named-files.ts";
import { rooms } from "./rooms.ts";

const pages = ["docs/architecture.md", "CONTRIBUTING.md"];
const architecture = textOf("docs/architecture.md");

describe.each(pages)("%s", (page) => {
  test("names only files that exist, each by a path or name that means one file", () => {
    const found = namedFiles(textOf(page)).map((name) => ({ name, files: filesNamed(name) }));
    expect(found.filter(({ files }) => files.length !== 1)).toEqual([]);
  });

  test("names only folders that exist", () => {
    const folders = [...textOf(page).matchAll(/`([\w-]+(?:\/[\w-]+)*\/)`/gu)].map(([, name = ""]) => name);
    const unknown = folders.filter((name) => !keptFiles.some((path) => `/${path}`.includes(`/${name}`)));
    expect(unknown).toEqual([]);
  });
});

describe("docs/architecture.md", () => {
  test("fits on two pages of 130 lines, of 120 columns each", () => {
    const lines = architecture.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(130);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });

  test("holds every room that is a folder, and no other", () => {
    const folders = [...rooms.keys()].filter((room) => room.endsWith("/"));
    expect(documentedRooms().toSorted()).toEqual(folders.toSorted());
  });
});

/** The first cells of the table of rooms. A name before a colon is the folder of the names behind it. */
function documentedRooms(): readonly string[] {
  const [, section = ""] = architecture.split("\n## Rooms\n");
  const [own = ""] = section.split("\n## ");
  const rows = [...own.matchAll(/^\| (?:`(?<folder>[\w/]+)`: )?(?<names>`[^|]+) \|.*\|$/gmu)];
  return rows.flatMap(({ groups }) =>
    [...(groups?.["names"] ?? "").matchAll(/`([^`]+)`/gu)].map(([, name = ""]) =>
      fromRoot((groups?.["folder"] ?? "") + name),
    ),
  );
}

function fromRoot(room: string): string {
  return /^(?:crds|kube|operator)\//u.test(room) ? room : `runtime/${room}`;
}
