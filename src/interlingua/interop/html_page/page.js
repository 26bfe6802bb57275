// The page: what is typed, translated, and drawn. Text reaches the document as text only, never as markup.

function startPage() {
  const part = (id) => document.getElementById(id);
  const described = JSON.parse(part("model").textContent);
  const translator = new PageTranslator(described, bytesOfBase64(part("weights").textContent.trim()));
  part("weights").remove();
  part("beam").value = String(described.decoding.beam_size);
  fillLayers(part("layer"), described.architecture.decoder_layers);
  let newest = 0;
  let drawn = null;

  const redraw = () => {
    const layer = part("layer").value === "mean" ? null : Number(part("layer").value);
    if (drawn) drawHeatMap(part("heat-map"), drawn, layer);
    part("attention").hidden = !drawn?.tokens.length;
  };
  const choose = (button, translation) => {
    for (const other of part("results").querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
    drawn = translation;
    redraw();
  };
  const translateAll = async () => {
    const number = ++newest;
    const [beamSize, lengthPenalty] = [clamp(part("beam").value), described.decoding.length_penalty];
    part("beam").value = String(beamSize);
    const lines = part("source").value.split("\n");
    part("results").replaceChildren();
    drawn = null;
    redraw();
    const began = performance.now();
    for (const line of lines) {
      const button = addResult(part("results"));
      const pause = async (ids) => {
        button.firstChild.textContent = `${translator.target.decode(ids)} …`;
        await breathe();
        if (number !== newest) throw new Stopped();
      };
      const translation = await translator.translate(line, { beamSize, lengthPenalty, pause });
      if (number !== newest) throw new Stopped();
      button.firstChild.textContent = translation.text;
      button.disabled = !translation.tokens.length;
      button.addEventListener("click", () => choose(button, translation));
      if (translation.cut) note(button, `only the first ${described.max_length - 1} tokens were read`);
      if (!drawn && translation.tokens.length) choose(button, translation);
    }
    part("status").textContent = `${Math.round(performance.now() - began)} ms, ${beamSize === 1 ? "greedy" : `beam ${beamSize}`}`;
  };
  const run = async () => {
    part("status").textContent = "Translating …";
    try {
      await translateAll();
    } catch (error) {
      if (!(error instanceof Stopped)) part("status").textContent = `This cannot be translated: ${error.message}`;
    }
  };
  part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  part("source").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    run();
  });
  part("layer").addEventListener("change", redraw);
  part("translate").disabled = false;
  part("status").textContent = "Ready. Enter translates; Shift and Enter begin a new line.";
  part("source").focus();
}

class Stopped extends Error {}

function addResult(results) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(document.createElement("span"));
  const item = document.createElement("li");
  item.append(button);
  results.append(item);
  return button;
}

function note(button, words) {
  const text = document.createElement("small");
  text.textContent = words;
  button.append(text);
}

function fillLayers(select, count) {
  for (let n = 0; n < count; n++) select.add(new Option(`layer ${n + 1}`, String(n)));
}

function clamp(value) {
  return Math.min(16, Math.max(1, Math.round(Number(value)) || 1));
}

function breathe() {
  return new Promise((resolve) => setTimeout(resolve));
}

if (typeof document !== "undefined") startPage();
