// How each series of a chart looks. Roles give colours; series of one role differ by shade, dash and marker too.

const DASHES = [[], [9, 4], [2, 3], [9, 3, 2, 3]];
const SAID_DASH = [5, 4];
const SHAPES = ["circle", "square", "diamond", "triangle"];

/** A look for each series: points and bands over lines of their role have its colour, as a dashed line has. */
function looksOf(series) {
  const seen = {};
  return series.map((each) => {
    const line = each.draw === "line" || each.draw === "steps";
    const kind = `${each.role} ${line ? "line" : each.draw} ${each.dashed}`;
    const nth = (seen[kind] = (seen[kind] ?? -1) + 1);
    return {
      role: each.role,
      shade: nth % HUES,
      dash: each.dashed ? SAID_DASH : DASHES[(nth + Math.floor(nth / HUES)) % DASHES.length],
      shape: SHAPES[(nth + Math.floor(nth / HUES) + (each.dashed ? 2 : 0)) % SHAPES.length],
    };
  });
}

const colourOf = (look) => theme.role(look.role, look.shade);

function faded(colour, alpha) {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${alpha})`;
}

const TRACES = {
  circle(path, x, y, r) {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
  },
  square: (path, x, y, r) => path.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76),
  diamond: (path, x, y, r) => polygon(path, [[x, y - r * 1.25], [x + r * 1.25, y], [x, y + r * 1.25], [x - r * 1.25, y]]),
  triangle: (path, x, y, r) => polygon(path, [[x, y - r * 1.2], [x + r * 1.15, y + r * 0.8], [x - r * 1.15, y + r * 0.8]]),
};

function polygon(path, [first, ...rest]) {
  path.moveTo(...first);
  for (const corner of rest) path.lineTo(...corner);
  path.closePath();
}

/** uPlot's paths of a series' values as markers of `shape`. */
function markers(shape, radius) {
  return (u, k, first, last, only) => {
    const r = radius * uPlot.pxRatio;
    const { left, top, width, height } = u.bbox;
    const fill = new Path2D();
    const clip = new Path2D();
    clip.rect(left - 2 * r, top - 2 * r, width + 4 * r, height + 4 * r);
    const [xs, ys, scale] = [u.data[0], u.data[k], u.series[k].scale];
    const draw = (i) => {
      if (ys[i] === null || ys[i] === undefined) return;
      TRACES[shape](fill, u.valToPos(xs[i], "x", true), u.valToPos(ys[i], scale, true), r);
    };
    if (only) only.forEach(draw);
    else for (let i = first; i <= last; i++) draw(i);
    return { stroke: fill, fill, clip, flags: 3 };
  };
}

/** A small picture of a look, for the legend; its colour follows the theme. */
function swatch(look, draw) {
  const make = (name, attributes, into) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    into?.append(element);
    return element;
  };
  const picture = make("svg", { viewBox: "0 0 26 14", width: 26, height: 14, "aria-hidden": "true", class: "swatch" });
  picture.style.color = `var(--${look.role}-${look.shade})`;
  if (draw === "band" || draw === "stripe") {
    make("rect", { x: 1, y: 1, width: 24, height: 12, fill: "currentColor", "fill-opacity": draw === "band" ? 0.3 : 0.2 }, picture);
    if (draw === "band") make("path", { d: "M1 1h24M1 13h24", stroke: "currentColor" }, picture);
    return picture;
  }
  if (draw !== "points") {
    const d = draw === "steps" ? "M1 11h12v-8h12" : "M1 7h24";
    make("path", { d, stroke: "currentColor", fill: "none", "stroke-width": 2, "stroke-dasharray": look.dash.join(" ") }, picture);
  }
  if (draw !== "steps") {
    const path = { d: "", at: (...xy) => (path.d += xy.join(" ")) };
    const drawn = {
      moveTo: (x, y) => path.at("M", x, y),
      lineTo: (x, y) => path.at("L", x, y),
      closePath: () => path.at("Z"),
      rect: (x, y, w, h) => path.at("M", x, y, "h", w, "v", h, "h", -w, "Z"),
      arc: (x, y, r) => path.at("A", r, r, 0, 1, 1, x - r, y, "A", r, r, 0, 1, 1, x + r, y, "Z"),
    };
    TRACES[look.shape](drawn, 13, 7, 3.6);
    make("path", { d: path.d, fill: "currentColor" }, picture);
  }
  return picture;
}
