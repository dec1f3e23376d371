// The search, the menus, the legend, and what pointer and keys do.
function control(name, node) { return el("label", {}, name, node); }
function options(names) { return names.map((name, k) => el("option", { value: String(k) }, name)); }

function searchBox() {
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const folded = data.labels.map((label, i) => fold(data.raw_labels ? label + "\n" + data.raw_labels[i] : label));
  const list = el("ul", { className: "matches", role: "listbox", id: "matches", hidden: true, ariaLabel: "Items found" });
  const status = el("span", { className: "unseen", role: "status" });
  let found = [], active = -1;
  const input = el("input", { type: "search", id: "search", autocomplete: "off", placeholder: "label of an item", dir: "auto", role: "combobox", "aria-controls": "matches", "aria-expanded": "false" });
  function close() { list.hidden = true; state.lit = -1; redraw(); input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); }
  function pick(i) { input.value = data.labels[i]; state.found = []; close(); choose(i, true); }
  function light(k) {
    active = k;
    state.lit = k < 0 ? -1 : found[k];
    redraw();
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === k)));
    if (k >= 0) input.setAttribute("aria-activedescendant", "match-" + k);
  }
  function look() {
    const text = fold(input.value.trim());
    const rank = (i) => (folded[i] === text ? 0 : folded[i].startsWith(text) ? 1 : folded[i].includes(" " + text) ? 2 : 3);
    found = text ? folded.flatMap((label, i) => (label.includes(text) ? [i] : [])).sort((a, b) => rank(a) - rank(b) || a - b) : [];
    state.found = found.slice(0, 200);
    list.replaceChildren(...found.slice(0, 8).map((i, k) => el("li", { role: "option", dir: "auto", id: "match-" + k, "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); pick(i); } } }, data.labels[i] || "(no label)")));
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
    const shown = list.hidden ? 0 : Math.min(found.length, 8);
    if (event.key === "Enter" && active >= 0) pick(found[active]);
    else if (event.key === "Escape") { if (!input.value) choose(-1); input.value = ""; look(); }
    else if (shown && (event.key === "ArrowDown" || event.key === "ArrowUp")) { event.preventDefault(); light((active + (event.key === "ArrowDown" ? 1 : shown - 1)) % shown); }
  });
  return el("label", { className: "search" }, "Find an item", input, list, status);
}

function colourMenu() {
  const columns = [...data.columns];
  if (data.sure) columns.unshift({ name: "standard error", numbers: data.sure.errors });
  if (hasTriplets) columns.unshift({ name: "triplets", numbers: data.triplets });
  if (hasAccuracy) columns.unshift({ name: "accuracy", numbers: data.accuracy, isAccuracy: true });
  if (!columns.length) return null;
  const menu = el("select", { id: "colour" }, ...options(["one colour", ...columns.map((column) => column.name)]));
  const first = data.columns.find((column) => column.name === data.colour) || columns.find((column) => column.name === data.colour);
  menu.value = String(columns.indexOf(first) + 1);
  state.colour = first || null;
  menu.addEventListener("change", () => { state.colour = columns[menu.value - 1] || null; repaint(); legend(); });
  return control("Colour by", menu);
}

// One menu for each axis; the dimension of one goes to the other rather than being shown twice.
function axisMenus() {
  const menus = ["Across", "Up"].map((name, axis) => {
    const menu = el("select", { id: name.toLowerCase() }, ...options(data.points.map((_, k) => `dimension ${k + 1}`)));
    menu.addEventListener("change", () => {
      const other = 1 - axis, wanted = Number(menu.value);
      if (state.dims[other] === wanted) state.dims[other] = state.dims[axis];
      state.dims[axis] = wanted;
      show();
      fit();
    });
    return menu;
  });
  const show = () => menus.forEach((menu, axis) => { menu.value = String(state.dims[axis]); });
  show();
  return menus.map((menu, axis) => control(["Across", "Up"][axis], menu));
}

function tick(name, key) {
  const box = el("input", { type: "checkbox", checked: state[key], id: "show-" + key });
  box.addEventListener("change", () => { state[key] = box.checked; redraw(); });
  return el("label", { className: "tick" }, box, name);
}

// Beside the map, not on it, where they would hide items.
function zoomButtons() {
  const button = (text, name, act) => el("button", { type: "button", title: name, ariaLabel: name, on: { click: act } }, text);
  return el("div", { className: "zoom", id: "zoom" },
    button("+", "Zoom in", () => zoomAt(1.5, width / 2, height / 2)),
    button("\u2212", "Zoom out", () => zoomAt(1 / 1.5, width / 2, height / 2)),
    button("All", "Show all", fit));
}

function controls() {
  const parts = [searchBox(), colourMenu(), ...(d > 2 ? axisMenus() : []), tick("Labels", "labels")];
  if (Object.keys(data.images).length) parts.push(tick("Pictures", "pictures"));
  if (data.sure && data.sure.covariance) parts.push(tick(d === 1 ? "Error bars" : "Ellipses", "ellipses"));
  byId("map-bar").append(...parts.filter(known), zoomButtons());
}

// ---- what the colours mean
function swatch([colour, shape]) {
  const picture = el("canvas", { className: "swatch", width: 28, height: 28, ariaHidden: "true", tabIndex: -1 });
  const context = picture.getContext("2d");
  context.fillStyle = colour;
  mark(context, shape, 14, 14, 10);
  context.fill();
  return picture;
}
const entry = (look, name, size) => el("span", { className: "entry", title: name }, swatch(look), el("span", { className: "name", dir: "auto" }, name), el("span", { className: "note" }, count(size)));

function categoryLegend(column) {
  const sizes = new Array(column.names.length).fill(0);
  for (const code of column.codes) if (code >= 0) sizes[code]++;
  const parts = column.names.slice(0, column.n_named).map((name, code) => entry(categoryLook(column, code), name, sizes[code]));
  const more = column.names.length - column.n_named;
  if (more) {
    parts.push(entry(categoryLook(column, column.n_named), `${count(more)} others`, sizes.slice(column.n_named).reduce((a, b) => a + b)));
    parts.push(el("span", { className: "note" }, `Only the commonest ${column.n_named} of ${count(column.names.length)} have a colour of their own.`));
  }
  return parts;
}

function numberLegend(column) {
  const { low, high } = paints, text = column.isAccuracy ? percent : number;
  if (!(low <= high)) return [];
  const strip = el("span", { className: "strip", ariaHidden: "true" });
  strip.style.background = `linear-gradient(90deg,${VIRIDIS.join(",")})`;
  const parts = low < high ? [text(low), strip, text(high)] : [entry([ramp(0), "o"], text(low), column.numbers.filter(known).length)];
  if (!column.isAccuracy) return parts;
  for (const level of [CHANCE, data.ceiling].filter((v) => known(v) && low < v && v < high)) {
    const mark = el("span", { className: "chance" });
    mark.style.left = `${(100 * (level - low)) / (high - low)}%`;
    strip.append(mark);
  }
  return [...parts, el("span", { className: "note" }, `(${LEVELS})`)];
}

function legend() {
  const host = byId("legend"), column = state.colour;
  host.replaceChildren();
  if (!column) return;
  const missing = column.codes ? column.codes.filter((code) => code < 0) : column.numbers.filter((v) => !known(v));
  host.append(el("strong", { dir: "auto" }, column.name), ...(column.codes ? categoryLegend(column) : numberLegend(column)));
  if (missing.length) host.append(entry([data.palette.grey, "o"], "unknown", missing.length));
}

// ---- pointer and keys
function pointers() {
  const down = new Map();
  let moved = 0;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const reach = (event) => (event.pointerType === "touch" ? 26 : 16);
  const hover = (i, at) => { if (i !== state.hover) { state.hover = i; redraw(); } canvas.classList.toggle("pointing", i >= 0); showTooltip(i, ...at); };
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); down.set(event.pointerId, place(event)); moved = 0; });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event), last = down.get(event.pointerId);
    if (!last) { hover(itemAt(...at, reach(event)), at); return; }
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
    if (event.type === "pointerup" && down.size === 1 && moved <= 4) {
      const i = itemAt(...at, reach(event));
      choose(i, false);
      hover(event.pointerType === "touch" ? -1 : i, at);
    }
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
    const acts = {
      ArrowLeft: () => move(50, 0), ArrowRight: () => move(-50, 0), ArrowUp: () => move(0, 50), ArrowDown: () => move(0, -50),
      "+": () => zoomAt(1.3, ...middle), "=": () => zoomAt(1.3, ...middle), "-": () => zoomAt(1 / 1.3, ...middle),
      0: fit, Home: fit, Escape: () => choose(-1),
    };
    if (acts[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); acts[event.key](); }
  });
}
