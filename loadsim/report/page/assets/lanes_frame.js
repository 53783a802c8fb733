// What stands around a swimlane's canvas: choice of scene, legend, and what hands do. Text is set as text, never markup.

/** The parts of the frame, put into `box`. */
function lanesFrame(box, part) {
  const bar = element("div", "lanes-bar");
  const label = element("label", "", part.scenes.length > 1 ? "Shown: " : "");
  const select = element("select");
  for (const [number, scene] of part.scenes.entries()) {
    const option = element("option", "", scene.label);
    option.value = String(number);
    select.append(option);
  }
  label.append(part.scenes.length > 1 ? select : element("span", "", part.scenes[0].label));
  const buttons = element("span", "lanes-buttons");
  const signs = { out: ["−", "see more time"], in: ["+", "see less time"], back: ["←", "earlier"], on: ["→", "later"] };
  for (const [name, [sign, means]] of Object.entries(signs)) {
    const button = element("button", "", sign);
    button.type = "button";
    button.title = means;
    button.setAttribute("aria-label", means);
    button.dataset.lanes = name;
    buttons.append(button);
  }
  bar.append(label, buttons);
  const frame = element("div", "lanes-frame");
  const canvas = element("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", part.said);
  const mark = element("div", "lanes-mark");
  const tip = element("div", "lanes-tip");
  mark.hidden = tip.hidden = true;
  tip.setAttribute("role", "status");
  frame.append(canvas, mark, tip);
  const legend = element("ul", "lanes-legend");
  const tools = element("div", "tools");
  const reset = element("button", "reset", "Show all");
  reset.type = "button";
  reset.hidden = true;
  tools.append(element("span", "hint", "Drag or Ctrl + wheel to zoom, Shift + drag or arrows to move, double click to show all"), reset);
  box.classList.add("lanes");
  box.replaceChildren(bar, frame, legend, tools);
  return { bar, canvas, select, tip, mark, legend, reset };
}

/** What the states and stripes of a scene mean, each with its look. */
function laneLegend(legend, part, scene, theme) {
  const used = new Set(scene.lanes.flatMap((lane) => lane.spans.map((span) => span[2])));
  const ratio = window.devicePixelRatio || 1;
  const paint = lanePainter(theme, ratio);
  const swatch = (draws) => {
    const canvas = element("canvas");
    canvas.width = Math.round(26 * ratio);
    canvas.height = Math.round(16 * ratio);
    canvas.setAttribute("aria-hidden", "true");
    canvas.style.cssText = "width:26px;height:16px";
    const on = canvas.getContext("2d");
    on.scale(ratio, ratio);
    draws(on);
    return canvas;
  };
  const items = part.looks.flatMap(({ state, means }, number) => {
    if (!used.has(number)) return [];
    const item = element("li");
    const wide = laneLook(state).mark ? 3 : 24;
    item.append(swatch((on) => paint(on, state, 13 - wide / 2, 1, wide, 14)), element("span", "", means));
    return [item];
  });
  const stripes = new Map(scene.stripes.map(({ role, label }) => [role, label.split(": ").at(-1)]));
  for (const [role, label] of stripes) {
    const item = element("li");
    const look = swatch((on) => {
      on.fillStyle = theme.role(role, 0);
      on.fillRect(1, 0, 24, 4);
      on.globalAlpha = 0.25;
      on.fillRect(1, 4, 24, 12);
    });
    item.append(look, element("span", "", `${label}, across all lines`));
    items.push(item);
  }
  legend.replaceChildren(...items);
}

/** A span's times in words. */
function laneWhen(scene, start, end) {
  const from = scene.start + start;
  const to = scene.start + end;
  if (end === start) return `at ${fixed(from, 3)} s`;
  const lasts = end - start;
  return `${fixed(from, 3)} to ${fixed(to, 3)} s: ${lasts < 1 ? `${number(lasts * 1e3)} ms` : `${number(lasts)} s`}`;
}

/** As much of a name as there is room for; its number, which tells callers apart, stays. */
function laneFitting(on, name, room) {
  if (on.measureText(name).width <= room) return name;
  const number = name.match(/ \d+$/)?.[0] ?? "";
  return fitting(on, name.slice(0, name.length - number.length), room - on.measureText(number).width) + number;
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

  canvas.addEventListener(
    "wheel",
    (event) => {
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const unit = event.deltaMode === 1 ? 30 : 1;
      if (event.ctrlKey || event.metaKey) {
        does.zoom(Math.exp(Math.max(Math.min(event.deltaY * unit, 120), -120) * 0.003), does.tOf(place(event).x));
      } else if (sideways && does.zoomed()) {
        does.pan(((event.deltaX || event.deltaY) * unit) / does.inner());
      } else return; // the page scrolls
      event.preventDefault();
    },
    { passive: false },
  );

  canvas.addEventListener("pointerdown", (event) => {
    const at = place(event);
    held.set(event.pointerId, at);
    canvas.focus({ preventScroll: true });
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
      if (event.pointerType === "mouse") does.show(at.x, at.y);
      return;
    }
    if (Math.abs(at.x - pressed.x) < 5 && !pressed.moved) return;
    pressed.moved = true;
    if (pressed.moves && !does.zoomed()) does.show(at.x, at.y);
    else if (pressed.moves) {
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
  canvas.addEventListener("dblclick", does.whole);

  canvas.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => does.zoom(0.6),
      "=": () => does.zoom(0.6),
      "-": () => does.zoom(1 / 0.6),
      0: does.whole,
      Escape: does.whole,
      ArrowLeft: () => does.pan(-0.2),
      ArrowRight: () => does.pan(0.2),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
