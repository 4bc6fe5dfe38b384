const controls = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Without characters that control a terminal. Texts of servers, files and arguments may hold them. */
export function plain(text: string): string {
  return text.replaceAll(controls, " ");
}

/**
 * JSON, or YAML whose strings with such characters are double-quoted, with escapes in their place. Line ends and tabs
 * between its values stay.
 */
export function escaped(text: string): string {
  return text.replaceAll(controls, (character) => (layout.has(character) ? character : escapesOf(character)));
}

const layout: ReadonlySet<string> = new Set(["\n", "\r", "\t"]);

/** One escape for each unit of UTF-16, as JSON requires. */
function escapesOf(character: string): string {
  return Array.from({ length: character.length }, (_, at) => character.charCodeAt(at).toString(16).padStart(4, "0"))
    .map((digits) => `\\u${digits}`)
    .join("");
}

/** True for a text with characters that control a terminal. */
export function hasControls(text: string): boolean {
  return text.search(controls) >= 0;
}
