// The sections of a page that compute: they answer a typed source, and fit dragged points.
//
// `tools` are functions of page.js. A section gets the content of attnexp.tracing.computed for each
// configuration, or the reason why it cannot be computed. The address of the page holds what was set.
"use strict";
const Computing = (tools) => {
  const { make, draw, paint, number, roundTicks } = tools;
  const RUN = { learned: "learned", uniform: "uniform", hard: "hard", shuffled: "shuffled", off: "one head off" };
  const STEPS = 200, WIDE = 560, HIGH = 300, EDGE = 44;

  // The address: what was typed and set, so that a link shows the same.

  const kept = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  function keep(name, value) {
    if (value === null || value === "") kept.delete(name);
    else kept.set(name, value);
    history.replaceState(null, "", `#${kept}`);
  }

  function slider(text, low, high, value, show, change) {
    const output = make("output", {}, show(value));
    const place = (v) => Math.round((STEPS * Math.log(v / low)) / Math.log(high / low));
    const input = make("input", { type: "range", min: 0, max: STEPS, step: 1, value: place(value), "aria-label": text, oninput: () => {
      const set = low * (high / low) ** (Number(input.value) / STEPS);
      output.textContent = show(set);
      change(set);
    } });
    return make("label", {}, text, input, output);
  }

  function choice(text, names, value, change) {
    const select = make("select", { "aria-label": text, onchange: () => change(select.value) },
      ...Object.entries(names).map(([name, label]) => make("option", { value: name }, label)));
    select.value = value;
    return make("label", {}, text, select);
  }

  const entropy = (row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);

  // Sequences.

  function sequences(one, id) {
    const program = new Interpreter.Program(one.programs.forward);
    const { ids } = one, name = one.main === "self" ? "cross" : one.main;
    const [, layers, heads] = program.output(name).shape;
    const settings = { law: kept.get(`${id}.law`) ?? "learned", temperature: Number(kept.get(`${id}.temperature`)) || 1, off: { layer: 0, head: 0 }, dragged: null };
    const shown = { layer: layers - 1, head: null };
    const symbols = new Map(one.typed.map((i) => [one.source_vocab[i], i]));
    const answer = make("p", { class: "answer", "aria-live": "polite" });
    const told = make("p", { class: "reading", "aria-live": "polite" }, "Touch a map to read a weight; drag a cell up or down to change it.");
    const map = make("div", { class: "computed-map" });
    const input = make("input", { type: "text", "aria-label": "source", value: kept.get(`${id}.source`) ?? one.first, size: 40, spellcheck: "false" });
    let turn = 0, source = [], written = [], latest = null;

    function split(text) {
      if (one.characters) return [...text.normalize("NFC")];
      return (one.commas ? text.replace(/,/g, " ") : text.normalize("NFC")).split(/\s+/).filter(Boolean);
    }

    function problem(typed) {
      if (!typed.length) return "Type a source.";
      if (typed.length + 1 > one.source) return `A source has at most ${one.source - 1} symbols.`;
      const unknown = typed.find((symbol) => !symbols.has(symbol));
      if (unknown !== undefined && ids.unknown === null) return `\u201c${unknown}\u201d is not a symbol: ${[...symbols.keys()].slice(0, 40).join(" ")}`;
      return null;
    }

    function enter() {
      const typed = split(input.value), wrong = problem(typed);
      if (wrong) {
        answer.textContent = wrong;
        return false;
      }
      source = [...typed.map((symbol) => symbols.get(symbol) ?? ids.unknown), ids.eos];
      const padded = [...source, ...Array(one.source - source.length).fill(ids.pad)];
      for (const field of ["keys", "values"]) if (program.has(field)) program.set(field, padded);
      program.set("mask", padded.map((_, i) => (i < source.length ? 1 : 0)));
      keep(`${id}.source`, input.value === one.first ? null : input.value);
      return true;
    }

    function next() { // the likeliest symbol behind those that are written
      const given = [ids.bos, ...written].slice(0, one.target);
      program.set("queries", [...given, ...Array(one.target - given.length).fill(ids.pad)]);
      const logits = program.output("outputs"), width = logits.shape[2];
      const row = logits.data.subarray(written.length * width, (written.length + 1) * width);
      return row.reduce((best, v, i) => (v > row[best] ? i : best), 0);
    }

    async function answered() {
      const mine = (turn += 1);
      Laws.rewrite(program, one.main, settings);
      if (!enter()) return;
      written = [];
      while (written.length < one.target) {
        const symbol = next();
        written.push(symbol);
        say(symbol === ids.eos || written.length === one.target);
        redraw();
        if (symbol === ids.eos) return;
        await new Promise((done) => setTimeout(done, 30));
        if (turn !== mine) return;
      }
    }

    function say(ended) {
      const text = written.filter((i) => i !== ids.eos).map((i) => one.target_vocab[i]).join(one.joined ? "" : " ");
      answer.textContent = `\u2192 ${text}${ended ? "" : " \u2026"}`;
    }

    function weightsOf() {
      const { shape, data } = program.output(name), [, , , rows, keys] = shape;
      const used = shown.head === null ? [...Array(heads).keys()] : [shown.head];
      const found = new Float64Array(written.length * source.length);
      for (const head of used) {
        for (let row = 0; row < written.length; row += 1) {
          const start = ((shown.layer * heads + head) * rows + row) * keys;
          for (let key = 0; key < source.length; key += 1) found[row * source.length + key] += data[start + key] / used.length;
        }
      }
      return found;
    }

    function redraw() {
      const found = weightsOf(), wide = source.length;
      const rows = { name: "answer", symbols: written.map((i) => one.target_vocab[i]), numbers: null };
      const columns = { name: "source", symbols: source.map((i) => one.source_vocab[i]), numbers: null };
      const canvas = make("canvas", { role: "img", "aria-label": "source symbols that each symbol of the answer looks at" });
      const gold = one.gold && input.value === one.first ? one.gold.slice(0, written.length) : null;
      const place = paint(canvas, found, rows, columns, gold, Math.max(4 / wide, ...found));
      const lines = written.map((_, row) => {
        const own = entropy(found.slice(row * wide, (row + 1) * wide));
        const line = make("span", {}, own.toFixed(2));
        line.style.height = `${place.high}px`;
        return line;
      });
      map.replaceChildren(canvas, make("div", { class: "entropy", title: "entropy of each row, nats" }, ...lines));
      latest = { found, rows, columns, gold };
      listen(canvas, place, wide);
    }

    function listen(canvas, place, wide) {
      const cellAt = (event) => {
        const box = canvas.getBoundingClientRect(), shrunk = parseFloat(canvas.style.width) / box.width;
        const key = Math.floor(((event.clientX - box.left) * shrunk - place.left) / place.cell);
        const row = Math.floor(((event.clientY - box.top) * shrunk) / place.high);
        return key >= 0 && key < wide && row >= 0 && row < written.length ? { row, key } : null;
      };
      canvas.addEventListener("pointermove", (event) => {
        const cell = cellAt(event);
        if (cell && !event.buttons) read(cell);
      });
      canvas.addEventListener("pointerdown", (event) => {
        const cell = cellAt(event);
        if (!cell) return;
        event.preventDefault();
        const begin = latest.found[cell.row * wide + cell.key], from = event.clientY;
        const moved = (now) => change(cell, Math.min(1, Math.max(0, begin + (from - now.clientY) / 100)));
        const ended = () => {
          window.removeEventListener("pointermove", moved);
          window.removeEventListener("pointerup", ended);
        };
        window.addEventListener("pointermove", moved);
        window.addEventListener("pointerup", ended);
        read(cell);
      });
    }

    function read({ row, key }) {
      const weight = latest.found[row * source.length + key];
      told.textContent = `answer ${row + 1} \u201c${latest.rows.symbols[row]}\u201d looks at source ${key + 1} \u201c${latest.columns.symbols[key]}\u201d with weight ${weight.toFixed(3)}${latest.gold?.[row] === key ? ", the gold position" : ""}`;
    }

    // The answer as far as the row stays; the symbol of the row is the likeliest under the new weight.
    function change({ row, key }, weight) {
      const behind = one.main === "self" ? one.source : 0;
      settings.dragged = { layer: shown.layer, head: shown.head, row: row + behind, key, weight };
      Laws.rewrite(program, one.main, settings);
      const before = written;
      written = written.slice(0, row);
      const symbol = next();
      written = [...before.slice(0, row), symbol, ...before.slice(row + 1)];
      redraw();
      const was = one.target_vocab[before[row]], is = one.target_vocab[symbol];
      told.textContent = `weight ${weight.toFixed(2)} on source ${key + 1} \u201c${latest.columns.symbols[key]}\u201d: answer ${row + 1} is \u201c${is}\u201d${was === is ? "" : ` in place of \u201c${was}\u201d`}`;
    }

    function set(change) {
      settings.dragged = null;
      change();
      answered();
    }

    const which = Object.fromEntries([...Array(layers * heads).keys()].map((i) => [i, `layer ${Math.floor(i / heads) + 1}, head ${(i % heads) + 1}`]));
    const maps = { mean: "mean of the heads", ...Object.fromEntries([...Array(heads).keys()].map((i) => [i, `head ${i + 1}`])) };
    const controls = [
      make("label", {}, "source", input),
      make("button", { type: "button", onclick: () => set(() => {}) }, "answer"),
      choice("weights", RUN, settings.law, (law) => set(() => { settings.law = law; keep(`${id}.law`, law === "learned" ? null : law); })),
      choice("head to take out", which, "0", (i) => set(() => { settings.off = { layer: Math.floor(i / heads), head: i % heads }; })),
      slider("temperature of the scores", 0.1, 10, settings.temperature, (v) => v.toFixed(2), (v) => set(() => { settings.temperature = Math.abs(v - 1) < 0.03 ? 1 : v; keep(`${id}.temperature`, settings.temperature === 1 ? null : v.toFixed(3)); })),
    ];
    if (layers > 1) controls.push(choice("layer shown", Object.fromEntries([...Array(layers).keys()].map((i) => [i, `layer ${i + 1}`])), String(shown.layer), (i) => { shown.layer = Number(i); redraw(); }));
    if (heads > 1) controls.push(choice("head shown", maps, "mean", (i) => { shown.head = i === "mean" ? null : Number(i); redraw(); }));
    input.addEventListener("change", () => set(() => {}));
    answered();
    const meaning = make("p", { class: "faint" }, "Next to the map: the entropy of each row, in nats.");
    const elements = [make("div", { class: "controls still" }, ...controls), answer, map, told, meaning];
    return { elements, redraw: () => written.length && redraw() };
  }

  // Curves.

  function curve(one, id) {
    const fit = new Interpreter.Program(one.programs.fit), leftOut = new Interpreter.Program(one.programs.left_out);
    const points = one.x.map((x, i) => ({ x, y: one.y[i] })), first = points.length;
    const numbers = one.programs.fit.numbers.map((name) => ({ name, label: name.split(".").pop(), learned: fit.get(name).data[0] }));
    const picture = make("div", { class: "picture" }), map = make("div", { class: "computed-map" }), errors = make("div", { class: "picture" });
    const told = make("p", { class: "reading", "aria-live": "polite" });
    const span = (values, more) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [low - (high - low) * more, high + (high - low) * more];
    };
    const across = span(one.grid, 0.02), up = span(one.y, 0.15);
    const toX = (x) => EDGE + ((x - across[0]) / (across[1] - across[0])) * (WIDE - EDGE - 8);
    const toY = (y) => HIGH - EDGE + 12 - ((y - up[0]) / (up[1] - up[0])) * (HIGH - EDGE);
    const fromX = (px) => across[0] + ((px - EDGE) / (WIDE - EDGE - 8)) * (across[1] - across[0]);
    const fromY = (py) => up[0] + ((HIGH - EDGE + 12 - py) / (HIGH - EDGE)) * (up[1] - up[0]);

    function feed(program, each) {
      const spare = one.slots - points.length;
      program.set("keys", [...points.map((p) => p.x), ...Array(spare).fill(0)]);
      program.set("values", [...points.map((p) => p.y), ...Array(spare).fill(0)]);
      if (!each) {
        program.set("queries", one.grid);
        if (program.has("mask")) program.set("mask", Array.from({ length: one.slots }, (_, i) => (i < points.length ? 1 : 0)));
        return;
      }
      program.set("queries", [...points.map((p) => p.x), ...Array(spare).fill(0)]);
      const mask = [];
      for (let i = 0; i < one.slots; i += 1) for (let j = 0; j < one.slots; j += 1) mask.push(j < points.length && i !== j ? 1 : 0);
      program.set("mask", mask);
    }

    function lossAt() { // the mean squared error at each point, hidden from itself
      const found = leftOut.output("outputs").data;
      return points.reduce((sum, p, i) => sum + (p.y - found[i]) ** 2, 0) / points.length;
    }

    function axis(svg, low, high, ticks, vertical) {
      for (const tick of ticks) {
        const at = vertical ? toY(tick) : toX(tick);
        svg.append(draw("text", vertical ? { x: EDGE - 6, y: at + 4, "text-anchor": "end" } : { x: at, y: HIGH - 6, "text-anchor": "middle" }, number(tick)));
      }
    }

    function redraw() {
      feed(fit, false);
      const y = fit.output("outputs").data, svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": "points and fitted curve" });
      axis(svg, ...across, roundTicks(...across, 6), false);
      axis(svg, ...up, roundTicks(...up, 5), true);
      svg.append(draw("path", { d: `M${one.grid.map((x, i) => `${toX(x).toFixed(1)},${toY(y[i]).toFixed(1)}`).join("L")}`, class: "computed-line" }));
      points.forEach((point, i) => svg.append(draw("circle", { cx: toX(point.x), cy: toY(point.y), r: i < first ? 4 : 5, class: i < first ? "point" : "point own", onpointerdown: (event) => grab(event, svg, point) })));
      svg.addEventListener("click", (event) => {
        if (event.target !== svg || points.length >= one.slots) return;
        const [x, y0] = placeIn(svg, event);
        points.push({ x, y: y0 });
        redraw();
      });
      picture.replaceChildren(svg);
      const weights = fit.output(one.main), [, , heads, rows, keys] = weights.shape;
      const order = [...points.keys()].sort((a, b) => points[a].x - points[b].x);
      const found = new Float64Array(rows * order.length);
      let neighbours = 0;
      for (let row = 0; row < rows; row += 1) {
        const own = order.map((key) => {
          let sum = 0;
          for (let head = 0; head < heads; head += 1) sum += weights.data[(head * rows + row) * keys + key] / heads;
          return sum;
        });
        found.set(own, row * order.length);
        neighbours += Math.exp(entropy(own)) / rows;
      }
      const canvas = make("canvas", { role: "img", "aria-label": "weights of the points at each x" });
      paint(canvas, found, { name: "x", symbols: [], numbers: one.grid }, { name: "point, in order of x", symbols: [], numbers: order.map((i) => points[i].x) }, null, Math.max(4 / order.length, ...found));
      map.replaceChildren(canvas);
      feed(leftOut, true);
      told.textContent = `Effective neighbours, the mean over x of e to the entropy: ${neighbours.toFixed(1)} of ${points.length}. Leave-one-out error: ${number(lossAt())}.`;
      drawErrors();
    }

    function placeIn(svg, event) {
      const box = svg.getBoundingClientRect();
      return [fromX(((event.clientX - box.left) / box.width) * WIDE), fromY(((event.clientY - box.top) / box.height) * HIGH)];
    }

    function grab(event, svg, point) {
      event.preventDefault();
      const moved = (now) => {
        [point.x, point.y] = placeIn(picture.firstChild, now);
        redraw();
      };
      const ended = () => {
        window.removeEventListener("pointermove", moved);
        window.removeEventListener("pointerup", ended);
      };
      window.addEventListener("pointermove", moved);
      window.addEventListener("pointerup", ended);
    }

    function drawErrors() { // the leave-one-out error along the first number, with the learned one marked
      const [set] = numbers;
      if (!set || !set.learned) return;
      const now = fit.get(set.name).data[0], sign = Math.sign(set.learned);
      const values = Array.from({ length: 33 }, (_, i) => Math.abs(set.learned) * 2 ** ((i - 16) / 4));
      const losses = values.map((v) => {
        leftOut.set(set.name, [sign * v]);
        return lossAt();
      });
      leftOut.set(set.name, [now]);
      const tall = 150, [low, high] = span(losses.filter(Number.isFinite), 0.08);
      const x = (v) => EDGE + (Math.log(v / values[0]) / Math.log(values[32] / values[0])) * (WIDE - EDGE - 8);
      const y = (v) => tall - 26 - ((v - low) / (high - low || 1)) * (tall - 36);
      const line = (v, style) => draw("line", { x1: x(v), x2: x(v), y1: 6, y2: tall - 24, class: style });
      const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${tall}`, role: "img", "aria-label": `leave-one-out error by ${set.label}` });
      for (const tick of roundTicks(low, high, 3)) svg.append(draw("text", { x: EDGE - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
      for (const i of [0, 8, 16, 24, 32]) svg.append(draw("text", { x: x(values[i]), y: tall - 8, "text-anchor": "middle" }, number(values[i])));
      svg.append(line(Math.abs(set.learned), "learned-line"), line(Math.min(Math.max(Math.abs(now), values[0]), values[32]), "now-line"),
        draw("path", { d: `M${values.map((v, i) => `${x(v).toFixed(1)},${y(losses[i]).toFixed(1)}`).join("L")}`, class: "computed-line" }));
      errors.replaceChildren(make("p", { class: "faint" }, `Leave-one-out error by ${set.label}; dashed: that of the run.`), svg);
    }

    function put(set, value) {
      for (const program of [fit, leftOut]) program.set(set.name, [value]);
    }

    const controls = numbers.filter((set) => set.learned).map((set) => {
      const size = Math.abs(set.learned), sign = Math.sign(set.learned);
      const stored = Number(kept.get(`${id}.${set.label}`));
      if (stored) put(set, sign * stored);
      return slider(set.label, size / 16, size * 16, stored || size, (v) => number(v), (v) => {
        put(set, sign * v);
        keep(`${id}.${set.label}`, Math.abs(v / size - 1) < 0.02 ? null : v.toPrecision(4));
        redraw();
      });
    });
    controls.push(make("button", { type: "button", onclick: () => {
      points.splice(0, points.length, ...one.x.map((x, i) => ({ x, y: one.y[i] })));
      numbers.forEach((set) => put(set, set.learned));
      redraw();
    } }, "as it was"));
    redraw();
    const hint = make("p", { class: "faint" }, `Drag a point, or click to add up to ${one.slots - first}.`);
    const elements = [hint, make("div", { class: "controls still" }, ...controls), make("div", { class: "charts" }, picture, map), told, errors];
    return { elements, redraw };
  }

  // Tensors of one attention, with every step.

  function tensors(one, id) {
    const program = new Interpreter.Program(one.programs.steps), body = make("div");
    for (const [name, numbers] of Object.entries(one.given)) program.set(name, numbers);
    const stored = kept.get(`${id}.given`);
    if (stored) {
      try {
        for (const [name, numbers] of Object.entries(JSON.parse(stored))) program.set(name, numbers);
      } catch { kept.delete(`${id}.given`); }
    }
    const outputs = Object.keys(program.content.outputs);
    const batch = program.output("weights").shape[0];

    function edited(name, place, value) {
      const numbers = Array.from(program.get(name).data);
      numbers[place] = value;
      program.set(name, numbers);
      const all = Object.fromEntries(Object.keys(one.given).map((each) => [each, Array.from(program.get(each).data, (v) => Number(v.toPrecision(6)))]));
      const same = Object.entries(one.given).every(([each, was]) => all[each].every((v, i) => Math.abs(v - was[i]) < 1e-6));
      keep(`${id}.given`, same ? null : JSON.stringify(all));
      redraw();
    }

    // A matrix as a table: `shade` is the end of the colours, and `change` makes its cells inputs.
    function matrix(text, value, sequence, { shade = null, name = null } = {}) {
      const [, rows, columns] = value.shape, first = sequence * rows * columns;
      const line = (row) => make("tr", {}, ...Array.from({ length: columns }, (_, column) => {
        const place = first + row * columns + column, v = value.data[place];
        if (name === "mask") return make("td", {}, ticked(place, v, row, column));
        if (name) return make("td", {}, typed(name, place, v, row, column));
        const cell = make("td", { class: "right" }, Number.isFinite(v) ? v.toFixed(3) : "\u2212\u221e");
        if (shade !== null) {
          cell.style.background = tools.shade(v / shade);
          cell.style.color = v / shade < 0.65 ? "#ffffff" : "#000000";
        }
        return cell;
      }));
      const body = make("tbody", {}, ...Array.from({ length: rows }, (_, row) => line(row)));
      return make("figure", { class: "matrix" }, make("figcaption", {}, `${text} (${rows} \u00d7 ${columns})`), make("div", { class: "scroll" }, make("table", {}, body)));
    }

    function typed(name, place, v, row, column) {
      const input = make("input", { type: "number", step: "any", value: Number(v.toPrecision(6)), "aria-label": `${name} ${row + 1}, ${column + 1}`, onchange: () => {
        const set = Number(input.value);
        if (input.value !== "" && Number.isFinite(set)) edited(name, place, set);
        else input.value = v;
      } });
      return input;
    }

    function ticked(place, v, row, column) {
      const input = make("input", { type: "checkbox", "aria-label": `query ${row + 1} may attend to key ${column + 1}`, onchange: () => edited("mask", place, input.checked ? 1 : 0) });
      input.checked = Boolean(v);
      return input;
    }

    function redraw() {
      const focused = document.activeElement?.getAttribute("aria-label");
      const weights = program.output("weights");
      body.replaceChildren(...Array.from({ length: batch }, (_, sequence) => make("div", { class: "steps" },
        ...(batch > 1 ? [make("h4", {}, `sequence ${sequence + 1}`)] : []),
        ...Object.keys(one.given).map((name) => matrix(name, program.get(name), sequence, { name })),
        ...outputs.map((name) => matrix(name, program.output(name), sequence, { shade: name === "weights" ? Math.max(...weights.data) || 1 : null })))));
      if (focused) [...body.querySelectorAll("input")].find((input) => input.getAttribute("aria-label") === focused)?.focus();
    }

    const sliders = one.programs.steps.numbers.map((name) => {
      const learned = program.get(name).data[0], size = Math.abs(learned) || 1;
      return slider(name.split(".").pop(), size / 16, size * 16, size, (v) => number(v), (v) => {
        program.set(name, [Math.sign(learned || 1) * v]);
        redraw();
      });
    });
    redraw();
    return { elements: [...(sliders.length ? [make("div", { class: "controls still" }, ...sliders)] : []), body], redraw };
  }

  const KINDS = { curve, sequences, tensors };

  // A section: one configuration at a time, made when it is first shown.

  return (list, place) => {
    const able = list.filter((one) => one.programs);
    const parts = list.filter((one) => one.why).map((one) => make("p", { class: "faint" }, `${one.label} is not computed here: ${one.why}.`));
    if (!able.length) return parts;
    const body = make("div");
    let repaint = () => {};
    tools.repaints.push(() => repaint());
    const show = (label) => {
      const one = able.find((each) => each.label === label) ?? able[0];
      const id = `c${place}.${able.indexOf(one)}`;
      const { elements, redraw } = KINDS[one.kind](one, id);
      body.replaceChildren(...elements);
      repaint = redraw;
    };
    const begin = able[Number(kept.get(`c${place}`))] ?? able[0];
    const names = Object.fromEntries(able.map((one) => [one.label, one.label]));
    const chosen = (label) => {
      const at = able.findIndex((one) => one.label === label);
      keep(`c${place}`, at ? String(at) : null);
      show(label);
    };
    show(begin.label);
    const menu = able.length > 1 ? [choice("configuration", names, begin.label, chosen)] : [];
    const told = able[0].seed === undefined
      ? "Edit a number: every step is computed again."
      : `Computed in this page, with the trained model of seed ${able[0].seed}, whose numbers are rounded to 16 bits.`;
    return [make("p", { class: "faint" }, told), ...menu, body, ...parts];
  };
};
