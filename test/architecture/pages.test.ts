import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { filesNamed, keptFiles, namedFiles, textOf } from "./named-files.ts";
import { rooms } from "./rooms.ts";

const pages = ["docs/architecture.md", "CONTRIBUTING.md"];
const linkingPages = keptFiles.filter((path) =>
  /^(?:[A-Z]+|docs\/(?!decisions\/)(?:[\w-]+\/)*[\w-]+|charts\/heliograph\/README)\.md$/u.test(path),
);
const index = "docs/README.md";
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

describe.each(linkingPages)("%s", (page) => {
  test("links to files and headings that exist", () => {
    const broken = linksOf(page).filter(
      ({ path, heading }) =>
        !keptFiles.some((file) => file === path || file.startsWith(`${path}/`)) ||
        (heading !== "" && !headingsOf(path).includes(heading)),
    );
    expect(broken).toEqual([]);
  });
});

describe("docs/README.md", () => {
  test("links to every page of docs, runbooks by their folder, apart from pages that moved", () => {
    const linked = linksOf(index).map(({ path }) => path);
    const isLinked = (path: string): boolean =>
      linked.includes(path) || linked.includes(dirname(path)) || textOf(path).includes("it moved to [");
    expect(linkingPages.filter((path) => path.startsWith("docs/") && path !== index && !isLinked(path))).toEqual([]);
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

/** The links of a page to files of the project; `heading` is the part after `#`. */
function linksOf(page: string): readonly { readonly path: string; readonly heading: string }[] {
  const text = textOf(page).replaceAll(/`[^`\n]*`/gu, "``");
  const targets = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/gu)].map(([, target = ""]) => target);
  return targets.map((target) => {
    const [file = "", heading = ""] = target.split("#");
    return { path: file === "" ? page : join(dirname(page), file), heading };
  });
}

/** The anchors that GitHub gives the headings of a page. */
function headingsOf(page: string): readonly string[] {
  const titles = [...textOf(page).matchAll(/^#+ (.+)$/gmu)].map(([, title = ""]) => title.toLowerCase());
  return titles.map((title) => title.replaceAll(/[^\w\s-]/gu, "").replaceAll(" ", "-"));
}

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
  return /^(?:api|cli|console|crds|demo|kube|limits|network|operator)\//u.test(room) ? room : `runtime/${room}`;
}
