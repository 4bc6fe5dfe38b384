import type * as Re2js from "re2js";

/** General categories in every version of Go's `regexp/syntax`. */
const categories =
  "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs".split(" ");

/** Scripts of one word: those of several words are spelt differently from version to version. */
const scripts =
  `Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid
  Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra Duployan
  Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew
  Hiragana Inherited Javanese Kaithi Kannada Katakana Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu
  Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao Modi Mongolian Mro Multani
  Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene Phoenician Rejang Runic Samaritan
  Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangut
  Telugu Thaana Thai Tibetan Tifinagh Tirhuta Ugaritic Vai Wancho Yezidi Yi`.split(/\s+/u);

/** Names for `\p{…}` that every store supports. */
export const unicodeNames: ReadonlySet<string> = new Set(["Any", ...categories, ...scripts]);

/** An escape or quoted text, and the name of its Unicode class. */
const escapes = /\\(?:Q[^]*?\\E|[pP]\{\^?(?<name>[^}]*)\}|[^])/gu;
const groupNames = /(?<open>\(\?P?<)[A-Za-z0-9_]+>/gu;

/**
 * True for the expression of a matcher that every store accepts. Prometheus parses it as Go's `regexp/syntax` with
 * Perl's flags, by itself and anchored; an open `\Q` would undo the anchor. This check is stricter in two spellings
 * that only some versions support: names of Unicode classes of several words, and names in other than their own upper
 * and lower case.
 */
export function isRe2(expression: string): boolean {
  if (hasOtherNames(expression)) return false;
  // Go allows two groups of one name and `[:` at the end of a class, and re2js neither.
  let groups = 0;
  const unique = withoutOpenNames(expression).replaceAll(groupNames, (_, open: string) => `${open}g${(groups += 1)}>`);
  return compiledOrNone(unique) !== undefined && compiledOrNone(`^(?s:${unique})$`) !== undefined;
}

/** True for a name of a Unicode class that only some versions support. */
function hasOtherNames(expression: string): boolean {
  return [...expression.matchAll(escapes)].some(
    ({ groups }) => groups?.["name"] !== undefined && !unicodeNames.has(groups["name"]),
  );
}

/** The same expression with another spelling of `[:` where a class ends after it and no `:]` follows. */
function withoutOpenNames(expression: string): string {
  let isInClass = false;
  let text = "";
  for (let at = 0; at < expression.length;) {
    const token = tokenAt(expression, at, isInClass);
    at += token.length;
    if (!isInClass && token.startsWith("[")) isInClass = true;
    else if (token === "]") isInClass = false;
    text += isInClass && token === "[:" && expression[at] === "]" ? String.raw`[\x3a` : token;
  }
  return text;
}

/** In a class: an escape, a name such as `[:alpha:]`, `[:` without an end, or a character. */
const inClass = /\\[^]|\[:[^]*?:\]|\[:|[^]/uy;
/** Outside: quoted text, an escape, the start of a class, or a character. */
const outside = /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?|[^]/uy;

function tokenAt(expression: string, at: number, isInClass: boolean): string {
  const form = isInClass ? inClass : outside;
  form.lastIndex = at;
  return form.exec(expression)?.[0] ?? expression.slice(at);
}

/** A compiled expression. Its matching takes time linear in the text. */
export type Re2Program = Re2js.RE2JS;

/** Compiles an expression that {@link isRe2} accepts. */
export function compileRe2(expression: string): Re2Program {
  return load().RE2JS.compile(expression);
}

/** Compiles any text; undefined for one that is no expression or that only some versions support. */
export function re2ProgramOf(expression: string): Re2Program | undefined {
  return hasOtherNames(expression) ? undefined : compiledOrNone(expression);
}

/** The package takes 13 MB, so a program loads it with its first expression. */
function load(): typeof Re2js {
  const { createRequire } = process.getBuiltinModule("node:module");
  return createRequire(import.meta.url)("re2js") as typeof Re2js;
}

function compiledOrNone(expression: string): Re2Program | undefined {
  const { RE2JS, RE2JSException } = load();
  try {
    return RE2JS.compile(expression);
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}
