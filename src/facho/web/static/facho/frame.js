// What the admin's frame leaves out for those who use a keyboard, or listen to a page.
"use strict";

// Opened by a click, and reached by no key.
const OPENERS = "[x-on\\:click]:not(a[href], button, input, label)";
// Select2 names a box after what is chosen there, which may be nothing.
const BOXES = ".select2-selection[aria-labelledby]";

function mend() {
  for (const opener of document.querySelectorAll(OPENERS)) {
    if (opener.textContent.trim()) {
      opener.tabIndex = 0;
      opener.role = "button";
    }
  }
  document.querySelectorAll(BOXES).forEach(nameBox);
}

function nameBox(box) {
  const select = box.closest(".select2").previousElementSibling;
  const label = select?.labels?.[0]?.textContent || select?.getAttribute("aria-label") || "";
  // A star says that it must be filled in.
  const name = label.replace("*", "").trim();
  if (!name) {
    return;
  }
  box.removeAttribute("aria-labelledby");
  box.setAttribute("aria-label", name);
  box.querySelector("[role=textbox]")?.setAttribute("aria-label", name);
}

document.addEventListener("DOMContentLoaded", () => {
  mend();
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
});

document.addEventListener("keydown", (event) => {
  if ((event.key === "Enter" || event.key === " ") && event.target.matches(OPENERS)) {
    event.preventDefault();
    event.target.click();
  }
});
