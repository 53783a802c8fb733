// Swimlanes: a line for each caller, time from left to right. Wheel, pinch, drag and keys change the time that is seen.

const LANE_FONT = `12px ${FONT}`;
const LANE_AXIS = 34; // pixels above the lines
const LANE_SHORTEST = 0.005; // seconds that fill the picture at the closest
const LANE_NEAR = 2; // pixels beside the pointer that still count

drawers.lanes = (box, part, theme) => {
  const { bar, canvas, select, tip, mark, legend, reset } = lanesFrame(box, part);
  let scene = null;
  let lanes = [];
  let view = { from: 0, to: 1 };
  let width = 0;
  let named = 0; // pixels of the longest name

  const wrong = part.looks.findIndex((look) => look.state === "join");
  const state = (number) => part.looks[number].state;
  const least = (number) => (wrong >= 0 && number >= wrong ? LANE_LEAST.wrong : LANE_LEAST.usual);
  const lineHeight = () => (lanes.length > 60 ? 13 : lanes.length > 24 ? 17 : 24);
  const height = () => LANE_AXIS + lanes.length * lineHeight() + 6;
  const margin = () => Math.min(named, width * 0.27);
  const inner = () => Math.max(width - margin() - 8, 10);
  const ratio = () => window.devicePixelRatio || 1;
  const xOf = (t) => margin() + ((t - view.from) / (view.to - view.from)) * inner();
  const tOf = (x) => view.from + ((x - margin()) / inner()) * (view.to - view.from);

  function names() {
    const draw = canvas.getContext("2d");
    draw.font = LANE_FONT;
    return Math.max(30, ...lanes.map((lane) => draw.measureText(lane.name).width)) + 12;
  }

  function choose(number) {
    scene = part.scenes[number];
    // The gravest is drawn last, and found first. A note stays with its span.
    lanes = scene.lanes.map((lane) => ({ ...lane, spans: [...lane.spans].sort((a, b) => a[2] - b[2] || a[0] - b[0]) }));
    named = names();
    view = { from: 0, to: Math.max(scene.seconds, LANE_SHORTEST) };
    laneLegend(legend, part, scene, theme);
    hide();
    draw();
  }

  function draw() {
    if (!width) return;
    const paint = lanePainter(theme, ratio());
    canvas.width = Math.round(width * ratio());
    canvas.height = Math.round(height() * ratio());
    canvas.style.height = `${height()}px`;
    reset.hidden = !zoomed();
    // What is seen, and where: seconds of the load, and pixels.
    const seen = { from: scene.start + view.from, to: scene.start + view.to, left: margin(), right: margin() + inner() };
    Object.assign(canvas.dataset, seen, { top: LANE_AXIS, line: lineHeight() });
    const on = canvas.getContext("2d");
    on.scale(canvas.width / width, canvas.height / height());
    on.fillStyle = theme.raised;
    on.fillRect(0, 0, width, height());
    axis(on);
    on.save();
    on.beginPath();
    on.rect(margin(), 0, inner(), height());
    on.clip();
    lanes.forEach((lane, i) => {
      const letters = [];
      for (const span of lane.spans) {
        const box = boxOf(span, i);
        if (!box) continue;
        const lettered = letters.every((x) => Math.abs(x - box.x) >= LANE_LETTER);
        if (lettered && laneLook(state(span[2])).mark) letters.push(box.x);
        paint(on, state(span[2]), box.x, box.y, box.width, box.height, lettered);
      }
    });
    stripes(on);
    on.restore();
    label(on);
  }

  /** Where a span is drawn; null: outside of what is seen. Short ones get a pixel or two. */
  function boxOf([start, end, number], line) {
    if (end < view.from || start > view.to) return null;
    // On whole pixels of the screen: neighbours have no seam, and what is narrow is not blurred.
    const snap = (x) => Math.round(x * ratio()) / ratio();
    const to = snap(Math.min(xOf(end), width + 4));
    // What ends with the picture keeps its pixels inside.
    const x = Math.min(snap(Math.max(xOf(start), margin() - 4)), snap(margin() + inner() - least(number)));
    return { x, y: LANE_AXIS + line * lineHeight() + 2, width: Math.max(to - x, least(number)), height: lineHeight() - 4 };
  }

  function axis(on) {
    const start = scene.start;
    const long = start + scene.seconds >= 600;
    const scale = long ? clocked : linear;
    const ticks = scale.ticks(view.from + start, view.to + start, Math.max(inner() / 74, 1));
    on.font = LANE_FONT;
    on.textBaseline = "middle";
    on.textAlign = "left";
    on.fillStyle = theme.soft;
    on.fillText(long ? "time of the load, h:mm:ss" : "seconds of the load", margin(), 9);
    on.textAlign = "center";
    on.strokeStyle = theme.line;
    on.lineWidth = 1;
    for (const tick of ticks) {
      const x = Math.round(xOf(tick - start)) + 0.5;
      const text = scale.tell(tick, ticks);
      const half = on.measureText(text).width / 2;
      on.fillText(text, Math.min(Math.max(x, half), width - half), 25);
      on.beginPath();
      on.moveTo(x, LANE_AXIS);
      on.lineTo(x, height());
      on.stroke();
    }
    for (let i = 0; i <= lanes.length; i++) {
      const y = LANE_AXIS + i * lineHeight() + 0.5;
      on.beginPath();
      on.moveTo(0, y);
      on.lineTo(width, y);
      on.stroke();
    }
  }

  function stripes(on) {
    for (const { start, end, role } of scene.stripes) {
      if (end < view.from || start > view.to) continue;
      const x = xOf(start);
      const wide = Math.max(xOf(end) - x, 2);
      on.fillStyle = on.strokeStyle = theme.role(role, 0);
      on.globalAlpha = 0.2;
      on.fillRect(x, LANE_AXIS - 4, wide, height());
      on.globalAlpha = 1;
      on.fillRect(x, LANE_AXIS - 5, wide, 4);
      on.setLineDash([5, 3]);
      for (const side of [x, x + wide]) {
        on.beginPath();
        on.moveTo(side, LANE_AXIS - 4);
        on.lineTo(side, height());
        on.stroke();
      }
      on.setLineDash([]);
    }
  }

  function label(on) {
    on.font = LANE_FONT;
    on.textAlign = "left";
    on.textBaseline = "middle";
    on.fillStyle = theme.ink;
    lanes.forEach((lane, i) => {
      on.fillText(laneFitting(on, lane.name, margin() - 8), 2, LANE_AXIS + (i + 0.5) * lineHeight());
    });
  }

  function see(from, to) {
    const whole = Math.max(scene.seconds, LANE_SHORTEST);
    const long = Math.min(Math.max(to - from, Math.min(LANE_SHORTEST, whole)), whole);
    const begin = Math.min(Math.max(from + (to - from - long) / 2, 0), whole - long);
    view = { from: begin, to: begin + long };
    hide();
    draw();
  }

  const zoom = (by, at = (view.from + view.to) / 2) => see(at - (at - view.from) * by, at + (view.to - at) * by);
  const pan = (part) => see(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
  const whole = () => see(0, scene.seconds);
  const zoomed = () => view.from > 0 || view.to < scene.seconds;

  /** The topmost span at a place of the canvas, as it is drawn. */
  function spanAt(x, y) {
    const line = Math.floor((y - LANE_AXIS) / lineHeight());
    if (line < 0 || line >= lanes.length || x < margin()) return null;
    let found = null;
    for (const span of lanes[line].spans) {
      const box = boxOf(span, line);
      if (!box) continue;
      const near = box.width < 4 ? LANE_NEAR : 0;
      if (x >= box.x - near && x <= box.x + box.width + near) found = { span, line, box };
    }
    return found;
  }

  function show(x, y) {
    const t = tOf(x);
    const over = y >= LANE_AXIS - 6 && x >= margin() ? scene.stripes.filter(({ start, end }) => t >= start && t <= end) : [];
    const shown = spanAt(x, y);
    if (!shown && !over.length) return hide();
    const lines = [];
    if (shown) {
      const [start, end, number, note] = shown.span;
      const lane = lanes[shown.line];
      lines.push(["b", `${lane.name}: ${part.looks[number].means}`], ["span", laneWhen(scene, start, end)]);
      if (note >= 0) lines.push(["span", lane.notes[note]]);
    }
    for (const stripe of over) lines.push(["i", `${stripe.label}, ${laneWhen(scene, stripe.start, stripe.end)}`]);
    tip.replaceChildren(...lines.map(([name, text]) => element(name, "", text)));
    tip.hidden = false;
    const left = Math.min(Math.max(x + 12, 0), Math.max(width - tip.offsetWidth, 0));
    tip.style.left = `${left}px`;
    tip.style.top = `${y + 16}px`;
    mark.hidden = !shown;
    if (shown) {
      const { box } = shown;
      const from = Math.max(box.x, margin());
      mark.style.cssText = `left:${from - 1}px;top:${box.y - 1}px;width:${Math.max(Math.min(box.x + box.width, width) - from, 1) + 2}px;height:${box.height + 2}px`;
    }
    return undefined;
  }

  function hide() {
    tip.hidden = true;
    mark.hidden = true;
  }

  select.addEventListener("change", () => choose(Number(select.value)));
  reset.addEventListener("click", whole);
  laneHands(canvas, mark, { zoom, pan, whole, zoomed, see, show, hide, tOf, margin, inner, view: () => view });
  const buttons = { in: () => zoom(0.5), out: () => zoom(2), back: () => pan(-0.5), on: () => pan(0.5) };
  for (const [name, does] of Object.entries(buttons)) bar.querySelector(`[data-lanes="${name}"]`).addEventListener("click", does);
  width = box.clientWidth;
  choose(0);

  return {
    redraw(now) {
      theme = now;
      laneLegend(legend, part, scene, theme);
      hide();
      draw();
    },
    resize(wide) {
      if (wide <= 0 || wide === width) return;
      width = wide;
      hide();
      draw();
    },
  };
};
