/** A part of a text: from an index up to another. */
type TextRange = readonly [start: number, end: number];

/** Encodings inside each other that are undone. */
const decodingsMax = 2;
/**
 * Only the beginning of a text is decoded, which is more than is kept of any: a text full of escapes must cost little.
 */
const decodedCharactersMax = 4_096;
/** Percent-encoding, escapes of JSON, and character references of HTML by number. */
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
 * Finds some words in texts: as they are, in base64, and escaped for URLs, JSON or HTML, wholly or in part. The ranges
 * are in order and never overlap.
 */
export function createWordFinder(words: readonly string[]): (text: string) => readonly TextRange[] {
  // The words themselves may hold what looks like an escape.
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
 * A text in base64, in both alphabets, alone and at any place of a longer text that is encoded as a whole. The
 * characters at its ends depend on its neighbours and are left out.
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
  /** Where each character, and at last the end, stands in the text as it came; undefined when it is that text. */
  readonly starts: readonly number[] | undefined;
}

/** The text with its escapes undone, once and again. */
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

/** One unit of UTF-16; headers hold none beyond. */
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
