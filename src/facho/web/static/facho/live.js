// Keeps the parts of a page up to date, and says so when that is no longer possible.
"use strict";

{
  // A button that is replaced between the press and the release of the mouse gets no click, and one with the focus
  // loses it. The next poll brings what this one does not show.
  const isHeld = (part) => part.querySelector(":active") !== null;

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target } = event.detail;
    if (xhr.status === 304 || isHeld(target)) {
      event.detail.shouldSwap = false;
    }
  });

  // What a person opened stays open when its part is replaced. Only parts that can be recognised have an id.
  const open = new WeakMap();

  document.addEventListener("htmx:beforeSwap", (event) => {
    const opened = event.detail.target.querySelectorAll("details[open][id]");
    open.set(event.detail.target, Array.from(opened, (each) => each.id));
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    for (const id of open.get(event.detail.target) ?? []) {
      document.getElementById(id)?.setAttribute("open", "");
    }
  });

  // The tag of what each part shows; a part that came with the page has it as an attribute. If the server still has
  // the same, it answers with 304 and without a body. The browser's own cache is not used: nothing of these pages
  // is stored.
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

  // Every page polls its banner: if that fails, what the page shows is out of date.
  document.addEventListener("htmx:afterRequest", (event) => {
    const unheard = document.getElementById("unheard");
    if (unheard && ["banner", "live"].includes(event.detail.elt.id)) {
      unheard.hidden = event.detail.successful || event.detail.xhr.status === 304;
    }
  });
}
