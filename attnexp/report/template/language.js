// The language of the page, and its address, which holds the language next to what was set.
"use strict";
const Language = (() => {
  const table = JSON.parse(document.getElementById("table").textContent);
  const usual = document.documentElement.lang.slice(0, 2), key = `attnexp language ${location.pathname}`;
  const kept = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  function keep(name, value) {
    if (value === null || value === "") kept.delete(name);
    else kept.set(name, value);
    try {
      history.replaceState(null, "", `#${kept}`);
    } catch { /* a page in a frame may have no address */ }
  }

  // What was chosen survives a link to a part of the page, which replaces the address.
  function stored() {
    try {
      return sessionStorage.getItem(key);
    } catch { return null; } // a page in a frame may have no storage
  }
  const asked = kept.get("lang") ?? stored();
  const languages = Object.keys(table).length ? ["en", "zh"] : ["en"];
  const now = languages.includes(asked) ? asked : usual, other = now === "en" ? "zh" : "en";
  document.documentElement.lang = now === "zh" ? "zh-CN" : "en";

  const able = languages.length > 1 && location.protocol !== "about:"; // such a page would load as it was
  function change() {
    keep("lang", other);
    try {
      sessionStorage.setItem(key, other);
    } catch { /* the address has it */ }
    location.reload();
  }

  // A fixed text, with values at its places {name}.
  function say(english, values = {}) {
    const text = now === "en" ? english : table[english];
    return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  // The text of {count} things, whose form in English is that of one thing.
  const counted = (form, count) => say(form, { count }) + (now === "en" && count !== 1 ? "s" : "");

  const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  const list = (items) => items.map(String).reduce((some, next) => say("{list}, {next}", { list: some, next }));

  // For JSON.parse: a text in both languages becomes that of the page.
  const revive = (name, value) => (value && typeof value.en === "string" && typeof value.zh === "string" ? value[now] : value);

  return { kept, keep, now, other, change, say, counted, capital, list, able, revive };
})();
