// Sets formulas with KaTeX, which scripts/docs puts into the site; without it they stay TeX.
addEventListener("DOMContentLoaded", () => {
  if (!window.katex) return;
  for (const formula of document.querySelectorAll(".arithmatex")) {
    const text = formula.textContent.trim();
    const displayMode = text.startsWith("\\[");
    katex.render(text.slice(2, -2), formula, { displayMode, throwOnError: false });
  }
});
