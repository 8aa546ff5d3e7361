"use strict";
// Panels of many buttons: a panel is one stop in the tab order, and arrow keys move the focus inside it (roving tabindex).
// A button of a panel has a `data-key`, by which it gets the focus back when the panel is drawn anew.
const buttonsOf = (panel) => [...panel.querySelectorAll("[data-key]")];
const makeStop = (panel, stop) => {
  for (const button of buttonsOf(panel)) button.setAttribute("tabindex", button === stop ? "0" : "-1");
};
const redraw = (panel, draw) => {
  const focused = panel.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  draw();
  const buttons = buttonsOf(panel);
  const same = focused === undefined ? undefined : buttons.find((button) => button.dataset.key === focused);
  makeStop(panel, same ?? buttons.find((button) => button.hasAttribute("aria-current")) ?? buttons[0]);
  same?.focus({ preventScroll: true });
};
// Follow the arrow keys in a panel: `next(key, button)` is the button to which a key leads, if there is such a button.
const followArrows = (panel, next) => {
  panel.addEventListener("keydown", (event) => {
    const button = event.target.closest("[data-key]");
    if (!button || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = next(event.key, button);
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (!to) return;
    makeStop(panel, to);
    to.focus();
  });
};
const upAndDown = (panel) => (key, button) => {
  const turn = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!turn) return undefined;
  const buttons = buttonsOf(panel);
  return buttons[buttons.indexOf(button) + turn] ?? null;
};
