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
