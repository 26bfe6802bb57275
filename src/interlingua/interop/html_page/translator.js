// Text -> text: the tokenizers, the model and the search of one page.

class PageTranslator {
  // described: the JSON of the page; bytes: its weights
  constructor(described, bytes) {
    this.described = described;
    this.source = new Tokenizer(described.source_tokenizer);
    this.target = described.target_tokenizer ? new Tokenizer(described.target_tokenizer) : this.source;
    this.model = new Model(described.architecture, readTensors(described.tensors, bytes));
  }

  // Returns { text, sourceTokens, tokens, looked (T, N, S), score, cut }.
  async translate(text, { beamSize, lengthPenalty, pause }) {
    const { source, target, described } = this;
    let ids = source.encode(text);
    const cut = ids.length > described.max_length - 1;
    ids = ids.slice(0, described.max_length - 1);
    if (!text.trim() || !ids.length) {
      return { text: "", sourceTokens: [], tokens: [], looked: [], score: 0, cut };
    }
    const { max_length_factor, max_length_offset } = described.decoding;
    const longest = Math.floor(
      Math.min(max_length_factor * (ids.length + 1) + max_length_offset, described.max_length),
    );
    const found = await this.search([...ids, source.end], beamSize, lengthPenalty, longest, pause);
    return {
      text: target.decode(found.ids),
      sourceTokens: [...ids, source.end].map((id) => source.pieces[id]),
      tokens: [...found.ids.map((id) => target.pieces[id]), ...(found.ended ? [target.pieces[target.end]] : [])],
      looked: found.looked,
      score: found.score,
      cut,
    };
  }

  search(sourceIds, beamSize, alpha, maxLength, pause) {
    const { pad, begin, end } = this.target;
    const never = [...new Set([pad, begin])].filter((id) => id !== end);
    return beamSearch(this.model, sourceIds, { beginId: begin, endId: end, never, beamSize, alpha, maxLength }, pause);
  }
}
