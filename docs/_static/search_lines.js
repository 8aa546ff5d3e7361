// Under each result of the search, the first sentence of its page: lines.js sets LINES.
document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("search-results");
  if (!results) return;
  const show = () => {
    for (const link of results.querySelectorAll("li:not([data-line]) > a")) {
      const page = link.getAttribute("href").split(/\.html/)[0];
      const line = document.createElement("p");
      line.textContent = window.LINES?.[page] ?? "";
      link.parentElement.dataset.line = page;
      link.parentElement.append(line);
    }
  };
  new MutationObserver(show).observe(results, { childList: true, subtree: true });
});
