// The page as a whole: light and dark, what is open, print, download.

function startTheme() {
  const button = document.getElementById("theme");
  const dark = () => document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  const redraw = () => { charts.forEach((chart) => chart.plot?.redraw(false, false)); extentMap?.draw(); };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { label(); redraw(); });
  label();
}

function startDownload() {
  document.getElementById("download").addEventListener("click", () => {
    const data = document.getElementById("data");
    const file = new Blob([data.textContent], { type: "application/json" });
    const link = element("a");
    link.href = URL.createObjectURL(file);
    link.download = data.dataset.file;
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

// A link to something inside a closed part opens it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView();
}

// On paper everything that is printed is open, light, and as wide as the sheet.
function startPrint() {
  let before = null;
  addEventListener("beforeprint", () => {
    before = { theme: document.documentElement.dataset.theme, closed: [...document.querySelectorAll("details:not([open], .unprinted)")] };
    document.documentElement.dataset.theme = "light";
    document.documentElement.classList.add("printing");
    before.closed.forEach((part) => { part.open = true; });
    charts.forEach((chart) => { chart.draw(); });
    extentMap?.draw();
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    document.documentElement.classList.remove("printing");
    if (before.theme) document.documentElement.dataset.theme = before.theme; else delete document.documentElement.dataset.theme;
    before.closed.forEach((part) => { part.open = false; });
    before = null;
    charts.forEach((chart) => { chart.draw(); });
    extentMap?.draw();
  });
  document.getElementById("print").addEventListener("click", () => print());
}

// The contents say where the reader is.
function startContents() {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) links.get(entry.target.id)?.toggleAttribute("data-here", entry.isIntersecting);
  }, { rootMargin: "-10% 0px -70% 0px" });
  for (const id of links.keys()) {
    const part = document.getElementById(id);
    if (part) seen.observe(part);
  }
}

startCharts();
startMap();
startTables();
startTerms();
startTheme();
startDownload();
startPrint();
startContents();
addEventListener("hashchange", openTarget);
openTarget();
