"use strict";
// Draws the figures of the page: plotly's part is beside each box as JSON, in which "@best" stands for the colour --best.
const antune = (() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = new Map(); // figure id -> the view that the reader chose
  const config = { responsive: true, displayModeBar: false };
  let drawn = Promise.resolve();

  function themed(value, style) {
    if (typeof value === "string" && /^@[a-z_]+$/.test(value)) {
      return style.getPropertyValue("--" + value.slice(1).replaceAll("_", "-")).trim() || "#888888";
    }
    if (Array.isArray(value)) return value.map((one) => themed(one, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, themed(one, style)]));
    }
    return value;
  }

  function looks(layout, style) {
    const clear = "rgba(0,0,0,0)";
    const result = { ...layout, paper_bgcolor: themed("@paper", style), plot_bgcolor: clear, font: {
      family: getComputedStyle(document.body).fontFamily, size: 12, color: themed("@ink", style) } };
    for (const key of Object.keys(layout).filter((name) => /^[xy]axis/.test(name))) {
      result[key] = { gridcolor: themed("@line", style), zerolinecolor: themed("@line", style),
        linecolor: themed("@line", style), ...layout[key] };
    }
    return result;
  }

  async function unpack() {
    const packed = document.getElementById("plotly");
    if (!packed || window.Plotly) return;
    const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(plain).text();
    packed.remove();
    document.head.append(script);
  }

  const PAPER = [380, 760]; // pixels that a figure is wide in print, in columns and alone, before it is scaled to the paper

  function draw(figure, paper = false) {
    const box = figure.querySelector(".drawing");
    const views = JSON.parse(figure.querySelector("script").textContent);
    const view = views[Math.min(chosen.get(figure.id) ?? 0, views.length - 1)];
    const style = getComputedStyle(document.documentElement);
    const layout = looks(themed(view.layout, style), style);
    if (paper) {
      layout.width = PAPER[figure.closest(".columns") ? 0 : 1];
      Plotly.purge(box); // what is left of another width would have to be mended later, and there is no later
    }
    const done = Plotly.react(box, themed(view.data, style), layout, config);
    figure.querySelectorAll(".views button").forEach((button, number) => {
      button.setAttribute("aria-pressed", String(views[number] === view));
    });
    scalable(box);
    return done.then(() => scalable(box));
  }

  // In print, and only there, the style sheet scales a drawing to the paper; for that it must know its own size.
  function scalable(box) {
    const { width, height } = box._fullLayout ?? {};
    if (!width || !height) return;
    box.style.setProperty("--aspect", width + " / " + height);
    for (const layer of box.querySelectorAll(".main-svg")) layer.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  async function drawAll(figures = document.querySelectorAll("figure.plot")) {
    await unpack();
    for (const figure of figures) {
      if (!figure.isConnected) continue; // a live page has put another one in its place
      await draw(figure);
      await new Promise((next) => setTimeout(next)); // the page answers between figures
    }
  }

  async function copy(button) {
    const text = button.parentElement.querySelector("pre").textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
      button.textContent = "selected";
    }
    setTimeout(() => { button.textContent = "copy"; }, 2000);
  }

  const sorted = new Map(); // section id -> [column, descending] that the reader chose

  function keyOf(cell) {
    if (cell.dataset.key === undefined) return cell.textContent;
    return cell.dataset.key === "" ? null : Number(cell.dataset.key);
  }

  function sort(section) {
    const choice = sorted.get(section.id);
    if (!choice) return;
    const [column, descending] = choice;
    const rows = [...section.querySelectorAll(".sortable tbody tr")].map((row) => [keyOf(row.cells[column]), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // what has no value stays behind
      const order = typeof a === "number" ? a - b : a.localeCompare(b);
      return descending ? -order : order;
    });
    section.querySelector(".sortable tbody").append(...rows.map(([, row]) => row));
    section.querySelectorAll(".sortable th").forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function sortBy(button) {
    const section = button.closest("section"), column = button.closest("th").cellIndex;
    const [before, descending] = sorted.get(section.id) ?? [];
    sorted.set(section.id, [column, before === column && !descending]);
    sort(section);
  }

  function filter(field) {
    const wanted = field.value.toLowerCase();
    field.closest(".sortable").querySelectorAll("tbody tr").forEach((row) => {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }

  function slide(field) {
    const slides = field.closest(".slides"), all = [...slides.querySelectorAll(".slide")];
    all.forEach((one, number) => one.classList.toggle("shown", number === Number(field.value)));
    slides.querySelector("output").textContent = all[Number(field.value)].dataset.title;
  }

  function listen() {
    document.addEventListener("input", (event) => {
      if (event.target.matches(".slider input")) slide(event.target);
      if (event.target.matches(".filter")) filter(event.target);
    });
    document.addEventListener("click", (event) => {
      if (event.target.matches(".sort")) sortBy(event.target);
      if (event.target.matches(".copy")) copy(event.target);
      if (event.target.matches(".views button")) {
        const figure = event.target.closest("figure");
        chosen.set(figure.id, [...event.target.parentElement.children].indexOf(event.target));
        draw(figure);
      }
    });
    dark.addEventListener("change", () => redraw());
    addEventListener("beforeprint", () => {
      document.documentElement.classList.add("paper");
      document.querySelectorAll("figure.plot .js-plotly-plot").forEach((box) => draw(box.closest("figure"), true));
    });
    addEventListener("afterprint", () => {
      document.documentElement.classList.remove("paper");
      redraw();
    });
    addEventListener("resize", () => setTimeout(() => document.querySelectorAll(".js-plotly-plot").forEach(scalable), 300));
  }

  function redraw(figures) {
    drawn = drawn.then(() => drawAll(figures)).then(() => document.documentElement.setAttribute("data-drawn", Date.now()));
    return drawn;
  }

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));

  function contents() {
    const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
      if (!entry.isIntersecting) return;
      links.forEach((link, id) => link.toggleAttribute("aria-current", id === entry.target.id));
      const link = links.get(entry.target.id);
      if (!link) return;
      const list = link.closest("ul");
      list.scrollTo({ left: link.offsetLeft - list.clientWidth / 2 });
    }), { rootMargin: "-10% 0px -80% 0px" });
    document.querySelectorAll("main > section").forEach((section) => seen.observe(section));
    return seen;
  }

  listen();
  const observer = contents();
  redraw();
  return { redraw, sort, filter, observer, links };
})();
