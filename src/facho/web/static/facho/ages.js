// Lets ages go on: "3 min 05 s" of a <time data-age="185">. Marks values that become old in the open page.
"use strict";

{
  const TICK_MS = 1000;
  // When each was first seen, and its age then. The clock of the server and that of the browser may differ.
  const begun = new WeakMap();
  const decimal = new Intl.NumberFormat(document.documentElement.lang || "en").format(0.5).charAt(1);
  const two = (number) => String(number).padStart(2, "0");

  // As `core/durations.py` has it.
  const duration = (seconds) => {
    if (seconds < 9.95) {
      return `${seconds.toFixed(1).replace(".", decimal)} s`;
    }
    const whole = Math.round(seconds);
    if (whole < 60) {
      return `${whole} s`;
    }
    if (whole < 3600) {
      return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
    }
    if (whole < 86400) {
      return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
    }
    return `${Math.floor(whole / 86400)} d ${two(Math.floor((whole % 86400) / 3600))} h`;
  };

  const tick = () => {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-age]")) {
      // Also in a tab in the background, where it goes on unseen.
      if (!begun.has(time)) {
        begun.set(time, now - 1000 * Number(time.dataset.age));
      }
      if (document.hidden) {
        continue;
      }
      const age = Math.max(0, (now - begun.get(time)) / 1000);
      const text = duration(age);
      if (time.textContent !== text) {
        time.textContent = text;
      }
      const limit = time.closest("[data-stale-after]");
      limit?.classList.toggle("fd-old", age > Number(limit.dataset.staleAfter));
    }
  };

  document.addEventListener("DOMContentLoaded", tick);
  document.addEventListener("htmx:afterSwap", tick);
  document.addEventListener("visibilitychange", tick);
  setInterval(tick, TICK_MS);
}
