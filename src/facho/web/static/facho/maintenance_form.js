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
  const [start, end] = ["starts_at_0", "ends_at_0"].map((name) => document.querySelector(`[name='${name}']`));
  const times = [rowOf(start, end, preset), rowOf(end, start, preset)];
  const show = () => {
    once.hidden = repeats.value === "weekly";
    weekly.hidden = !once.hidden;
    for (const row of times) {
      row.hidden = preset.value !== "";
    }
  };
  repeats.addEventListener("change", show);
  preset.addEventListener("change", show);
  show();
});

// The largest element that has this field and none of the others.
function rowOf(field, ...others) {
  let row = field;
  while (!others.some((other) => row.parentElement.contains(other))) {
    row = row.parentElement;
  }
  return row;
}
