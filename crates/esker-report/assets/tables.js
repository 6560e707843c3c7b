// Tables that sort by any column: a click or Enter on its head, once more to turn round.

function startTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("thead th button").forEach((button) => {
      button.addEventListener("click", () => sortBy(table, button.closest("th")));
    });
  }
}

function sortBy(table, head) {
  const heads = [...head.parentNode.children];
  const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", direction);
  const at = heads.indexOf(head);
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, value: sortValue(row, at) }));
  rows.sort((left, right) => compare(left.value, right.value, direction === "ascending" ? 1 : -1));
  body.append(...rows.map(({ row }) => row));
}

// A cell that spans several columns counts for each of them.
function sortValue(row, at) {
  let column = 0;
  for (const cell of row.cells) {
    column += cell.colSpan;
    if (column > at) {
      const text = cell.dataset.sort ?? cell.textContent.trim();
      const number = Number(text);
      return text === "" ? null : Number.isNaN(number) ? text : number;
    }
  }
  return null;
}

// Rows without a value stay at the end, whichever way round.
function compare(left, right, sign) {
  if (left === null || right === null) return (left === null) - (right === null);
  if (typeof left === "number" && typeof right === "number") return sign * (left - right);
  return sign * String(left).localeCompare(String(right), "en", { numeric: true });
}
