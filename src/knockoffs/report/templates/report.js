"use strict";
const table = document.getElementById("features");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const search = document.getElementById("search");
const count = document.getElementById("count");

function key(row, column) {
  const cell = row.cells[column];
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.toLowerCase();
}

function sortBy(button) {
  const header = button.closest("th");
  const column = header.cellIndex;
  const descending = header.getAttribute("aria-sort") !== "descending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const keys = new Map(rows.map((row) => [row, key(row, column)]));
  rows.sort((a, b) => {
    const left = keys.get(a), right = keys.get(b);
    const order = left < right ? -1 : left > right ? 1 : 0;
    return descending ? -order : order;
  });
  body.append(...rows);
}

function filter() {
  const wanted = search.value.toLowerCase();
  let shown = 0;
  for (const row of rows) {
    const match = row.cells[0].textContent.toLowerCase().includes(wanted);
    row.hidden = !match;
    if (match) shown += 1;
  }
  count.textContent = `${shown} of ${rows.length}`;
}

for (const button of table.tHead.querySelectorAll("button")) {
  button.addEventListener("click", () => sortBy(button));
}
window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
search.addEventListener("input", filter);
filter();
