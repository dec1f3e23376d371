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
  const [width, height, left, right, top, bottom] = [440, 244, 58, 24, 44, 38];
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
  const low = Math.max(0, Math.min(CHANCE - 0.05, Math.floor(least * 20) / 20));
  const bins = Math.round((1 - low) * 40);
  const counts = new Array(bins).fill(0);
  for (const v of found) counts[Math.min(bins - 1, Math.floor(((v - low) / (1 - low)) * bins + 1e-9))]++;
  const [chart, sx, sy] = frame([low, 1], [0, Math.max(...counts)], "accuracy", what, (v) => Math.round(100 * v) + "%", (v) => (Number.isInteger(v) ? count(v) : ""));
  counts.forEach((k, b) => {
    const x = sx(low + (b * (1 - low)) / bins);
    const wide = sx(low + ((b + 1) * (1 - low)) / bins) - x - 1;
    chart.append(svg("rect", { class: "bars", x, y: sy(k), width: Math.max(wide, 0.5), height: sy(0) - sy(k) }));
  });
  const upright = (share, name, text, top) => {
    const x = sx(share), place = x > sx(1) - 20 ? { x: sx(1) + 20, "text-anchor": "end" } : { x, "text-anchor": "middle" };
    chart.append(
      svg("line", { class: name, x1: x, x2: x, y1: top + 4, y2: sy(0) }),
      svg("text", { class: name + "-text", y: top, ...place }, text));
  };
  upright(CHANCE, "chance", "chance 50%", 28);
  if (known(data.ceiling)) upright(data.ceiling, "chance", `ceiling ${percent(data.ceiling)}`, 42);
  upright(mean, "mean", `mean ${percent(mean)}`, 12);
  const below = found.filter((v) => v <= CHANCE).length || "None";
  const text = `${count(found.length)} ${what}: accuracy from ${percent(least)} to ${percent(largest(found))}, mean ${besideChance(mean)}. ${below.toLocaleString("en-GB")} at or below chance.`;
  chart.setAttribute("aria-label", text);
  return el("figure", {}, chart, el("figcaption", {}, text));
}

// An accuracy on the scale from 0 to 1, with chance and ceiling marked.
function gauge(share) {
  const width = 150, x = (v) => v * width;
  return svg("svg", { class: "gauge", viewBox: `0 0 ${width} 26`, width, height: 26, role: "img", "aria-label": `accuracy ${besideChance(share)}` },
    svg("rect", { class: "track", x: 0, y: 2, width, height: 8 }),
    svg("rect", { class: "bars", x: 0, y: 2, width: x(share), height: 8 }),
    ...[CHANCE, data.ceiling].filter(known).map((v) => svg("line", { class: "chance", x1: x(v), x2: x(v), y1: 0, y2: 13 })),
    svg("text", { class: "chance-text", x: x(CHANCE), y: 24, "text-anchor": "middle" }, "chance 50%"));
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

// Shares that came true against the probabilities they were given: on the diagonal if all is well.
function reliability({ error, predicted, observed, counts }) {
  const shown = predicted.map((_, k) => k).filter((k) => known(predicted[k]) && known(observed[k]));
  const low = Math.min(CHANCE, Math.floor(20 * smallest(shown.map((k) => observed[k]))) / 20);
  const wholePercent = (v) => Math.round(100 * v) + "%";
  const [chart, sx, sy] = frame([low, 1], [low, 1], "predicted probability", "share that came true", wholePercent, wholePercent);
  chart.append(svg("line", { class: "chance", x1: sx(low), y1: sy(low), x2: sx(1), y2: sy(1) }));
  for (const k of shown) {
    const spread = 1.96 * Math.sqrt((predicted[k] * (1 - predicted[k])) / Math.max(counts[k], 1)), x = sx(predicted[k]);
    chart.append(svg("line", { class: "axis", x1: x, x2: x, y1: sy(Math.max(low, observed[k] - spread)), y2: sy(Math.min(1, observed[k] + spread)) }));
    chart.append(svg("circle", { class: "bars", cx: x, cy: sy(observed[k]), r: 3.5 }));
  }
  chart.append(svg("polyline", { class: "curve", points: shown.map((k) => `${sx(predicted[k]).toFixed(1)},${sy(observed[k]).toFixed(1)}`).join(" ") }));
  const text = `Of unseen answers given a probability, the share that came true; ${count(shown.length)} groups of ${count(counts[0])} triplets or so, with what chance may do to them. Mean distance from the diagonal: ${percent(error)}.`;
  chart.setAttribute("aria-label", text);
  return el("figure", {}, chart, el("figcaption", {}, text));
}
