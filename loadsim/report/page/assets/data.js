"use strict";
// What the page is made of, by the parts' ids; what Python left out because it is as always is put back.

const parts = JSON.parse(document.getElementById("data").textContent);
for (const part of Object.values(parts)) {
  for (const series of part.series ?? []) {
    const usual = { top: [], draw: "line", role: "load", axis: 0, dashed: false, notes: [] };
    for (const [name, value] of Object.entries(usual)) series[name] ??= value;
  }
}
