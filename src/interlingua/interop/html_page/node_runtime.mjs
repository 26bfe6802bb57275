// The program of an exported page, outside a browser: node node_runtime.mjs index.html < sentences.jsonl
//
// Reads {"text", "beam_size"} a line and writes {"text"}: what the page does with a text. Reads {"text", "encode"} and
// writes {"encoded", "decoded"}: what its tokenizer of the source does. Reads {"ids",
// "beam_size", "max_length"} and writes {"tokens", "score", "text"}: the model of the page under the search of
// interop/plain_search.py, which the proof of an export compares models with. All else that runs stands in the page.

import fs from "node:fs";
import readline from "node:readline";
import vm from "node:vm";

const page = fs.readFileSync(process.argv[2], "utf8");
const between = (start) => page.split(start)[1].split("</script>")[0];
vm.runInThisContext(`${between("<script>")}\nglobalThis.PageTranslator = PageTranslator; Object.assign(globalThis, { bytesOfBase64, logSoftmax, bestOf });`);
const described = JSON.parse(between('<script type="application/json" id="model">'));
const weights = bytesOfBase64(between('<script type="text/plain" id="weights">').trim());
const translator = new PageTranslator(described, weights);

for await (const line of readline.createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.encode) {
    const encoded = translator.source.encode(asked.text);
    console.log(JSON.stringify({ encoded, decoded: translator.source.decode(encoded) }));
    continue;
  }
  if (asked.ids === undefined) {
    const options = { beamSize: asked.beam_size, lengthPenalty: described.decoding.length_penalty };
    console.log(JSON.stringify({ text: (await translator.translate(asked.text, options)).text }));
    continue;
  }
  const found = plainSearch([...asked.ids, translator.source.end], asked.beam_size, asked.max_length);
  console.log(
    JSON.stringify({
      tokens: found.ids.map((id) => translator.target.pieces[id]),
      score: found.total,
      text: translator.target.decode(found.ids),
    }),
  );
}

// Targets that end leave the beam, and as many as before live on; no length penalty.
function plainSearch(sourceIds, beamSize, maxLength) {
  const { model } = translator;
  const { pad, begin, end } = translator.target;
  const never = [...new Set([pad, begin])].filter((id) => id !== end);
  const memory = model.encode(sourceIds);
  let live = [{ ids: [], total: 0, state: model.start() }];
  let best = { ids: [], total: -Infinity };
  for (let length = 1; length <= maxLength; length++) {
    const candidates = live.flatMap(({ ids, total, state }) => {
      const next = model.step(ids.at(-1) ?? begin, state, memory);
      const logs = logSoftmax(next.logits, never);
      return bestOf(logs, 2 * beamSize).map((id) => ({ ids: [...ids, id], total: total + logs[id], state: next.state }));
    });
    candidates.sort((a, b) => b.total - a.total);
    for (const { ids, total } of candidates.slice(0, beamSize)) {
      const hasEnded = ids.at(-1) === end;
      if ((hasEnded || length === maxLength) && total > best.total) best = { ids: hasEnded ? ids.slice(0, -1) : ids, total };
    }
    live = candidates.filter(({ ids }) => ids.at(-1) !== end).slice(0, beamSize);
    if (!live.length || best.total >= live[0].total) break;
  }
  return best;
}
