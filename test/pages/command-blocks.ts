import { keptFiles, textOf } from "../architecture/named-files.ts";

/** One block of commands of a page. */
export interface CommandBlock {
  readonly page: string;
  /** The first command, without a comment behind it: what names the block on its page. */
  readonly first: string;
  readonly text: string;
  /** The text of the page from the paragraph before the block to the one behind it. */
  readonly beside: string;
}

/** Pages whose commands are looked at. */
const pages = keptFiles.filter((path) => path === "README.md" || /^docs\/.*\.md$/u.test(path));

/** Every block of commands of README.md and docs/: fences of `sh`, and those whose first line begins with `$ `. */
export function commandBlocks(page?: string): readonly CommandBlock[] {
  return pages.filter((path) => page === undefined || path === page).flatMap(blocksOf);
}

const fence = /^(?<indent> *)```(?<language>\w*)\n(?<body>[\s\S]*?)^\k<indent>```$/gmu;
/** Lines beside a block in which its sentence must be. */
const besideLines = 8;

function blocksOf(page: string): readonly CommandBlock[] {
  const text = textOf(page);
  return [...text.matchAll(fence)].flatMap((match) => {
    const { indent = "", language = "", body = "" } = match.groups ?? {};
    const lines = body.split("\n").map((line) => line.slice(indent.length));
    const isShell = language === "sh" || (language === "" && body.trimStart().startsWith("$ "));
    if (!isShell) return [];
    const before = text.slice(0, match.index).split("\n").slice(-besideLines);
    const behind = text
      .slice(match.index + match[0].length)
      .split("\n")
      .slice(0, besideLines);
    return [{ page, first: firstCommand(lines), text: lines.join("\n"), beside: [...before, ...behind].join(" ") }];
  });
}

function firstCommand(lines: readonly string[]): string {
  const line = lines.find((candidate) => candidate.trim() !== "" && !candidate.startsWith("#")) ?? "";
  return line
    .replace(/^\$ /u, "")
    .replace(/ +#.*$/u, "")
    .replace(/ \\$/u, "")
    .trim();
}
