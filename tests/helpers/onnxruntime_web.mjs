// Greedy search in onnxruntime-web (WebAssembly): node onnxruntime_web.mjs NODE_MODULES FOLDER < asked.json > ids.json
//
// asked: { begin, end, never, sources: [[id, ...], ...], most }; the graphs are those that a browser would load.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, folder] = process.argv.slice(2);
const from = createRequire(path.join(modules, "here.js"));
const ort = await import(pathToFileURL(from.resolve("onnxruntime-web")));
ort.env.wasm.numThreads = 1;
const open = (name) =>
  ort.InferenceSession.create(fs.readFileSync(path.join(folder, `${name}.onnx`)), { executionProviders: ["wasm"] });
const [encoder, decoder] = [await open("encoder_model"), await open("decoder_model_merged")];
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const integers = (ids) => new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]);

async function greedy(source) {
  const mask = integers(source.map(() => 1));
  const { last_hidden_state } = await encoder.run({ input_ids: integers(source), attention_mask: mask });
  const always = { encoder_hidden_states: last_hidden_state, encoder_attention_mask: mask };
  const written = [];
  let past = {};
  for (const { name, shape } of decoder.inputMetadata) {
    if (!name.startsWith("past_key_values")) continue;
    past[name] = new ort.Tensor("float32", new Float32Array(0), [1, shape[1], 0, shape[3]]);
  }
  while (written.length < asked.most) {
    const use_cache_branch = new ort.Tensor("bool", [written.length > 0], [1]);
    const input_ids = integers([written.at(-1) ?? asked.begin]);
    const { logits, ...present } = await decoder.run({ ...always, ...past, input_ids, use_cache_branch });
    const best = Array.from(logits.data).reduce(
      (a, value, id, all) => (asked.never.includes(id) || value <= (all[a] ?? -Infinity) ? a : id),
      -1,
    );
    written.push(best);
    if (best === asked.end) break;
    past = Object.fromEntries(Object.entries(present).map(([name, value]) => [name.replace("present", "past_key_values"), value]));
  }
  return written;
}

const found = [];
for (const source of asked.sources) found.push(await greedy(source));
console.log(JSON.stringify(found));
