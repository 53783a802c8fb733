// Straight lines and shaded spans with their names, drawn on a chart's canvas.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

/** Draws within the chart's field, in its pixels. */
function inField(u, draw, spill = 0) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - spill, bbox.top - spill, bbox.width + 2 * spill, bbox.height + 2 * spill);
  ctx.clip();
  ctx.font = `${11 * uPlot.pxRatio}px ${FONT}`;
  ctx.lineWidth = 1.5 * uPlot.pxRatio;
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  draw(ctx, bbox, uPlot.pxRatio);
  ctx.restore();
}

/** As much of `text` as fits in `width`. */
function fitting(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length && ctx.measureText(`${letters.join("")}…`).width > width) letters.length = Math.floor(letters.length * 0.85);
  return letters.length > 2 ? `${letters.join("").trimEnd()}…` : "";
}

/** Words with a rim, to be read on lines. */
function write(ctx, text, x, y, colour, px) {
  ctx.strokeStyle = theme.back;
  ctx.lineWidth = 4 * px;
  ctx.lineJoin = "round";
  ctx.strokeText(text, x, y);
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}

/** The stripes that are in view, as [stripe, left, right] in pixels. */
function stripesIn(u, stripes, scale, box) {
  return stripes
    .map((stripe) => [stripe, ...[stripe.start, stripe.end].map((x) => u.valToPos(scale.to(x) ?? u.scales.x.min, "x", true))])
    .filter(([, from, to]) => to >= box.left && from <= box.left + box.width);
}

/** Hundreds of pauses in hours would shade all of the field: one that is a hair is a tick at its foot, but for what is bad. */
function drawStripes(u, stripes, scale) {
  inField(u, (ctx, box, px) => {
    for (const [{ role }, from, to] of stripesIn(u, stripes, scale, box)) {
      const tick = to - from < 2 * px && role !== "bad";
      ctx.fillStyle = faded(theme.role(role), tick ? 0.8 : theme.name === "dark" ? 0.24 : 0.16);
      const tall = tick ? 6 * px : box.height;
      ctx.fillRect(from, box.top + box.height - tall, Math.max(to - from, px), tall);
    }
  });
}

function nameStripes(u, stripes, scale) {
  inField(u, (ctx, box, px) => {
    let free = -Infinity;
    for (const [{ label }, from, to] of stripesIn(u, stripes, scale, box)) {
      const left = Math.max(from, box.left) + 4 * px;
      const room = Math.min(to, box.left + box.width) - left - 2 * px;
      if (room < 24 * px || left < free) continue;
      const text = fitting(ctx, label, room);
      write(ctx, text, left, box.top + 4 * px, theme.soft, px);
      free = left + ctx.measureText(text).width + 6 * px;
    }
  });
}

/** Rules lie on x or on the first y axis; one that lies outside what is seen is named at that edge. */
function drawRules(u, rules, scales) {
  const lines = [];
  inField(u, (ctx, box, px) => {
    for (const { label, at, along, role } of rules) {
      const colour = theme.role(role);
      const place = scales[along].to(at);
      if (place === null) continue;
      const { min, max } = u.scales[along === "x" ? "x" : "y0"];
      if (min === undefined || min === null) continue;
      const outside = place < min ? -1 : place > max ? 1 : 0;
      if (outside && along === "x") continue;
      const pos = u.valToPos(Math.min(Math.max(place, min), max), along === "x" ? "x" : "y0", true);
      ctx.strokeStyle = colour;
      ctx.setLineDash([6 * px, 4 * px]);
      ctx.beginPath();
      if (along === "x") [ctx.moveTo(pos, box.top), ctx.lineTo(pos, box.top + box.height)];
      else [ctx.moveTo(box.left, pos), ctx.lineTo(box.left + box.width, pos)];
      if (!outside) ctx.stroke();
      const text = fitting(ctx, `${label}${outside ? (outside > 0 ? " ↑" : " ↓") : ""}`, box.width - 12 * px);
      const wide = ctx.measureText(text).width;
      const tall = 14 * px;
      let [x, y] = along === "x"
        ? [pos + wide + 8 * px > box.left + box.width ? pos - wide - 7 * px : pos + 7 * px, box.top + 18 * px]
        : [box.left + 6 * px, pos - tall - px < box.top ? pos + 2 * px : pos - tall - px];
      const hits = (other) => x < other.x + other.wide && other.x < x + wide && Math.abs(y - other.y) < tall;
      for (let tries = 0; tries < 8 && lines.some(hits); tries++) y += tall;
      lines.push({ text, colour, x, y, wide });
    }
    ctx.setLineDash([]);
    for (const { text, colour, x, y } of lines) write(ctx, text, x, y, colour, px);
  });
}
