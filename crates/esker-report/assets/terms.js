// Explanations of words and numbers, where they are hovered, focused or tapped.

function startTerms() {
  const bubble = element("div", "bubble");
  bubble.id = "bubble";
  bubble.setAttribute("role", "tooltip");
  bubble.hidden = true;
  document.body.append(bubble);
  let shownFor = null;

  function show(target) {
    const text = explanation(target);
    if (!text) return;
    shownFor?.removeAttribute("aria-describedby");
    shownFor = target;
    target.setAttribute("aria-describedby", "bubble");
    bubble.textContent = text;
    bubble.hidden = false;
    const place = target.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(place.left, width - bubble.offsetWidth - 8));
    const above = place.top > bubble.offsetHeight + 12;
    bubble.style.left = `${left + scrollX}px`;
    bubble.style.top = `${scrollY + (above ? place.top - bubble.offsetHeight - 8 : place.bottom + 8)}px`;
  }

  function hide() {
    shownFor?.removeAttribute("aria-describedby");
    shownFor = null;
    bubble.hidden = true;
  }

  const explained = (event) => event.target.closest?.("[data-term], [data-tip]");
  document.addEventListener("mouseover", (event) => { const target = explained(event); if (target) show(target); });
  document.addEventListener("mouseout", (event) => { if (explained(event) === shownFor) hide(); });
  document.addEventListener("focusin", (event) => { const target = explained(event); if (target) show(target); else hide(); });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("click", (event) => {
    const target = explained(event);
    if (!target) return hide();
    if (target.matches("a.term")) event.preventDefault();
    show(target);
  });
}

function explanation(target) {
  const meaning = target.dataset.term && document.getElementById(`term-${target.dataset.term}`)?.textContent.trim();
  return [target.dataset.tip, meaning].filter(Boolean).join(" ");
}
