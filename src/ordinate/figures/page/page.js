// ---- what is known of an item
function itemFacts(i, columns) {
  const facts = [];
  if (data.raw_labels) facts.push(["label", data.raw_labels[i]]);
  if (hasAccuracy) facts.push(["accuracy", besideChance(data.accuracy[i])]);
  if (hasTriplets) facts.push(["triplets", count(data.triplets[i])]);
  if (data.sure) facts.push(["standard error", errorText(i)]);
  for (const column of columns) facts.push([column.name, columnText(column, i)]);
  return facts;
}
const errorText = (i) => (known(data.sure.errors[i]) ? `${number(data.sure.errors[i])} (${percent(data.sure.errors[i] / data.sure.size)} of the map's size)` : "unknown");
const columnText = (column, i) => (column.numbers ? number(column.numbers[i]) : column.codes[i] < 0 ? "unknown" : column.names[column.codes[i]]);
const pictureNode = (i) => (data.images[i] ? el("img", { src: data.images[i], alt: "" }) : null);
const heading = (i) => el("strong", { dir: "auto" }, data.labels[i]);

function showTooltip(i, px, py) {
  const tip = byId("tooltip");
  tip.hidden = i < 0 || i === state.chosen; // the pane beside the map tells more
  if (tip.hidden) return;
  const near = neighbours(i, 3).map((j) => clip(data.labels[j], 23));
  const facts = [...itemFacts(i, data.columns.filter((column) => column === state.colour)), ...(near.length ? [["nearest", near.join("\n")]] : [])];
  tip.replaceChildren(heading(i), ...[pictureNode(i)].filter(known), pairs(facts));
  const w = tip.offsetWidth, h = tip.offsetHeight, sides = [];
  for (const top of [py + 14, py - 14 - h]) for (const left of [px + 18, px - 14 - w]) sides.push(pushInside([left, top, left + w, top + h]));
  const isClear = (box) => !overlap(box, [px - 8, py - 8, px + 8, py + 8]) && !(state.flag && overlap(box, state.flag));
  const [left, top] = sides.find(isClear) || sides[0];
  tip.style.left = left + "px";
  tip.style.top = top + "px";
}

function choose(i, centre) {
  state.chosen = i;
  const pane = byId("item"), hadFocus = pane.contains(document.activeElement);
  pane.replaceChildren(...(i < 0 ? [el("p", { className: "note" }, "Choose an item on the map, by search or from the table, to see its neighbours.")] : itemNodes(i)));
  pane.scrollTop = 0;
  if (hadFocus) pane.focus({ preventScroll: true }); // its button has gone
  if (i >= 0 && centre) showOnMap(i);
  redraw();
}

function itemNodes(i) {
  const near = isPlaced(i) ? neighbours(i, 8) : [];
  const nowhere = isPlaced(i) ? "No other item has a place in the map." : "This item has no place in the map: no comparison tells where it is.";
  return [
    heading(i), ...[pictureNode(i)].filter(known), pairs(itemFacts(i, data.columns)),
    ...(near.length ? [el("h3", {}, "Nearest items"), el("ol", {}, ...near.map((j) => el("li", {}, itemButton(j))))] : [el("p", {}, nowhere)])];
}

function showOnMap(i) {
  byId("stage").scrollIntoView({ block: "nearest" });
  if (!isPlaced(i)) return;
  const [x, y] = screen(i), view = state.view;
  if (view.scale < fitted * 1.5 && placed.length > 300) view.scale = fitted * 3;
  if (view.scale > fitted * 1.2 || x < 0 || y < 0 || x > width || y > height) Object.assign(view, { x: coordinate(0, i), y: coordinate(1, i) });
}
const itemButton = (i) => el("button", { type: "button", className: "link", dir: "auto", on: { click: () => choose(i, true) } }, data.labels[i] || "(no label)");

// ---- the other sections
function section(id, title, ...children) {
  const heading = el("h2", { id: id + "-heading" }, title);
  document.querySelector("main").append(el("section", { id, "aria-labelledby": id + "-heading" }, heading, ...children));
}

function tiles() {
  const tile = (value, name) => byId("tiles").appendChild(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  const held = data.held_out, missing = n - placed.length;
  if (held) {
    const more = [...(held.n_triplets === undefined ? [] : [["triplets", count(held.n_triplets)]]), ...held.more];
    const text = [`accuracy on held-out answers (${LEVELS})`, ...more.map(([name, value]) => `${name} ${value}`)].join("; ");
    const value = el("span", { className: "with-gauge" }, percent(held.accuracy), known(held.accuracy) ? gauge(held.accuracy) : null);
    tile(value, text).className = "headline";
  }
  tile(count(n), "items" + (missing ? `, ${count(missing)} of them without a place` : ""));
  tile(count(d), d === 1 ? "dimension" : "dimensions");
  if (data.participants.length) tile(count(data.participants.length), "participants");
  const grave = data.problems.filter(([severity]) => severity !== "note").length;
  if (grave) tile(count(grave), grave === 1 ? "problem in the data" : "problems in the data");
}

const ABOUT_CEILING = known(data.ceiling) ? " The ceiling is that of all answers together: some may lie above it." : "";
function itemsSection() {
  const columns = [{ name: "item", value: (i) => data.labels[i], node: itemButton }];
  const numeric = (name, values, text) => columns.push({ name, value: (i) => values[i], text: (i) => text(values[i]), isNumber: true });
  if (hasAccuracy) numeric(`accuracy (${LEVELS})`, data.accuracy, percent);
  if (hasTriplets) numeric("triplets", data.triplets, count);
  for (const column of data.columns) columns.push({ name: column.name, value: (i) => (column.numbers ? column.numbers[i] : column.codes[i] < 0 ? null : column.names[column.codes[i]]), text: (i) => columnText(column, i), isNumber: Boolean(column.numbers) });
  if (data.raw_labels) columns.push({ name: "label", value: (i) => data.raw_labels[i], text: (i) => data.raw_labels[i] });
  const title = hasAccuracy ? `Share of the triplets of an item that the map gets right; guessing gives 50%.${ABOUT_CEILING} Choose an item to see it on the map.` : "Choose an item to see it on the map.";
  const list = table(columns, n, title, hasAccuracy ? 1 : 0, 20);
  list.className = "items";
  if (!hasAccuracy) { section("items", "Items", list); return; }
  const chart = histogram(data.accuracy, "items");
  section("items", "Accuracy per item", ...(columns.length > 4 ? [chart, list] : [el("div", { className: "side" }, list, chart)]));
}

function sureSection() {
  if (!data.sure || !data.sure.told) return;
  const { told, size, errors, by_dimension: byDimension } = data.sure, shares = errors.map((error) => (known(error) ? error / size : null));
  const columns = [
    { name: "item", value: (i) => data.labels[i], node: itemButton },
    { name: "standard error, of the map's size", value: (i) => shares[i], text: (i) => percent(shares[i]), isNumber: true },
    { name: "in units of the map", value: (i) => errors[i], text: (i) => number(errors[i]), isNumber: true }];
  if (d > 1) byDimension.slice(0, 6).forEach((values, k) => columns.push({ name: `dimension ${k + 1}`, value: (i) => values[i], text: (i) => number(values[i]), isNumber: true }));
  const meaning = `The standard error of an item's place is the root of its mean squared distance from the true one; the map's size is that of the items from their centre.` + (data.sure.covariance ? ` ${d === 1 ? "Bars" : "Ellipses"} on the map hold the true places, each with 95% confidence.` : "");
  const doubt = data.sure.doubt ? problemNode("div", ["warning", data.sure.doubt, ""]) : null;
  section("sure", "How sure", doubt, el("p", {}, told), table(columns, n, meaning, 1, 10, true));
}

function participantsSection() {
  const people = data.participants;
  if (!people.length) return;
  const columns = [
    { name: "participant", value: (k) => people[k].participant, text: (k) => people[k].participant },
    { name: `accuracy (${LEVELS})`, value: (k) => people[k].accuracy, text: (k) => percent(people[k].accuracy), isNumber: true },
    { name: "triplets", value: (k) => people[k].triplets, text: (k) => count(people[k].triplets), isNumber: true },
  ];
  const isWeighed = "verdict" in people[0];
  if (isWeighed) {
    columns.push({ name: "lapse rate", value: (k) => people[k].lapse, text: (k) => percent(people[k].lapse), isNumber: true });
    columns.push({ name: "weight", value: (k) => people[k].weight, text: (k) => percent(people[k].weight), isNumber: true });
    columns.push({ name: "verdict", value: (k) => people[k].verdict, text: (k) => people[k].verdict });
  }
  const told = "Share of a participant's triplets that the map agrees with. Near 50%, the answers may be guesses." + ABOUT_CEILING + (isWeighed ? " The lapse rate is the estimated share of guesses; the weight is what an answer counts in the map." : "");
  const list = table(columns, people.length, told, 1, 20);
  const chart = histogram(people.map((person) => person.accuracy), "participants");
  section("participants", "Accuracy per participant", ...(isWeighed ? [chart, list] : [el("div", { className: "side" }, list, chart)]));
}

function problemNode(tag, [severity, message, remedy]) {
  return el(tag, { className: "problem " + (["error", "warning"].includes(severity) ? severity : "note-mark") },
    el("span", { className: "severity" }, severity), message, remedy ? el("div", { className: "note" }, remedy) : null);
}

function dataSection() {
  if (!data.problems.length && !data.summary.length) return;
  const problems = data.problems.map((problem) => problemNode("li", problem));
  const rows = data.summary.map(([name, value, note]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { className: "number" }, value), el("td", { className: "note" }, note)));
  section("data-check", "Data check",
    problems.length ? el("ul", { className: "problems" }, ...problems) : el("p", {}, "No problems were found."),
    rows.length ? el("div", { className: "scroll" }, el("table", { className: "plain" }, el("caption", {}, "What the data hold"), el("tbody", {}, ...rows))) : null);
}

function factsSection() {
  if (!data.facts.length) return;
  section("made", "How it was made", el("dl", { className: "facts" }, ...data.facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", { className: name === "command" ? "code" : "" }, value)])));
}

function contents() {
  for (const part of document.querySelectorAll("main section")) byId("contents").append(el("a", { href: "#" + part.id }, part.querySelector("h2").textContent));
}

byId("map-hint").textContent = d === 1
  ? "Items that people called alike lie near each other. The map has one dimension, across: up and down only keep items apart."
  : "Items that people called alike lie near each other. Only distances have a meaning: turned, mirrored or enlarged, it is the same map." + (d > 2 ? ` Two of ${d} dimensions are seen at a time; neighbours count all of them.` : "");
if (data.verdict) byId("verdict").append(problemNode("div", data.verdict));
tiles();
controls();
pointers();
choose(-1);
itemsSection();
sureSection();
participantsSection();
if (data.calibration) section("probabilities", "Probabilities", reliability(data.calibration));
if (data.history.filter(known).length > 1) section("convergence", "Convergence", curve(data.history));
dataSection();
factsSection();
contents();
repaint();
legend();
new ResizeObserver(resize).observe(canvas);
resize();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { repaint(); legend(); });
// Paper is white and has its own width: print the light colours, and a map drawn to fit.
function forPaper(isPaper) {
  if (isPaper) document.documentElement.dataset.print = "1";
  else delete document.documentElement.dataset.print;
  resize();
  repaint();
  legend();
}
addEventListener("beforeprint", () => forPaper(true));
addEventListener("afterprint", () => forPaper(false));
// For the console and for tests.
window.ordinate = { state, redraw, screen: (i) => { const box = canvas.getBoundingClientRect(), [x, y] = screen(i); return [box.left + x, box.top + y]; } };
