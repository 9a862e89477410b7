// Says below a form with a preview when the form has changed since.
"use strict";

{
  const panel = () => document.getElementById("what-if");

  const show = (isOutdated) => {
    document.getElementById("what-if-outdated").hidden = !isOutdated;
    panel().classList.toggle("fd-outdated", isOutdated);
  };

  const changed = (event) => {
    const here = panel();
    // The box to save anyway belongs to the preview itself.
    if (here?.childElementCount && event.target.form === here.closest("form") && !here.contains(event.target)) {
      show(true);
    }
  };

  document.addEventListener("input", changed);
  document.addEventListener("change", changed);
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === panel()) {
      show(false);
    }
  });
}
