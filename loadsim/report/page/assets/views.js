// What part of x is seen. Charts of one `sync` share it; each other chart has its own.

const views = new Map(); // by sync, or by the id of a chart that has none
const DEEPEST = 1e-5; // of the whole, the least that can be looked at

/** The view that `part` belongs to: x's scale, `full` and `now` as [low, high] places, and the charts that follow. */
function viewOf(part) {
  const key = part.sync ? `sync ${part.sync}` : `chart ${part.id}`;
  if (!views.has(key)) {
    const together = part.sync ? Object.values(parts).filter((each) => each.type === "chart" && each.sync === part.sync) : [part];
    const scale = scaleOf(part.x, together.flatMap((each) => each.series.flatMap(({ x }) => x)));
    const full = extent(together, scale);
    views.set(key, { scale, full, now: [...full], charts: new Set(), asked: false });
  }
  return views.get(key);
}

function extent(together, scale) {
  let [low, high] = [Infinity, -Infinity];
  const hold = (value) => {
    const place = value === null || value === undefined ? null : scale.to(value);
    if (place === null || !Number.isFinite(place)) return;
    low = Math.min(low, place);
    high = Math.max(high, place);
  };
  for (const { series, stripes } of together) {
    for (const { x } of series) for (const value of x) hold(value);
    if (!series.some(({ x }) => x.length)) for (const { start, end } of stripes ?? []) [start, end].forEach(hold);
  }
  const bounds = together.flatMap(({ x }) => [x.low, x.high]).filter((value) => value !== null);
  bounds.forEach(hold);
  if (low > high) return [0, 1];
  if (low === high) return scale !== logarithmic && low > 0 ? [0, 2 * low] : [low - 1, high + 1];
  const pad = scale === clocked ? 0 : (high - low) * 0.025;
  const exact = [0, ...bounds].map(scale.to);
  return [exact.includes(low) ? low : low - pad, exact.includes(high) ? high : high + pad];
}

/** Looks at [low, high], held within the whole; the charts follow with the next picture of the screen. */
function look(view, low, high) {
  const [first, last] = view.full;
  const whole = last - first;
  const wide = Math.min(Math.max(high - low, whole * DEEPEST), whole);
  const middle = (low + high) / 2;
  const from = Math.min(Math.max(middle - wide / 2, first), last - wide);
  view.now = wide === whole ? [...view.full] : [from, from + wide];
  if (view.asked) return;
  view.asked = true;
  requestAnimationFrame(() => {
    view.asked = false;
    for (const chart of view.charts) chart.follow();
  });
}

const whole = (view) => look(view, ...view.full);
const zoomed = (view) => view.now[0] !== view.full[0] || view.now[1] !== view.full[1];

/** Zooms by `factor` around `place`, which stays where it is. */
function zoom(view, factor, place = (view.now[0] + view.now[1]) / 2) {
  look(view, place - (place - view.now[0]) * factor, place + (view.now[1] - place) * factor);
}

/** Moves the view by `share` of its width. */
function pan(view, share) {
  const by = (view.now[1] - view.now[0]) * share;
  look(view, view.now[0] + by, view.now[1] + by);
}

/** The reader's hands on a chart: Ctrl + wheel, two fingers, Shift + drag, keys. uPlot's own drag zooms, too. */
function gestures(u, view, plot) {
  const over = u.over;
  const placeAt = (clientX) => u.posToVal(clientX - over.getBoundingClientRect().left, "x");
  over.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const unit = event.deltaMode === 1 ? 30 : 1;
      if (event.ctrlKey || event.metaKey) {
        zoom(view, Math.exp(Math.max(Math.min(event.deltaY * unit, 120), -120) * 0.003), placeAt(event.clientX));
      } else if (sideways && zoomed(view)) {
        pan(view, ((event.deltaX || event.deltaY) * unit) / over.clientWidth);
      } else return; // the page scrolls
      event.preventDefault();
    },
    { passive: false },
  );

  const fingers = new Map();
  const spread = () => {
    const xs = [...fingers.values()];
    return { middle: xs.reduce((sum, x) => sum + x, 0) / xs.length, wide: Math.max(...xs) - Math.min(...xs) };
  };
  over.addEventListener("pointerdown", (event) => {
    plot.focus({ preventScroll: true });
    if (event.pointerType === "mouse" && !event.shiftKey) return;
    fingers.set(event.pointerId, event.clientX);
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = spread();
    fingers.set(event.pointerId, event.clientX);
    const after = spread();
    const [low, high] = view.now;
    const perPixel = (high - low) / over.clientWidth;
    if (fingers.size > 1 && before.wide > 8 && after.wide > 8) {
      const from = over.getBoundingClientRect().left;
      const place = low + (before.middle - from) * perPixel;
      const wider = before.wide / after.wide;
      const start = place - (after.middle - from) * perPixel * wider;
      look(view, start, start + (high - low) * wider);
    } else if (zoomed(view)) look(view, low - (after.middle - before.middle) * perPixel, high - (after.middle - before.middle) * perPixel);
    else u.setCursor({ left: event.clientX - over.getBoundingClientRect().left, top: over.clientHeight / 2 });
  });
  for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, (event) => fingers.delete(event.pointerId));

  plot.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => zoom(view, 0.6),
      "=": () => zoom(view, 0.6),
      "-": () => zoom(view, 1 / 0.6),
      0: () => whole(view),
      Escape: () => whole(view),
      ArrowLeft: () => (event.shiftKey ? pan(view, -0.2) : step(u, -1)),
      ArrowRight: () => (event.shiftKey ? pan(view, 0.2) : step(u, 1)),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    keys[event.key]();
    event.preventDefault();
  });
}

/** Moves the pointer to the next value that is seen. */
function step(u, by) {
  const xs = u.data[0];
  const { min, max } = u.scales.x;
  let i = u.cursor.idx === null || u.cursor.idx === undefined ? (by > 0 ? -1 : xs.length) : u.cursor.idx;
  const here = xs[i];
  do i += by;
  while (i >= 0 && i < xs.length && (xs[i] === here || xs[i] < min || xs[i] > max));
  if (i >= 0 && i < xs.length) u.setCursor({ left: u.valToPos(xs[i], "x"), top: u.over.clientHeight / 2 });
}
