// Says so when the page can no longer be brought up to date, and stops saying it when it can again.
"use strict";

// A button that is replaced between the press and the release of the mouse gets no click. The next poll brings
// what this one does not show.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.querySelector(":active")) {
    event.detail.shouldSwap = false;
  }
});

document.addEventListener("DOMContentLoaded", () => {
  const unheard = document.getElementById("unheard");
  const show = (event) => {
    unheard.hidden = event.detail.successful;
  };
  document.getElementById("live").addEventListener("htmx:afterRequest", show);
});
