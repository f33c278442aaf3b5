// Asks the run for what is new while somebody looks, and puts it in place: only sections that changed are touched, a figure
// keeps its box (and so the reader's zoom), and the page keeps its place.
(() => {
  const EVERY_MS = 2000;
  const PATIENCE = 5; // questions without an answer, one after the other, after which no more are asked
  const status = document.querySelector(".live");
  let have = "", asking = false, missed = 0, timer;

  function swap(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    const changed = [];
    for (const section of [...fresh.body.children]) {
      const old = document.getElementById(section.id);
      if (old && old.dataset.version === section.dataset.version) continue;
      const adopted = document.importNode(section, true);
      for (const figure of adopted.querySelectorAll("figure.plot")) {
        const box = document.querySelector(`#${figure.id} .drawing`);
        if (box) {
          box.style.height = figure.querySelector(".drawing").style.height;
          figure.querySelector(".drawing").replaceWith(box);
        }
        changed.push(figure);
      }
      const field = adopted.querySelector(".filter");
      if (field && old) field.value = old.querySelector(".filter")?.value ?? "";
      antune.sort(adopted);
      if (field) antune.filter(field);
      if (old) old.replaceWith(adopted);
      else document.querySelector("main").append(adopted);
      antune.observer.observe(adopted);
    }
    antune.redraw(changed);
  }

  function show(answer) {
    status.dataset.state = answer.state;
    status.textContent = answer.state === "ended" ?
      `The run has ended; this is its last state. ${answer.report} makes a page of it to keep.` : answer.message;
    if (!answer.main) return;
    document.title = document.querySelector("h1").textContent = answer.heading;
    document.getElementById("about").textContent = answer.about;
    const list = document.querySelector("nav ul");
    if (!list.children.length) {
      list.innerHTML = answer.contents;
      list.querySelectorAll("a").forEach((link) => antune.links.set(link.hash.slice(1), link));
    }
    swap(answer.main);
  }

  async function ask() {
    if (document.hidden || asking) return;
    asking = true;
    const answer = await fetch("state?have=" + encodeURIComponent(have), { cache: "no-store" })
      .then((response) => response.json()).catch(() => null);
    asking = false;
    if (answer === null) {
      missed += 1;
      if (missed >= PATIENCE) clearInterval(timer);
      status.dataset.state = "lost";
      status.textContent = "The run does not answer: it has ended, or was stopped.";
      return;
    }
    missed = 0;
    show(answer);
    have = answer.version;
    if (answer.state === "ended") clearInterval(timer);
  }

  timer = setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
  ask();
})();
