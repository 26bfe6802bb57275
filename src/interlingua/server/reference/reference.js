// Shows /spec as a page: every route, what it takes, and what it may answer.

const spec = await (await fetch("/spec")).json();

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function table(head, rows) {
  const cells = (kind, row) => element("tr", "", ...row.map((text) => element(kind, text)));
  return element("table", "", element("thead", "", cells("th", head)), element("tbody", "", ...rows.map((row) => cells("td", row))));
}

function resolve(schema) {
  return schema.$ref ? spec.components.schemas[schema.$ref.split("/").at(-1)] : schema;
}

function kind(field) {
  if (field.anyOf) return field.anyOf.map(kind).join(" or ");
  if (field.const !== undefined) return JSON.stringify(field.const);
  if (field.enum) return field.enum.map((value) => JSON.stringify(value)).join(" or ");
  return field.items ? `list of ${kind(field.items)}` : (field.type ?? "anything");
}

const operations = document.getElementById("operations");
for (const [path, methods] of Object.entries(spec.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    operations.append(element("h2", `${method.toUpperCase()} ${path}`), element("p", operation.summary));
    const content = Object.values(operation.requestBody?.content ?? {})[0];
    if (content) {
      const schema = resolve(content.schema);
      const rows = Object.entries(schema.properties).map(([name, field]) => [
        name, kind(field), schema.required?.includes(name) ? "needed" : JSON.stringify(field.default ?? null), field.description ?? "",
      ]);
      operations.append(table(["field", "what", "default", ""], rows));
    }
  }
}
