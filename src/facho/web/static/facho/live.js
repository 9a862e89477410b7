// Says so when the page can no longer be brought up to date, and stops saying it when it can again.
"use strict";

// A button that is replaced between the press and the release of the mouse gets no click. The next poll brings
// what this one does not show.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 304 || event.detail.target.querySelector(":active")) {
    event.detail.shouldSwap = false;
  }
});

// The tag of what each part shows; a part that came with the page has it as an attribute. If the server still has
// the same, it answers with 304 and without a body. The browser's own cache is not used: nothing of these pages is
// stored.
const shown = new WeakMap();

document.addEventListener("htmx:configRequest", (event) => {
  const target = event.detail.target;
  const tag = shown.get(target) ?? target.dataset.etag;
  if (tag && event.detail.verb === "get") {
    event.detail.headers["If-None-Match"] = tag;
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  shown.set(event.detail.target, event.detail.xhr.getResponseHeader("ETag"));
});

document.addEventListener("DOMContentLoaded", () => {
  const unheard = document.getElementById("unheard");
  const show = (event) => {
    unheard.hidden = event.detail.successful;
  };
  document.getElementById("live").addEventListener("htmx:afterRequest", show);
});
