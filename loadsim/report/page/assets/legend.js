// A chart's legend: what each series is, its value where the pointer is, and a switch for each.

function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/** `widest`: of each series the longest text that its value may be; room is kept for it, so that nothing moves.
 * `toggle(k, shown)` is called when a reader asks for a series or not. Gives the element, where x is told, and `tell(at, values, under)`:
 * x where the pointer is, a text for each series, and the names of stripes there; nothing where it is nowhere. */
function legendOf(part, looks, widest, toggle) {
  const root = element("div", "legend");
  const at = element("span", "at");
  const values = part.series.map((series, k) => {
    const button = element("button", "key");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.title = "Show or hide";
    const value = element("span", "value");
    value.style.minWidth = `${widest[k].length}ch`;
    button.append(swatch(looks[k], series.draw), element("span", "name", series.label), value);
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      toggle(k, shown);
    });
    root.append(button);
    return value;
  });
  const named = new Map();
  for (const { label, role } of part.stripes ?? []) {
    const name = `${role} ${label}`;
    if (named.has(name) || named.size > 7) continue;
    const key = element("span", "key still");
    key.append(swatch({ role, shade: 0, dash: [] }, "stripe"), element("span", "name", label));
    named.set(name, key);
    root.append(key);
  }
  return {
    root,
    at,
    tell(x = "", texts = [], under = []) {
      at.textContent = [x, ...under].filter(Boolean).join(" · ");
      values.forEach((value, k) => (value.textContent = texts[k] ?? ""));
    },
  };
}
