// How a text is taken apart into symbols and put together again, as by the classes of attnexp/core/writing.py.
"use strict";
const Writings = (() => {
  const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u; // that of Python
  const RUN = String.raw`(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}_])+`;
  const WORD = new RegExp(String.raw`\p{Script=Han}|${RUN}(?:['\u2019.\-]${RUN})*`, "uy");
  const OPENS = /[\p{Ps}\p{Pi}¿¡]$/u, CLOSES = /^[\p{Pe}\p{Pf}\p{Terminal_Punctuation}…%]/u;
  const WIDE = String.raw`(?=\p{P})[\u2329\u232a\u3001-\u303d\u30a0\u30fb\ufe10-\ufe6b\uff01-\uff60\u{16fe2}]`;
  const DENSE = String.raw`(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|${WIDE})`;
  const ENDS_DENSE = new RegExp(`${DENSE}$`, "u"), BEGINS_DENSE = new RegExp(`^${DENSE}`, "u");
  const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

  const composed = (text) => text.normalize("NFC");
  const pieces = (text) => text.split(SPACE).filter(Boolean);
  const spaced = (symbols) => symbols.join(" ");

  // Words, and whatever else is seen as one character.
  function words(typed) {
    const text = spaced(pieces(composed(typed))), seen = graphemes.segment(text), found = [];
    for (let at = 0; at < text.length; at += found[found.length - 1].length) {
      WORD.lastIndex = at;
      const { index, segment } = seen.containing(at);
      found.push(WORD.exec(text)?.[0] ?? text.slice(at, index + segment.length));
    }
    return found.filter((symbol) => symbol !== " ");
  }

  function joined(symbols) {
    return symbols.reduce((text, symbol) => {
      const close = !text || OPENS.test(text) || CLOSES.test(symbol);
      const dense = ENDS_DENSE.test(text) && BEGINS_DENSE.test(symbol);
      return text + (close || dense ? "" : " ") + symbol;
    }, "");
  }

  return {
    separated: { split: (text) => pieces(text.replaceAll(",", " ")), join: spaced },
    spaced: { split: (text) => pieces(composed(text)), join: spaced },
    characters: { split: (text) => [...composed(text)], join: (symbols) => symbols.join("") },
    words: { split: words, join: joined },
  };
})();
if (typeof module !== "undefined") module.exports = Writings;
