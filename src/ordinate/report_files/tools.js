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
const percent = (value) => (known(value) ? (100 * value).toFixed(1) + "%" : "unknown");
const count = (value) => (known(value) ? value.toLocaleString("en-GB") : "unknown");
function number(value) {
  if (!known(value)) return "unknown";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(2) : String(+value.toPrecision(4));
}

function pairs(entries) {
  return el("dl", {}, ...entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function ticks(low, high, most) {
  const raw = (high - low) / most || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((size) => size >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(+(k * step).toPrecision(12));
  return found;
}

// A chart's empty frame: returns the SVG and the scales from values to pixels.
function frame(x, y, xName, yName, xText, yText) {
  const [width, height, left, right, top, bottom] = [440, 230, 58, 24, 30, 38];
  const sx = (v) => left + ((v - x[0]) / (x[1] - x[0] || 1)) * (width - left - right);
  const sy = (v) => height - bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (height - top - bottom);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  chart.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: sy(y[0]), y2: sy(y[0]) }));
  for (const v of ticks(x[0], x[1], 6)) chart.append(svg("text", { x: sx(v), y: height - bottom + 14, "text-anchor": "middle" }, xText(v)));
  for (const v of ticks(y[0], y[1], 4)) {
    chart.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: sy(v), y2: sy(v), opacity: 0.5 }));
    chart.append(svg("text", { x: left - 6, y: sy(v) + 4, "text-anchor": "end" }, yText(v)));
  }
  chart.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, xName));
  chart.append(svg("text", { x: 2, y: 11 }, yName));
  return [chart, sx, sy];
}

function histogram(values, what) {
  const found = values.filter(known);
  if (!found.length) return el("p", { className: "note" }, "No accuracy is known.");
  const least = smallest(found), mean = found.reduce((a, b) => a + b) / found.length;
  const low = Math.min(0.5, Math.floor(least * 20) / 20);
  const bins = Math.round((1 - low) * 40);
  const counts = new Array(bins).fill(0);
  for (const v of found) counts[Math.min(bins - 1, Math.floor(((v - low) / (1 - low)) * bins + 1e-9))]++;
  const [chart, sx, sy] = frame([low, 1], [0, Math.max(...counts)], "accuracy", what, (v) => Math.round(100 * v) + "%", (v) => (Number.isInteger(v) ? count(v) : ""));
  counts.forEach((k, b) => {
    const x = sx(low + (b * (1 - low)) / bins);
    const wide = sx(low + ((b + 1) * (1 - low)) / bins) - x - 1;
    chart.append(svg("rect", { class: "bars", x, y: sy(k), width: Math.max(wide, 0.5), height: sy(0) - sy(k) }));
  });
  chart.append(svg("line", { class: "mean", x1: sx(mean), x2: sx(mean), y1: 18, y2: sy(0) }));
  chart.append(svg("text", { class: "mean-text", x: sx(mean), y: 12, "text-anchor": "middle" }, `mean ${percent(mean)}`));
  const text = `${count(found.length)} ${what}: accuracy from ${percent(least)} to ${percent(largest(found))}, mean ${percent(mean)}. Tossing a coin gives 50%.`;
  chart.setAttribute("aria-label", text);
  return el("figure", {}, chart, el("figcaption", {}, text));
}

function curve(history) {
  const values = history.filter(known), [least, most] = [smallest(values), largest(values)], step = (most - least) / 4 || 1;
  const marks = ticks(least - step, most + step, 6), low = marks.filter((v) => v <= least).pop(), high = marks.find((v) => v >= most);
  const [chart, sx, sy] = frame([0, Math.max(history.length - 1, 1)], [low ?? least, high ?? most], "iteration", "value of the loss", (v) => (Number.isInteger(v) ? count(v) : ""), number);
  chart.append(svg("polyline", { class: "curve", points: history.flatMap((v, k) => (known(v) ? [`${sx(k).toFixed(1)},${sy(v).toFixed(1)}`] : [])).join(" ") }));
  const last = history[history.length - 1];
  const text = `From ${number(history[0])} to ${number(last)} in ${count(history.length - 1)} iterations.`;
  chart.setAttribute("aria-label", `Loss by iteration. ${text}`);
  return el("figure", {}, chart, el("figcaption", {}, text));
}

// A sortable table, a page at a time. Columns: {name, value(row), text(row), isNumber, node(row)}.
function table(columns, n, title, sortBy, size) {
  const order = Array.from({ length: n }, (_, row) => row);
  let page = 0, sorted = sortBy, down = false;
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
  const parts = [el("div", { className: "scroll" }, el("table", {}, el("caption", {}, title), el("thead", {}, head), body))];
  if (n > size) parts.push(el("div", { className: "pager" }, before, where, after));
  return el("div", {}, ...parts);
}
