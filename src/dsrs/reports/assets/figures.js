// The figures of the report, from the same series as the print figures.

const report = JSON.parse(document.getElementById("report-data").textContent);
const runPlace = Object.fromEntries(report.runs.map((run, place) => [run.name, place]));
const runTitle = (name) => (name in runPlace ? report.runs[runPlace[name]].title : name);
const manyRuns = report.runs.length > 1;
const className = (run, label) => {
  if (label === null) return "none";
  return label in run.class_names ? `${label} ${run.class_names[label]}` : String(label);
};

const percentTick = (share) => String(Number((share * 100).toPrecision(6)));
const named = (series) => {
  const name = report.methods[series.method].name;
  return manyRuns && series.run ? `${name}, ${runTitle(series.run)}` : name;
};
// What the colours stand for is said in style.py. The baseline, method 0, has no points.
const runColor = (name) => report.runs[runPlace[name]].color;
const methodMark = (series, color = null) => {
  const method = report.methods[series.method];
  return {
    name: named(series), dash: method.dash, shape: method.dash + 3,
    color: color ?? (manyRuns ? runColor(series.run) : method.color),
  };
};
const runMark = (series) => ({ name: runTitle(series.run), color: runColor(series.run), dash: runPlace[series.run] });
const largest = (lists, least) => Math.max(least, ...lists.map((list) => list.reduce((a, b) => Math.max(a, b), 0)));

function nearestIndex(values, x) {
  return values.reduce((best, value, i) => (Math.abs(value - x) < Math.abs(values[best] - x) ? i : best), 0);
}

// Steps as corners of a line, so that the band between two of them is one shape.
const corners = (values) => values.flatMap((value, i) => (i ? [value, value] : [value]));
const ends = (radius) => radius.flatMap((r, i) => (i ? [radius[i - 1], r] : [r]));

const radiusAxis = (max) => ({
  label: report.radius_label, min: 0, max, read: (r) => `radius ${r.toFixed(3)}`,
});

// The model without noise at radius 0: nothing is guaranteed of it beyond.
const undefendedMarks = (undefended) => undefended.map((one) => ({
  kind: "points", name: [report.undefended_title, ...(one.run ? [runTitle(one.run)] : [])].join(", "),
  color: one.run ? runColor(one.run) : report.neutral, shape: 3, size: 5, x: [0], y: [one.accuracy],
  at: (r) => (r === 0 ? `${floorPercent(one.accuracy)}%` : null),
}));

function accuracyChart(id, title, caption, curves, mark, more = []) {
  const max = 1.03 * largest(curves.map((curve) => curve.radius), 0.01);
  return new Chart({
    id, title, caption, read: "x",
    snap: (r) => Math.round(r * 1000) / 1000,
    x: radiusAxis(max),
    y: { label: "certified accuracy (%)", min: 0, max: 1.02, tick: percentTick },
    marks: curves.map((curve) => ({
      ...mark(curve), kind: "steps", x: curve.radius, y: curve.accuracy,
      at: (r) => {
        const place = curve.radius.findIndex((end) => end >= r);
        return `${place < 0 ? "0.0" : floorPercent(curve.accuracy[place])}%`;
      },
    })).concat(more),
  });
}

function gainChart(bands) {
  const max = 1.03 * largest(bands.map((band) => band.radius), 0.01);
  const low = -largest(bands.map((band) => band.low.map((end) => -end)), 0.01);
  const high = largest(bands.map((band) => band.high), 0.01);
  return new Chart({
    id: "figure-accuracy-gain",
    title: "Gain in certified accuracy",
    caption: "Percentage points over Neyman-Pearson on the same inputs and budget, with the paired bootstrap interval at each radius.",
    read: "x",
    x: radiusAxis(max),
    y: { label: "gain (percentage points)", min: low - 0.02 * (high - low), max: high + 0.04 * (high - low), tick: percentTick },
    references: [[0, 0, max, 0]],
    marks: bands.map((band) => ({
      ...methodMark(band), kind: "line", x: ends(band.radius), y: corners(band.gain),
      low: corners(band.low), high: corners(band.high),
      at: (r) => {
        if (r > band.radius[band.radius.length - 1]) return null;
        // A gain holds at the radius it was computed for, so the next one at or above r is shown.
        const i = band.radius.findIndex((value) => value >= r);
        const texts = [band.gain[i], band.low[i], band.high[i]].map((v) => signed(nearestPercent(v)));
        return `${texts[0]} (${texts[1]} to ${texts[2]}) at ${floorRadius(band.radius[i])}`;
      },
    })),
  });
}

function pointTip(points, i) {
  const run = report.runs[runPlace[points.run]];
  run.byIndex ||= new Map(run.inputs.map((input) => [input.index, input]));
  const input = run.byIndex.get(points.index[i]);
  return {
    title: `input ${points.index[i]}` + (manyRuns ? `, ${points.run}` : ""),
    image: input.thumbnail,
    rows: [
      `label ${className(run, input.label)}, predicted ${className(run, input.predicted)}`,
      `${report.methods[report.baseline].name}: ${floorRadius(points.baseline[i])}`,
      `${report.methods[points.method].name}: ${floorRadius(points.radius[i])} (${signed(nearestRadius(points.gain[i]))})`,
      ...(points.p[i] === null ? [] : [`estimate of P_A: ${points.p[i].toFixed(4)}`]),
    ],
  };
}

function comparisonChart(groups) {
  const max = 1.04 * largest(groups.flatMap((points) => [points.baseline, points.radius]), 0.01);
  return new Chart({
    id: "figure-radius-comparison",
    title: "Radius of each input",
    caption: "One point an input; above the diagonal the other method proves more than Neyman-Pearson. Radius 0 is an abstention.",
    read: "point",
    x: { label: "radius by Neyman-Pearson", min: 0, max },
    y: { label: "radius by the other method", min: 0, max, tick: String },
    references: [[0, 0, max, max]],
    marks: groups.map((points) => ({
      ...methodMark(points), kind: "points",
      x: points.baseline, y: points.radius, tip: (i) => pointTip(points, i),
    })),
  });
}

function gainByProbabilityChart(groups) {
  const kept = groups.map((points) => {
    const rows = points.index.map((_, i) => i).filter((i) => points.p[i] !== null && points.p[i] >= 0.5);
    return { points, rows };
  });
  const gains = kept.flatMap(({ points, rows }) => rows.map((i) => points.gain[i]));
  if (!gains.length) return null;
  const low = -largest([gains.map((gain) => -gain)], 0), high = largest([gains], 0.01);
  return new Chart({
    id: "figure-gain-by-probability",
    title: "Gain in radius by P_A",
    caption: "Inputs by the estimated probability of the certified class under noise; below one half nothing can be certified.",
    read: "point",
    x: { label: "estimate of P_A", min: 0.49, max: 1.01 },
    y: { label: "gain in radius", min: low - 0.03 * (high - low), max: high + 0.05 * (high - low), tick: String },
    references: [[0.5, 0, 1, 0]],
    marks: kept.map(({ points, rows }) => ({
      ...methodMark(points), kind: "points",
      x: rows.map((i) => points.p[i]), y: rows.map((i) => points.gain[i]),
      tip: (i) => pointTip(points, rows[i]),
    })),
  });
}

function probabilityChart(curves) {
  return new Chart({
    id: "figure-probability-distribution",
    title: "Distribution of P_A",
    caption: "How many inputs have at most this share of votes for the certified class. Below one half nothing can be certified by majority. It counts inputs with votes under the noise P; a run that samples another law has fewer.",
    read: "x",
    snap: (x) => Math.round(x * 1000) / 1000,
    x: { label: "estimate of P_A", min: 0, max: 1.01, read: (x) => `at most ${x.toFixed(3)}` },
    y: { label: "inputs (%)", min: 0, max: 1.02, tick: percentTick },
    references: [[0.5, 0, 0.5, 1.02]],
    marks: curves.map((curve) => ({
      ...runMark(curve), kind: "line",
      x: [0, ...curve.p.flatMap((p) => [p, p]), 1],
      y: [0, ...curve.share.flatMap((share, i) => [i ? curve.share[i - 1] : 0, share]), 1],
      at: (x) => {
        const above = curve.p.findIndex((p) => p > x);
        const share = above < 0 ? 1 : above ? curve.share[above - 1] : 0;
        return `${nearestPercent(share)}% of ${curve.inputs} inputs`;
      },
    })),
  });
}

function radialChart(groups) {
  const norms = groups.flatMap((group) => group.norm);
  const low = Math.min(...norms), high = Math.max(...norms);
  const pad = 0.03 * (high - low) || 1;
  const densest = largest(groups.map((group) => group.density), 1e-300);
  return new Chart({
    id: "figure-accuracy-by-norm",
    title: "Accuracy by noise norm",
    caption: "Share of votes for the right class among noise of each norm: mean over rightly predicted inputs, and the band of the middle 80% of them. At the foot, the density of the norm under P.",
    read: "x",
    x: { label: "noise norm", min: low - pad, max: high + pad, read: (norm) => `noise norm ${norm.toFixed(2)}` },
    y: { label: "accuracy (%)", min: 0, max: 1.02, tick: percentTick },
    marks: groups.flatMap((group) => {
      const last = group.norm.length - 1;
      const foot = group.density.map((density) => (0.18 * density) / densest);
      const zero = group.norm.map(() => 0);
      return [
        {
          ...runMark(group), kind: "line", x: group.norm, y: group.mean, low: group.low, high: group.high,
          at: (x) => {
            if (x < group.norm[0] - pad || x > group.norm[last] + pad) return null;
            const i = nearestIndex(group.norm, x);
            return `${floorPercent(group.mean[i])}% (${floorPercent(group.low[i])} to ${floorPercent(group.high[i])})`;
          },
        },
        { ...runMark(group), kind: "line", x: group.norm, y: foot, low: zero, high: foot, dash: 2, at: () => null },
      ];
    }),
  });
}

function gapChart(gaps) {
  return new Chart({
    id: "figure-attack-gap",
    title: "Certified and attacked accuracy",
    caption: "Below, inputs certified for their label to this radius; above, those of them without a proved counterexample within it. The truth lies in the shaded gap.",
    read: "x",
    x: radiusAxis(1.01 * largest(gaps.map((gap) => gap.radius), 0.01)),
    y: { label: "accuracy (%)", min: 0, max: 1.02, tick: percentTick },
    marks: gaps.flatMap((gap) => {
      const name = manyRuns ? `, ${runTitle(gap.run)}` : "", color = runColor(gap.run);
      const x = ends(gap.radius), low = corners(gap.certified), high = corners(gap.attacked);
      const at = (values, round) => (r) => {
        const place = gap.radius.findIndex((end) => end >= r);
        return place < 0 ? null : `${round(values[place])}%`;
      };
      return [
        { kind: "line", name: `attacked${name}`, color, dash: 2, x, y: high, low, high, at: at(gap.attacked, ceilPercent) },
        { kind: "line", name: `certified${name}`, color, dash: 0, x, y: low, at: at(gap.certified, floorPercent) },
      ];
    }),
  });
}

function drawFigures() {
  const { curves, undefended, envelopes, gains, points, probabilities, radial, gaps } = report.series;
  const charts = [];
  charts.push(accuracyChart(
    "figure-certified-accuracy", "Certified accuracy by radius",
    "Share of inputs that are certified for their label at least to this radius."
      + (undefended.length ? " The diamond is the accuracy of the model itself, without noise and without any guarantee." : ""),
    curves, methodMark, undefendedMarks(undefended),
  ));
  if (envelopes.length) {
    charts.push(accuracyChart(
      "figure-envelope", "Best sigma at each radius",
      "Upper envelope over the runs of a family, on the inputs that all of them have.", envelopes,
      (curve) => methodMark(curve, report.envelopes[envelopes.indexOf(curve)]),
    ));
  }
  if (gaps.length) charts.push(gapChart(gaps));
  if (gains.length) charts.push(gainChart(gains));
  if (points.length) charts.push(comparisonChart(points), gainByProbabilityChart(points));
  if (radial.length) charts.push(radialChart(radial));
  if (probabilities.length) charts.push(probabilityChart(probabilities));
  const shown = charts.filter((chart) => chart !== null);
  document.getElementById("figure-grid").append(...shown.map((chart) => chart.figure));
}

drawFigures();
