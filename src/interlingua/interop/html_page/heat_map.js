// Where the decoder looked, as a table: a row for each written token, a column for each token of the source.

// looked (T, N, S): weights of each step and layer; layer: one of them, or null for the mean of all
function drawHeatMap(table, { sourceTokens, tokens, looked }, layer) {
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  head.append(document.createElement("td"), ...sourceTokens.map((token) => headerCell(token, "col")));
  const body = table.createTBody();
  tokens.forEach((token, row) => {
    const line = body.insertRow();
    line.append(headerCell(token, "row"));
    weightsOf(looked[row], layer).forEach((weight, column) => {
      const cell = line.insertCell();
      cell.style.setProperty("--weight", `${Math.round(100 * weight)}%`);
      cell.title = `${shown(token)} looks at ${shown(sourceTokens[column])}: ${weight.toFixed(3)}`;
      const number = document.createElement("span");
      number.textContent = weight.toFixed(2).replace(/^0/, "");
      cell.append(number);
    });
  });
}

function weightsOf(layers, layer) {
  if (layer !== null) return Array.from(layers[layer]);
  return Array.from(layers[0], (_, place) => layers.reduce((total, one) => total + one[place], 0) / layers.length);
}

function headerCell(token, scope) {
  const cell = document.createElement("th");
  cell.scope = scope;
  const text = document.createElement("span");
  text.textContent = shown(token);
  cell.append(text);
  return cell;
}

function shown(token) {
  return token.replaceAll("\u2581", "\u00a0").trimEnd() || "\u2423";
}
