"use strict";
(() => {
  const { say, counted, capital } = Language;
  const content = JSON.parse(document.getElementById("content").textContent, Language.revive);
  const DASHES = ["", "7 3", "2 3", "8 3 2 3"];
  const COLOURS = 8, GOLD = "#ff5f52", MISSING = "\u2013";
  const MAP = 320, MARGIN = 8, WIDE_CELL = 2.5, LARGE = 1.6, HALF_A4 = 330;
  const root = document.documentElement;

  // Elements. Text only ever enters the page as text.

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }
  const make = (tag, attributes = {}, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  function number(value) {
    if (value === null || value === undefined) return MISSING;
    return String(Number(value.toPrecision(4)));
  }

  const outOf = (place, count) => say("{place} of {count}", { place, count });

  // What is painted anew when the style or the size of type changes.
  const repaints = [];
  const typeSize = () => (presenting() ? (LARGE * parseFloat(getComputedStyle(root).fontSize)) / 16 : 1);
  const presenting = () => root.classList.contains("presenting");
  let paper = false;
  const ink = () => getComputedStyle(root).getPropertyValue("--ink").trim();

  // The widths of texts, in pixels.
  const TYPE = 11, ruler = make("canvas").getContext("2d");
  function widest(texts, size) {
    ruler.font = `${size}px ${getComputedStyle(root).fontFamily}`;
    return Math.max(0, ...texts.map((text) => ruler.measureText(text).width));
  }

  // Tables that sort by the column whose head is pressed.

  function sortable(text) {
    const plain = text.replace("\u2212", "-").replace(/,/g, "");
    return /^\s*[-+]?(\d|\.\d)/.test(plain) ? parseFloat(plain) : null;
  }

  // A label of a row, which may break after a character that joins its words.
  function label(text) {
    const parts = text.split(/(?<=[_=,/.])/);
    return make("div", { class: "label" }, ...parts.flatMap((part, i) => (i ? [make("wbr"), part] : [part])));
  }

  function table(grid) {
    const body = make("tbody");
    const kinds = grid.columns.map((column) => [column.right ? "right" : "", column.spare ? "spare" : ""].join(" ").trim());
    const heads = grid.columns.map((column, place) => {
      const button = make("button", { type: "button", onclick: () => sortBy(place) }, column.title);
      return make("th", { scope: "col", class: kinds[place] }, button);
    });
    const rows = grid.rows.map((cells) =>
      make("tr", {}, ...cells.map((cell, place) =>
        make("td", { class: kinds[place] }, cell.strong ? make("strong", {}, cell.text) : place ? cell.text : label(cell.text)))));
    body.append(...rows);

    function sortBy(place) {
      const falling = heads[place].getAttribute("aria-sort") === "ascending";
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[place].setAttribute("aria-sort", falling ? "descending" : "ascending");
      const texts = grid.rows.map((cells) => cells[place].text);
      const there = texts.filter((text) => text !== MISSING);
      const numeric = there.length > 0 && there.every((text) => sortable(text) !== null);
      const order = texts.map((text, row) => row);
      const way = falling ? -1 : 1;
      order.sort((a, b) => {
        const [one, other] = [texts[a], texts[b]];
        if ((one === MISSING) !== (other === MISSING)) return one === MISSING ? 1 : -1;
        if (one === MISSING) return a - b;
        const difference = numeric
          ? sortable(one) - sortable(other)
          : one.localeCompare(other, "en", { numeric: true });
        return way * difference || a - b;
      });
      body.append(...order.map((row) => rows[row]));
    }

    const whole = make("table", { class: "named" }, make("thead", {}, make("tr", {}, ...heads)), body);
    const parts = [make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": grid.title || say("settings") }, whole)];
    const spare = grid.columns.filter((column) => column.spare).length;
    if (spare) parts.push(reveal(whole, spare));
    if (grid.caption) parts.push(make("p", { class: "caption" }, grid.caption));
    return grid.title ? [make("h3", {}, grid.title), ...parts] : parts;
  }

  // The button that shows and hides the columns of a table that are spare.
  function reveal(whole, count) {
    const button = make("button", { type: "button", class: "plain", "aria-pressed": "false", onclick: () => {
      const shown = whole.classList.toggle("whole");
      button.setAttribute("aria-pressed", String(shown));
    } }, counted("{count} more column", count));
    return button;
  }

  // The picture of a metric: a row per configuration with its seeds, its mean and its interval.

  const DOT = 4.5;
  function dotPlot(spec, verdicts) {
    const scale = spec.log ? Math.log10 : (value) => value;
    const all = spec.rows.flatMap((row) => [row.mean, row.low, row.high, ...row.seeds]);
    const values = all.filter((value) => value !== null && !(spec.log && value <= 0));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const wide = scale(high) - scale(low) || 1;
    const place = (value) => `${((100 * (scale(value) - scale(low))) / wide).toFixed(2)}%`;
    const ticks = spec.log ? logTicks(low, high) : roundTicks(low, high, 4);
    const margin = Math.max(widest(ticks.map(number), TYPE) / 2, DOT) + 1;
    const strip = (height, inside) => {
      const svg = draw("svg", { height }, ...inside);
      svg.style.paddingInline = `${margin}px`;
      return svg;
    };
    const lines = () => ticks.map((tick) => draw("line", { class: "grid", x1: place(tick), x2: place(tick), y1: 0, y2: "100%" }));
    const rows = spec.rows.flatMap((row) => [
      ...(row.above ? [make("span", { class: "apart faint" }, row.above)] : []),
      make("span", { class: "name" }, row.name),
      strip(26, [...lines(),
        ...row.seeds.filter((value) => values.includes(value)).map((value) => draw("circle", { class: "seed", cx: place(value), cy: 20, r: 2.5 })),
        ...(values.includes(row.low) ? [draw("line", { class: "c0", x1: place(row.low), x2: place(row.high), y1: 11, y2: 11, "stroke-width": 2 })] : []),
        ...(values.includes(row.mean) ? [draw("circle", { class: "c0 full", cx: place(row.mean), cy: 11, r: DOT })] : []),
      ]),
    ]);
    const axis = strip(20, ticks.map((tick) => draw("text", { x: place(tick), y: 14, "text-anchor": "middle" }, number(tick))));
    const told = spec.rows.map((row) => `${row.above ? `${row.above}: ` : ""}${row.name} ${number(row.mean)}`).join(", ");
    const seeded = spec.rows.some((row) => row.seeds.length);
    const notes = [
      ...(spec.better ? [spec.better === "lower" ? say("lower is better") : say("higher is better")] : []),
      ...(seeded ? [say("small: a seed; large: the mean, with its 95% interval")] : []),
      ...(spec.log ? [say("logarithmic axis")] : []),
      ...(spec.omitted ? [say("{count} more rows are in the table alone", { count: spec.omitted })] : []),
    ];
    const dots = make("div", { class: "dots", role: "img", "aria-label": `${spec.metric}: ${told}` }, ...rows, make("span"), axis);
    repaints.push(() => {
      fillScreen(dots, typeSize());
      const box = (text) => text.getBoundingClientRect(), texts = [...axis.children];
      for (const text of texts) text.style.display = "";
      const shown = apart(texts, (text) => box(text).left + box(text).width / 2, (text) => box(text).width);
      for (const text of texts) text.style.display = shown.includes(text) ? "" : "none";
    });
    const slide = verdicts.map((verdict) => make("p", { class: "verdict slide-only" }, verdict));
    return make("div", { class: "panel" }, make("h3", {}, spec.metric), ...slide, dots, make("p", { class: "faint" }, notes.join(say("; "))));
  }

  // Presented: the space that an element is given, and elements that grow with it.

  const SMALLEST = 110, STEP = 0.05, SMALLEST_ZOOM = 1.25, LARGEST_ZOOM = 5;
  const roomIn = (element) => (presenting()
    ? { width: Math.max(element.clientWidth, SMALLEST), height: Math.max(element.clientHeight, SMALLEST) } : null);

  // Gives an element the largest size at which all panels of the screen can be seen without scrolling.
  function fillScreen(element, least = SMALLEST_ZOOM) {
    element.style.zoom = "";
    const panel = element.closest("#stage .panel");
    if (!panel) return;
    const fits = () => panel.scrollHeight <= panel.clientHeight && panel.scrollWidth <= panel.clientWidth;
    for (let zoom = LARGEST_ZOOM; zoom >= least; zoom -= STEP) {
      element.style.zoom = zoom.toFixed(2);
      if (fits()) return;
    }
  }

  // Charts.

  function roundTicks(low, high, count) {
    if (!(high > low)) return [low];
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough * 0.999);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) ticks.push(i * step);
    return ticks;
  }

  function logTicks(low, high) {
    const ticks = [];
    const wide = Math.log10(high / low) > 4;
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const m of wide ? [1] : [1, 2, 5]) {
        const tick = m * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    return ticks;
  }

  // The ends of an axis: on its left are the ticks and a name, on its right half of the last tick.
  const leftOf = (ticks, type) => 24 * type + widest(ticks.map(number), TYPE * type);
  const rightOf = (width, ticks, type) => width - Math.max(12 * type, widest(ticks.slice(-1).map(number), TYPE * type) / 2 + 1);

  function look(line) {
    if (line.place === null) return { class: "known", dash: "5 3", width: 1.2 };
    return {
      class: `c${line.place % COLOURS}`,
      dash: DASHES[Math.floor(line.place / COLOURS) % DASHES.length],
      width: 2,
    };
  }

  function chart(spec) {
    const holder = make("div", { class: "chart panel" });
    const reading = make("p", { class: "reading" });
    const picture = make("div", { class: "picture" });
    const hidden = new Set();
    const finite = (value) => value !== null && value !== undefined && !(spec.log && value <= 0);
    const all = spec.lines.flatMap((line) => [...line.mean, ...(line.low || []), ...(line.high || [])]);
    const ys = [...all, ...spec.points.map((point) => point[1])].filter(finite);
    const xs = [...spec.lines.flatMap((line) => line.x), ...spec.points.map((point) => point[0])].filter(finite);
    const ends = { x: [Math.min(...xs), Math.max(...xs)], y: [Math.min(...ys), Math.max(...ys)] };
    if (spec.log) ends.y = [ends.y[0] / 1.15, ends.y[1] * 1.15];
    else {
      const room = (ends.y[1] - ends.y[0]) * 0.04 || Math.abs(ends.y[0]) * 0.1 || 1;
      ends.y = [ends.y[0] - room, ends.y[1] + room];
    }
    if (ends.x[0] === ends.x[1]) ends.x = [ends.x[0] - 1, ends.x[1] + 1];
    if (ends.y[0] === ends.y[1]) ends.y = [ends.y[0] / 2, ends.y[1] * 2];
    const scale = spec.log ? Math.log10 : (value) => value;
    const along = spec.logX ? Math.log10 : (value) => value;

    function redraw() {
      const type = typeSize();
      const width = paper ? HALF_A4 : Math.max(holder.clientWidth, 260);
      const height = roomIn(picture)?.height ?? Math.min(Math.max(width * 0.55, 220), 340);
      const rows = Math.min(Math.max(Math.floor(height / 34 / type), 2), 6);
      const yTicks = spec.log ? logTicks(...ends.y) : roundTicks(...ends.y, rows);
      const whole = (tick) => !xs.every(Number.isInteger) || Number.isInteger(tick);
      const many = Math.max(Math.floor(width / 90 / type), 2);
      const xTicks = spec.logX ? logTicks(...ends.x) : roundTicks(...ends.x, many).filter(whole);
      const left = leftOf(yTicks, type);
      const right = rightOf(width, xTicks, type), top = 8 * type, bottom = height - 34 * type;
      const [x0, x1] = ends.x.map(along), [y0, y1] = ends.y.map(scale);
      const px = (x) => left + ((along(x) - x0) / (x1 - x0)) * (right - left);
      const py = (y) => bottom - ((scale(y) - y0) / (y1 - y0)) * (bottom - top);
      const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": spec.title });
      for (const tick of yTicks) {
        svg.append(draw("line", { x1: left, x2: right, y1: py(tick), y2: py(tick), class: "grid" }));
        svg.append(draw("text", { x: left - 6, y: py(tick) + 4 * type, "text-anchor": "end" }, number(tick)));
      }
      for (const tick of xTicks) {
        svg.append(draw("line", { x1: px(tick), x2: px(tick), y1: bottom, y2: bottom + 4, class: "axis" }));
        svg.append(draw("text", { x: px(tick), y: bottom + 16 * type, "text-anchor": "middle" }, number(tick)));
      }
      svg.append(draw("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
      svg.append(draw("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, spec.logX ? say("{name} ({text})", { name: spec.x, text: "log" }) : spec.x));
      const middle = (top + bottom) / 2;
      svg.append(draw("text", { x: 11 * type, y: middle, "text-anchor": "middle", transform: `rotate(-90 ${11 * type} ${middle})` }, spec.log ? say("{name} ({text})", { name: spec.y, text: "log" }) : spec.y));
      for (const [x, y] of spec.points) {
        svg.append(draw("circle", { cx: px(x), cy: py(y), r: 3, class: "axis" }));
      }
      const shown = spec.lines.filter((line, i) => !hidden.has(i));
      for (const line of shown) {
        if (!line.low) continue;
        const steps = line.x.map((x, i) => i).filter((i) => finite(line.low[i]) && finite(line.high[i]));
        const there = steps.map((i) => `${px(line.x[i])},${py(line.high[i])}`);
        const back = steps.reverse().map((i) => `${px(line.x[i])},${py(line.low[i])}`);
        svg.append(draw("polygon", { points: [...there, ...back].join(" "), class: `${look(line).class} band` }));
      }
      for (const line of shown) {
        const style = look(line);
        const path = line.x.map((x, i) => [x, line.mean[i]]).filter(([, y]) => finite(y));
        if (path.length === 1) {
          const [[x, y]] = path;
          svg.append(draw("circle", { cx: px(x), cy: py(y), r: 3.5, class: `${style.class} full` }));
        }
        svg.append(draw("polyline", {
          points: path.map(([x, y]) => `${px(x)},${py(y)}`).join(" "), class: style.class,
          "stroke-width": style.width, "stroke-dasharray": style.dash, "stroke-linejoin": "round",
        }));
      }
      const mark = draw("line", { y1: top, y2: bottom, class: "axis", "stroke-dasharray": "2 2", visibility: "hidden" });
      svg.append(mark);
      svg.addEventListener("pointermove", (event) => {
        if (!shown.length) return;
        const box = svg.getBoundingClientRect();
        const x = x0 + (((event.clientX - box.left) / box.width) * width - left) / (right - left) * (x1 - x0);
        const nearest = (line) => line.x.reduce((best, value, i) => Math.abs(along(value) - x) < Math.abs(along(line.x[best]) - x) ? i : best, 0);
        const at = shown[0].x[nearest(shown[0])];
        mark.setAttribute("x1", px(at));
        mark.setAttribute("x2", px(at));
        mark.setAttribute("visibility", "visible");
        reading.textContent = `${spec.x} ${number(at)}: ` + shown.map((line) => `${line.label} ${number(line.mean[nearest(line)])}`).join(", ");
      });
      picture.replaceChildren(svg);
    }

    const legend = make("div", { class: "legend" }, ...spec.lines.map((line, i) => {
      const style = look(line);
      const swatch = draw("svg", { width: 22, height: 8, "aria-hidden": "true" }, draw("line", {
        x1: 0, x2: 22, y1: 4, y2: 4, class: style.class, "stroke-width": style.width, "stroke-dasharray": style.dash,
      }));
      const name = line.seeds > 1 ? say("{name} ({text})", { name: line.label, text: counted("{count} seed", line.seeds) }) : line.label;
      const button = make("button", { type: "button", "aria-pressed": "true", onclick: () => {
        if (hidden.has(i)) hidden.delete(i); else hidden.add(i);
        button.setAttribute("aria-pressed", String(!hidden.has(i)));
        redraw();
      } }, swatch, name);
      return button;
    }));
    holder.append(make("h3", {}, spec.title), legend, picture, reading);
    new ResizeObserver(redraw).observe(holder);
    repaints.push(redraw);
    return holder;
  }

  // Attention.

  // Of a share of the scale, which goes from -1 if it has signs.
  function colour(share, signed = false) {
    const scale = signed ? content.diverging : content.colours;
    const place = Math.min(Math.max(signed ? (share + 1) / 2 : share, 0), 1) * (scale.length - 1);
    const at = Math.min(Math.floor(place), scale.length - 2);
    const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
    return [0, 1, 2].map((i) => {
      const [low, high] = [part(scale[at], i), part(scale[at + 1], i)];
      return Math.round(low + (high - low) * (place - at));
    });
  }

  // Black or white, by WCAG's relative luminance of what is behind: the one with more contrast.
  function inkOn(share, signed = false) {
    const [r, g, b] = colour(share, signed).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
  }

  const decoded = new Map();
  function bytes(map) {
    if (!decoded.has(map)) decoded.set(map, Uint8Array.from(atob(map.weights), (letter) => letter.charCodeAt(0)));
    return decoded.get(map);
  }

  function weights(kept, frame, map, rows, columns, layer, head) {
    const size = rows * columns, data = bytes(map), found = new Float64Array(size);
    const heads = head === null ? [...Array(kept.heads).keys()] : [head];
    for (const one of heads) {
      const start = (layer * kept.heads + one) * size;
      for (let i = 0; i < size; i += 1) found[i] += (frame.least + (data[start + i] / 255) * (frame.largest - frame.least)) / heads.length;
    }
    return found;
  }

  function ticksOf(axis) {
    if (axis.numbers === null) return axis.symbols.map((text, at) => ({ at, text }));
    const values = axis.numbers;
    return roundTicks(values[0], values[values.length - 1], 5).map((tick) => {
      const after = Math.max(values.findIndex((value) => value >= tick), 0);
      const before = Math.max(after - 1, 0);
      const gap = values[after] - values[before];
      return { at: gap > 0 ? before + (tick - values[before]) / gap : after, text: number(tick) };
    });
  }

  // The space of each of several maps that share an area: as many next to each other as make the cells largest.
  function divided(area, count, wide, tall, stretch) {
    const type = typeSize() / LARGE, GAP = 24 * type;
    const rooms = Array.from({ length: count }, (_, i) => ({
      width: (area.width - GAP * i) / (i + 1) - 1,
      height: area.height / Math.ceil(count / (i + 1)) - GAP,
    }));
    const size = ({ width, height }) => {
      const high = Math.max(height - 110 * type, 1) / tall, cell = Math.min((width - 60 * type) / wide, stretch * high);
      return cell * Math.min(stretch * cell, high);
    };
    return rooms.reduce((best, room) => (size(room) > size(best) ? room : best));
  }

  const countOf = (axis) => (axis.numbers ?? axis.symbols).length;

  // The sides of a map within a space. Names of symbols are left out if the cells are too small for them.
  function laid(context, rows, columns, room, type) {
    const line = 11 * type, upwards = rows.numbers !== null;
    const height = countOf(rows), width = countOf(columns);
    const measure = (axis) => Math.max(...ticksOf(axis).map((tick) => context.measureText(tick.text).width), 8);
    const side = (named) => {
      const left = Math.ceil(named.rows ? measure(rows) : 0) + MARGIN + 14 * type;
      const wide = (room.width - left - 2) / width;
      const within = (below) => {
        const high = (room.height - below) / height;
        if (upwards) return Math.min(wide, (high * height) / width);
        return presenting() ? Math.min(wide, WIDE_CELL * high) : Math.min(wide, high, 24);
      };
      const flat = (named.columns ? 12 * type : 0) + MARGIN + 16 * type;
      const upright = columns.numbers === null && named.columns && measure(columns) > within(flat) - 2;
      const below = upright ? Math.ceil(measure(columns)) + MARGIN + 16 * type : flat;
      const cell = within(below);
      const tallest = presenting() ? WIDE_CELL * cell : cell;
      const high = upwards ? (cell * width) / height : Math.min(tallest, (room.height - below) / height);
      return { left, below, cell, high, upright, named, width, height, upwards };
    };
    const all = side({ rows: true, columns: true });
    const named = {
      rows: rows.numbers !== null || all.high >= line,
      columns: columns.numbers !== null || !all.upright || all.cell >= line,
    };
    return named.rows && named.columns ? all : side(named);
  }

  // The ticks that do not touch the one before; `size` is what one takes along the axis.
  function apart(ticks, place, size) {
    let taken = -Infinity;
    return [...ticks].sort((a, b) => place(a) - place(b)).filter((tick) => {
      if (place(tick) - size(tick) / 2 < taken) return false;
      taken = place(tick) + size(tick) / 2;
      return true;
    });
  }

  // Paints a map, in a space that is given or at the usual size.
  function paint(canvas, found, rows, columns, gold, end, space, signed = found.some((weight) => weight < 0)) {
    const room = space ?? { width: Math.min(MAP, root.clientWidth - 40), height: Infinity };
    const context = canvas.getContext("2d");
    const type = typeSize();
    const font = `${11 * type}px system-ui, sans-serif`;
    context.font = font;
    const { left, below, cell, high, upright, named, width, height, upwards } = laid(context, rows, columns, room, type);
    const across = cell * width, down = high * height;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round((left + across + 2) * ratio);
    canvas.height = Math.round((down + below) * ratio);
    canvas.style.width = `${left + across + 2}px`;
    context.scale(ratio, ratio);
    context.font = font;
    const y = (row) => (upwards ? height - 1 - row : row) * high;
    // One dot a weight, enlarged without smoothing: no seams between cells.
    const small = make("canvas", { width, height });
    const dots = new ImageData(width, height);
    for (let row = 0; row < height; row += 1) {
      for (let column = 0; column < width; column += 1) {
        const at = (upwards ? height - 1 - row : row) * width + column;
        dots.data.set([...colour(found[row * width + column] / end, signed), 255], 4 * at);
      }
    }
    small.getContext("2d").putImageData(dots, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, 0, across, down);
    if (gold) {
      context.strokeStyle = GOLD;
      context.lineWidth = 1.5;
      gold.forEach((column, row) => {
        if (column >= 0) context.strokeRect(left + column * cell, y(row), cell, high);
      });
    }
    context.fillStyle = ink();
    context.textAlign = "right";
    context.textBaseline = "middle";
    const toY = (tick) => y(tick.at) + high / 2, toX = (tick) => left + (tick.at + 0.5) * cell;
    const lengthOf = (tick) => context.measureText(tick.text).width;
    for (const tick of named.rows ? apart(ticksOf(rows), toY, () => 11 * type) : []) context.fillText(tick.text, left - 5, toY(tick));
    for (const tick of named.columns ? apart(ticksOf(columns), toX, upright ? () => 11 * type : lengthOf) : []) {
      const x = toX(tick);
      context.save();
      context.translate(x, down + 5);
      const turned = upright && lengthOf(tick) > cell - 2;
      if (turned) context.rotate(-Math.PI / 2);
      context.textAlign = turned ? "right" : "center";
      context.textBaseline = turned ? "middle" : "top";
      context.fillText(tick.text, 0, 0);
      context.restore();
    }
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(columns.name, left + across / 2, down + below - 1);
    context.save();
    context.translate(2, down / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "top";
    context.fillText(rows.name, 0, 0);
    context.restore();
    return { left, cell, high, height, width, upwards };
  }

  function attention(spec) {
    const state = { name: spec.names[0], example: 0, layer: Infinity, head: null, frame: Infinity, nameless: false };
    const reading = make("p", { class: "reading", "aria-live": "polite" }, say("Touch a map to read a weight."));
    const maps = make("div", { class: "maps" });
    const controls = make("div", { class: "controls" });
    const nameless = () => state.nameless && presenting();
    const nameOf = (one) => (nameless() ? String.fromCharCode(65 + spec.configurations.indexOf(one)) : one.label);
    const bar = make("span"), top = make("output");

    const keeping = () => spec.configurations.map((one) => one.attentions[state.name]).filter(Boolean);
    const rooted = () => spec.rooted.includes(state.name);
    const signed = () => spec.signed.includes(state.name);
    const shade = (weight) => (rooted() ? Math.sqrt(weight) : weight);
    const most = (count) => Math.max(...keeping().map(count));
    const sides = (value, count) => Math.min(value, count - 1);

    function slider(text, count, value, show, change) {
      const output = make("output", {}, show(value));
      const input = make("input", { type: "range", min: 0, max: count - 1, step: 1, value, "aria-label": text, oninput: () => {
        change(Number(input.value));
        output.textContent = show(Number(input.value));
        redraw();
      } });
      return make("label", {}, text, input, output);
    }

    const quiz = make("button", { type: "button", class: "plain quiz", "aria-pressed": "false", onclick: () => {
      state.nameless = !state.nameless;
      quiz.setAttribute("aria-pressed", String(state.nameless));
      reading.textContent = "";
      redraw();
    } }, say("Which one fails?"));

    function rebuild() {
      const examples = most((kept) => kept.frames[0].maps.length);
      const layers = most((kept) => kept.layers), heads = most((kept) => kept.heads);
      const longest = keeping().reduce((a, b) => (b.frames.length > a.frames.length ? b : a)).frames;
      state.layer = sides(state.layer, layers);
      state.frame = sides(state.frame, longest.length);
      if (state.head !== null) state.head = sides(state.head, heads);
      const parts = [];
      if (spec.names.length > 1) {
        const select = make("select", { "aria-label": say("attention"), onchange: () => {
          state.name = select.value;
          rebuild();
        } }, ...spec.names.map((name, i) => make("option", { value: name }, spec.kinds[i])));
        select.value = state.name;
        parts.push(make("label", {}, say("attention"), select));
      }
      if (examples > 1) parts.push(slider(say("example"), examples, state.example, (i) => outOf(i + 1, examples), (i) => { state.example = i; }));
      if (layers > 1) parts.push(slider(say("layer"), layers, state.layer, (i) => outOf(i + 1, layers), (i) => { state.layer = i; }));
      if (heads > 1) parts.push(slider(say("head"), heads + 1, state.head === null ? 0 : state.head + 1, (i) => (i ? outOf(i, heads) : say("mean of the heads")), (i) => { state.head = i ? i - 1 : null; }));
      if (longest.length > 1) parts.push(slider(say("epoch"), longest.length, state.frame, (i) => (longest[i].epoch === null ? say("the end") : String(longest[i].epoch)), (i) => { state.frame = i; }));
      const end = spec.ends[state.name];
      top.textContent = number(end);
      bar.style.background = `linear-gradient(to right, ${(signed() ? content.diverging : content.colours).join(",")})`;
      parts.push(make("div", { class: "scale" }, `${say("weight")} ${signed() ? number(-end) : 0}`, bar, top, ...(rooted() ? [say("root scale: {number} in the middle", { number: number(end / 4) })] : [])));
      if (spec.configurations.length > 1) parts.push(quiz);
      controls.replaceChildren(...parts);
      redraw();
    }

    function redraw() {
      const end = spec.ends[state.name];
      const drawn = [];
      maps.replaceChildren(...spec.configurations.map((one) => {
        const kept = one.attentions[state.name];
        const caption = make("figcaption", {}, nameOf(one));
        if (!kept) return make("figure", {}, caption, make("p", { class: "faint" }, say("has no {name}", { name: spec.kinds[spec.names.indexOf(state.name)] })));
        const frame = kept.frames[sides(state.frame, kept.frames.length)];
        const map = frame.maps[sides(state.example, frame.maps.length)];
        const layer = sides(state.layer, kept.layers);
        const head = state.head === null ? null : sides(state.head, kept.heads);
        const rows = spec.axes[map.rows], columns = spec.axes[map.columns];
        const tall = countOf(rows), wide = countOf(columns);
        const found = weights(kept, frame, map, tall, wide, layer, head);
        const canvas = make("canvas", { role: "img", "aria-label": `${nameOf(one)}: ${say("{columns} that each {row} looks at", { columns: columns.name, row: rows.name })}` });
        let place = null;
        drawn.push({ ...(rows.numbers ? { wide: 1, tall: 1, stretch: 1 } : { wide, tall, stretch: WIDE_CELL }), paint: (room) => { place = paint(canvas, found.map(shade), rows, columns, map.gold, shade(end), room, signed()); } });
        canvas.addEventListener("pointermove", (event) => {
          const box = canvas.getBoundingClientRect();
          const shrunk = parseFloat(canvas.style.width) / box.width;
          const column = Math.floor(((event.clientX - box.left) * shrunk - place.left) / place.cell);
          const drawn = Math.floor(((event.clientY - box.top) * shrunk) / place.high);
          const row = place.upwards ? tall - 1 - drawn : drawn;
          if (column < 0 || column >= wide || row < 0 || row >= tall) return;
          const text = (axis, i) => (axis.numbers ? `${axis.name} ${number(axis.numbers[i])}` : say("{name} {place} “{symbol}”", { name: axis.name, place: i + 1, symbol: axis.symbols[i] }));
          const hit = map.gold && map.gold[row] === column ? say(", the gold position") : "";
          const read = say("{row} looks at {column} with weight {weight}", { row: text(rows, row), column: text(columns, column), weight: found[row * wide + column].toFixed(3) });
          reading.textContent = `${nameOf(one)}: ${read}${hit}`;
        });
        const told = [];
        if (kept.layers > 1) told.push(`${say("layer")} ${layer + 1}`);
        if (kept.heads > 1) told.push(head === null ? say("mean of {count} heads", { count: kept.heads }) : `${say("head")} ${head + 1}`);
        if (frame.epoch !== null) told.push(`${say("epoch")} ${frame.epoch}`);
        const which = told.length ? [make("p", { class: "faint" }, told.join(say(", ")))] : [];
        return make("figure", {}, caption, ...which, canvas);
      }));
      const area = roomIn(maps), most = (side) => Math.max(...drawn.map((one) => one[side]));
      const room = area && divided(area, spec.configurations.length, most("wide"), most("tall"), most("stretch"));
      if (room) {
        for (const figure of maps.children) figure.style.width = `${room.width}px`;
        const above = (canvas) => canvas.getBoundingClientRect().top - canvas.parentElement.getBoundingClientRect().top;
        room.height = Math.max(room.height - Math.max(...[...maps.querySelectorAll("canvas")].map(above)), SMALLEST);
      }
      drawn.forEach((one) => one.paint(room));
    }

    rebuild();
    window.addEventListener("resize", redraw);
    repaints.push(redraw);
    const gold = spec.configurations.some((one) => Object.values(one.attentions).some((kept) => kept.frames[0].maps.some((map) => map.gold)));
    const told = [say("All maps are of seed {seed} and share one colour scale.", { seed: spec.seed })];
    if (gold) told.push(say("outlined: gold position"));
    if (spec.omitted) told.push(say("{count} more configurations are left out.", { count: spec.omitted }));
    return make("div", { class: "panel attention" }, make("h3", {}, capital(say("attention"))),
      make("p", { class: "faint" }, told.join(" ")), controls, maps, reading);
  }

  // Settings and commands.

  // A fold that is open on paper.
  function printed(folded) {
    folded.classList.add("printed");
    return folded;
  }

  const fold = (title, ...inside) => make("details", {}, make("summary", {}, title), ...inside);

  function configuration(one) {
    const seeds = `${one.seeds.length > 1 ? say("seeds") : say("seed")} ${Language.list(one.seeds)}`;
    const choices = Object.entries(one.choices).map(([group, name]) => `${group}=${name}`).join(" ");
    const rows = one.settings.map(([path, value]) => [{ text: path }, { text: value }]);
    const command = one.command
      ? make("pre", { tabindex: "0" }, make("code", {}, one.command))
      : make("p", { class: "faint" }, say("What was typed for these runs is not stored with them; the settings say what was run."));
    return [
      make("h4", {}, [one.label, seeds].join(say(", "))),
      command,
      ...notes(one.notes),
      fold(say("settings"),
        ...(one.code.length ? [make("p", { class: "faint" }, say("Computed with {versions}.", { versions: one.code.join(say("; ")) }))] : []),
        make("p", { class: "faint" }, say("Choices: {choices}", { choices })),
        ...table({ title: "", caption: "", columns: [{ title: say("setting") }, { title: say("value") }], rows })),
    ];
  }

  const settings = (configurations) =>
    printed(fold(say("Commands that run it again, and settings"), ...configurations.flatMap(configuration)));

  // The page: each part returns its elements, in order.

  function introduction() {
    return [
      ...(content.live ? [make("p", { class: "live" }, content.live.text)] : []),
      ...content.results.filter((result) => result.compared).map((result) => make("p", { class: "compared" }, result.compared)),
      ...(content.verdicts.length || content.notes.length ? [verdicts()] : []),
    ];
  }

  const notes = (texts) => texts.map((text) => make("p", { class: "note" }, text));

  function verdicts() {
    return make("div", { class: "panel verdicts" }, make("h2", {}, content.verdicts.length ? say("Verdict") : say("Notes")),
      ...content.verdicts.map((verdict) => make("p", { class: "verdict" }, verdict)), ...notes(content.notes));
  }

  function dataSet(data) {
    const attended = data.attention ? [attention(data.attention)] : [];
    return [
      ...(data.charts.length ? [make("div", { class: "charts" }, ...data.charts.map(chart))] : []),
      ...attended,
      ...(data.computed.length ? [make("div", { class: "panel computes" }, make("h3", {}, say("Compute")), ...computing(data.computed, content.data.indexOf(data)))] : []),
      ...(data.configurations.length ? [settings(data.configurations)] : []),
    ];
  }

  function results(result, place) {
    const own = content.data.filter((data) => data.result === place);
    return [
      ...(result.dots ? [dotPlot(result.dots, result.verdicts)] : []),
      ...(result.table ? table(result.table) : []),
      ...(result.costs ? [printed(fold(say("What the runs took"), ...table(result.costs)))] : []),
      ...own.flatMap((data) => [...(own.length > 1 ? [make("h3", {}, data.name)] : []), ...dataSet(data)]),
    ];
  }

  function parts() {
    const found = content.live?.charts.length
      ? [[say("Running now"), [make("div", { class: "charts" }, ...content.live.charts.map(chart))]]]
      : [];
    found.push(...content.results.map((result, place) => [result.name, results(result, place)]));
    if (content.every.length) found.push([say("Every run"), content.every.flatMap(table)]);
    if (content.further.length) found.push([say("Remarks"), notes(content.further)]);
    return found;
  }

  const computing = Computing({
    say, make, draw, paint, number, roundTicks, leftOf, rightOf, widest, TYPE, repaints, roomIn, typeSize, inkOn, fill: fillScreen,
    shade: (share, signed) => `rgb(${colour(share, signed).join(" ")})`,
  });

  // Light and dark. Paper is light, and its folds are open.

  const darkButton = make("button", { type: "button", onclick: () => wear(root.dataset.style === "dark" ? "light" : "dark") });

  function wear(style) {
    root.dataset.style = style;
    darkButton.textContent = style === "dark" ? say("Light style") : say("Dark style");
    repaints.forEach((repaint) => repaint());
  }

  function followSystem() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => wear(dark.matches ? "dark" : "light");
    dark.addEventListener("change", follow);
    follow();
  }

  function preparePaper() {
    let before = null;
    window.addEventListener("beforeprint", () => {
      const closed = [...document.querySelectorAll("details.printed:not([open])")];
      before = { style: root.dataset.style, closed };
      closed.forEach((one) => { one.open = true; });
      paper = true;
      wear("light");
    });
    window.addEventListener("afterprint", () => {
      paper = false;
      before.closed.forEach((one) => { one.open = false; });
      wear(before.style);
    });
  }

  // The presentation: one panel per screen.

  function presentation(page) {
    const panels = [...page.querySelectorAll(".panel")];
    const names = panels.map((panel) => panel.closest("section")?.querySelector("h2").textContent ?? "");
    const name = make("h2"), counted = make("span"), slide = make("div", { class: "slide" }), gap = make("span");
    const to = (text, step) => make("button", { type: "button", onclick: () => show(at + step) }, text);
    const stage = make("div", { id: "stage" },
      make("div", { class: "bar" }, make("h1", {}, content.title), to(say("← back"), -1), counted, to(say("next →"), 1),
        make("button", { type: "button", onclick: leave }, say("End (p)"))),
      name, slide);
    let at = 0;

    function show(place) {
      if (slide.firstChild) gap.replaceWith(slide.firstChild);
      at = Math.min(Math.max(place, 0), panels.length - 1);
      panels[at].replaceWith(gap);
      slide.append(panels[at]);
      name.textContent = names[at];
      name.hidden = !names[at];
      counted.textContent = outOf(at + 1, panels.length);
      repaints.forEach((repaint) => repaint());
      window.scrollTo(0, 0);
    }

    function enter(place = at) {
      if (!panels.length) return;
      root.classList.add("presenting");
      page.append(stage);
      show(place);
    }

    function leave() {
      root.classList.remove("presenting");
      gap.replaceWith(slide.firstChild);
      stage.remove();
      repaints.forEach((repaint) => repaint());
      panels[at].scrollIntoView();
    }

    const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
      if (event.key === "p") (presenting() ? leave : enter)();
      else if (event.key === "Escape" && presenting()) leave();
      else if (event.key in STEPS && presenting()) {
        event.preventDefault();
        show(at + STEPS[event.key]);
      }
    });
    const button = make("button", { type: "button", onclick: () => enter() }, say("Present (p)"));
    button.hidden = !panels.length;
    return { at: () => at, enter, button };
  }

  // A live page loads itself again: it keeps its place, its style, its sliders and its panel.

  const sliders = () => [...document.querySelectorAll("input[type=range]")];

  function keepPlace(slides) {
    const key = `attnexp report ${location.pathname}`;
    const kept = JSON.parse(sessionStorage.getItem(key) ?? "null");
    sessionStorage.removeItem(key);
    if (kept) {
      wear(kept.style);
      sliders().forEach((slider, i) => {
        if (!(i in kept.sliders) || slider.value === kept.sliders[i]) return;
        slider.value = kept.sliders[i];
        slider.dispatchEvent(new Event("input"));
      });
      if (kept.panel !== null) slides.enter(kept.panel);
      // Charts have their height only once the page was laid out.
      requestAnimationFrame(() => requestAnimationFrame(() => window.scrollTo(0, kept.scroll)));
    }
    if (!content.live) return;
    history.scrollRestoration = "manual";
    window.addEventListener("pagehide", () => {
      sessionStorage.setItem(key, JSON.stringify({
        style: root.dataset.style, scroll: window.scrollY, panel: presenting() ? slides.at() : null,
        sliders: sliders().map((slider) => slider.value),
      }));
    });
  }

  const page = document.getElementById("page");
  page.querySelector("noscript").remove();
  const sections = parts();
  page.append(...introduction());
  page.append(make("nav", { "aria-label": say("parts") }, ...sections.map(([title], i) => make("a", { href: `#part-${i}` }, title))));
  sections.forEach(([title, inside], i) => page.append(make("section", { id: `part-${i}` }, make("h2", {}, title), ...inside)));
  const slides = presentation(page);
  const languageButton = make("button", { type: "button", lang: Language.other, onclick: Language.change }, Language.other === "zh" ? "中文" : "English");
  page.prepend(make("div", { class: "tools" }, darkButton, ...(content.language && Language.able ? [languageButton] : []), slides.button));
  page.querySelector("h1").textContent = document.title = content.title;
  followSystem();
  preparePaper();
  try {
    keepPlace(slides);
  } catch (error) {
    if (error.name !== "SecurityError") throw error; // a page in a frame may have no storage
  }
})();
