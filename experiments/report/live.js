// Asks the run for what is new while somebody looks, and puts it in place: only sections that changed are touched, a figure
// keeps its box (and so the reader's zoom), and the page keeps its place.
(() => {
  const EVERY_MS = 2000;
  const status = document.querySelector(".live");
  let have = "", asking = false, timer;

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
      if (old) old.replaceWith(adopted);
      else document.querySelector("main").append(adopted);
      antune.observer.observe(adopted);
    }
    antune.redraw(changed);
  }

  function show(answer) {
    status.dataset.state = answer.state;
    status.textContent = answer.state === "ended" ?
      `The run has ended; this is its last state. antune report ${answer.directory} makes a page of it to keep.` : answer.message;
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
    try {
      const answer = await (await fetch("state?have=" + encodeURIComponent(have), { cache: "no-store" })).json();
      show(answer);
      have = answer.version;
      if (answer.state === "ended") clearInterval(timer);
    } catch {
      clearInterval(timer);
      status.dataset.state = "lost";
      status.textContent = "The run does not answer any more: it has ended, or was stopped.";
    } finally {
      asking = false;
    }
  }

  timer = setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
  ask();
})();
