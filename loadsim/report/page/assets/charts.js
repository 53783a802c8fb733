// Charts of series, drawn by uPlot. A drawer gets (container, part, theme) and gives {redraw(theme), resize(width)}, and
// may give seen(whether it is in view).

const drawers = {};
const MANY = 80; // values in view from which on a line has no markers
const DENSE = 1000; // values from which on a line is drawn fine and whole: wide and dashed ones are slow to move
const NARROW = 520; // pixels under which a chart has two y axes at most
const NEAR = 32; // pixels within which the pointer meets a value

drawers.chart = (box, part) => {
  const view = viewOf(part);
  const axes = [part.y, ...part.more];
  const scales = axes.map((axis, n) => scaleOf(axis, part.series.filter((s) => s.axis === n).flatMap((s) => s.y)));
  const looks = looksOf(part.series);
  const columns = [];
  part.series.forEach((series, k) => {
    const placed = (values) => Array.from(series.x, (_, i) => placeOf(scales[series.axis], values[i]));
    columns.push({ k, x: series.x, y: placed(series.y), side: "y" });
    if (series.draw === "band") columns.push({ k, x: series.x, y: placed(series.top), side: "top" });
  });
  const { xs, ys, from } = joined(columns, view.scale.to);
  const known = ys.map((column) => column.flatMap((y, row) => (y === undefined ? [] : [row])));

  /** The look of an axis's series, if it has but one. */
  const only = (n) => {
    const own = looks.filter((_, k) => part.series[k].axis === n);
    return own.length === 1 ? own[0] : undefined;
  };

  const widest = (series) => {
    const texts = [Math.min, Math.max].map((of) => {
      const value = [...series.y, ...series.top].reduce((a, b) => (b === null ? a : of(a ?? b, b)), null);
      return scales[series.axis].value(value, axes[series.axis].unit);
    });
    return series.draw === "band" ? texts.join(" to ") : texts.sort((a, b) => b.length - a.length)[0];
  };

  const legend = legendOf(part, looks, part.series.map(widest), (k, shown) => {
    columns.forEach((column, c) => column.k === k && u.setSeries(c + 1, { show: shown }));
  });
  const plot = element("div", "plot");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", part.said);
  plot.tabIndex = 0;
  const tip = element("div", "tip");
  tip.hidden = true;
  const tools = element("div", "tools");
  const reset = element("button", "reset", "Show all");
  reset.type = "button";
  reset.hidden = true;
  reset.addEventListener("click", () => whole(view));
  tools.append(legend.at, element("span", "hint", "Drag or Ctrl + wheel: zoom · Shift + drag: move"), reset);
  legend.root.append(tools);
  box.replaceChildren(legend.root, plot);

  const u = new uPlot(
    {
      width: Math.max(Math.floor(box.clientWidth), 200),
      height: part.height,
      padding: [10, axes.length > 1 ? 6 : part.x.scale === "linear" ? 14 : 28, 0, 0],
      legend: { show: false },
      focus: { alpha: 1 },
      scales: {
        x: { time: false, range: (self, low, high) => (self.status ? [low, high] : [...view.now]) },
        ...Object.fromEntries(axes.map((axis, n) => [`y${n}`, { range: yRange(axis, scales[n], n ? [] : part.rules) }])),
      },
      axes: [xAxis(part.x, view.scale), ...axes.map((axis, n) => yAxis(axis, scales[n], n, axes.length > 1 ? only(n) : undefined))],
      series: [{}, ...columns.map((column) => lineOf(part.series[column.k], looks[column.k], column))],
      bands: columns.flatMap(({ k, side }, c) =>
        side === "top" ? [{ series: [c + 1, c], fill: () => faded(colourOf(looks[k]), 0.22) }] : [],
      ),
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: true, dist: 4 },
        points: { size: 9, width: 2, fill: () => theme.back, stroke: (_, c) => colourOf(looks[columns[c - 1].k]) },
        dataIdx: (_, c, row) => (c ? nearest(c - 1, row) : row),
        bind: {
          dblclick: () => () => whole(view),
          mousedown: (_, __, start) => (event) => {
            if (!event.shiftKey) start(event);
          },
        },
        ...(part.sync && {
          sync: {
            key: part.sync,
            scales: ["x", null],
            filters: { pub: (type) => type === "mousemove" || type === "mouseleave", sub: () => true },
          },
        }),
      },
      hooks: {
        drawClear: [() => drawStripes(u, part.stripes, view.scale)],
        draw: [
          () => nameStripes(u, part.stripes, view.scale),
          () => drawRules(u, part.rules, { x: view.scale, y: scales[0] }),
        ],
        setCursor: [() => chart.visible && tell()],
        setScale: [
          (_, key) => {
            const { min, max } = u.scales.x;
            if (key === "x" && u.status && (min !== view.now[0] || max !== view.now[1]) && !chart.stale) look(view, min, max);
            reset.hidden = !zoomed(view);
          },
        ],
      },
    },
    [xs, ...ys],
    plot,
  );
  u.over.append(tip);
  gestures(u, view, plot);

  /** The row whose value of column `c` the pointer means. */
  function nearest(c, row) {
    const rows = known[c];
    const { draw } = part.series[columns[c].k];
    const pointer = u.cursor.left;
    const x = u.posToVal(pointer, "x");
    const after = bisect(rows, (each) => xs[each] > x);
    const distance = (each) => Math.abs(u.valToPos(xs[each], "x") - pointer);
    if (draw === "points") {
      const own = u.cursor.event && u.over.contains(u.cursor.event.target);
      const [left, right] = [u.posToVal(pointer - NEAR, "x"), u.posToVal(pointer + NEAR, "x")];
      let [best, least] = [null, NEAR];
      for (let i = bisect(rows, (each) => xs[each] >= left); i < rows.length && xs[rows[i]] <= right; i++) {
        const y = ys[c][rows[i]];
        if (y === null) continue;
        const off = Math.hypot(distance(rows[i]), own ? u.valToPos(y, u.series[c + 1].scale) - u.cursor.top : 0);
        if (off < least) [best, least] = [rows[i], off];
      }
      return best;
    }
    const [before, next] = [rows[after - 1], rows[after]];
    if (before === undefined || next === undefined) {
      const only = before ?? next;
      return only !== undefined && distance(only) <= NEAR ? only : null;
    }
    if (draw === "steps") return before;
    return distance(before) <= distance(next) ? before : next;
  }

  function tell() {
    const row = u.cursor.idx;
    if (row === null || row === undefined || u.cursor.left < 0) {
      tip.hidden = true;
      return legend.tell();
    }
    const texts = [];
    const notes = [];
    columns.forEach(({ k, side }, c) => {
      const at = u.cursor.idxs[c + 1];
      if (!u.series[c + 1].show || at === null || at === undefined || side === "top") return;
      const series = part.series[k];
      const i = from[c][at];
      const axis = axes[series.axis];
      const value = (of) => scales[series.axis].value(of, axis.unit);
      texts[k] = series.draw === "band" ? `${number(series.y[i])} to ${value(series.top[i] ?? null)}` : value(series.y[i]);
      const note = series.notes[i];
      if (note && Math.abs(u.valToPos(xs[at], "x") - u.cursor.left) <= NEAR) notes.push(note);
    });
    const c = from.findIndex((column) => column[row] >= 0);
    const x = c < 0 ? view.scale.from(xs[row]) : part.series[columns[c].k].x[from[c][row]];
    const [first, last] = [-2, 2].map((beside) => u.posToVal(u.cursor.left + beside, "x"));
    const under = part.stripes.filter((s) => view.scale.to(s.start) <= last && first <= view.scale.to(s.end));
    legend.tell(`${part.x.label} ${xText(part.x, view.scale, x)}`, texts, [...new Set(under.map((s) => s.label))]);
    tip.hidden = notes.length === 0;
    if (tip.hidden) return undefined;
    tip.textContent = [...new Set(notes)].join("\n");
    const right = u.cursor.left > u.over.clientWidth / 2;
    tip.style.left = right ? "" : `${u.cursor.left + 12}px`;
    tip.style.right = right ? `${u.over.clientWidth - u.cursor.left + 12}px` : "";
    return undefined;
  }

  /** A narrow picture has room for two y axes; the legend tells the values of the others. */
  function fewer(width) {
    u.axes.forEach((axis, n) => (axis.show = n < 3 || width >= NARROW));
  }

  const chart = {
    u,
    view,
    visible: true,
    stale: false,
    follow() {
      chart.stale = !chart.visible;
      if (chart.visible) u.setScale("x", { min: view.now[0], max: view.now[1] });
    },
    seen(visible) {
      chart.visible = visible;
      if (visible && chart.stale) chart.follow();
    },
    redraw() {
      u.redraw(false);
    },
    resize(width) {
      if (width <= 0 || width === u.width) return;
      fewer(width);
      u.setSize({ width, height: part.height });
    },
  };
  view.charts.add(chart);
  fewer(u.width);
  return chart;
};

const placeOf = (scale, value) => {
  const place = value === null || value === undefined ? null : scale.to(value);
  return Number.isFinite(place) ? place : null;
};

const xText = (axis, scale, x) =>
  axis.scale === "linear" || axis.scale === "log" ? `${plain(x)}${axis.unit ? ` ${axis.unit}` : ""}` : scale.value(x, axis.unit);

/** The first index of `rows` for which `holds` is true; their number if for none. */
function bisect(rows, holds) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(rows[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How uPlot draws a column; of a line with few values in view, and of one that stands alone, the values are marked. */
function lineOf(series, look, { y }) {
  const colour = () => colourOf(look);
  const points = series.draw === "points";
  const dense = y.length > DENSE;
  let singles = null;
  const alone = (u, c) => {
    if (singles) return singles;
    const [column, rows] = [u.data[c], []];
    let [last, run] = [-1, 0];
    for (let i = 0; i <= column.length; i++) {
      if (column[i] === undefined && i < column.length) continue;
      if (i < column.length && column[i] !== null) [last, run] = [i, run + 1];
      else {
        if (run === 1) rows.push(last);
        run = 0;
      }
    }
    return (singles = rows);
  };
  const few = (u, c, first, last) => {
    let n = 0;
    for (let i = first; i <= last && n <= MANY; i++) if (u.data[c][i] !== undefined && u.data[c][i] !== null) n++;
    return n <= Math.min(MANY, u.bbox.width / uPlot.pxRatio / 14);
  };
  const thin = y.length > 600 ? 0.35 : 0.6;
  return {
    label: series.label,
    scale: `y${series.axis}`,
    stroke: colour,
    width: series.draw === "band" || dense ? 1 : 2,
    dash: points || !look.dash.length || (dense && !series.dashed) ? undefined : look.dash,
    paths: points ? () => null : series.draw === "steps" ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
    points: {
      show: points || (series.draw === "line" ? few : false),
      size: 7,
      width: points ? 0 : 1.5,
      stroke: colour,
      fill: () => (points ? faded(colourOf(look), thin) : theme.back),
      paths: markers(look.shape, points ? 3 : 3.4),
      filter: points || series.draw === "band" ? undefined : (u, c, show) => (show ? null : alone(u, c)),
    },
  };
}

/** The y range that holds what is in view: from zero where that costs little, never cut closer than the axis asks. */
function yRange(axis, scale, rules) {
  const places = (values) => values.map((value) => placeOf(scale, value)).filter((place) => place !== null);
  const [asked] = [places([axis.low, axis.high])];
  const along = places(rules.filter((rule) => rule.along === "y").map((rule) => rule.at));
  return (_, least, most) => {
    const none = least === null || least === undefined || !Number.isFinite(least);
    let [low, high] = none ? [Infinity, -Infinity] : [least, most];
    [low, high] = [Math.min(low, ...asked), Math.max(high, ...asked)];
    const far = scale === logarithmic ? [low - 1, high + 1] : [low - 1.5 * (high - low) - 1, Math.max(high, 0) * 2.5 + 1];
    for (const at of along) if (low > high || (at >= far[0] && at <= far[1])) [low, high] = [Math.min(low, at), Math.max(high, at)];
    if (low > high) return scale === logarithmic ? [0, 1] : [0, 1];
    if (scale === logarithmic) {
      const pad = Math.max((high - low) * 0.06, (0.5 - (high - low)) / 2, 0.02);
      return [asked.includes(low) ? low : low - pad, high + pad];
    }
    if (low >= 0 && low < 0.6 * high) low = 0;
    if (low === high) return high > 0 ? [0, high * 1.25] : high < 0 ? [high * 1.25, 0] : [0, 1];
    const pad = (high - low) * 0.07;
    return [low === 0 || asked.includes(low) ? low : low - pad, asked.includes(high) ? high : high + pad];
  };
}

const titled = ({ label, unit, scale }) => (unit && scale !== "clock" ? `${label}, ${unit}` : label);

const lines = () => ({
  stroke: () => theme.soft,
  font: `12px ${FONT}`,
  labelFont: `12px ${FONT}`,
  grid: { stroke: () => theme.line, width: 1 },
  ticks: { stroke: () => theme.line, width: 1, size: 5 },
  filter: (_, splits) => splits,
});

function xAxis(axis, scale) {
  const room = axis.scale === "linear" ? 62 : 74;
  return {
    ...lines(),
    label: titled(axis),
    labelSize: 20,
    size: 32,
    splits: (u, _, low, high) => scale.ticks(low, high, Math.max(Math.floor((u.bbox.width / uPlot.pxRatio || u.width) / room), 1)),
    values: (_, splits) => splits.map((at) => scale.tell(scale.from(at), splits.map(scale.from))),
  };
}

function yAxis(axis, scale, n, look) {
  return {
    ...lines(),
    scale: `y${n}`,
    side: n ? 1 : 3,
    label: titled(axis),
    ...(look && { stroke: () => colourOf(look) }),
    labelSize: 18,
    labelGap: 2,
    grid: { show: n === 0, stroke: () => theme.line, width: 1 },
    splits: (u, _, low, high) => scale.ticks(low, high, Math.max(Math.floor((u.bbox.height / uPlot.pxRatio || u.height - 60) / (axis.scale === "log" ? 26 : 38)), 2)),
    values: (_, splits) => splits.map((at) => scale.tell(scale.from(at), splits.map(scale.from))),
    size(u, texts) {
      const longest = (texts ?? []).reduce((most, text) => (text.length > most.length ? text : most), "");
      if (!longest) return 40;
      u.ctx.save();
      u.ctx.font = `12px ${FONT}`;
      const wide = u.ctx.measureText(longest).width;
      u.ctx.restore();
      return Math.ceil(wide) + 14;
    },
  };
}
