// Text <-> ids, as interlingua.tokenization does it: the same ids for the same text.

const SPACE_MARK = "\u2581";
const STAND_IN = "\uDFFF"; // for a mark in the text itself: half a surrogate pair, so no text holds it
const UNKNOWN_SURFACE = " \u2047 ";
const LONGEST_WORD = 512;
const LONGEST_SENTENCE = 8192;
const UNKNOWN_PENALTY = 10;

class Tokenizer {
  // described: see html_export.describe_tokenizer
  constructor(described) {
    Object.assign(this, described);
    const [pad, unknown, begin, end] = described.specials;
    Object.assign(this, { pad, unknown, begin, end });
    this.every = new Map(this.pieces.map((piece, id) => [piece, id]));
    this.byteIds = this.byte_fallback ? byteNames().map((name) => this.every.get(name)) : [];
    const silent = new Set([pad, begin, end, ...this.hidden]);
    const never = new Set([...silent, unknown, ...this.byteIds]);
    this.ids = new Map(this.pieces.map((piece, id) => [piece, id]).filter(([, id]) => !never.has(id)));
    this.silent = silent;
    this.valueOfByte = new Map(this.byteIds.map((id, value) => [id, value]));
    this.charsmap = this.charsmap_base64 ? new Charsmap(bytesOfBase64(this.charsmap_base64)) : null;
    this.wholePattern = patternOf(this.whole);
    this.letters = byteAlphabet();
    this.valueOfLetter = new Map(this.letters.map((letter, value) => [letter, value]));
    this.segment = segmenter(this);
    this.splitsAtSpaces = ![...this.ids.keys()].some((piece) => piece.slice(1).includes(SPACE_MARK));
    this.spelled = new Map();
  }

  encode(text) {
    const ids = [];
    for (const word of this.words(this.normalise(text))) {
      let found = this.spelled.get(word);
      if (!found) {
        found = this.spell(this.segment(this.spacing.byte_level ? this.toByteLetters(word) : word));
        this.spelled.set(word, found);
      }
      const open = !this.spacing.byte_level && !this.byte_fallback;
      const again = open && ids.at(-1) === this.unknown && found[0] === this.unknown;
      ids.push(...(again ? found.slice(1) : found));
    }
    return ids;
  }

  decode(ids) {
    return this.spacing.byte_level ? this.decodeByteLevel(ids) : this.decodeMarks(ids);
  }

  normalise(text) {
    text = text.toWellFormed ? text.toWellFormed() : text;
    if (this.normalization !== null) {
      const form = this.normalization === "none" ? null : this.normalization.toUpperCase();
      if (form) text = text.normalize(form);
      if (this.lowercase) {
        text = Array.from(text, (character) => character.toLowerCase()).join("");
        if (form) text = text.normalize(form);
      }
      return text;
    }
    if (this.charsmap) text = this.replaceByCharsmap(text);
    if (!this.spacing.collapse) return text;
    return text.replace(/ +/g, " ").replace(/^ +/, "").replace(/[ \u2581]+$/, "");
  }

  replaceByCharsmap(text) {
    if (!this.wholePattern) return this.charsmap.apply(text);
    let out = "";
    let end = 0;
    for (const match of text.matchAll(this.wholePattern)) {
      out += this.charsmap.apply(text.slice(end, match.index)) + match[0];
      end = match.index + match[0].length;
    }
    return out + this.charsmap.apply(text.slice(end));
  }

  words(text) {
    if (!text) return [];
    if (this.spacing.byte_level) {
      const [first, ...others] = text.split(" ");
      return cutLong([...(first ? [first] : []), ...others.map((word) => " " + word)], LONGEST_WORD);
    }
    text = text.replaceAll(SPACE_MARK, this.spacing.keep_mark ? STAND_IN : " ");
    if (!this.splitsAtSpaces) {
      const start = this.spacing.first_mark ? SPACE_MARK : "";
      return cutLong([start + text.replaceAll(" ", SPACE_MARK)], LONGEST_SENTENCE);
    }
    const words = text.split(" ").map((word) => SPACE_MARK + word);
    if (!this.spacing.first_mark) {
      words.splice(0, 1, ...(words[0].length > 1 ? [words[0].slice(1)] : []));
    }
    return cutLong(words, LONGEST_WORD);
  }

  spell(pieces) {
    const ids = [];
    for (const piece of pieces) {
      const id = this.ids.get(piece);
      if (id !== undefined) {
        ids.push(id);
      } else if (this.byteIds.length) {
        const bytes = new TextEncoder().encode(piece.replaceAll(STAND_IN, SPACE_MARK));
        for (const value of bytes) ids.push(this.byteIds[value]);
      } else if (ids.at(-1) !== this.unknown) {
        ids.push(this.unknown);
      }
    }
    return ids;
  }

  toByteLetters(word) {
    return Array.from(new TextEncoder().encode(word), (value) => this.letters[value]).join("");
  }

  surfaceOf(id) {
    if (id === this.unknown) return UNKNOWN_SURFACE;
    return this.silent.has(id) ? "" : this.pieces[id].replaceAll(SPACE_MARK, " ");
  }

  decodeMarks(ids) {
    let text = "";
    let run = [];
    let atStart = this.spacing.first_mark || this.spacing.collapse;
    const endRun = () => {
      text += new TextDecoder().decode(new Uint8Array(run));
      run = [];
    };
    for (const id of ids) {
      const value = this.valueOfByte.get(id);
      if (value !== undefined) {
        run.push(value);
        atStart = false;
        continue;
      }
      endRun();
      let surface = this.surfaceOf(id);
      if (atStart && surface) {
        atStart = false;
        if (surface[0] === " " && id !== this.unknown) {
          surface = surface.slice(1);
          atStart = this.spacing.collapse && !surface;
        }
      }
      text += surface;
    }
    endRun();
    return text;
  }

  decodeByteLevel(ids) {
    const bytes = [];
    for (const id of ids) {
      if (id === this.unknown) bytes.push(...new TextEncoder().encode(UNKNOWN_SURFACE));
      else if (!this.silent.has(id)) {
        for (const letter of this.pieces[id]) bytes.push(this.valueOfLetter.get(letter) ?? 0x3f);
      }
    }
    return new TextDecoder().decode(new Uint8Array(bytes));
  }
}

// How one word is cut; each returns strings that, joined, are the word.
function segmenter(tokenizer) {
  const ids = tokenizer.ids;
  const longest = Math.max(1, ...Array.from(ids.keys(), (piece) => Array.from(piece).length));
  if (tokenizer.kind === "bpe") {
    const ranks = pieceRanks(tokenizer);
    return (word) => mergePairs(splitSymbols(word, tokenizer.wholePattern), ranks);
  }
  if (tokenizer.kind === "unigram") return unigramSegmenter(tokenizer, longest);
  if (tokenizer.kind === "wordpiece") return (word) => longestMatches(word, ids, longest);
  if (tokenizer.kind === "word") return (word) => (ids.has(word) ? [word] : Array.from(word));
  return (word) => Array.from(word);
}

function pieceRanks(tokenizer) {
  const whole = new Set(tokenizer.whole);
  const scored = [...tokenizer.ids].filter(([piece]) => Array.from(piece).length > 1 && !whole.has(piece));
  const scores = [...new Set(scored.map(([, id]) => tokenizer.scores[id]))].sort((a, b) => b - a);
  const rankOf = new Map(scores.map((score, rank) => [score, rank]));
  return new Map(scored.map(([piece, id]) => [piece, rankOf.get(tokenizer.scores[id])]));
}

function splitSymbols(word, pattern) {
  if (!pattern) return Array.from(word);
  const symbols = [];
  let end = 0;
  for (const match of word.matchAll(pattern)) {
    symbols.push(...word.slice(end, match.index), match[0]);
    end = match.index + match[0].length;
  }
  return [...symbols, ...word.slice(end)];
}

// Join neighbours, the lowest rank first and the leftmost of equals (Sennrich et al. 2016, algorithm 1).
function mergePairs(symbols, ranks) {
  for (;;) {
    let best = Infinity;
    let place = -1;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = ranks.get(symbols[i] + symbols[i + 1]) ?? Infinity;
      if (rank < best) [best, place] = [rank, i];
    }
    if (place < 0) return symbols;
    symbols.splice(place, 2, symbols[place] + symbols[place + 1]);
  }
}

// The most probable pieces of a word (Kudo 2018, section 3.1); of equals, the one whose last piece is longest.
function unigramSegmenter(tokenizer, longest) {
  const whole = new Set(tokenizer.whole);
  const scores = new Map();
  for (const [piece, id] of tokenizer.ids) if (!whole.has(piece)) scores.set(piece, tokenizer.scores[id]);
  const values = [...scores.values()];
  const highest = values.reduce((a, b) => Math.max(a, b), values.length ? -Infinity : 0);
  const lowest = values.reduce((a, b) => Math.min(a, b), values.length ? Infinity : 0);
  for (const piece of whole) scores.set(piece, Array.from(piece).length * highest - 0.1);
  return (word) => {
    const letters = Array.from(word);
    const best = [0, ...letters.map(() => -Infinity)];
    const back = [0, ...letters.map(() => 0)];
    const reach = (start, end, score) => {
      if (best[start] + score > best[end]) [best[end], back[end]] = [best[start] + score, start];
    };
    for (let start = 0; start < letters.length; start++) {
      let piece = "";
      for (let end = start + 1; end <= Math.min(start + longest, letters.length); end++) {
        piece += letters[end - 1];
        const score = scores.get(piece);
        if (score !== undefined) reach(start, end, score);
        else if (end === start + 1) reach(start, end, lowest - UNKNOWN_PENALTY);
      }
    }
    const pieces = [];
    for (let end = letters.length; end; end = back[end]) {
      pieces.unshift(letters.slice(back[end], end).join(""));
    }
    return pieces;
  };
}

function longestMatches(word, ids, longest) {
  const letters = Array.from(word);
  const pieces = [];
  for (let start = 0; start < letters.length; start += Array.from(pieces.at(-1)).length) {
    let end = Math.min(start + longest, letters.length);
    while (end > start + 1 && !ids.has(letters.slice(start, end).join(""))) end--;
    pieces.push(letters.slice(start, end).join(""));
  }
  return pieces;
}

// SentencePiece's table of replacements: the longest match in a double-array trie decides.
class Charsmap {
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = view.getUint32(0, true);
    this.units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this.replacements = bytes.subarray(4 + size);
  }

  apply(text) {
    const data = new TextEncoder().encode(text);
    const out = [];
    for (let position = 0; position < data.length; ) {
      const [length, offset] = this.longestMatch(data, position);
      if (length) {
        for (let i = offset; this.replacements[i]; i++) out.push(this.replacements[i]);
        position += length;
      } else {
        const lead = data[position];
        const width = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        out.push(...data.subarray(position, position + width));
        position += width;
      }
    }
    return new TextDecoder().decode(new Uint8Array(out));
  }

  longestMatch(data, start) {
    const offsetOf = (unit) => ((unit >>> 10) << ((unit & 0x200) >>> 6)) >>> 0;
    let found = [0, 0];
    let node = offsetOf(this.units[0]);
    for (let position = start; position < data.length; position++) {
      node = (node ^ data[position]) >>> 0;
      if (node >= this.units.length) break;
      const unit = this.units[node];
      if ((unit & 0x800000ff) >>> 0 !== data[position]) break;
      node = (node ^ offsetOf(unit)) >>> 0;
      if ((unit >>> 8) & 1) found = [position + 1 - start, this.units[node] & 0x7fffffff];
    }
    return found;
  }
}

function patternOf(whole) {
  if (!whole.length) return null;
  const sorted = [...whole].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  return new RegExp(sorted.map((piece) => piece.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|"), "gu");
}

function cutLong(words, longest) {
  return words.flatMap((word) => {
    if (word.length <= longest) return [word];
    const letters = Array.from(word);
    const parts = [];
    for (let i = 0; i < letters.length; i += longest) parts.push(letters.slice(i, i + longest).join(""));
    return parts;
  });
}

function byteNames() {
  return Array.from({ length: 256 }, (_, value) => `<0x${value.toString(16).toUpperCase().padStart(2, "0")}>`);
}

// A printable character for each byte: itself where Latin-1 prints it, else one from U+0100 on (GPT-2's table).
function byteAlphabet() {
  const printable = (value) =>
    (value >= 0x21 && value < 0x7f) || (value >= 0xa1 && value < 0xad) || value >= 0xae;
  let next = 256;
  return Array.from({ length: 256 }, (_, value) => String.fromCharCode(printable(value) ? value : next++));
}

function bytesOfBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
