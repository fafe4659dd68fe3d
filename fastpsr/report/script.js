
"use strict";
// The page reads well without: this sorts tables, and switches between light and dark.
const root = document.documentElement;
const button = document.getElementById("theme");
const isDark = () => root.dataset.theme
  ? root.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;
const offer = () => { button.textContent = isDark() ? "Light" : "Dark"; };
button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  offer();
});
offer();
button.hidden = false;

const valueOf = (row, place) => {
  const cell = row.cells[place];
  if (cell.dataset.value === undefined) return cell.textContent;
  const words = { inf: Infinity, "-inf": -Infinity };
  return words[cell.dataset.value] ?? Number(cell.dataset.value);
};
const isGap = (value) => value === "" || Number.isNaN(value);
const compare = (a, b) => typeof a === "number" && typeof b === "number"
  ? a - b || 0
  : String(a).localeCompare(String(b), undefined, { numeric: true });

function sort(table, place, sign) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row, place), row]);
  rows.sort(([a], [b]) => isGap(a) || isGap(b) ? isGap(a) - isGap(b) : sign * compare(a, b));
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, place, heads) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sort(table, place, ascending ? 1 : -1);
    });
  });
}
