"use strict";
// Light and dark. The colours are page.css's variables, so that words and canvases have the same ones.

const ROLES = ["load", "alone", "cold", "other", "good", "warn", "bad", "heat", "clock", "power", "quiet"];
const HUES = 4; // of each role
const CHOICES = ["auto", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");

let choice = recall();

/** What was chosen before; a file opened from a mail may not be allowed to remember. */
function recall() {
  try {
    const kept = localStorage.getItem("loadsim-theme");
    return CHOICES.includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}

function remember() {
  try {
    localStorage.setItem("loadsim-theme", choice);
  } catch {
    // The choice holds until the page is closed.
  }
}

/** Shows the page in `name`, and gives its colours: by their own names, and `role(name, i)`, the i-th of a role. */
function useTheme(name = choice === "auto" ? (dark.matches ? "dark" : "light") : choice) {
  const root = document.documentElement;
  root.dataset.theme = name;
  const read = getComputedStyle(root);
  const of = (variable) => read.getPropertyValue(`--${variable}`).trim();
  const roles = Object.fromEntries(
    ROLES.map((role) => [role, Array.from({ length: HUES }, (_, i) => of(`${role}-${i}`))]),
  );
  return {
    name,
    ink: of("ink"),
    soft: of("soft"),
    line: of("line"),
    back: of("back"),
    raised: of("raised"),
    role: (role, i = 0) => roles[role][i % HUES],
  };
}

let theme = useTheme();

/** Calls `changed(theme)` whenever the reader or the system asks for other colours. */
function watchTheme(button, changed) {
  const tell = () => {
    button.textContent = `Colours: ${choice}`;
    theme = useTheme();
    changed(theme);
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    remember();
    tell();
  });
  dark.addEventListener("change", tell);
  button.textContent = `Colours: ${choice}`;
  button.hidden = false;
}
