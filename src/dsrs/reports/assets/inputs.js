// The table of inputs: sorted by any column, filtered by the form above it.

const PAGE = 100; // rows drawn at first and for each "Show more"
const inputState = { column: 0, descending: false, shown: PAGE };

function intervalText(pair) {
  return pair ? `[${pair[0].toFixed(4)}, ${pair[1].toFixed(4)}]` : "";
}

function radiusText(result) {
  const radius = floorRadius(result.radius);
  if (result.status === "certified") return radius;
  return result.status === "short" && result.radius > 0 ? `short, ${radius}` : result.status;
}

function inputColumns(run) {
  const columns = [
    { head: "Index", value: (input) => input.index, text: (input) => String(input.index) },
    { head: "Label", value: (input) => input.label, text: (input) => className(run, input.label) },
    {
      head: "Prediction",
      value: (input) => (input.predicted === null ? -1 : input.predicted),
      text: (input) => className(run, input.predicted),
      kind: (input) => (input.label === null || input.predicted === input.label ? "" : "wrong"),
    },
    {
      head: "P_A est.",
      value: (input) => (input.p === null ? -1 : input.p),
      text: (input) => (input.p === null ? "" : input.p.toFixed(4)),
    },
  ];
  if (run.inputs.some((input) => input.votes !== null)) {
    columns.push({
      head: "Queries",
      value: (input) => input.votes,
      text: (input) => input.votes.toLocaleString("en"),
    });
  }
  for (const method of run.methods) {
    const one = (input) => input.methods[method];
    const doubled = run.inputs.some((input) => one(input).q);
    columns.push({
      head: "P interval", group: method, start: true,
      value: (input) => (one(input).p ? one(input).p[0] : -1), text: (input) => intervalText(one(input).p),
    });
    if (doubled) {
      columns.push({
        head: "Q interval", group: method, title: (input) => one(input).law || "",
        value: (input) => (one(input).q ? one(input).q[0] : -1), text: (input) => intervalText(one(input).q),
      });
    }
    columns.push({
      head: "Radius", group: method,
      value: (input) => one(input).radius,
      text: (input) => radiusText(one(input)),
      kind: (input) => (one(input).status === "certified" ? "" : "none"),
    });
    if (method !== report.baseline && run.methods.includes(report.baseline)) {
      columns.push({
        head: "Gain", group: method,
        value: (input) => one(input).gain, text: (input) => signed(nearestRadius(one(input).gain)),
        kind: (input) => (one(input).gain > 0 ? "up" : one(input).gain < 0 ? "down" : ""),
      });
    }
  }
  if (run.inputs.some((input) => input.attack)) columns.push(...attackColumns(run));
  return columns;
}

function attackColumns(run) {
  const one = (input) => input.attack || { distance: null, ratio: null, shown: null, pictures: [] };
  const text = (input) => (input.attack ? "nothing proved" : "");
  return [
    {
      head: "Distance", group: "attack", start: true,
      value: (input) => (one(input).distance === null ? Infinity : one(input).distance),
      text: (input) => (one(input).distance === null ? text(input) : ceilRadius(one(input).distance)),
      title: (input) => one(input).shown || "",
      kind: (input) => (one(input).refuted ? "wrong" : ""),
    },
    {
      head: "Certified / attacked", group: "attack",
      value: (input) => (one(input).ratio === null ? -1 : one(input).ratio),
      text: (input) => (one(input).ratio === null ? "" : floorRadius(one(input).ratio)),
    },
    {
      head: "Shown", group: "attack",
      value: (input) => (one(input).shown === null ? -1 : one(input).shown.length),
      text: (input) => {
        const { shown, rival } = one(input);
        return shown === "answer changed" ? `now ${className(run, rival)}` : shown || "";
      },
    },
    {
      head: "Image, perturbation, sum", group: "attack", value: (input) => input.index, text: () => "",
      images: (input) => (one(input).pictures.length ? [input.thumbnail, ...one(input).pictures] : []),
    },
  ];
}

function passes(input, filter) {
  const results = Object.entries(input.methods);
  const rivals = results.filter(([method]) => method !== report.baseline).map(([, result]) => result);
  const statuses = results.map(([, result]) => result.status);
  return (
    (filter.label === "" || input.label === Number(filter.label)) &&
    (filter.prediction === "" || (input.label === null || input.predicted === input.label) === (filter.prediction === "right")) &&
    (filter.status !== "certified" || statuses.includes("certified")) &&
    (filter.status !== "abstained" || statuses.every((status) => status === "abstained")) &&
    (filter.status !== "undecided" || statuses.includes("undecided")) &&
    (filter.status !== "short" || statuses.includes("short")) &&
    (filter.gain !== "up" || rivals.some((result) => result.gain > 0)) &&
    (filter.gain !== "down" || rivals.some((result) => result.gain < 0)) &&
    (filter.index.trim() === "" || String(input.index) === filter.index.trim())
  );
}

function drawHead(table, run, columns) {
  const groups = html("tr"), heads = html("tr");
  const ungrouped = columns.filter((column) => !column.group).length;
  groups.append(html("th", { class: "group", colspan: ungrouped + 1 }));
  for (const group of new Set(columns.map((column) => column.group).filter(Boolean))) {
    const size = columns.filter((column) => column.group === group).length;
    const name = group === "attack" ? "Attack" : report.methods[group].name;
    groups.append(html("th", { class: "group start", colspan: size, scope: "colgroup" }, name));
  }
  heads.append(html("th", { scope: "col" }));
  columns.forEach((column, place) => {
    const sorted = place === inputState.column;
    const head = html("th", {
      scope: "col", class: column.start ? "start" : "",
      "aria-sort": sorted ? (inputState.descending ? "descending" : "ascending") : "none",
    });
    const button = withSubscript(html("button", { type: "button", "data-column": place }, column.head));
    button.addEventListener("click", () => {
      inputState.descending = sorted ? !inputState.descending : false;
      inputState.column = place;
      drawInputs();
      table.querySelector(`[data-column="${place}"]`).focus();
    });
    head.append(button);
    heads.append(head);
  });
  table.tHead.replaceChildren(groups, heads);
}

function inputRow(input, columns) {
  const row = html("tr");
  const picture = html("td");
  if (input.thumbnail) picture.append(html("img", { src: input.thumbnail, alt: `input ${input.index}` }));
  row.append(picture);
  for (const column of columns) {
    const kinds = [column.start ? "start" : "", column.kind ? column.kind(input) : ""].join(" ").trim();
    const cell = html("td", kinds ? { class: kinds } : {}, column.text(input));
    if (column.title) cell.title = column.title(input);
    if (column.images) {
      const alts = ["image", "perturbation", "perturbed image"];
      column.images(input).forEach((src, place) => {
        if (src) cell.append(html("img", { src, alt: `${alts[place]} of input ${input.index}` }));
      });
      cell.classList.add("pictures");
    }
    row.append(cell);
  }
  return row;
}

function drawInputs() {
  const filter = Object.fromEntries(new FormData(document.getElementById("filters")));
  const run = report.runs[Number(filter.run)];
  const columns = inputColumns(run);
  const table = document.getElementById("input-table");
  inputState.column = Math.min(inputState.column, columns.length - 1);
  const { value } = columns[inputState.column];
  const sign = inputState.descending ? -1 : 1;
  const rows = run.inputs
    .filter((input) => passes(input, filter))
    .sort((a, b) => sign * (value(a) - value(b)) || a.index - b.index);
  drawHead(table, run, columns);
  table.tBodies[0].replaceChildren(...rows.slice(0, inputState.shown).map((input) => inputRow(input, columns)));
  const drawn = Math.min(inputState.shown, rows.length);
  document.getElementById("shown").textContent =
    `${rows.length} of ${run.inputs.length} inputs` + (drawn < rows.length ? `, first ${drawn} shown` : "");
  document.getElementById("more").hidden = drawn === rows.length;
}

function startInputs() {
  const form = document.getElementById("filters");
  const labels = [...new Set(report.runs.flatMap((run) => run.inputs.map((input) => input.label)))];
  report.runs.forEach((run, place) => form.elements.run.append(html("option", { value: place }, run.name)));
  form.elements.label.append(html("option", { value: "" }, "any"));
  labels.sort((a, b) => a - b).forEach((label) => form.elements.label.append(html("option", { value: label }, className(report.runs[0], label))));
  form.elements.run.parentElement.hidden = report.runs.length === 1;
  form.addEventListener("input", () => { inputState.shown = PAGE; drawInputs(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  // The form is back at its first values only after the reset event.
  form.addEventListener("reset", () => setTimeout(() => { inputState.shown = PAGE; drawInputs(); }));
  document.getElementById("more").addEventListener("click", () => { inputState.shown += PAGE; drawInputs(); });
  drawInputs();
}

// Paper has no filters and nothing to unfold: it shows all inputs of all runs, and all settings.
function beforePrint() {
  const place = document.getElementById("printed-inputs");
  place.replaceChildren();
  for (const run of report.runs) {
    const columns = inputColumns(run);
    const table = html("table", { class: "inputs" });
    table.append(html("thead"), html("tbody"));
    drawHead(table, run, columns);
    table.tBodies[0].append(...run.inputs.map((input) => inputRow(input, columns)));
    if (report.runs.length > 1) place.append(html("h3", {}, run.name));
    place.append(table);
  }
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    details.dataset.folded = "";
  }
}

function afterPrint() {
  document.getElementById("printed-inputs").replaceChildren();
  for (const details of document.querySelectorAll("details[data-folded]")) {
    details.open = false;
    delete details.dataset.folded;
  }
}

startInputs();
window.addEventListener("beforeprint", beforePrint);
window.addEventListener("afterprint", afterPrint);
