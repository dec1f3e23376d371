// The interactive map. `data` holds columns of coordinates; items without a place are null there.
const VIRIDIS = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b"];
const canvas = document.getElementById("canvas");
const pen = canvas.getContext("2d");
const d = data.points.length, n = data.labels.length;
const hasAccuracy = data.accuracy !== null, hasTriplets = data.triplets !== null;
const isPlaced = (i) => known(data.points[0][i]);
const placed = [];
for (let i = 0; i < n; i++) if (isPlaced(i)) placed.push(i);
const state = { dims: [0, Math.min(1, d - 1)], view: { x: 0, y: 0, scale: 1 }, colour: null, labels: true, pictures: true, ellipses: Boolean(data.sure && data.sure.ellipses), hover: -1, chosen: -1, found: [], lit: -1, flag: null, written: [] };
let width = 0, height = 0, fitted = 1, waiting = false, paints = null, theme = null;
const pictures = new Map();

// On a line, height has no meaning: it only keeps items apart.
const lift = (i) => ((i * 0.61803) % 1 - 0.5) * 0.25 * spanOf(0);
const coordinate = (axis, i) => (d === 1 && axis === 1 ? lift(i) : data.points[state.dims[axis]][i]);
const spans = [];
function spanOf(k) {
  if (!spans[k]) spans[k] = placed.reduce(([a, b], i) => [Math.min(a, data.points[k][i]), Math.max(b, data.points[k][i])], [Infinity, -Infinity]);
  return spans[k][1] - spans[k][0];
}

function fit() {
  const ends = [0, 1].map((axis) => placed.reduce(([a, b], i) => [Math.min(a, coordinate(axis, i)), Math.max(b, coordinate(axis, i))], [Infinity, -Infinity]));
  const [x, y] = ends, margin = Math.min(60, width / 8);
  fitted = Math.min((width - 2 * margin) / (x[1] - x[0] || 1), (height - 2 * margin) / (y[1] - y[0] || 1));
  state.view = { x: (x[0] + x[1]) / 2, y: (y[0] + y[1]) / 2, scale: fitted };
  redraw();
}

function screen(i) {
  const { x, y, scale } = state.view;
  return [width / 2 + (coordinate(0, i) - x) * scale, height / 2 - (coordinate(1, i) - y) * scale];
}

function zoomAt(factor, px, py) {
  const view = state.view, scale = Math.min(Math.max(view.scale * factor, fitted / 4), fitted * 5000);
  view.x += (px - width / 2) * (1 / view.scale - 1 / scale);
  view.y -= (py - height / 2) * (1 / view.scale - 1 / scale);
  view.scale = scale;
  redraw();
}

function move(dx, dy) {
  state.view.x -= dx / state.view.scale;
  state.view.y += dy / state.view.scale;
  redraw();
}

function neighbours(i, most) {
  const squared = (j) => data.points.reduce((sum, axis) => sum + (axis[i] - axis[j]) ** 2, 0);
  const best = [];
  for (const j of placed) {
    if (j === i) continue;
    const far = squared(j);
    if (best.length === most && far >= best[most - 1][0]) continue;
    let k = best.length;
    while (k > 0 && best[k - 1][0] > far) k--;
    best.splice(k, 0, [far, j]);
    best.length = Math.min(best.length, most);
  }
  return best.map(([, j]) => j);
}

function ramp(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1), k = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const channel = (colour, c) => parseInt(colour.slice(1 + 2 * c, 3 + 2 * c), 16);
  return `rgb(${[0, 1, 2].map((c) => Math.round(channel(VIRIDIS[k], c) * (1 - place + k) + channel(VIRIDIS[k + 1], c) * (place - k))).join(",")})`;
}

// Colour and marker of every item under the chosen column.
function paintsOf(column) {
  if (!column) return { colour: () => theme.bar, marker: () => "o" };
  if (column.numbers) {
    const found = column.numbers.filter(known), low = smallest(found), high = largest(found);
    const colours = column.numbers.map((v) => (known(v) ? ramp((v - low) / (high - low || 1)) : data.palette.grey));
    return { colour: (i) => colours[i], marker: () => "o", low, high };
  }
  const looks = column.names.map((_, code) => categoryLook(column, code)), missing = categoryLook(column, -1);
  const look = (i) => looks[column.codes[i]] || missing;
  return { colour: (i) => look(i)[0], marker: (i) => look(i)[1] };
}

function categoryLook(column, code) {
  const { colours, markers, grey, other } = data.palette;
  if (code < 0) return [grey, "o"];
  if (code >= column.n_named) return [other, "o"];
  return [theme.dark ? lighter(colours[code]) : colours[code], markers[code % markers.length]];
}

// On a dark page, dark colours are mixed with white until they are seen.
function lighter(colour) {
  const rgb = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  const shine = (0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2]) / 255, share = shine < 0.45 ? (0.45 - shine) / (1 - shine) : 0;
  return `rgb(${rgb.map((v) => Math.round(v + share * (255 - v))).join(",")})`;
}

function mark(context, shape, x, y, r) {
  context.beginPath();
  if (shape === "s") context.rect(x - r * 0.88, y - r * 0.88, 1.76 * r, 1.76 * r);
  else if (shape === "^") { context.moveTo(x, y - 1.15 * r); context.lineTo(x + 1.1 * r, y + 0.85 * r); context.lineTo(x - 1.1 * r, y + 0.85 * r); context.closePath(); }
  else if (shape === "D") { context.moveTo(x, y - 1.2 * r); context.lineTo(x + 1.2 * r, y); context.lineTo(x, y + 1.2 * r); context.lineTo(x - 1.2 * r, y); context.closePath(); }
  else context.arc(x, y, r, 0, 2 * Math.PI);
}

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

// Colours change with the column and the page's scheme, not with every frame.
function repaint() {
  const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(name).trim();
  theme = { paper: read("--paper"), ink: read("--ink"), soft: read("--soft"), bar: read("--bar"), mark: read("--mark"), dark: read("--paper") !== "#ffffff" };
  paints = paintsOf(state.colour);
  if (width) draw();
}

function draw() {
  const density = window.devicePixelRatio || 1;
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.fillStyle = theme.paper;
  pen.fillRect(0, 0, width, height);
  const inside = [];
  for (const i of placed) {
    const [x, y] = screen(i);
    if (x > -30 && y > -30 && x < width + 30 && y < height + 30) inside.push([i, x, y]);
  }
  const zoomed = Math.sqrt(state.view.scale / fitted);
  const r = Math.min(6.5, Math.max(1.6, (90 / Math.sqrt(placed.length)) * Math.min(zoomed, 2.5)));
  const near = state.chosen >= 0 && isPlaced(state.chosen) ? neighbours(state.chosen, 5) : [];
  drawEllipses();
  drawLinks(near);
  const half = drawMarkers(inside, r);
  for (const i of state.found) ring(i, r + 4, theme.mark, 1);
  if (state.hover >= 0) ring(state.hover, Math.max(r, half) + 3, theme.ink, 1.5);
  if (state.lit >= 0) ring(state.lit, Math.max(r, half) + 4, theme.mark, 2.5);
  if (state.chosen >= 0) ring(state.chosen, Math.max(r, half) + 4, theme.mark, 2.5);
  drawLabels(inside, Math.max(r, half), near);
}

// A column of all items' covariances of two dimensions: the upper triangles are kept, row by row.
function covariances(k, l) {
  const [row, column] = k < l ? [k, l] : [l, k];
  return data.sure.covariance[row * d - (row * (row - 1)) / 2 + column - row];
}

// Where the true places are, each with 95% confidence: ellipses, or bars on a line.
function drawEllipses() {
  if (!state.ellipses || !data.sure || !data.sure.covariance) return;
  const [k, l] = state.dims, xx = covariances(k, k), yy = covariances(l, l), xy = covariances(k, l), size = data.sure.reach * state.view.scale;
  pen.lineWidth = 0.8;
  for (const i of placed) {
    if (!known(xx[i])) continue;
    const [x, y] = screen(i), mean = (xx[i] + yy[i]) / 2, gap = Math.hypot((xx[i] - yy[i]) / 2, xy[i]);
    const long = size * Math.sqrt(d === 1 ? xx[i] : mean + gap), short = size * Math.sqrt(Math.max(0, mean - gap));
    if (x + long < 0 || y + long < 0 || x - long > width || y - long > height) continue;
    pen.strokeStyle = pen.fillStyle = paints.colour(i);
    pen.beginPath();
    if (d === 1) { pen.moveTo(x - long, y); pen.lineTo(x + long, y); for (const end of [x - long, x + long]) { pen.moveTo(end, y - 4); pen.lineTo(end, y + 4); } }
    else pen.ellipse(x, y, long, short, -Math.atan2(2 * xy[i], xx[i] - yy[i]) / 2, 0, 2 * Math.PI);
    pen.globalAlpha = data.sure.fill;
    if (d > 1) pen.fill();
    pen.globalAlpha = 0.5;
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function ring(i, r, colour, line) {
  if (!isPlaced(i)) return;
  const [x, y] = screen(i);
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  mark(pen, "o", x, y, r);
  pen.stroke();
}

function drawLinks(near) {
  if (!near.length) return;
  const [x, y] = screen(state.chosen);
  pen.strokeStyle = theme.soft;
  pen.lineWidth = 0.8;
  for (const j of near) { pen.beginPath(); pen.moveTo(x, y); pen.lineTo(...screen(j)); pen.stroke(); }
}

// Returns half the side of the pictures, 0 without any.
function drawMarkers(inside, r) {
  const show = state.pictures && Object.keys(data.images).length > 0 && inside.length <= 600;
  const side = show ? Math.min(64, Math.max(14, 0.45 * Math.sqrt((width * height) / Math.max(inside.length, 1)))) : 0;
  pen.lineWidth = 0.7;
  pen.globalAlpha = inside.length > 3000 ? 0.6 : 1;
  for (const [i, x, y] of inside) {
    const picture = show && data.images[i] ? pictureOf(i) : null;
    if (picture && picture.complete && picture.naturalWidth) {
      const shrink = side / Math.max(picture.naturalWidth, picture.naturalHeight), w = picture.naturalWidth * shrink, h = picture.naturalHeight * shrink;
      pen.drawImage(picture, x - w / 2, y - h / 2, w, h);
      if (state.colour) { pen.strokeStyle = paints.colour(i); pen.lineWidth = 2; pen.strokeRect(x - w / 2, y - h / 2, w, h); pen.lineWidth = 0.7; }
      continue;
    }
    pen.fillStyle = paints.colour(i);
    if (r < 2) { pen.fillRect(x - r, y - r, 2 * r, 2 * r); continue; } // too small for a shape
    mark(pen, paints.marker(i), x, y, r);
    pen.fill();
    if (r > 2.5) { pen.strokeStyle = theme.paper; pen.stroke(); }
  }
  pen.globalAlpha = 1;
  return side / 2;
}

function pictureOf(i) {
  if (!pictures.has(i)) {
    const picture = new Image();
    picture.onload = redraw;
    picture.src = data.images[i];
    pictures.set(i, picture);
  }
  return pictures.get(i);
}

function itemAt(px, py, reach) {
  let best = -1, nearest = reach ** 2;
  for (const i of placed) {
    const [x, y] = screen(i), far = (x - px) ** 2 + (y - py) ** 2;
    if (far < nearest) { nearest = far; best = i; }
  }
  return best;
}

function resize() {
  const box = canvas.getBoundingClientRect(), density = window.devicePixelRatio || 1;
  if (!box.width || (box.width === width && box.height === height && canvas.width === Math.round(box.width * density))) return;
  const first = width === 0, whole = state.view.scale === fitted;
  [width, height] = [box.width, box.height];
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  if (first || whole) fit();
  draw(); // at once: a canvas is blank after its size has changed
}
