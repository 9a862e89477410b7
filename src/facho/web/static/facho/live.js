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

  // The pages of errors have one alert. Without an answer there is none.
  const sentenceOf = (xhr) => {
    const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
    return page.querySelector("[role=alert]")?.textContent.trim() ?? "";
  };

  // A button whose request fails says so where its result would be.
  const sayAt = (place, sentence) => {
    const said = document.createElement("p");
    said.className = "fd-error";
    said.setAttribute("role", "alert");
    said.textContent = sentence;
    place.replaceChildren(said);
  };

  // Every page polls its banner: if that fails, what the page shows is out of date. What a person asked for with a
  // filter or a link is said there too, until the next poll.
  const BY_A_PERSON = "by a person";
  const POLLS = ["banner", "live"];
  const failed = new Map();

  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, target, xhr, successful, requestConfig } = event.detail;
    const unheard = document.getElementById("unheard");
    if (!unheard) {
      return;
    }
    unheard.dataset.silent ??= unheard.textContent;
    const isFailure = !successful && xhr.status !== 304;
    if (requestConfig.verb !== "get") {
      if (isFailure) {
        sayAt(target, sentenceOf(xhr) || unheard.dataset.refused);
      }
      return;
    }
    const key = POLLS.includes(elt.id) ? elt.id : BY_A_PERSON;
    if (isFailure && (key !== BY_A_PERSON || elt.matches("form, a"))) {
      failed.set(key, sentenceOf(xhr) || unheard.dataset.silent);
    } else if (!isFailure) {
      failed.delete(key);
      failed.delete(BY_A_PERSON);
    }
    unheard.hidden = failed.size === 0;
    unheard.textContent = failed.values().next().value ?? unheard.dataset.silent;
  });
}
