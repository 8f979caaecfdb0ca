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

  const total = (row) => row.reduce((sum, v) => sum + v, 0);

  // Returns the sum of a row divided in proportion to `shares`; without any, the row: as Rows.shared of attnexp.probe.
  function shared(row, shares) {
    const whole = total(shares), sum = total(row);
    return whole > 0 ? shares.map((v) => (v * sum) / whole) : row;
  }

  // Each law returns the weights that replace those of a row; `open` are the places of its valid keys.
  const LAWS = {
    learned: (row) => row,
    uniform: (row, open) => shared(row, row.map((_, key) => (open.includes(key) ? 1 : 0))),
    hard(row) {
      const largest = Math.max(...row);
      return shared(row, row.map((v) => (v === largest && v > 0 ? v : 0)));
    },
    shuffled(row, open, seed) {
      const found = new Float32Array(row.length);
      shuffle([...open], seed).forEach((key, i) => { found[key] = row[open[i]]; });
      return found;
    },
  };

  // Sets one weight of a row, at most to the sum of the row; the others share the rest in proportion.
  function drag(row, key, weight) {
    const sum = total(row), set = Math.min(weight, sum), rest = sum - row[key];
    row.forEach((v, i) => { row[i] = rest > 0 ? (v * (sum - set)) / rest : 0; });
    row[key] = set;
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
            } else own.set(LAWS[law](own.slice(), open, start));
            const here = dragged && dragged.row === (rows === 1 ? step : row) && dragged.layer === site.layer;
            if (here && (dragged.head === null || dragged.head === head)) drag(own, dragged.key, dragged.weight);
          }
        }
        return data;
      });
    }
  }

  return { rewrite };
})();
if (typeof module !== "undefined") module.exports = Laws;
