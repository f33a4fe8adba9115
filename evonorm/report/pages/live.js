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
