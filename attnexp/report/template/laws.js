// Other weights in place of the learned ones, by the laws of `attnexp probe`, and other temperatures.
"use strict";
const Laws = (() => {
  function shuffle(list, seed) {
    for (let i = list.length - 1, state = seed * 7919 + 12345; i > 0; i -= 1) {
      state = (state * 1103515245 + 12345) % 2147483648;
      const j = state % (i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }

  // Returns the weights of one row under a law; `open` are the places of its valid keys.
  function lawful(law, row, open, seed) {
    const found = new Float32Array(row.length);
    if (law === "uniform") for (const key of open) found[key] = 1 / open.length;
    if (law === "hard") found[open.reduce((best, key) => (row[key] > row[best] ? key : best), open[0])] = 1;
    if (law === "shuffled") shuffle([...open], seed).forEach((key, i) => { found[key] = row[open[i]]; });
    return found;
  }

  // Gives each site of the main attention the rewrite that the settings ask for.
  function rewrite(program, main, settings) {
    const counts = new Map();
    for (const site of program.content.sites) {
      if (site.of === "scores") {
        const hot = settings.temperature;
        program.rewrite(site.node, hot === 1 ? null : (value) => value.data.map((v) => v / hot));
        continue;
      }
      if (site.part !== main) continue;
      const step = counts.get(site.layer) ?? 0;
      counts.set(site.layer, step + 1);
      const { law, off, dragged } = settings;
      if (law === "learned" && !dragged) {
        program.rewrite(site.node, null);
        continue;
      }
      program.rewrite(site.node, (value, valid) => {
        const [, heads, rows, keys] = value.shape, data = Float32Array.from(value.data);
        for (let head = 0; head < heads; head += 1) {
          for (let row = 0; row < rows; row += 1) {
            const start = (head * rows + row) * keys;
            const open = [...Array(keys).keys()].filter((key) => valid.data[start + key]);
            if (!open.length) continue;
            const own = data.subarray(start, start + keys);
            if (law === "off") {
              if (off.layer === site.layer && off.head === head) own.fill(0);
            } else if (law !== "learned") own.set(lawful(law, own.slice(), open, start));
            const here = dragged && dragged.row === (rows === 1 ? step : row) && dragged.layer === site.layer;
            if (here && (dragged.head === null || dragged.head === head)) {
              const rest = own.reduce((sum, v) => sum + v, 0) - own[dragged.key];
              for (const key of open) own[key] *= rest > 0 ? (1 - dragged.weight) / rest : 0;
              own[dragged.key] = dragged.weight;
            }
          }
        }
        return data;
      });
    }
  }

  return { rewrite };
})();
if (typeof module !== "undefined") module.exports = Laws;
