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

/** Names for `[[:…:]]`. */
export const posixNames: ReadonlySet<string> = new Set(
  "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split(" "),
);
