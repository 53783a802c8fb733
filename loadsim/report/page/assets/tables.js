// The data of each picture as a table, made when a reader opens it.

const SHOWN = 500; // rows at first

/** {columns: [{name, tell}], rows}: the figures of a part. undefined is what a row does not have, null what is missing. */
function figuresOf(part) {
  return part.type === "lanes" ? spansOf(part) : valuesOf(part);
}

function valuesOf(part) {
  const axes = [part.y, ...part.more];
  const { scale } = viewOf(part);
  const tellX = (x) => (part.x.scale === "clock" ? clock(x, x % 1 ? 1 : 0) : plain(x));
  const columns = [{ name: titled(part.x), tell: tellX }];
  const values = [];
  for (const series of part.series) {
    const axis = axes[series.axis];
    const name = axis.unit ? `${series.label}, ${axis.unit}` : series.label;
    const tell = axis.scale === "clock" ? (y) => clock(y, y % 1 ? 1 : 0) : (y) => number(y);
    const band = series.draw === "band";
    columns.push({ name: band ? `${name}, low` : name, tell });
    values.push({ x: series.x, y: series.y });
    if (band) {
      columns.push({ name: `${name}, high`, tell });
      values.push({ x: series.x, y: series.top });
    }
    if (series.notes.length) {
      columns.push({ name: `${series.label}, note`, tell: String, words: true });
      values.push({ x: series.x, y: series.notes });
    }
  }
  const { xs, ys, from } = joined(values, scale.to);
  const rows = xs.map((_, row) => {
    const c = from.findIndex((column) => column[row] >= 0);
    return [values[c].x[from[c][row]], ...ys.map((column) => column[row])];
  });
  return { columns, rows, marks: marksOf(part, tellX, axes[0]) };
}

function marksOf(part, tellX, y) {
  return [
    ...part.stripes.map((stripe) => `${stripe.label}: ${tellX(stripe.start)} to ${tellX(stripe.end)}`),
    ...part.rules.map(({ label, at, along }) => `${label}: ${along === "x" ? tellX(at) : measured(at, y.unit)}`),
  ];
}

function spansOf(part) {
  const columns = [
    { name: "scene", tell: String, words: true },
    { name: "lane", tell: String, words: true },
    { name: "from, s", tell: plain },
    { name: "to, s", tell: plain },
    { name: "state", tell: String, words: true },
    { name: "note", tell: String, words: true },
  ];
  const rows = part.scenes.flatMap((scene) =>
    scene.lanes.flatMap((lane) =>
      lane.spans.map(([start, end, state, note]) => [
        scene.label,
        lane.name,
        scene.start + start,
        scene.start + end,
        part.looks[state].means,
        note < 0 ? undefined : lane.notes[note],
      ]),
    ),
  );
  const marks = part.scenes.flatMap(({ label, stripes, start }) =>
    stripes.map((s) => `${label}, ${s.label}: ${plain(start + s.start)} to ${plain(start + s.end)} s`),
  );
  return { columns, rows, marks };
}

const told = (value, { tell }) => (value === undefined ? "" : value === null ? MISSING : tell(value));

/** Fills `details` with the part's figures, and a button that copies them. */
function showFigures(details, part) {
  const { columns, rows, marks } = figuresOf(part);
  const copy = element("button", "copy", "Copy as CSV");
  copy.type = "button";
  const said = element("span", "said");
  said.setAttribute("role", "status");
  copy.addEventListener("click", async () => {
    said.textContent = (await copied(csv(columns, rows))) ? `${plain(rows.length)} rows copied` : "This browser does not allow it";
  });
  const bar = element("div", "bar");
  bar.append(copy, said);
  const table = element("table");
  const head = table.createTHead().insertRow();
  for (const column of columns) {
    const cell = element("th", column.words ? "" : "figure", column.name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  const add = (some) => {
    for (const row of some) {
      const line = body.insertRow();
      row.forEach((value, c) => {
        const cell = line.insertCell();
        cell.textContent = told(value, columns[c]);
        if (!columns[c].words) cell.className = "figure";
      });
    }
  };
  add(rows.slice(0, SHOWN));
  const scroll = element("div", "scroll tall");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", `${part.title}, as a table`);
  scroll.append(table);
  details.append(bar, scroll);
  if (rows.length > SHOWN) {
    const more = element("button", "more", `Show all ${plain(rows.length)} rows`);
    more.type = "button";
    more.addEventListener("click", () => {
      add(rows.slice(SHOWN));
      more.remove();
    });
    details.append(more);
  }
  if (marks.length) {
    const list = element("ul", "marks");
    for (const mark of marks) list.append(element("li", "", mark));
    details.append(list);
  }
}

/** Comma-separated values by RFC 4180: values in full, nothing where one is missing. */
function csv(columns, rows) {
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns.map(({ name }) => name), ...rows].map((row) => row.map(quoted).join(",") + "\r\n").join("");
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", "aside");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
