const byId = (id) => document.getElementById(id);
const hasAccuracy = data.accuracy !== null, hasTriplets = data.triplets !== null;

// ---- what is known of an item
function itemFacts(i) {
  const facts = [];
  if (hasAccuracy) facts.push(["accuracy", percent(data.accuracy[i])]);
  if (hasTriplets) facts.push(["triplets", count(data.triplets[i])]);
  for (const column of data.columns) facts.push([column.name, columnText(column, i)]);
  return facts;
}
const columnText = (column, i) => (column.numbers ? number(column.numbers[i]) : column.codes[i] < 0 ? "unknown" : column.names[column.codes[i]]);
const pictureNode = (i) => (data.images[i] ? el("img", { src: data.images[i], alt: "" }) : null);
const isPlaced = (i) => known(data.points[0][i]);

const clip = (text, most) => (text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text);

function showTooltip(i, px, py) {
  const tip = byId("tooltip");
  tip.hidden = i < 0 || i === state.chosen; // the pane beside the map tells more
  if (tip.hidden) return;
  const near = neighbours(i, 3).map((j) => clip(data.labels[j], 23));
  const facts = [...itemFacts(i), ...(near.length ? [["nearest", near.join("\n")]] : [])];
  tip.replaceChildren(el("strong", {}, data.labels[i]), ...[pictureNode(i)].filter(known), pairs(facts));
  const left = px + 18 + tip.offsetWidth > width ? Math.max(4, px - 14 - tip.offsetWidth) : px + 18;
  tip.style.left = left + "px";
  tip.style.top = Math.max(4, Math.min(py + 14, height - tip.offsetHeight - 4)) + "px";
}

function choose(i, centre) {
  state.chosen = i;
  const pane = byId("item");
  if (i < 0) {
    pane.replaceChildren(el("p", { className: "note" }, "Choose an item on the map, by search or from the table, to see its neighbours."));
  } else {
    const near = isPlaced(i) ? neighbours(i, 8) : [];
    pane.replaceChildren(
      el("strong", {}, data.labels[i]), ...[pictureNode(i)].filter(known), pairs(itemFacts(i)),
      isPlaced(i) ? el("h3", {}, "Nearest items") : el("p", {}, "This item has no place in the map: no comparison tells where it is."),
      el("ol", {}, ...near.map((j) => el("li", {}, itemButton(j)))));
    if (centre && isPlaced(i)) {
      const [x, y] = screen(i);
      if (state.view.scale < fitted * 1.5 && placed.length > 300) state.view.scale = fitted * 3;
      if (state.view.scale > fitted * 1.2 || x < 0 || y < 0 || x > width || y > height) Object.assign(state.view, { x: coordinate(0, i), y: coordinate(1, i) });
    }
  }
  redraw();
}
const itemButton = (i) => el("button", { type: "button", className: "link", on: { click: () => choose(i, true) } }, data.labels[i] || "(no label)");

// ---- controls
function control(name, node) { return el("label", {}, name, node); }
function options(names) { return names.map((name, k) => el("option", { value: String(k) }, name)); }

function searchBox() {
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const folded = data.labels.map(fold);
  const list = el("ul", { className: "matches", role: "listbox", id: "matches", hidden: true, ariaLabel: "Items found" });
  const status = el("span", { className: "unseen", role: "status" });
  let found = [], active = -1;
  const input = el("input", { type: "search", id: "search", autocomplete: "off", placeholder: "label of an item", role: "combobox", "aria-controls": "matches", "aria-expanded": "false" });
  function close() { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); }
  function pick(i) { input.value = data.labels[i]; state.found = []; close(); choose(i, true); }
  function light(k) {
    active = k;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === k)));
    if (k >= 0) input.setAttribute("aria-activedescendant", "match-" + k);
  }
  function look() {
    const text = fold(input.value.trim());
    const rank = (i) => (folded[i] === text ? 0 : folded[i].startsWith(text) ? 1 : folded[i].includes(" " + text) ? 2 : 3);
    found = text ? folded.flatMap((label, i) => (label.includes(text) ? [i] : [])).sort((a, b) => rank(a) - rank(b) || a - b) : [];
    state.found = found.slice(0, 200);
    list.replaceChildren(...found.slice(0, 8).map((i, k) => el("li", { role: "option", id: "match-" + k, "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); pick(i); } } }, data.labels[i])));
    if (found.length > 8) list.append(el("li", { className: "note", role: "presentation" }, `and ${count(found.length - 8)} more`));
    if (text && !found.length) list.append(el("li", { className: "note", role: "presentation" }, "No item has this in its label"));
    list.hidden = !text;
    input.setAttribute("aria-expanded", String(Boolean(text)));
    status.textContent = text ? `${count(found.length)} items found` : "";
    light(found.length ? 0 : -1);
    redraw();
  }
  input.addEventListener("input", look);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const shown = Math.min(found.length, 8);
    if (event.key === "Enter" && active >= 0) pick(found[active]);
    else if (event.key === "Escape") { input.value = ""; look(); }
    else if (shown && (event.key === "ArrowDown" || event.key === "ArrowUp")) { event.preventDefault(); light((active + (event.key === "ArrowDown" ? 1 : shown - 1)) % shown); }
  });
  return el("label", { className: "search" }, "Find an item", input, list, status);
}

function controls() {
  const bar = byId("map-bar");
  bar.append(searchBox());
  const columns = [...data.columns];
  if (hasTriplets) columns.unshift({ name: "triplets", numbers: data.triplets });
  if (hasAccuracy) columns.unshift({ name: "accuracy", numbers: data.accuracy, share: true });
  if (columns.length) {
    const pick = el("select", { id: "colour" }, ...options(["one colour", ...columns.map((column) => column.name)]));
    pick.addEventListener("change", () => { state.colour = columns[pick.value - 1] || null; draw(); legend(); });
    bar.append(control("Colour by", pick));
    if (data.columns.length) { pick.value = String(columns.length - data.columns.length + 1); state.colour = data.columns[0]; }
  }
  if (d > 2) {
    ["Across", "Up"].forEach((name, axis) => {
      const pick = el("select", { id: name.toLowerCase() }, ...options(data.points.map((_, k) => `dimension ${k + 1}`)));
      pick.value = String(state.dims[axis]);
      pick.addEventListener("change", () => { state.dims[axis] = Number(pick.value); fit(); });
      bar.append(control(name, pick));
    });
  }
  const tick = (name, key) => {
    const box = el("input", { type: "checkbox", checked: true, id: "show-" + key });
    box.addEventListener("change", () => { state[key] = box.checked; redraw(); });
    bar.append(el("label", { className: "tick" }, box, name));
  };
  tick("Labels", "labels");
  if (Object.keys(data.images).length) tick("Pictures", "pictures");
  const button = (text, name, act) => el("button", { type: "button", title: name, ariaLabel: name, on: { click: act } }, text);
  byId("zoom").append(
    button("+", "Zoom in", () => zoomAt(1.5, width / 2, height / 2)),
    button("\u2212", "Zoom out", () => zoomAt(1 / 1.5, width / 2, height / 2)),
    button("All", "Show all", fit));
}

function legend() {
  const host = byId("legend"), column = state.colour;
  host.replaceChildren();
  if (!column) return;
  host.append(el("strong", {}, column.name));
  const swatch = ([colour, shape]) => {
    const picture = el("canvas", { width: 28, height: 28, ariaHidden: "true", tabIndex: -1 });
    picture.style.cssText = "width:14px;height:14px;border:0;border-radius:0;cursor:default";
    const context = picture.getContext("2d");
    context.fillStyle = colour;
    mark(context, shape, 14, 14, 10);
    context.fill();
    return picture;
  };
  if (column.codes) {
    column.names.forEach((name, code) => host.append(el("span", {}, swatch(categoryLook(column, code)), name)));
    if (column.codes.includes(-1)) host.append(el("span", {}, swatch([data.palette.grey, "o"]), "unknown"));
    return;
  }
  const text = column.share ? percent : number, strip = el("span", { ariaHidden: "true" });
  strip.style.cssText = `width:11rem;height:.7rem;background:linear-gradient(90deg,${VIRIDIS.join(",")})`;
  if (known(paints.low) && paints.low <= paints.high) host.append(text(paints.low), strip, text(paints.high));
  if (column.numbers.some((v) => !known(v))) host.append(el("span", {}, swatch([data.palette.grey, "o"]), "unknown"));
}

// ---- pointer and keys
function pointers() {
  const down = new Map();
  let moved = 0;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const hover = (i, at) => { if (i !== state.hover) { state.hover = i; redraw(); } canvas.classList.toggle("pointing", i >= 0); showTooltip(i, ...at); };
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); down.set(event.pointerId, place(event)); moved = 0; });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event), last = down.get(event.pointerId);
    if (!last) { hover(itemAt(...at), at); return; }
    const others = [...down].filter(([id]) => id !== event.pointerId).map(([, where]) => where);
    moved += Math.hypot(at[0] - last[0], at[1] - last[1]);
    if (moved > 4) hover(-1, at);
    if (others.length) {
      const [other] = others, apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      zoomAt(apart(at) / apart(last), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
    }
    const share = others.length ? 0.5 : 1;
    move((at[0] - last[0]) * share, (at[1] - last[1]) * share);
    down.set(event.pointerId, at);
  });
  const release = (event) => {
    const at = place(event);
    if (event.type === "pointerup" && down.size === 1 && moved <= 4) { choose(itemAt(...at), false); hover(event.pointerType === "touch" ? -1 : itemAt(...at), at); }
    down.delete(event.pointerId);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(-1, [0, 0]));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    zoomAt(Math.exp(-Math.max(-300, Math.min(300, event.deltaY * unit)) / 400), ...place(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const middle = [width / 2, height / 2];
    const acts = { ArrowLeft: () => move(50, 0), ArrowRight: () => move(-50, 0), ArrowUp: () => move(0, 50), ArrowDown: () => move(0, -50), "+": () => zoomAt(1.3, ...middle), "=": () => zoomAt(1.3, ...middle), "-": () => zoomAt(1 / 1.3, ...middle), 0: fit, Home: fit, Escape: () => choose(-1) };
    if (acts[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); acts[event.key](); }
  });
}

// ---- the other sections
function section(id, title, ...children) {
  const heading = el("h2", { id: id + "-heading" }, title);
  document.querySelector("main").append(el("section", { id, "aria-labelledby": id + "-heading" }, heading, ...children));
}

function tiles() {
  const tile = (value, name) => byId("tiles").append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  const held = data.held_out, missing = n - placed.length;
  if (held) tile(percent(held.accuracy), ["of held-out triplets predicted", held.n_triplets === undefined ? "" : ` (${count(held.n_triplets)})`, ...held.more.map(([name, value]) => `; ${name} ${value}`)].join(""));
  tile(count(n), "items" + (missing ? `, ${count(missing)} of them without a place` : ""));
  tile(count(d), d === 1 ? "dimension" : "dimensions");
  if (data.participants.length) tile(count(data.participants.length), "participants");
  const grave = data.problems.filter(([severity]) => severity !== "note").length;
  if (grave) tile(count(grave), grave === 1 ? "problem in the data" : "problems in the data");
}

function itemsSection() {
  const columns = [{ name: "item", value: (i) => data.labels[i], node: itemButton }];
  const numeric = (name, values, text) => columns.push({ name, value: (i) => values[i], text: (i) => text(values[i]), isNumber: true });
  if (hasAccuracy) numeric("accuracy", data.accuracy, percent);
  if (hasTriplets) numeric("triplets", data.triplets, count);
  for (const column of data.columns) columns.push({ name: column.name, value: (i) => (column.numbers ? column.numbers[i] : column.codes[i] < 0 ? null : column.names[column.codes[i]]), text: (i) => columnText(column, i), isNumber: Boolean(column.numbers) });
  const title = hasAccuracy ? "Share of the triplets of an item that the map gets right. Choose an item to see it on the map." : "Choose an item to see it on the map.";
  const list = table(columns, n, title, hasAccuracy ? 1 : 0, 20);
  section("items", hasAccuracy ? "Accuracy per item" : "Items", hasAccuracy ? el("div", { className: "side" }, list, histogram(data.accuracy, "items")) : list);
}

function participantsSection() {
  const people = data.participants;
  if (!people.length) return;
  const list = table([
    { name: "participant", value: (k) => people[k].participant, text: (k) => people[k].participant },
    { name: "accuracy", value: (k) => people[k].accuracy, text: (k) => percent(people[k].accuracy), isNumber: true },
    { name: "triplets", value: (k) => people[k].triplets, text: (k) => count(people[k].triplets), isNumber: true },
  ], people.length, "Share of a participant's triplets that the map agrees with. Near 50%, the answers may be guesses.", 1, 20);
  section("participants", "Accuracy per participant", el("div", { className: "side" }, list, histogram(people.map((person) => person.accuracy), "participants")));
}

function dataSection() {
  if (!data.problems.length && !data.summary.length) return;
  const problems = data.problems.map(([severity, message, remedy]) => el("li", { className: ["error", "warning"].includes(severity) ? severity : "note-mark" },
    el("span", { className: "severity" }, severity), message, remedy ? el("div", { className: "note" }, remedy) : null));
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
  for (const part of document.querySelectorAll("main > section")) byId("contents").append(el("a", { href: "#" + part.id }, part.querySelector("h2").textContent));
}

byId("map-hint").textContent = d === 1
  ? "Items that people called alike lie near each other. The map has one dimension, across: up and down only keep items apart."
  : "Items that people called alike lie near each other. Only distances have a meaning: turned, mirrored or enlarged, it is the same map." + (d > 2 ? ` Two of ${d} dimensions are seen at a time; neighbours count all of them.` : "");
tiles();
controls();
pointers();
choose(-1);
itemsSection();
participantsSection();
if (data.history.filter(known).length > 1) section("convergence", "Convergence", curve(data.history));
dataSection();
factsSection();
contents();
new ResizeObserver(resize).observe(canvas);
resize();
legend();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { draw(); legend(); });
// Paper is white: print the light colours.
addEventListener("beforeprint", () => { document.documentElement.dataset.print = "1"; draw(); });
addEventListener("afterprint", () => { delete document.documentElement.dataset.print; resize(); draw(); });
// For the console and for tests.
window.ordinate = { screen: (i) => { const box = canvas.getBoundingClientRect(), [x, y] = screen(i); return [box.left + x, box.top + y]; }, state };
