// Puts pictures where they belong: each is drawn when it comes into view, and all of them before the page is printed.

const PAPER = 680; // pixels between the margins of an A4 page

const pictures = new Map(); // by id: what a drawer gave
const boxes = [...document.querySelectorAll("[data-part]")];

function drawn(box) {
  const part = parts[box.dataset.part];
  const drawer = drawers[part?.type];
  if (!pictures.has(part?.id) && drawer) {
    pictures.set(part.id, drawer(box, part, theme));
    box.style.minHeight = "";
    resized.observe(box);
    box.dataset.drawn = "";
  }
  return pictures.get(part?.id);
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) drawn(target);
      pictures.get(target.dataset.part)?.seen?.(isIntersecting);
    }
  },
  { rootMargin: "300px 0px" },
);

let printing = false;
const resized = new ResizeObserver((entries) => {
  if (printing) return;
  for (const { target, contentRect } of entries) pictures.get(target.dataset.part)?.resize(Math.floor(contentRect.width));
});

function print(now) {
  if (printing === now) return;
  printing = now;
  theme = useTheme(now ? "light" : undefined);
  for (const box of boxes) {
    const picture = drawn(box);
    picture?.seen?.(true);
    picture?.redraw(theme);
    picture?.resize(now ? PAPER : Math.floor(box.clientWidth));
  }
}

for (const box of boxes) {
  const { height } = parts[box.dataset.part];
  if (height) box.style.minHeight = `${height + 70}px`; // what comes later does not move when it is drawn
  seen.observe(box);
}
for (const details of document.querySelectorAll("details[data-of]")) {
  // Opened and closed at once, it tells only the last of both.
  const opened = () => {
    if (!details.open) return;
    details.removeEventListener("toggle", opened);
    showFigures(details, parts[details.dataset.of]);
  };
  details.addEventListener("toggle", opened);
}
watchTheme(document.getElementById("theme"), (now) => {
  for (const picture of pictures.values()) picture.redraw(now);
});
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
matchMedia("print").addEventListener("change", (event) => print(event.matches));
