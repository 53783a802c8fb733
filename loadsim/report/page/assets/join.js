// Series of different x as one table, as uPlot draws them. uPlot.join keeps one value at each x; twelve first tokens of
// one burst lie at the same x, and all of them count.

/** [places of x, a column for each]: undefined where a series has no value at that x, null where its value is missing.
 * `columns`: {x, y}; `to`: a value of x to its place. `from`: of each column and row, the index in its series, or -1. */
function joined(columns, to) {
  const sorted = columns.map(({ x }) => {
    const order = new Uint32Array(x.length);
    const places = new Float64Array(x.length);
    for (let i = 0; i < x.length; i++) {
      const place = x[i] === null ? null : to(x[i]);
      order[i] = i;
      places[i] = place === null ? NaN : place;
    }
    let rising = true;
    for (let i = 1; i < x.length && rising; i++) rising = places[i] >= places[i - 1];
    if (!rising) order.sort((a, b) => places[a] - places[b] || a - b);
    let kept = order;
    if (places.some(Number.isNaN)) kept = order.filter((i) => !Number.isNaN(places[i])).sort((a, b) => places[a] - places[b] || a - b);
    return { order: kept, places };
  });
  const next = sorted.map(() => 0);
  const xs = [];
  const ys = columns.map(() => []);
  const from = columns.map(() => []);
  for (;;) {
    let least = Infinity;
    sorted.forEach(({ order, places }, k) => {
      if (next[k] < order.length) least = Math.min(least, places[order[next[k]]]);
    });
    if (least === Infinity) return { xs, ys, from };
    xs.push(least);
    sorted.forEach(({ order, places }, k) => {
      const i = next[k] < order.length ? order[next[k]] : -1;
      const here = i >= 0 && places[i] === least;
      ys[k].push(here ? columns[k].y[i] : undefined);
      from[k].push(here ? i : -1);
      if (here) next[k]++;
    });
  }
}
