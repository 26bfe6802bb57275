// Greedy and beam search for one sentence, as interlingua.decoding does it: the same rules, and the same ties.

// Returns { ids, score, ended, looked, logProbabilities } of the best target.
// options: beginId, endId, never (ids not written), beamSize, alpha, maxLength; pause() is awaited after every step.
async function beamSearch(model, sourceIds, options, pause) {
  const memory = model.encode(sourceIds);
  const first = { ids: [], total: 0, ended: false, logs: [], looked: [], state: model.start() };
  let slots = [first];
  for (;;) {
    slots = advance(model, memory, slots, options);
    if (isFinished(slots, options)) break;
    await pause?.(slots[0].ids);
  }
  const found = slots.filter((slot) => slot.ended).map((slot) => ({ ...slot, score: scoreOf(slot, options.alpha) }));
  if (!found.length) throw new Error("the model gives no probability to any symbol");
  const best = found.reduce((a, b) => (b.score > a.score ? b : a));
  const isWhole = best.ids.at(-1) === options.endId;
  return {
    ids: isWhole ? best.ids.slice(0, -1) : best.ids,
    score: best.score,
    ended: isWhole,
    looked: best.looked,
    logProbabilities: best.logs,
  };
}

// Continue every live slot by its best symbols; a slot that has ended keeps its place.
function advance(model, memory, slots, options) {
  const ended = slots.filter((slot) => slot.ended);
  const candidates = [];
  slots.forEach((slot, place) => {
    if (slot.ended) return;
    const { logits, state, looked } = model.step(slot.ids.at(-1) ?? options.beginId, slot.state, memory);
    const logs = logSoftmax(logits, options.never);
    for (const id of bestOf(logs, options.beamSize - ended.length)) {
      const worth = Math.fround(slot.total + logs[id]);
      if (worth > -Infinity) candidates.push({ slot, place, id, worth, log: logs[id], state, looked });
    }
  });
  candidates.sort((a, b) => b.worth - a.worth || a.place - b.place || a.id - b.id);
  const chosen = candidates.slice(0, options.beamSize - ended.length).map(({ slot, id, worth, log, state, looked }) => ({
    ids: [...slot.ids, id],
    total: worth,
    ended: id === options.endId || slot.ids.length + 1 >= options.maxLength,
    logs: [...slot.logs, log],
    looked: [...slot.looked, looked],
    state,
  }));
  return [...ended, ...chosen];
}

// Whether no live slot can still win: a sum of log-probabilities only falls.
function isFinished(slots, { alpha, maxLength }) {
  const live = slots.filter((slot) => !slot.ended);
  if (!live.length) return true;
  const toBeat = Math.max(-Infinity, ...slots.filter((slot) => slot.ended).map((slot) => scoreOf(slot, alpha)));
  const hope = live.map(({ total, ids }) =>
    Math.max(total / lengthPenalty(ids.length + 1, alpha), total / lengthPenalty(maxLength, alpha)),
  );
  return Math.max(...hope) <= toBeat;
}

function scoreOf({ total, ids }, alpha) {
  return total / lengthPenalty(ids.length, alpha);
}

// Wu et al. 2016, equation 14; the length counts the end symbol.
function lengthPenalty(length, alpha) {
  return ((5 + length) / 6) ** alpha;
}

function logSoftmax(logits, never) {
  let highest = -Infinity;
  for (const logit of logits) highest = Math.max(highest, logit);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - highest);
  const normaliser = highest + Math.log(total);
  const logs = Float32Array.from(logits, (logit) => logit - normaliser);
  for (const id of never) logs[id] = -Infinity;
  return logs;
}

// The ids of the k greatest values, ties to the lowest id.
function bestOf(values, k) {
  const best = [];
  for (let id = 0; id < values.length; id++) {
    if (best.length === k && !(values[id] > values[best[k - 1]])) continue;
    let place = best.length;
    while (place > 0 && values[id] > values[best[place - 1]]) place--;
    best.splice(place, 0, id);
    if (best.length > k) best.pop();
  }
  return best;
}
