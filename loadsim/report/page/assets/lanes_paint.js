// How the states of a swimlane look: a colour, a height and a pattern each, so that they differ without colour too.

/** `role`, `i`: the colour. `from`, `to`: from the top of a line to its bottom, 0 to 1. `mark`: a letter over what lasts
 * no longer than a moment. */
const LANE_LOOKS = {
  caller: { role: "load", i: 0, from: 0.3, to: 0.9, pattern: "solid" },
  pause: { role: "quiet", i: 0, from: 0.54, to: 0.66, pattern: "solid" },
  buffer: { role: "good", i: 0, from: 0.5, to: 0.95, pattern: "solid" },
  speaks: { role: "good", i: 0, from: 0.05, to: 0.95, pattern: "solid" },
  comes: { role: "good", i: 0, from: 0.05, to: 0.95, pattern: "dots" },
  wait: { role: "warn", i: 0, from: 0.05, to: 0.95, pattern: "open" },
  prefill: { role: "warn", i: 0, from: 0.05, to: 0.95, pattern: "rising" },
  join: { role: "cold", i: 0, from: 0.05, to: 0.95, pattern: "crossed" },
  superseded: { role: "quiet", i: 2, from: 0.2, to: 0.8, pattern: "falling" },
  hung_up: { role: "bad", i: 0, from: 0, to: 1, pattern: "solid", mark: "H" },
  error: { role: "bad", i: 0, from: 0, to: 1, pattern: "solid", mark: "E" },
  underrun: { role: "bad", i: 0, from: 0, to: 1, pattern: "level" },
  barge_in: { role: "power", i: 0, from: 0, to: 1, pattern: "solid", mark: "X" },
};
const LANE_UNKNOWN = { role: "quiet", i: 0, from: 0.1, to: 0.9, pattern: "open" };
const LANE_TILE = 8; // pixels of a pattern's side
const LANE_LETTER = 15; // pixels between two letters at least
const LANE_LEAST = { usual: 1, wrong: 2 }; // pixels that a span has at least

const laneLook = (state) => (Object.hasOwn(LANE_LOOKS, state) ? LANE_LOOKS[state] : LANE_UNKNOWN);

/** Paints spans in a theme's colours; `ratio`: device pixels of a CSS pixel. */
function lanePainter(theme, ratio) {
  const fills = new Map();

  /** A square of the pattern; it repeats without a seam. */
  function tile(pattern, colour) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.round(LANE_TILE * ratio);
    const draw = canvas.getContext("2d");
    draw.scale(canvas.width / LANE_TILE, canvas.width / LANE_TILE);
    draw.fillStyle = draw.strokeStyle = colour;
    draw.globalAlpha = pattern === "level" ? 1 : 0.3;
    draw.fillRect(0, 0, LANE_TILE, LANE_TILE);
    draw.globalAlpha = 1;
    draw.lineWidth = 1.6;
    if (pattern === "level") draw.strokeStyle = theme.back;
    const lines = {
      rising: [[-2, 2, 2, -2], [0, 8, 8, 0], [6, 10, 10, 6]],
      falling: [[-2, 6, 2, 10], [0, 0, 8, 8], [6, -2, 10, 2]],
      level: [[0, 2, 8, 2], [0, 6, 8, 6]],
      open: [],
      dots: [],
    };
    lines.crossed = [...lines.rising, ...lines.falling];
    for (const [x, y, toX, toY] of lines[pattern]) {
      draw.beginPath();
      draw.moveTo(x, y);
      draw.lineTo(toX, toY);
      draw.stroke();
    }
    if (pattern === "dots") {
      for (const [x, y] of [[2, 2], [6, 6]]) {
        draw.beginPath();
        draw.arc(x, y, 1.4, 0, 7);
        draw.fill();
      }
    }
    return canvas;
  }

  function fill(draw, look, colour) {
    if (look.pattern === "solid") return colour;
    const key = `${look.pattern} ${colour}`;
    if (!fills.has(key)) {
      const pattern = draw.createPattern(tile(look.pattern, colour), "repeat");
      pattern.setTransform(new DOMMatrix().scale(1 / ratio));
      fills.set(key, pattern);
    }
    return fills.get(key);
  }

  /** A span of `state` in the box at `x`, `y`; `lettered`: with its letter, where it has one. */
  return function paint(draw, state, x, y, width, height, lettered = true) {
    const look = laneLook(state);
    const colour = theme.role(look.role, look.i);
    const top = y + look.from * height;
    const high = (look.to - look.from) * height;
    draw.fillStyle = fill(draw, look, colour);
    draw.fillRect(x, top, width, high);
    if (look.pattern !== "solid" && width >= 3) {
      draw.strokeStyle = colour;
      draw.lineWidth = 1;
      draw.strokeRect(x + 0.5, top + 0.5, width - 1, high - 1);
    }
    if (look.mark && lettered) letter(draw, look.mark, x + width / 2, y, height, colour);
  };

  function letter(draw, mark, x, y, height, colour) {
    if (height < 12) return;
    draw.font = `bold ${Math.min(height * 0.55, 11)}px system-ui, sans-serif`;
    const side = draw.measureText(mark).width + 5;
    draw.fillStyle = theme.back;
    draw.fillRect(x - side / 2, y + height * 0.18, side, height * 0.64);
    draw.strokeStyle = colour;
    draw.lineWidth = 1.5;
    draw.strokeRect(x - side / 2, y + height * 0.18, side, height * 0.64);
    draw.fillStyle = colour;
    draw.textAlign = "center";
    draw.textBaseline = "middle";
    draw.fillText(mark, x, y + height * 0.52);
  }
}
