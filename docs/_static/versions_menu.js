// The menu of versions. ../versions.js, beside the folders of all versions, sets VERSIONS; without it there is one.
document.addEventListener("DOMContentLoaded", () => {
  const menu = document.querySelector(".versions select");
  if (!menu) return;
  const root = new URL(document.documentElement.dataset.content_root, document.baseURI);
  const here = root.pathname.split("/").filter(Boolean).at(-1);
  const versions = window.VERSIONS ?? [here];
  const newest = versions[0];
  const label = name => name === "dev" ? "dev (in development)" : name === newest ? `${name} (newest)` : name;
  for (const name of versions) menu.add(new Option(label(name), name, name === here, name === here));
  menu.addEventListener("change", () => { location.href = new URL(`../${menu.value}/index.html`, root); });
  if (versions.length < 2) menu.closest("label").hidden = true;
});
