// Says so when the page can no longer be brought up to date, and stops saying it when it can again.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const unheard = document.getElementById("unheard");
  const show = (event) => {
    unheard.hidden = event.detail.successful;
  };
  document.getElementById("live").addEventListener("htmx:afterRequest", show);
});
