"use strict";

// Small SVG charts: axes, curves, bands and points, with values on hover and by arrow key.
// Numbers arrive rounded down to four decimals; whole ten-thousandths keep further rounding exact.

const SVG = "http://www.w3.org/2000/svg";
// On a phone a chart has fewer units, so that its letters keep their size.
const NARROW = window.matchMedia("(max-width: 480px)");
const size = () => (NARROW.matches ? [320, 260] : [560, 330]);
let [WIDTH, HEIGHT] = size();
const MARGIN = { left: 58, right: 14, top: 12, bottom: 44 };
const DASHES = ["", "8 3", "2.5 2.5", "10 3 2.5 3", "5 5", "10 2.5 2 2.5 2 2.5"];
const dashes = (number) => DASHES[number % DASHES.length];

const tenThousandths = (value) => Math.round(value * 1e4);
const floorRadius = (value) => (Math.floor(tenThousandths(value) / 10) / 1000).toFixed(3);
const floorPercent = (share) => (Math.floor(tenThousandths(share) / 10) / 10).toFixed(1);
const ceilRadius = (value) => (Math.ceil(tenThousandths(value) / 10) / 1000).toFixed(3);
const ceilPercent = (share) => (Math.ceil(tenThousandths(share) / 10) / 10).toFixed(1);
// A gain claims nothing, and is rounded to the nearest digit.
const nearestRadius = (value) => (Math.round(tenThousandths(value) / 10) / 1000 + 0).toFixed(3);
const nearestPercent = (share) => (Math.round(tenThousandths(share) / 10) / 10 + 0).toFixed(1);
const signed = (text) => (Number(text) > 0 ? "+" + text : text);

function filled(element, attributes, text) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

const node = (name, attributes = {}, text = null) => filled(document.createElementNS(SVG, name), attributes, text);
const html = (name, attributes = {}, text = null) => filled(document.createElement(name), attributes, text);

function withSubscript(element) {
  // "P_A" and "l_2" are set as in the paper, with their index below the line.
  const found = element.textContent.match(/^(.*\b[Pl])_(\w)(.*)$/);
  if (!found) return element;
  const [, before, letter, after] = found;
  if (element.namespaceURI === SVG) {
    element.replaceChildren(
      before, node("tspan", { dy: 3, "font-size": 10.5 }, letter), node("tspan", { dy: -3 }, after),
    );
  } else element.replaceChildren(before, html("sub", {}, letter), after);
  return element;
}

const seriesColor = (place) => `var(--series-${place})`;

function niceTicks(low, high, count = 6) {
  const power = 10 ** Math.floor(Math.log10((high - low) / count));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => (high - low) / s <= count);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

class Chart {
  // spec: title, caption, x and y {label, min, max, format}, marks, read: "x" or "point"
  // mark: kind, name, color, dash, shape, x, y, low, high, tip(i), at(x)
  constructor(spec) {
    this.spec = spec;
    this.hidden = new Set();
    this.figure = html("figure", { id: spec.id });
    this.figure.append(withSubscript(html("h3", {}, spec.title)));
    const names = [...new Set(spec.marks.map((mark) => mark.name))];
    this.figure.append(this.legend(names));
    this.svg = node("svg", {
      role: "img", tabindex: "0",
      "aria-label": `${spec.title}. ${spec.caption}`,
    });
    this.figure.append(this.svg, html("figcaption", {}, spec.caption));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.leave());
    this.svg.addEventListener("blur", () => this.leave());
    this.svg.addEventListener("keydown", (event) => this.key(event));
    NARROW.addEventListener("change", () => {
      [WIDTH, HEIGHT] = size();
      this.leave();
      this.draw();
    });
    this.draw();
  }

  legend(names) {
    const box = html("div", { class: "legend" });
    for (const name of names) {
      const mark = this.spec.marks.find((one) => one.name === name);
      const button = html("button", { type: "button", "aria-pressed": "true" });
      const swatch = node("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" });
      if (mark.kind === "points") {
        swatch.append(shape(mark.shape, 13, 5, 4, { fill: seriesColor(mark.color) }));
      } else {
        swatch.append(node("path", {
          d: "M0 5H26", stroke: seriesColor(mark.color), "stroke-width": 2.2,
          "stroke-dasharray": dashes(mark.dash),
        }));
      }
      button.append(swatch, html("span", {}, name));
      button.addEventListener("click", () => {
        if (!this.hidden.delete(name)) this.hidden.add(name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
        this.draw();
      });
      box.append(button);
    }
    return box;
  }

  get marks() {
    return this.spec.marks.filter((mark) => !this.hidden.has(mark.name));
  }

  px(x) {
    const { min, max } = this.spec.x;
    return MARGIN.left + ((x - min) / (max - min)) * (WIDTH - MARGIN.left - MARGIN.right);
  }

  py(y) {
    const { min, max } = this.spec.y;
    return HEIGHT - MARGIN.bottom - ((y - min) / (max - min)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  }

  draw() {
    this.svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    this.svg.replaceChildren();
    this.axes();
    for (const line of this.spec.references || []) {
      this.svg.append(node("line", {
        class: "reference", x1: this.px(line[0]), y1: this.py(line[1]),
        x2: this.px(line[2]), y2: this.py(line[3]),
      }));
    }
    for (const mark of this.marks) this[mark.kind](mark);
    this.overlay = node("g");
    this.svg.append(this.overlay);
  }

  axes() {
    const { x, y } = this.spec;
    const bottom = HEIGHT - MARGIN.bottom, right = WIDTH - MARGIN.right;
    for (const tick of niceTicks(y.min, y.max)) {
      const at = this.py(tick);
      this.svg.append(node("line", { class: "gridline", x1: MARGIN.left, x2: right, y1: at, y2: at }));
      this.svg.append(node("text", { x: MARGIN.left - 7, y: at + 4, "text-anchor": "end" }, y.tick(tick)));
    }
    for (const tick of niceTicks(x.min, x.max, NARROW.matches ? 5 : 8)) {
      const at = this.px(tick);
      this.svg.append(node("line", { class: "gridline", x1: at, x2: at, y1: MARGIN.top, y2: bottom }));
      this.svg.append(node("text", { x: at, y: bottom + 16, "text-anchor": "middle" }, String(tick)));
    }
    this.svg.append(node("path", { class: "axis", fill: "none", d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}` }));
    this.svg.append(withSubscript(node("text", { x: (MARGIN.left + right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, x.label)));
    this.svg.append(node("text", {
      transform: `translate(13 ${(MARGIN.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle",
    }, y.label));
  }

  stroke(mark, d) {
    this.svg.append(node("path", {
      class: "curve", d, stroke: seriesColor(mark.color), "stroke-dasharray": dashes(mark.dash),
    }));
  }

  steps(mark) {
    // The value on (x[i-1], x[i]] is y[i], as in the definition of certified accuracy.
    let d = `M${this.px(mark.x[0])} ${this.py(mark.y[0])}`;
    for (let i = 1; i < mark.x.length; i++) d += `V${this.py(mark.y[i])}H${this.px(mark.x[i])}`;
    this.stroke(mark, d + `V${this.py(0)}`);
  }

  line(mark) {
    const points = mark.x.map((x, i) => `${this.px(x)} ${this.py(mark.y[i])}`);
    if (mark.low) {
      const upper = mark.x.map((x, i) => `${this.px(x)} ${this.py(mark.high[i])}`);
      const lower = mark.x.map((x, i) => `${this.px(x)} ${this.py(mark.low[i])}`).reverse();
      this.svg.append(node("path", {
        class: "band", fill: seriesColor(mark.color), d: `M${upper.concat(lower).join("L")}Z`,
      }));
    }
    this.stroke(mark, `M${points.join("L")}`);
  }

  points(mark) {
    mark.nodes = mark.x.map((x, i) => shape(mark.shape, this.px(x), this.py(mark.y[i]), mark.size ?? 3, {
      class: mark.size ? "point single" : "point", fill: seriesColor(mark.color),
    }));
    this.svg.append(...mark.nodes);
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const y = ((event.clientY - box.top) / box.height) * HEIGHT;
    if (this.spec.read === "point") this.nearest(x, y, event);
    else this.readAt(this.unproject(x), event);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || this.spec.read === "point") return;
    event.preventDefault();
    const { min, max } = this.spec.x;
    const from = this.cursor === undefined ? min : this.cursor + (step * (max - min)) / 60;
    const box = this.svg.getBoundingClientRect();
    const at = Math.min(max, Math.max(min, from));
    this.readAt(at, {
      pageX: window.scrollX + box.left + (this.px(at) / WIDTH) * box.width,
      pageY: window.scrollY + box.top + box.height / 3,
    });
  }

  unproject(x) {
    const { min, max } = this.spec.x;
    const share = (x - MARGIN.left) / (WIDTH - MARGIN.left - MARGIN.right);
    return min + Math.min(1, Math.max(0, share)) * (max - min);
  }

  readAt(x, where) {
    this.cursor = x;
    const at = this.spec.snap ? this.spec.snap(x) : x;
    const lines = this.marks.map((mark) => ({ mark, text: mark.at(at) })).filter((one) => one.text !== null);
    this.overlay.replaceChildren(node("line", {
      class: "cursor", x1: this.px(at), x2: this.px(at), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom,
    }));
    const rows = lines.map(({ mark, text }) => ({ color: mark.color, text: `${mark.name}: ${text}` }));
    showTooltip(where, this.spec.x.read(at), rows);
  }

  nearest(x, y, event) {
    let best = null, distance = 24 ** 2;
    for (const mark of this.marks) {
      mark.x.forEach((value, i) => {
        const d = (this.px(value) - x) ** 2 + (this.py(mark.y[i]) - y) ** 2;
        if (d < distance) [distance, best] = [d, { mark, i }];
      });
    }
    this.unmark();
    if (!best) return hideTooltip();
    this.near = best.mark.nodes[best.i];
    this.near.classList.add("near");
    const tip = best.mark.tip(best.i);
    showTooltip(event, tip.title, tip.rows.map((text) => ({ text })), tip.image);
  }

  unmark() {
    if (this.near) this.near.classList.remove("near");
    this.near = null;
  }

  leave() {
    this.unmark();
    this.cursor = undefined;
    this.overlay.replaceChildren();
    hideTooltip();
  }
}

function shape(kind, x, y, r, attributes) {
  const paths = [
    null,
    `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
    `M${x - r} ${y - r}h${2 * r}L${x} ${y + r}Z`,
    `M${x} ${y - r * 1.2}L${x + r * 1.2} ${y}L${x} ${y + r * 1.2}L${x - r * 1.2} ${y}Z`,
  ];
  const d = paths[kind % 4];
  return d ? node("path", { d, ...attributes }) : node("circle", { cx: x, cy: y, r, ...attributes });
}

function showTooltip(where, title, rows, image = null) {
  const box = document.getElementById("tooltip");
  box.replaceChildren(html("strong", {}, title));
  if (image) box.append(html("img", { src: image, alt: "" }));
  for (const row of rows) {
    const line = html("div");
    if (row.color !== undefined) {
      const swatch = html("span", { class: "swatch" });
      swatch.style.background = seriesColor(row.color);
      line.append(swatch);
    }
    line.append(row.text);
    box.append(line);
  }
  box.hidden = false;
  const room = document.documentElement.clientWidth - box.offsetWidth - 8;
  const right = where.pageX + 14;
  box.style.left = `${right > room ? Math.max(4, where.pageX - box.offsetWidth - 14) : right}px`;
  box.style.top = `${where.pageY + 14}px`;
}

function hideTooltip() {
  document.getElementById("tooltip").hidden = true;
}
