/**
 * The notes of one version: the text below its heading in CHANGELOG.md, up to the next heading of that level.
 *
 * @throws Error when there is no such heading, or nothing below it
 */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /mu).slice(1);
  const own = sections.find((section) => versionOf(section) === version);
  if (own === undefined)
    throw new Error(`CHANGELOG.md has no heading "## ${version}": add it with the notes below it.`);
  const notes = own.slice(own.indexOf("\n")).trim();
  if (!notes) throw new Error(`CHANGELOG.md says nothing below "## ${version}": write the notes of the release.`);
  return `${notes}\n`;
}

/** Whether changes still stand below the heading "Unreleased", and so belong to no version. */
export function hasUnreleased(changelog: string): boolean {
  const sections = changelog.split(/^## /mu).slice(1);
  return sections.some((section) => /^\[?Unreleased\]?\n\s*\S/u.test(section));
}

/** The notes with links that work outside of the repository. @param files address of the repository's files */
export function withWholeLinks(notes: string, files: string): string {
  return notes.replaceAll(/\]\((?!https?:|#)/gu, `](${files}/`);
}

/** The version in a heading such as `[1.2.0] - 2026-11-22`. */
function versionOf(section: string): string | undefined {
  return /^\[?v?(\d+\.\d+\.\d+[\w.+-]*)/u.exec(section)?.[1];
}
