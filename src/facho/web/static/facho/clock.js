// The clock of a wall: the server's time, which may differ from that of the screen, in the zone of the page.
"use strict";

for (const clock of document.querySelectorAll(".fd-clock")) {
  const ahead = Number(clock.dataset.now) * 1000 - Date.now();
  const words = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: clock.dataset.zone });
  const tick = () => {
    clock.textContent = words.format(Date.now() + ahead);
  };
  tick();
  setInterval(tick, 1000);
}
