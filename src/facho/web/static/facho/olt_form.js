// Puts the brand and the model that an OLT said it is into its form.
"use strict";

document.addEventListener("click", (event) => {
  const use = event.target.closest("[data-use-brand]");
  if (!use) {
    return;
  }
  choose("id_brand", use.dataset.useBrand, use.dataset.useBrandName);
  choose("id_model", use.dataset.useModel, use.dataset.useModelName);
});

function choose(id, value, name) {
  const select = document.getElementById(id);
  // The list is loaded as one types: what it has not loaded yet is no choice of it.
  if (value && ![...select.options].some((option) => option.value === value)) {
    select.add(new Option(name, value));
  }
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}
