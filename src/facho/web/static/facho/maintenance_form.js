// Shows the times that belong to the choice: a preset, other times, or every week.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const repeats = document.getElementById("id_repeats");
  const preset = document.getElementById("id_preset");
  if (!repeats || !preset) {
    return;
  }
  const weekly = document.querySelector("[name='start_time']").closest("fieldset");
  const once = preset.closest("fieldset");
  const show = () => {
    once.hidden = repeats.value === "weekly";
    weekly.hidden = !once.hidden;
    for (const row of once.querySelectorAll(".field-starts_at, .field-ends_at")) {
      row.hidden = preset.value !== "";
    }
  };
  repeats.addEventListener("change", show);
  preset.addEventListener("change", show);
  show();
});
