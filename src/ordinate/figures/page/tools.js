const byId = (id) => document.getElementById(id);
// Every text from the data enters the page through `append` or `textContent`: never as HTML.
function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (key in node && key !== "list") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const known = (value) => value !== null && value !== undefined;
// Not Math.min(...values): there may be too many for a call.
const smallest = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const largest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const CHANCE = 0.5; // the share of triplets that tossing a coin gets right
const percent = (value) => (known(value) ? (100 * value).toFixed(1) + "%" : "unknown");
// What accuracy lies between: the ceiling, where it is known, is what any map can reach at most.
const LEVELS = `chance 50%${known(data.ceiling) ? `, ceiling ${percent(data.ceiling)}` : ""}`;
const besideChance = (value) => (known(value) ? `${percent(value)} (${LEVELS})` : "unknown");
const count = (value) => (known(value) ? value.toLocaleString("en-GB") : "unknown");
function number(value) {
  if (!known(value)) return "unknown";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(2) : String(+value.toPrecision(4));
}

function pairs(entries) {
  return el("dl", {}, ...entries.flatMap(([name, value]) => [el("dt", { dir: "auto" }, name), el("dd", { dir: "auto" }, value)]));
}

// A sortable table, a page at a time. Columns: {name, value(row), text(row), isNumber, node(row)}.
function table(columns, n, title, sortBy, size, fromTop = false) {
  const order = Array.from({ length: n }, (_, row) => row);
  let page = 0, sorted = sortBy, down = fromTop;
  const head = el("tr"), body = el("tbody");
  const where = el("span", { role: "status" });
  const turn = (step) => { page += step; show(); };
  const before = el("button", { type: "button", on: { click: () => turn(-1) } }, "Previous");
  const after = el("button", { type: "button", on: { click: () => turn(1) } }, "Next");
  const headers = columns.map((column, k) => {
    const press = () => { down = sorted === k ? !down : false; sorted = k; page = 0; sort(); };
    const cell = el("th", { scope: "col", className: column.isNumber ? "number" : "" }, el("button", { type: "button", on: { click: press } }, column.name));
    head.append(cell);
    return cell;
  });
  const words = new Intl.Collator("en", { numeric: true });
  function sort() {
    const { value } = columns[sorted], sign = down ? -1 : 1;
    order.sort((a, b) => {
      const p = value(a), q = value(b);
      if (!known(p) || !known(q)) return known(q) - known(p) || a - b; // the unknown come last
      return sign * (typeof p === "number" ? p - q : words.compare(p, q)) || a - b;
    });
    headers.forEach((cell, k) => cell.setAttribute("aria-sort", k !== sorted ? "none" : down ? "descending" : "ascending"));
    show();
  }
  function show() {
    const rows = order.slice(page * size, (page + 1) * size);
    body.replaceChildren(...rows.map((row) => el("tr", {}, ...columns.map((column) =>
      el("td", { className: column.isNumber ? "number" : "" }, column.node ? column.node(row) : column.text(row))))));
    where.textContent = `${count(page * size + 1)} to ${count(page * size + rows.length)} of ${count(n)}`;
    before.disabled = page === 0;
    after.disabled = (page + 1) * size >= n;
  }
  sort();
  // Not a caption, which would be as wide as the table and scroll with it.
  const parts = [el("p", { className: "hint" }, title), el("div", { className: "scroll" }, el("table", { ariaLabel: title }, el("thead", {}, head), body))];
  if (n > size) parts.push(el("div", { className: "pager" }, before, where, after));
  return el("div", {}, ...parts);
}
