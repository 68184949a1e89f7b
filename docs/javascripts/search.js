// Names the search dialog of the theme for screen readers.
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
});
