// "/" leads to the search box, unless somebody is writing.
"use strict";

document.addEventListener("keydown", (event) => {
  const find = document.getElementById("find");
  const writing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || writing || !find || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  event.preventDefault();
  find.focus();
  find.select();
});
