// Labels on the map. That of the item searched for or chosen is an element of the page, whole at any
// length; the others are drawn on the canvas, each only where all of it is seen and it covers no other.
const LETTERS = typeof Intl.Segmenter === "function" ? new Intl.Segmenter() : null;
// By letters as people see them: an emoji of several signs is never cut in two.
function clip(text, most) {
  if (text.length <= most) return text;
  const letters = LETTERS ? Array.from(LETTERS.segment(text.slice(0, 20 * most)), (part) => part.segment) : [...text];
  return letters.length > most ? letters.slice(0, most - 1).join("").trimEnd() + "…" : text;
}
const isRightToLeft = (text) => /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(text);

const measured = new Map();
function shortLabel(i) {
  if (!measured.has(i)) {
    const text = clip(data.labels[i], 32);
    measured.set(i, { text, w: pen.measureText(text).width, direction: isRightToLeft(text) ? "rtl" : "ltr" });
  }
  return measured.get(i);
}

// Which parts of the canvas are covered, in cells of three pixels.
function coverage() {
  const cell = 3, across = Math.ceil(width / cell), down = Math.ceil(height / cell), taken = new Uint8Array(across * down);
  const limit = (v, most) => Math.max(0, Math.min(most, Math.floor(v / cell)));
  const ends = ([left, top, right, bottom]) => [limit(left, across - 1), limit(top, down - 1), limit(right, across - 1), limit(bottom, down - 1)];
  return {
    cover(box) {
      const [left, top, right, bottom] = ends(box);
      for (let row = top; row <= bottom; row++) taken.fill(1, row * across + left, row * across + right + 1);
    },
    isFree(box) {
      const [left, top, right, bottom] = ends(box);
      for (let row = top; row <= bottom; row++) for (let k = row * across + left; k <= row * across + right; k++) if (taken[k]) return false;
      return true;
    },
  };
}

// Boxes [left, top, right, bottom] of size w by h at the eight sides of a point.
function boxesAround(x, y, r, w, h) {
  const away = r + 4, near = 0.5 * away, up = 0.6 * away;
  const corners = [[x + away, y - h / 2], [x - away - w, y - h / 2], [x - w / 2, y - away - h], [x - w / 2, y + away]];
  for (const top of [y - up - h, y + up]) corners.push([x + near, top], [x - near - w, top]);
  return corners.map(([left, top]) => [left, top, left + w, top + h]);
}
const isInside = ([left, top, right, bottom]) => left >= 2 && top >= 2 && right <= width - 2 && bottom <= height - 2;
function pushInside([left, top, right, bottom]) {
  const w = right - left, h = bottom - top;
  const x = Math.max(2, Math.min(left, width - 2 - w)), y = Math.max(2, Math.min(top, height - 2 - h));
  return [x, y, x + w, y + h];
}
const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

// Always within the map, and beside the marker where there is room at all.
function placeFlag(i, r, ground) {
  const flag = byId("flag");
  const [x, y] = i >= 0 && isPlaced(i) ? screen(i) : [-1, -1];
  flag.hidden = x < 0 || y < 0 || x > width || y > height;
  if (flag.hidden) return null;
  flag.textContent = data.labels[i] || "(no label)";
  const marker = [x - r, y - r, x + r, y + r];
  const boxes = boxesAround(x, y, r + 4, flag.offsetWidth, flag.offsetHeight).map(pushInside);
  const beside = boxes.filter((box) => !overlap(box, marker));
  const box = beside.find(ground.isFree) || beside[0] || boxes[0];
  flag.style.left = box[0] + "px";
  flag.style.top = box[1] + "px";
  return box;
}

// Greedy: important labels first, each at the first of eight sides where it covers nothing.
function drawLabels(inside, r, near) {
  const ground = coverage(), size = 12, h = size + 2, m = 0.7 * r;
  for (const [, x, y] of inside) if (x > 0 && y > 0 && x < width && y < height) ground.cover([x - m, y - m, x + m, y + m]);
  const list = byId("matches");
  if (!list.hidden) { // it hangs down over the map
    const at = canvas.getBoundingClientRect(), over = list.getBoundingClientRect();
    ground.cover([over.left - at.left, over.top - at.top, over.right - at.left, over.bottom - at.top]);
  }
  const flagged = state.lit >= 0 ? state.lit : state.chosen;
  state.flag = placeFlag(flagged, r, ground);
  state.written = [];
  if (state.flag) ground.cover(state.flag);
  if (!state.labels) return;
  const first = new Set([state.chosen, state.hover, ...near, ...state.found]);
  const others = inside.filter(([i]) => i !== flagged && data.labels[i]);
  const order = [...others.filter(([i]) => first.has(i)), ...others.filter(([i]) => !first.has(i))];
  pen.font = `${size}px system-ui, sans-serif`;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.lineJoin = "round";
  pen.strokeStyle = theme.paper;
  pen.lineWidth = 3;
  pen.fillStyle = theme.ink;
  for (const [i, x, y] of order.slice(0, 4000)) {
    const { text, w, direction } = shortLabel(i);
    const box = boxesAround(x, y, r, w, h).find((place) => isInside(place) && ground.isFree(place));
    if (!box) continue;
    ground.cover(box);
    state.written.push({ item: i, text, box });
    pen.direction = direction;
    pen.strokeText(text, box[0], box[1] + h / 2);
    pen.fillText(text, box[0], box[1] + h / 2);
  }
}
