/** A part of a text: start index, and end index (exclusive). */
type TextRange = readonly [start: number, end: number];

/** Nested encodings that are decoded. */
const decodingsMax = 2;
/** Only this much of a text is decoded, so that a text full of escapes costs little. Less of each text is stored. */
const decodedCharactersMax = 4_096;
/** Percent-encoding, JSON escapes, and numeric character references of HTML. */
const escapeForm = new RegExp(
  [
    /%(?<percent>[0-9A-Fa-f]{2})/u,
    /\\u(?<json>[0-9A-Fa-f]{4})/u,
    /\\(?<plain>["/\\])/u,
    /&#[xX](?<hex>[0-9A-Fa-f]{1,6});/u,
    /&#(?<decimal>[0-9]{1,7});/u,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);
const base64Run = /[\w+/-]{10}/u;
const bitsOfByte = 8;
const bitsOfCharacter = 6;

/**
 * Finds words in texts: unchanged, in base64, and escaped for URLs, JSON or HTML, completely or in part. The ranges are
 * sorted and never overlap.
 */
export function createWordFinder(words: readonly string[]): (text: string) => readonly TextRange[] {
  // A word may contain text that looks like an escape.
  const plain = [...new Set(words.flatMap((word) => [word, ...decodings(word).map(({ text }) => text)]))];
  let encoded: readonly string[] | undefined;
  return (text) => {
    const levels = [{ text, starts: undefined }, ...decodings(text.slice(0, decodedCharactersMax))];
    const found = levels.flatMap((level) => {
      const inBase64 = base64Run.test(level.text) ? (encoded ??= words.flatMap(base64Forms)) : [];
      return [...plain, ...inBase64].flatMap((word) => placesOf(level, word));
    });
    return joined(found);
  };
}

/**
 * Base64 forms of a text in both alphabets: alone, and inside a longer encoded text at each of three offsets. The first
 * and last characters depend on the neighbouring bytes and are left out.
 */
function base64Forms(text: string): readonly string[] {
  const bytes = Buffer.from(`\0\0${text}`);
  const lengthOfText = bytes.length - 2;
  const alone = bytes.toString("base64", 2);
  const inside = [0, 1, 2].map((before) => {
    const start = Math.ceil((before * bitsOfByte) / bitsOfCharacter);
    const end = Math.floor(((before + lengthOfText) * bitsOfByte) / bitsOfCharacter);
    return bytes.toString("base64", 2 - before).slice(start, end);
  });
  const standard = [alone, alone.replace(/=+$/u, ""), ...inside];
  const ofUrls = standard
    .filter((form) => /[+/]/u.test(form))
    .map((form) => form.replaceAll("+", "-").replaceAll("/", "_"));
  return [...standard, ...ofUrls];
}

interface Level {
  readonly text: string;
  /** Index of each character, and of the end, in the original text; undefined for the original text itself. */
  readonly starts: readonly number[] | undefined;
}

/** The text decoded once, twice, and so on up to the limit. */
function decodings(text: string): readonly Level[] {
  const levels: Level[] = [];
  let last: Level = { text, starts: undefined };
  while (levels.length < decodingsMax && last.text.search(escapeForm) !== -1) {
    last = decoded(last);
    levels.push(last);
  }
  return levels;
}

function decoded({ text, starts }: Level): Level {
  const placed: number[] = [];
  const place = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) placed.push(starts?.[index] ?? index);
  };
  let plain = "";
  let done = 0;
  for (const { index, 0: escape, groups = {} } of text.matchAll(escapeForm)) {
    plain += text.slice(done, index) + characterOf(groups);
    place(done, index + 1);
    done = index + escape.length;
  }
  place(done, text.length + 1);
  return { text: plain + text.slice(done), starts: placed };
}

/** One unit of UTF-16; headers contain no higher code points. */
function characterOf({ percent, json, plain, hex, decimal }: Readonly<Record<string, string | undefined>>): string {
  const code = percent ?? json ?? hex;
  return plain ?? String.fromCharCode(code === undefined ? Number(decimal) : Number.parseInt(code, 16));
}

function placesOf({ text, starts }: Level, word: string): readonly TextRange[] {
  const places: TextRange[] = [];
  for (let start = text.indexOf(word); start !== -1; start = text.indexOf(word, start + word.length)) {
    const end = start + word.length;
    places.push(starts === undefined ? [start, end] : [starts[start] ?? 0, starts[end] ?? 0]);
  }
  return places;
}

function joined(ranges: readonly TextRange[]): readonly TextRange[] {
  const whole: [number, number][] = [];
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = whole.at(-1);
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end);
    else whole.push([start, end]);
  }
  return whole;
}
