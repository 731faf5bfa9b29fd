// What gives a way through the page: the list of its sections, which stays, and what the keyboard needs to reach all of it.

import { escape } from "./dom.js";

// A link to each section; the one that is looked at is marked.
export function contents(nav) {
  const sections = [...document.querySelectorAll("main > section")];
  nav.innerHTML = sections.map((section) => `<a href="#${section.id}">${escape(section.querySelector("h2").textContent)}</a>`).join("");
  const mark = () => {
    const top = nav.getBoundingClientRect().bottom + 16;
    let current = sections[0];
    for (const section of sections) if (section.getBoundingClientRect().top <= top) current = section;
    if (innerHeight + scrollY >= document.documentElement.scrollHeight - 2) current = sections[sections.length - 1];
    for (const link of nav.children) {
      if (link.hash === `#${current.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    const marked = nav.querySelector("[aria-current]");
    if (marked) nav.scrollLeft = marked.offsetLeft - nav.clientWidth / 2 + marked.offsetWidth / 2;
  };
  let waits = false;
  addEventListener("scroll", () => {
    if (!waits) requestAnimationFrame(() => { waits = false; mark(); });
    waits = true;
  }, { passive: true });
  addEventListener("resize", mark);
  mark();
}

// Tables that are wider than the page are scrolled by keys, too.
export function keyboard() {
  const look = () => {
    for (const wide of document.querySelectorAll(".wide")) {
      const scrolls = wide.scrollWidth > wide.clientWidth;
      if (!scrolls) {
        for (const name of ["tabindex", "role", "aria-label"]) wide.removeAttribute(name);
        continue;
      }
      const section = wide.closest("section");
      wide.tabIndex = 0;
      wide.setAttribute("role", "group");
      wide.setAttribute("aria-label", `table: ${section ? section.querySelector("h2").textContent : ""}`);
    }
  };
  addEventListener("resize", look);
  document.addEventListener("toggle", () => requestAnimationFrame(look), true);
  look();
}
