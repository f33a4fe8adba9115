// Asks for the sections that changed and puts them in place. The server says when to ask again; a hidden page waits.
"use strict";
(function () {
  const status = document.getElementById("live");
  const sections = () => Array.from(document.querySelectorAll("section[data-digest]"));

  function show(answer) {
    for (const [id, section] of Object.entries(answer.sections)) {
      const place = document.getElementById(id);
      if (place === null) continue;
      const scrolled = Array.from(place.querySelectorAll(".scroll"), (each) => each.scrollLeft);
      place.innerHTML = section.html;
      place.dataset.digest = section.digest;
      place.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] || 0; });
    }
    status.textContent = "Live, " + new Date().toLocaleTimeString() + ".";
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
      status.textContent = "Not live: " + error.message + ". Trying again.";
    }
    setTimeout(next, 1000 * wait);
  }

  function next() {
    if (!document.hidden) return ask();
    document.addEventListener("visibilitychange", next, { once: true });
  }

  if (status !== null) setTimeout(next, 500);
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "copied";
    });
  }
})();
