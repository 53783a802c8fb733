// How values lie on an axis. A chart is drawn in places: `to` gives a value's place, `from` the value at a place; both
// are the value itself on a linear axis. `ticks(low, high, room)` are places, at most `room` of them.

const TAILS = [0, 50, 75, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999];
const CLOCKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

function steps(low, high, room) {
  const least = (high - low) / Math.max(room, 1);
  const ten = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((of) => of * ten).find((step) => step >= least * 0.999) ?? 10 * ten;
}

function every(step, low, high) {
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

const decimalsOf = (step) => Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 12);

const linear = {
  to: (value) => value,
  from: (place) => place,
  ticks: (low, high, room) => every(steps(low, high, room), low, high),
  tell: (value, near) => fixed(value, near.length > 1 ? decimalsOf(Math.abs(near[1] - near[0])) : value % 1 ? 2 : 0),
  value: (value, unit) => measured(value, unit),
};

const counted = {
  ...linear,
  ticks: (low, high, room) => every(Math.max(steps(low, high, room), 1), low, high),
};

const clocked = {
  ...linear,
  ticks(low, high, room) {
    const least = (high - low) / Math.max(room, 1);
    if (least < CLOCKS[0]) return linear.ticks(low, high, room);
    const step = CLOCKS.find((each) => each >= least) ?? 86400 * Math.ceil(least / 86400);
    return every(step, low, high);
  },
  tell: (value, near) => clock(value, near.length > 1 ? decimalsOf(Math.min(near[1] - near[0], 1)) : 0),
  value: (value) => clock(value, value !== null && value % 1 ? 1 : 0),
};

const logarithmic = {
  to: (value) => (value > 0 ? Math.log10(value) : null),
  from: (place) => 10 ** place,
  ticks(low, high, room) {
    const decades = high - low;
    for (const of of [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
      if (decades * of.length > room && of.length > 1) continue;
      const every10 = of.length > 1 ? 1 : Math.max(Math.ceil(decades / room), 1);
      const found = [];
      for (let ten = Math.floor(low); ten <= high; ten++) {
        if (ten % every10) continue;
        for (const n of of) {
          const place = ten + Math.log10(n);
          if (place >= low - 1e-9 && place <= high + 1e-9) found.push(place);
        }
      }
      if (found.length > 1 || of.length === 9 || of.length === 1) {
        return found.length > 1 ? found : linear.ticks(10 ** low, 10 ** high, room).filter((v) => v > 0).map(Math.log10);
      }
    }
    return [];
  },
  tell: (value) => plain(Number(value.toPrecision(3))),
  value: (value, unit) => measured(value, unit),
};

/** Percentiles: the last, 100, has no place of its own, and lies where the rarest known one does. */
function tail(rarest) {
  const place = (p) => Math.log10(1 / (1 - p / 100));
  return {
    to: (p) => (p >= 100 ? rarest : Math.min(place(p), rarest)),
    from: (at) => 100 * (1 - 10 ** -at),
    ticks(low, high, room) {
      const within = TAILS.filter((p) => place(p) >= low - 1e-9 && place(p) <= high + 1e-9);
      const few = within.length > room || high > 2.2 ? within.filter((p) => p !== 75) : within;
      return few.length > 1 ? few.map(place) : linear.ticks(this.from(low), this.from(high), Math.min(room, 4)).map(place);
    },
    tell: (p) => `${plain(Number(p.toPrecision(9)))} %`,
    value: (p) => `${plain(Number(p.toPrecision(7)))} %`,
  };
}

/** An axis's scale; `values` are those on it: counts have no ticks between them, a `tail` must hold them all. */
function scaleOf(axis, values) {
  if (axis.scale === "log") return logarithmic;
  if (axis.scale === "clock") return clocked;
  if (axis.scale !== "tail") return values.every((value) => value === null || Number.isInteger(value)) ? counted : linear;
  let most = 90;
  for (const p of values) if (p < 100 && p > most) most = p;
  return tail(Math.log10(1 / (1 - most / 100)));
}
