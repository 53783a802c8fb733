"use strict";
// What stands around a swimlane's canvas: controls, legend, table, and what hands do. Text is set as text, never markup.

const laneFont = () => "12px system-ui, sans-serif";

function laneElement(name, text, of = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  Object.assign(made, of);
  return made;
}

/** The parts of the frame, put into `element`. */
function lanesFrame(element, part) {
  const bar = laneElement("div", undefined, { className: "lanes-bar" });
  const select = laneElement("select");
  part.scenes.forEach((scene, number) => select.append(laneElement("option", scene.label, { value: String(number) })));
  const label = laneElement("label", part.scenes.length > 1 ? "Shown " : "");
  if (part.scenes.length > 1) label.append(select);
  else label.append(laneElement("span", part.scenes[0].label));
  bar.append(label);
  const buttons = laneElement("span", undefined, { className: "lanes-buttons" });
  for (const [name, sign, means] of [["out", "−", "see more time"], ["in", "+", "see less time"], ["back", "←", "earlier"], ["on", "→", "later"], ["all", "all", "see all of it"]]) {
    const button = laneElement("button", sign, { type: "button", title: means });
    button.setAttribute("aria-label", means);
    button.dataset.lanes = name;
    buttons.append(button);
  }
  bar.append(buttons);
  const frame = laneElement("div", undefined, { className: "lanes-frame" });
  const canvas = laneElement("canvas", undefined, { tabIndex: 0 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${part.title}. ${part.said} Keys: + and - change how much time is seen, arrows move, 0 shows all.`);
  const mark = laneElement("div", undefined, { className: "lanes-mark", hidden: true });
  const tip = laneElement("div", undefined, { className: "lanes-tip", hidden: true });
  tip.setAttribute("role", "status");
  frame.append(canvas, mark, tip);
  const legend = laneElement("ul", undefined, { className: "lanes-legend" });
  const details = laneElement("details", undefined, { className: "lanes-data" });
  const table = laneElement("div", undefined, { className: "lanes-table" });
  details.append(laneElement("summary", "Data as a table"), table);
  element.classList.add("lanes");
  element.append(bar, frame, legend, details);
  return { canvas, select, tip, mark, legend, table, details };
}

/** What the states and stripes of a scene mean, each with its look. */
function laneLegend(legend, part, scene, theme) {
  const used = new Set(scene.lanes.flatMap((lane) => lane.spans.map((span) => span[2])));
  const ratio = window.devicePixelRatio || 1;
  const paint = lanePainter(theme, ratio);
  const swatch = (draws) => {
    const canvas = laneElement("canvas", undefined, { width: Math.round(26 * ratio), height: Math.round(16 * ratio) });
    canvas.style.cssText = "width:26px;height:16px";
    const on = canvas.getContext("2d");
    on.scale(ratio, ratio);
    draws(on);
    return canvas;
  };
  const items = part.looks.flatMap(({ state, means }, number) => {
    if (!used.has(number)) return [];
    const item = laneElement("li");
    const wide = laneLook(state).mark ? 3 : 24;
    item.append(swatch((on) => paint(on, state, 13 - wide / 2, 1, wide, 14)), laneElement("span", means));
    return [item];
  });
  const stripes = new Map(scene.stripes.map(({ role, label }) => [role, label.split(": ").at(-1)]));
  for (const [role, label] of stripes) {
    const item = laneElement("li");
    const look = swatch((on) => {
      on.fillStyle = theme.role(role, 0);
      on.fillRect(1, 0, 24, 4);
      on.globalAlpha = 0.25;
      on.fillRect(1, 4, 24, 12);
    });
    item.append(look, laneElement("span", `${label}, across all lines`));
    items.push(item);
  }
  legend.replaceChildren(...items);
}

/** All spans of a scene as rows, by lane and time. */
function laneTable(box, part, scene) {
  const table = laneElement("table");
  const head = laneElement("tr");
  for (const name of ["caller", "state", "from, s", "to, s", "lasts, s", "request"]) head.append(laneElement("th", name));
  const body = laneElement("tbody");
  const start = scene.start || 0;
  const row = (cells) => {
    const made = laneElement("tr");
    cells.forEach((cell, i) => made.append(laneElement(i ? "td" : "th", cell)));
    body.append(made);
  };
  for (const lane of scene.lanes) {
    for (const [from, to, number, note] of [...lane.spans].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
      const times = [start + from, start + to, to - from].map((t) => fixed(t, 3));
      row([lane.name, part.looks[number].means, ...times, note >= 0 ? lane.notes[note] : ""]);
    }
  }
  for (const { label, start: from, end: to } of scene.stripes) {
    row(["all", label, ...[start + from, start + to, to - from].map((t) => fixed(t, 3)), ""]);
  }
  const header = laneElement("thead");
  header.append(head);
  table.append(laneElement("caption", scene.label), header, body);
  box.replaceChildren(table);
}

/** A span's times in words. */
function laneWhen(scene, start, end) {
  const from = (scene.start || 0) + start;
  const to = (scene.start || 0) + end;
  if (end === start) return `at ${fixed(from, 3)} s`;
  const lasts = end - start;
  return `${fixed(from, 3)} to ${fixed(to, 3)} s: ${lasts < 1 ? `${number(lasts * 1e3)} ms` : `${number(lasts)} s`}`;
}

/** As much of a name as there is room for. */
function laneFitting(on, name, room) {
  if (on.measureText(name).width <= room) return name;
  const letters = Array.from(name);
  // Numbers at the end tell callers apart.
  const end = name.match(/ \d+$/)?.[0] ?? "";
  let keep = letters.length - end.length;
  while (keep > 1 && on.measureText(`${letters.slice(0, keep).join("")}…${end}`).width > room) keep--;
  return `${letters.slice(0, keep).join("")}…${end}`;
}

/** Wheel, pointers and keys. A drag with the mouse chooses the time to see; with a finger, or Shift, it moves. */
function laneHands(canvas, mark, does) {
  const held = new Map();
  let pressed = null;
  let pinch = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener("wheel", (event) => {
    if (event.deltaX && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      does.pan(event.deltaX / does.inner());
    } else if (event.ctrlKey || event.metaKey || document.activeElement === canvas) {
      // Else the page scrolls on: a wheel that only passes by must not be caught.
      event.preventDefault();
      if (event.shiftKey) does.pan(event.deltaY / does.inner());
      else does.zoom(Math.exp(Math.min(Math.max(event.deltaY, -300), 300) * 0.002), does.tOf(place(event).x));
    }
  }, { passive: false });

  canvas.addEventListener("pointerdown", (event) => {
    const at = place(event);
    held.set(event.pointerId, at);
    try {
      canvas.setPointerCapture(event.pointerId);
    } catch {
      // A pointer that is gone already cannot be captured.
    }
    if (held.size === 2) {
      const [a, b] = [...held.values()];
      pinch = { apart: Math.max(Math.abs(a.x - b.x), 20), left: does.tOf(Math.min(a.x, b.x)), right: does.tOf(Math.max(a.x, b.x)) };
      pressed = null;
      return;
    }
    pressed = { ...at, view: does.view(), moves: event.pointerType !== "mouse" || event.shiftKey, moved: false };
  });

  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (held.has(event.pointerId)) held.set(event.pointerId, at);
    if (pinch && held.size === 2) {
      const [a, b] = [...held.values()];
      const [left, right] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
      // The moments under both fingers stay under them.
      const second = Math.max(pinch.right - pinch.left, 1e-6) / Math.max(right - left, 20);
      const from = pinch.left - (left - does.margin()) * second;
      does.see(from, from + does.inner() * second);
      return;
    }
    if (!pressed) {
      if (event.pointerType === "mouse" || event.buttons) does.show(at.x, at.y);
      return;
    }
    if (Math.abs(at.x - pressed.x) < 5 && !pressed.moved) return;
    pressed.moved = true;
    if (pressed.moves) {
      const { from, to } = pressed.view;
      const by = ((pressed.x - at.x) / does.inner()) * (to - from);
      does.see(from + by, to + by);
    } else {
      does.hide();
      const [left, right] = [Math.min(pressed.x, at.x), Math.max(pressed.x, at.x)];
      mark.hidden = false;
      mark.style.cssText = `left:${Math.max(left, does.margin())}px;top:0;width:${right - Math.max(left, does.margin())}px;height:100%`;
    }
  });

  function ends(event) {
    const at = place(event);
    held.delete(event.pointerId);
    if (pinch) {
      if (!held.size) pinch = null;
      return;
    }
    if (!pressed) return;
    const { x, moved, moves } = pressed;
    pressed = null;
    if (!moved) does.show(at.x, at.y);
    else if (!moves) does.see(does.tOf(Math.max(Math.min(x, at.x), does.margin())), does.tOf(Math.max(x, at.x)));
  }
  canvas.addEventListener("pointerup", ends);
  canvas.addEventListener("pointercancel", (event) => {
    held.delete(event.pointerId);
    pressed = pinch = null;
  });
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !pressed && does.hide());
  canvas.addEventListener("dblclick", does.reset);

  canvas.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => does.zoom(0.5), "=": () => does.zoom(0.5), "-": () => does.zoom(2), _: () => does.zoom(2),
      ArrowLeft: () => does.pan(-0.2), ArrowRight: () => does.pan(0.2), ArrowUp: () => does.zoom(0.5), ArrowDown: () => does.zoom(2),
      0: does.reset, Home: does.reset, Escape: does.reset,
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
