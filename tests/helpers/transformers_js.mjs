// Translate with transformers.js: node transformers_js.mjs NODE_MODULES FOLDER DTYPE < asked.json > texts.json
//
// asked: a list of [text, most tokens to write].

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, folder, dtype] = process.argv.slice(2);
const from = createRequire(path.join(modules, "here.js"));
const { env, pipeline } = await import(pathToFileURL(from.resolve("@huggingface/transformers")));
env.allowRemoteModels = false;
env.localModelPath = "/";
const translator = await pipeline("translation", path.resolve(folder), { dtype });
const written = [];
for (const [text, most] of JSON.parse(fs.readFileSync(0, "utf8"))) {
  const [{ translation_text }] = await translator(text, { max_new_tokens: most });
  written.push(translation_text);
}
console.log(JSON.stringify(written));
