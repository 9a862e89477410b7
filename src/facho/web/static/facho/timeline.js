// In a lane of the timeline the arrows go from run to run; Enter opens the one that is reached.
"use strict";

document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const run = document.activeElement.closest(".fd-lane a[id^=run-]");
  if (!step || !run) return;
  const runs = [...run.closest("svg").querySelectorAll("a")];
  const next = runs[runs.indexOf(run) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
});
