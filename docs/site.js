// Elements that scroll sideways take the keyboard's focus, and only while they scroll.
const SCROLLING = "pre > code, .md-typeset__scrollwrap, .formula";

function markScrolling() {
  for (const box of document.querySelectorAll(SCROLLING)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// The theme adds a bar of buttons to each block of code as a landmark, all without a name.
function nameBars() {
  document.querySelectorAll(".md-code__nav").forEach((bar, place) => {
    bar.setAttribute("aria-label", `Code block ${place + 1}`);
  });
}

function update() {
  markScrolling();
  nameBars();
}

// The theme wraps tables and adds its bars after the page is there.
new MutationObserver(update).observe(document.body, { childList: true, subtree: true });
new ResizeObserver(update).observe(document.body);

// A click on a head of the register sorts its rows, those without text in the column last.
function sort(body, column, sign) {
  const text = (row) => row.cells[column].textContent.trim();
  const rows = [...body.rows].sort((one, other) => {
    const [a, b] = [text(one), text(other)];
    return a && b ? sign * a.localeCompare(b, "en", { numeric: true }) : !a - !b;
  });
  body.append(...rows);
}

function addButton(head, column, heads) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.onclick = () => {
    const order = head.ariaSort === "ascending" ? "descending" : "ascending";
    for (const other of heads) other.ariaSort = other === head ? order : null;
    sort(head.closest("table").tBodies[0], column, order === "ascending" ? 1 : -1);
  };
}

// An input above it hides the rows that lack one of its words.
function addFilter(table) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  input.type = "search";
  label.append("Rows with ", input);
  table.closest("#register").prepend(label);
  input.oninput = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows)
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  };
}

for (const table of document.querySelectorAll("#register table")) {
  [...table.tHead.rows[0].cells].forEach(addButton);
  addFilter(table);
}
