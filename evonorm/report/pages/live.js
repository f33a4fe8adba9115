// Asks for the sections that changed and puts them in place. The server says when to ask again; a hidden page waits.
"use strict";
(function () {
  const status = document.getElementById("live");
  const sections = () => Array.from(document.querySelectorAll("section[data-digest]"));

  // What is not on the screen stays as it is until it is scrolled there or printed: drawing is what a page costs.
  const news = new Map();
  let live = true;
  const onScreen = new Set();
  const watcher = new IntersectionObserver((changes) => {
    for (const change of changes) {
      if (change.isIntersecting) onScreen.add(change.target.id); else onScreen.delete(change.target.id);
    }
    draw(onScreen);
  }, { rootMargin: "200px" });

  function draw(ids) {
    for (const id of ids) {
      const place = document.getElementById(id);
      if (place === null || !news.has(id)) continue;
      const scrolled = Array.from(place.querySelectorAll(".scroll"), (each) => each.scrollLeft);
      place.innerHTML = news.get(id);
      news.delete(id);
      place.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] || 0; });
      makeTables(place);
    }
  }

  function show(answer) {
    for (const [id, section] of Object.entries(answer.sections)) {
      if (document.getElementById(id) === null) return location.reload();
      news.set(id, section.html);
      document.getElementById(id).dataset.digest = section.digest;
    }
    draw(onScreen);
    if (Object.keys(answer.sections).length || !live) status.textContent = "Last news at " + new Date().toLocaleTimeString() + ".";
    live = true;
  }

  async function ask() {
    let wait = 5;
    try {
      const known = sections().map((each) => each.dataset.digest).join(",");
      const reply = await fetch(status.dataset.live + "?known=" + known);
      if (!reply.ok) throw new Error("the server answered " + reply.status);
      const answer = await reply.json();
      show(answer);
      wait = answer.wait;
    } catch (error) {
      live = false;
      status.textContent = "Not live: " + error.message + ". Trying again.";
    }
    setTimeout(next, 1000 * wait);
  }

  function next() {
    if (!document.hidden) return ask();
    document.addEventListener("visibilitychange", next, { once: true });
  }

  // Tables: a heading sorts, words in the field above find. What was chosen outlives a redrawing.
  const chosen = new Map();

  function makeTables(place) {
    for (const table of place.querySelectorAll("table.sortable")) {
      const key = table.closest("section") ? table.closest("section").id : "page";
      const state = chosen.get(key) || { column: -1, up: false, words: "" };
      chosen.set(key, state);
      table.querySelectorAll("thead th").forEach((head, column) => {
        const button = document.createElement("button");
        button.textContent = head.textContent;
        head.replaceChildren(button);
        button.addEventListener("click", () => {
          state.up = state.column === column ? !state.up : !head.classList.contains("number");
          state.column = column;
          arrange(table, state);
        });
      });
      const field = document.createElement("input");
      field.type = "search";
      field.className = "find";
      field.placeholder = "find among " + table.dataset.find;
      field.setAttribute("aria-label", field.placeholder);
      field.value = state.words;
      field.addEventListener("input", () => { state.words = field.value; arrange(table, state); });
      table.closest(".scroll").before(field);
      arrange(table, state);
    }
  }

  function arrange(table, state) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    if (state.column < 0) return;
    const heads = table.querySelectorAll("thead th");
    heads.forEach((head, column) => {
      if (column === state.column) head.setAttribute("aria-sort", state.up ? "ascending" : "descending"); else head.removeAttribute("aria-sort");
    });
    const text = (row) => row.cells[state.column].textContent.trim();
    const value = (row) => { const found = parseFloat(text(row).replace(/[#,]/g, "")); return isNaN(found) ? -Infinity : found; };
    const numbers = heads[state.column].classList.contains("number") || rows.every((row) => /^#?[\d,.]+/.test(text(row)));
    const order = (a, b) => numbers ? value(a) - value(b) : text(a).localeCompare(text(b));
    rows.sort((a, b) => state.up ? order(a, b) : order(b, a));
    body.append(...rows);
  }

  // A candidate that the mouse or the keyboard is on is lit up wherever else it stands.
  function light(event) {
    for (const each of document.querySelectorAll(".lit")) each.classList.remove("lit");
    const link = event.type === "focusout" ? null : event.target.closest && event.target.closest("a[href*='/candidates/']");
    if (!link) return;
    const href = link.getAttribute("href");
    for (const each of document.querySelectorAll("a[href*='/candidates/']")) {
      if (each.getAttribute("href") === href) (each.closest("tr") || each).classList.add("lit");
    }
  }

  // With the keyboard: arrows go along the strips of a chart that has the focus.
  function walk(event) {
    const chart = event.target;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !chart.matches || !chart.matches("svg.chart")) return;
    const strips = Array.from(chart.querySelectorAll(".tip"));
    if (!strips.length) return;
    const at = strips.findIndex((each) => each.classList.contains("on"));
    if (at >= 0) strips[at].classList.remove("on");
    const next = strips[(at + step + strips.length) % strips.length];
    next.classList.add("on");
    chart.setAttribute("aria-label", next.querySelector(".value").textContent);
    event.preventDefault();
  }

  makeTables(document);
  for (const each of ["mouseover", "focusin", "focusout"]) document.addEventListener(each, light);
  document.addEventListener("keydown", walk);

  if (status !== null) {
    sections().forEach((each) => watcher.observe(each));
    addEventListener("beforeprint", () => draw(Array.from(news.keys())));
    setTimeout(next, 500);
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "copied";
    });
  }
})();
