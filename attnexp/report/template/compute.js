// The sections of a page that compute: they answer a typed source, and fit dragged points.
//
// `tools` are functions of page.js. A section gets the content of attnexp.tracing.computed for each
// configuration, or the reason why it cannot be computed. The address of the page holds what was set.
"use strict";
const Computing = (tools) => {
  const { say, make, draw, paint, number, roundTicks, leftOf, rightOf, widest, TYPE, roomIn, typeSize } = tools;
  const RUN = { learned: say("learned weights"), uniform: say("uniform"), hard: say("hard"), shuffled: say("shuffled"), off: say("one head off") };
  const STEPS = 200, WIDE = 560, WIDEST = 640, LINE = 17;

  // The address has what was typed and set, so that a link shows the same.
  const { kept, keep, capital } = Language;

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

  const largest = (weights) => Math.max(...Array.from(weights, Math.abs));
  const signed = (weights) => weights.some((w) => w < 0);

  function entropy(row) { // of the weights over their sum
    const whole = row.reduce((sum, w) => sum + w, 0);
    return -row.reduce((sum, w) => sum + (w > 0 ? (w / whole) * Math.log(w / whole) : 0), 0);
  }

  // Sequences.

  function sequences(one, id) {
    const program = new Interpreter.Program(one.programs.forward);
    const { ids } = one, name = one.main === "self" ? "cross" : one.main;
    const [, layers, heads] = program.output(name).shape;
    const laws = Object.fromEntries(Object.entries(RUN).filter(([law]) => law !== "hard" || !one.signed)); // as `needs_shares` of attnexp.probe
    const asked = kept.get(`${id}.law`);
    const settings = { law: Object.hasOwn(laws, asked) ? asked : "learned", temperature: Number(kept.get(`${id}.temperature`)) || 1, off: { layer: 0, head: 0 }, dragged: null };
    const shown = { layer: layers - 1, head: null };
    const symbols = new Map(one.typed.map((i) => [one.source_vocab[i], i]));
    const answer = make("p", { class: "answer", "aria-live": "polite" });
    const told = make("p", { class: "reading", "aria-live": "polite" }, say("Touch a map to read a weight; drag a cell up or down to change it."));
    const map = make("div", { class: "computed-map" });
    const input = make("input", { type: "text", "aria-label": say("source"), value: kept.get(`${id}.source`) ?? one.first, size: 40, spellcheck: "false" });
    let turn = 0, source = [], written = [], latest = null;

    function problem(typed) {
      if (!typed.length) return say("Type a source.");
      if (typed.length + 1 > one.source) return say("A source has at most {count} symbols.", { count: one.source - 1 });
      const unknown = typed.find((symbol) => !symbols.has(symbol));
      if (unknown !== undefined && ids.unknown === null) return say("“{symbol}” is not a symbol: {symbols}", { symbol: unknown, symbols: [...symbols.keys()].slice(0, 40).join(" ") });
      return null;
    }

    function enter() {
      const typed = Writings[one.writings.source].split(input.value), wrong = problem(typed);
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
        write(symbol === ids.eos || written.length === one.target);
        redraw();
        if (symbol === ids.eos) return;
        await new Promise((done) => setTimeout(done, 30));
        if (turn !== mine) return;
      }
    }

    function write(ended) {
      const text = Writings[one.writings.target].join(written.filter((i) => i !== ids.eos).map((i) => one.target_vocab[i]));
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
      const rows = { name: say("answer"), symbols: written.map((i) => one.target_vocab[i]), numbers: null };
      const columns = { name: say("source"), symbols: source.map((i) => one.source_vocab[i]), numbers: null };
      const canvas = make("canvas", { role: "img", "aria-label": say("{columns} that each {row} looks at", { columns: columns.name, row: rows.name }) });
      const gold = one.gold && input.value === one.first ? one.gold.slice(0, written.length) : null;
      const room = roomIn(map);
      if (room) room.width -= 4 * LINE;
      const place = paint(canvas, found, rows, columns, gold, Math.max(4 / wide, largest(found)), room);
      const fits = place.high >= 11 * typeSize(); // digits over cells that are lower would lie over each other
      const lines = !fits || signed(found) ? [] : written.map((_, row) => {
        const own = entropy(found.slice(row * wide, (row + 1) * wide));
        const line = make("span", {}, own.toFixed(2));
        line.style.height = `${place.high}px`;
        return line;
      });
      map.replaceChildren(canvas, make("div", { class: "entropy", title: say("Next to the map: the entropy of each row, in nats.") }, ...lines));
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
        const own = latest.found.slice(cell.row * wide, (cell.row + 1) * wide);
        const begin = own[cell.key], from = event.clientY, whole = own.reduce((sum, w) => sum + w, 0);
        const moved = (now) => change(cell, Math.max(0, begin + (whole * (from - now.clientY)) / 100));
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
      const symbol = (axis, i) => say("{name} {place} “{symbol}”", { name: axis.name, place: i + 1, symbol: axis.symbols[i] });
      const read = say("{row} looks at {column} with weight {weight}", { row: symbol(latest.rows, row), column: symbol(latest.columns, key), weight: weight.toFixed(3) });
      told.textContent = latest.gold?.[row] === key ? read + say(", the gold position") : read;
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
      const set = latest.found[row * source.length + key];
      const now = say("weight {weight} on source {place} “{symbol}”: answer {row} is “{answer}”", { weight: set.toFixed(2), place: key + 1, symbol: latest.columns.symbols[key], row: row + 1, answer: is });
      told.textContent = was === is ? now : now + say(" in place of “{symbol}”", { symbol: was });
    }

    function set(change) {
      settings.dragged = null;
      change();
      answered();
    }

    const which = Object.fromEntries([...Array(layers * heads).keys()].map((i) => [i, [`${say("layer")} ${Math.floor(i / heads) + 1}`, `${say("head")} ${(i % heads) + 1}`].join(say(", "))]));
    const maps = { mean: say("mean of the heads"), ...Object.fromEntries([...Array(heads).keys()].map((i) => [i, `${say("head")} ${i + 1}`])) };
    const controls = [
      make("label", {}, say("source"), input),
      make("button", { type: "button", onclick: () => set(() => {}) }, say("answer")),
      choice(say("weights"), laws, settings.law, (law) => set(() => { settings.law = law; keep(`${id}.law`, law === "learned" ? null : law); })),
      choice(say("head to take out"), which, "0", (i) => set(() => { settings.off = { layer: Math.floor(i / heads), head: i % heads }; })),
      slider(say("temperature of the scores"), 0.1, 10, settings.temperature, (v) => v.toFixed(2), (v) => set(() => { settings.temperature = Math.abs(v - 1) < 0.03 ? 1 : v; keep(`${id}.temperature`, settings.temperature === 1 ? null : v.toFixed(3)); })),
    ];
    if (layers > 1) controls.push(choice(say("layer"), Object.fromEntries([...Array(layers).keys()].map((i) => [i, `${say("layer")} ${i + 1}`])), String(shown.layer), (i) => { shown.layer = Number(i); redraw(); }));
    if (heads > 1) controls.push(choice(say("head"), maps, "mean", (i) => { shown.head = i === "mean" ? null : Number(i); redraw(); }));
    input.addEventListener("change", () => set(() => {}));
    answered();
    const meaning = make("p", { class: "faint" }, say("Next to the map: the entropy of each row, in nats."));
    const elements = [make("div", { class: "controls still" }, ...controls), answer, map, told, meaning];
    return { elements, redraw: () => written.length && redraw() };
  }

  // Curves.

  const pathOf = (xs, ys) => xs.map((x, i) => [x, ys[i]]).filter((place) => place.every(Number.isFinite))
    .map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

  // A picture with axes that fills its holder; `share` is its height over its width on the page.
  function framed(holder, share, title, x, y) {
    const type = typeSize(), room = roomIn(holder);
    const wide = room ? room.width : Math.min(Math.max(holder.clientWidth || WIDE, 240), WIDEST);
    const high = room ? room.height : wide * share;
    const half = (tick) => widest([number(tick)], TYPE * type) / 2;
    const left = leftOf(y.ticks, type), right = rightOf(wide, x.ticks, type), top = 8 * type, bottom = high - 36 * type;
    const along = x.log ? Math.log : (v) => v;
    const [x0, x1] = x.ends.map(along), [y0, y1] = y.ends;
    const toX = (v) => left + ((along(v) - x0) / (x1 - x0 || 1)) * (right - left);
    const toY = (v) => bottom - ((v - y0) / (y1 - y0 || 1)) * (bottom - top);
    const svg = draw("svg", { viewBox: `0 0 ${wide} ${high}`, height: high, role: "img", "aria-label": title });
    svg.style.maxWidth = `${wide}px`;
    for (const tick of y.ticks) svg.append(draw("text", { x: left - 6, y: toY(tick) + 4 * type, "text-anchor": "end" }, number(tick)));
    let taken = -Infinity;
    for (const tick of x.ticks) {
      if (toX(tick) - half(tick) < taken) continue;
      taken = toX(tick) + half(tick) + 4;
      svg.append(draw("text", { x: toX(tick), y: bottom + 15 * type, "text-anchor": "middle" }, number(tick)));
    }
    const middle = (top + bottom) / 2;
    svg.append(
      draw("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
      draw("text", { class: "axis-name", x: (left + right) / 2, y: high - 5, "text-anchor": "middle" }, x.name),
      draw("text", { class: "axis-name", x: 12 * type, y: middle, "text-anchor": "middle", transform: `rotate(-90 ${12 * type} ${middle})` }, y.name),
    );
    const place = (event) => {
      const box = svg.getBoundingClientRect(), shrunk = wide / box.width;
      const across = ((event.clientX - box.left) * shrunk - left) / (right - left);
      const down = (bottom - (event.clientY - box.top) * shrunk) / (bottom - top);
      return [x.ends[0] + across * (x.ends[1] - x.ends[0]), y.ends[0] + down * (y.ends[1] - y.ends[0])];
    };
    return { svg, toX, toY, top, bottom, place };
  }

  function curve(one, id) {
    const fit = new Interpreter.Program(one.programs.fit), leftOut = new Interpreter.Program(one.programs.left_out);
    const points = one.x.map((x, i) => ({ x, y: one.y[i] })), first = points.length, { units } = one;
    const numbers = one.programs.fit.numbers.map((name) => ({ name, label: name.split(".").pop(), learned: fit.get(name).data[0] }));
    const picture = make("div", { class: "picture fitted" }), map = make("div", { class: "computed-map" });
    const errors = make("div", { class: "picture" }), marked = make("p", { class: "faint" });
    const known = one.truth ? say("Thin and dashed: the curve that the points were drawn around.") : "";
    let frame = null;
    const told = make("p", { class: "reading", "aria-live": "polite" });
    const span = (values, more) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [low - (high - low) * more, high + (high - low) * more];
    };
    const across = span(one.grid, 0.02), up = span([...one.y, ...(one.truth ?? [])], 0.15);
    const standard = (v, { mean, deviation }) => (v - mean) / deviation;

    function feed(program, each) {
      const spare = Array(one.slots - points.length).fill(0);
      const keys = [...points.map((p) => standard(p.x, units.x)), ...spare];
      program.set("keys", keys);
      program.set("values", [...points.map((p) => standard(p.y, units.y)), ...spare]);
      if (!each) {
        program.set("queries", one.grid.map((x) => standard(x, units.x)));
        if (program.has("mask")) program.set("mask", Array.from({ length: one.slots }, (_, i) => (i < points.length ? 1 : 0)));
        return;
      }
      program.set("queries", keys);
      const mask = [];
      for (let i = 0; i < one.slots; i += 1) for (let j = 0; j < one.slots; j += 1) mask.push(j < points.length && i !== j ? 1 : 0);
      program.set("mask", mask);
    }

    const answers = (program) => Array.from(program.output("outputs").data, (v) => v * units.y.deviation + units.y.mean);
    const path = ({ toX, toY }, xs, ys, style) => draw("path", { class: style, d: pathOf(xs.map(toX), ys.map(toY)) });

    function lossAt() { // the mean squared error at each point, hidden from itself
      const found = answers(leftOut);
      return points.reduce((sum, p, i) => sum + (p.y - found[i]) ** 2, 0) / points.length;
    }

    function redraw() {
      feed(fit, false);
      frame = framed(picture, 300 / 560, `${say("Fit")}: ${units.x.name}, ${units.y.name}`,
        { name: units.x.name, ends: across, ticks: roundTicks(...across, 6) },
        { name: units.y.name, ends: up, ticks: roundTicks(...up, 5) });
      const { svg, toX, toY } = frame;
      if (one.truth) svg.append(path(frame, one.grid, one.truth, "truth-line"));
      svg.append(path(frame, one.grid, answers(fit), "computed-line"));
      points.forEach((point, i) => svg.append(draw("circle", { cx: toX(point.x), cy: toY(point.y), r: i < first ? 4 : 5, class: i < first ? "point" : "point own", onpointerdown: (event) => grab(event, point) })));
      svg.addEventListener("click", (event) => {
        if (event.target !== svg || points.length >= one.slots) return;
        const [x, y] = frame.place(event);
        points.push({ x, y });
        redraw();
      });
      picture.replaceChildren(svg);
      const weights = fit.output(one.main), [, , heads, rows, keys] = weights.shape;
      const order = [...points.keys()].sort((a, b) => points[a].x - points[b].x);
      const found = new Float64Array(rows * order.length);
      let neighbours = 0, below = 0;
      for (let row = 0; row < rows; row += 1) {
        const own = order.map((key) => {
          let sum = 0;
          for (let head = 0; head < heads; head += 1) sum += weights.data[(head * rows + row) * keys + key] / heads;
          return sum;
        });
        found.set(own, row * order.length);
        neighbours += Math.exp(entropy(own)) / rows;
        below -= own.reduce((sum, w) => sum + Math.min(w, 0), 0) / rows;
      }
      const canvas = make("canvas", { role: "img", "aria-label": `${say("weights")}: ${units.x.name}, ${say("point, in order of {x}", { x: units.x.name })}` });
      paint(canvas, found, { name: units.x.name, symbols: [], numbers: one.grid }, { name: say("point, in order of {x}", { x: units.x.name }), symbols: [], numbers: order.map((i) => points[i].x) }, null, Math.max(4 / order.length, largest(found)), roomIn(map));
      map.replaceChildren(canvas);
      feed(leftOut, true);
      const said = below > 0
        ? say("Size of the negative weights, the mean over {x}: {size}.", { x: units.x.name, size: below.toFixed(2) })
        : say("Effective neighbours, the mean over {x} of e to the entropy: {found} of {count}.", { x: units.x.name, found: neighbours.toFixed(1), count: points.length });
      told.textContent = `${said} ${say("Leave-one-out error: {error}.", { error: number(lossAt()) })}`;
      drawErrors();
    }

    function grab(event, point) {
      event.preventDefault();
      const moved = (now) => {
        [point.x, point.y] = frame.place(now);
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
      const ends = span(losses.filter(Number.isFinite), 0.08), moved = Math.abs(Math.abs(now / set.learned) - 1) > 0.02;
      const frame = framed(errors, 0.3, say("leave-one-out error by {name}", { name: set.label }),
        { name: say("{name} ({text})", { name: set.label, text: "log" }), ends: [values[0], values[32]], ticks: [0, 8, 16, 24, 32].map((i) => values[i]), log: true },
        { name: say("error"), ends, ticks: roundTicks(...ends, 5) });
      const at = (v, style) => draw("line", { x1: frame.toX(v), x2: frame.toX(v), y1: frame.top, y2: frame.bottom, class: style });
      if (moved) frame.svg.append(at(Math.abs(set.learned), "learned-line"));
      frame.svg.append(at(Math.min(Math.max(Math.abs(now), values[0]), values[32]), "now-line"), path(frame, values, losses, "computed-line"));
      const parts = [capital(say("leave-one-out error by {name}", { name: set.label })), ...(moved ? [say("dashed: that of the run")] : [])];
      marked.textContent = parts.join(say("; ")) + say(".");
      errors.replaceChildren(frame.svg);
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
    } }, say("as it was")));
    redraw();
    new ResizeObserver(redraw).observe(picture);
    const hint = make("p", { class: "faint" }, `${say("Drag a point, or click to add up to {count}.", { count: one.slots - first })} ${known}`);
    const drawn = make("div", { class: "charts fits" }, picture, map, ...(slidable(one) ? [make("div", { class: "errors" }, marked, errors)] : []));
    const elements = [hint, make("div", { class: "controls still" }, ...controls), drawn, told];
    return { elements, redraw };
  }

  // Whether there is a number to set: a curve has a slider for each number that is not 0.
  function slidable(one) {
    if (one.kind !== "curve") return true;
    const program = new Interpreter.Program(one.programs.fit);
    return program.content.numbers.some((name) => program.get(name).data[0]);
  }

  // Tensors of one attention, with every step.

  // The axes of each tensor.
  const QUERY = [say("query"), say("queries")], KEY = [say("key"), say("keys")], FEATURE = [say("feature"), say("feature") + (Language.now === "en" ? "s" : "")];
  const TENSORS = {
    queries: say("queries"), keys: say("keys"), values: say("values"), mask: say("mask"), scores: say("scores"),
    weights: say("weights"), effective: say("effective"), context: say("context"),
  };
  const down = { queries: QUERY, keys: KEY, values: KEY, context: QUERY, scores: QUERY, mask: QUERY, weights: QUERY, effective: QUERY };
  const across = { queries: FEATURE, keys: FEATURE, values: FEATURE, context: FEATURE, scores: KEY, mask: KEY, weights: KEY, effective: KEY };
  const sized = (count, names) => (names ? `${count} ${names[count === 1 ? 0 : 1]}` : count);

  function tensors(one, id) {
    const program = new Interpreter.Program(one.programs.steps), body = make("div", { class: "matrices" });
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
    function matrix(text, value, sequence, { shade = null, name = null, below = false } = {}) {
      const [, rows, columns] = value.shape, first = sequence * rows * columns;
      const line = (row) => make("tr", {}, ...Array.from({ length: columns }, (_, column) => {
        const place = first + row * columns + column, v = value.data[place];
        if (name === "mask") return make("td", {}, ticked(place, v, row, column));
        if (name) return make("td", {}, typed(name, place, v, row, column));
        const cell = make("td", { class: "right" }, Number.isFinite(v) ? v.toFixed(3) : "\u2212\u221e");
        if (shade !== null) {
          cell.style.background = tools.shade(v / shade, below);
          cell.style.color = tools.inkOn(v / shade, below);
        }
        return cell;
      }));
      const body = make("tbody", {}, ...Array.from({ length: rows }, (_, row) => line(row)));
      return make("figure", { class: "matrix" }, make("figcaption", {}, say("{name} ({text})", { name: TENSORS[text] ?? text, text: `${sized(rows, down[text])} \u00d7 ${sized(columns, across[text])}` })), make("div", { class: "scroll" }, make("table", {}, body)));
    }

    function typed(name, place, v, row, column) {
      const input = make("input", { type: "number", step: "any", value: Number(v.toPrecision(6)), "aria-label": `${TENSORS[name]} ${row + 1}, ${column + 1}`, onchange: () => {
        const set = Number(input.value);
        if (input.value !== "" && Number.isFinite(set)) edited(name, place, set);
        else input.value = v;
      } });
      return input;
    }

    function ticked(place, v, row, column) {
      const input = make("input", { type: "checkbox", "aria-label": say("query {row} may attend to key {column}", { row: row + 1, column: column + 1 }), onchange: () => edited("mask", place, input.checked ? 1 : 0) });
      input.checked = Boolean(v);
      return input;
    }

    function redraw() {
      const focused = document.activeElement?.getAttribute("aria-label");
      const shadeOf = (name, numbers) => ["weights", "effective"].includes(name) ? { shade: largest(numbers) || 1, below: signed(numbers) } : {};
      body.replaceChildren(...Array.from({ length: batch }, (_, sequence) => make("div", { class: "steps" },
        ...(batch > 1 ? [make("h4", {}, `${say("sequence")} ${sequence + 1}`)] : []),
        ...Object.keys(one.given).map((name) => matrix(name, program.get(name), sequence, { name })),
        ...outputs.map((name) => matrix(name, program.output(name), sequence, shadeOf(name, program.output(name).data))))));
      tools.fill(body);
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
    const able = list.filter((one) => one.kind !== "refused");
    const parts = list.filter((one) => one.kind === "refused").map((one) => make("p", { class: "faint" }, say("{label} is not computed here: {why}.", { label: one.label, why: one.why })));
    if (!able.length) return parts;
    const body = make("div", { class: "computed-body" });
    let repaint = () => {};
    tools.repaints.push(() => repaint());
    const show = (label) => {
      const one = able.find((each) => each.label === label) ?? able[0];
      const id = `c${place}.${able.indexOf(one)}`;
      const { elements, redraw } = KINDS[one.kind](one, id);
      body.replaceChildren(...elements);
      repaint = redraw;
    };
    const usual = Math.max(able.findIndex(slidable), 0);
    const begin = able[Number(kept.get(`c${place}`) ?? usual)] ?? able[usual];
    const names = Object.fromEntries(able.map((one) => [one.label, one.label]));
    const chosen = (label) => {
      const at = able.findIndex((one) => one.label === label);
      keep(`c${place}`, at === usual ? null : String(at));
      show(label);
    };
    show(begin.label);
    const menu = able.length > 1 ? [choice(say("configuration"), names, begin.label, chosen)] : [];
    const told = able[0].kind === "tensors"
      ? say("Edit a number: every step is computed again.")
      : say("Computed in this page, with the trained model of seed {seed}, whose numbers are rounded to 16 bits.", { seed: able[0].seed });
    return [make("p", { class: "faint" }, told), ...menu, body, ...parts];
  };
};
