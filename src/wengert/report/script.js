"use strict";
// The graph's view: buttons and Ctrl with the wheel (which is also what a pinch on a touchpad is) enlarge it around the
// middle or the pointer; the mouse drags it; everything else is the browser's own scrolling.
for (const figure of document.querySelectorAll(".graph")) {
  const view = figure.querySelector(".view");
  const svg = view.querySelector("svg");
  const natural = svg.viewBox.baseVal;
  const fitting = () => Math.min(1, (view.clientWidth - 2) / natural.width);
  let scale = 1;

  const show = (wanted, x = view.clientWidth / 2, y = view.clientHeight / 2) => {
    const next = Math.min(4, Math.max(Math.min(0.2, fitting()), wanted));
    const [across, down] = [(view.scrollLeft + x) / scale, (view.scrollTop + y) / scale];
    svg.style.width = `${natural.width * next}px`;
    svg.style.height = `${natural.height * next}px`;
    scale = next;
    view.scrollTo(across * next - x, down * next - y);
  };
  const fit = () => {
    show(fitting());
    view.scrollTo(0, 0);
  };
  const zoom = { in: () => show(scale * 1.4), out: () => show(scale / 1.4), fit };

  figure.querySelector(".tools").hidden = false;
  for (const button of figure.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", zoom[button.dataset.zoom]);
  }
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const corner = view.getBoundingClientRect();
    show(scale * Math.exp(-event.deltaY / 200), event.clientX - corner.left, event.clientY - corner.top);
  }, { passive: false });
  view.addEventListener("keydown", (event) => {
    const chosen = { "+": "in", "=": "in", "-": "out", 0: "fit" }[event.key];
    if (chosen && !event.ctrlKey && !event.metaKey) zoom[chosen]();
  });
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    view.setPointerCapture(event.pointerId);
    view.classList.add("held");
  });
  view.addEventListener("pointermove", (event) => {
    if (view.hasPointerCapture(event.pointerId)) view.scrollBy(-event.movementX, -event.movementY);
  });
  view.addEventListener("lostpointercapture", () => view.classList.remove("held"));
  show(Math.max(fitting(), 0.7), 0, 0);
}
