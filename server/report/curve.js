// The curve: rounds against time.
function ticks(low, high, log, wanted) {
  if (log) {
    const all = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += 1) all.push(...[1, 2, 5].map((f) => f * 10 ** e));
    const inside = all.filter((v) => v >= low * 0.999 && v <= high * 1.001);
    return inside.length > 8 ? inside.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-9) : inside;
  }
  const raw = (high - low) / wanted;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].find((f) => f * unit >= raw);
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, i) => i * step);
}

function scaleOf(values, top, bottom) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const log = high > 10 * low;
  const [from, to] = log ? [low / 1.3, high * 1.3] : [0, high * 1.12];
  const f = log ? Math.log : (v) => v;
  return { log, ticks: ticks(from, to, log, 5), y: (v) => bottom - ((f(v) - f(from)) / (f(to) - f(from))) * (bottom - top) };
}

function drawCurve(view) {
  const box = $$("curve");
  const timed = view.nodes.filter((node) => timeOf(view, node) !== null);
  const failed = view.nodes.filter((node) => kindOf(node) === "failed");
  const width = box.clientWidth;
  const area = { left: 56, right: width - 14, top: 12, bottom: timed.length ? 290 : 40 };
  const strip = area.bottom + (failed.length ? 26 : 0);
  const axis = strip + (failed.length ? 4 : 0);
  const last = Math.max(1, view.status === "running" ? view.rounds : view.rounds_done);
  const x = (round) => area.left + 10 + ((round ?? 0) / last) * (area.right - area.left - 20);
  const svg = s("svg", { width, height: strip + 46, role: "img", "aria-label": curveText(view) });
  for (const round of roundTicks(last, width)) {
    svg.append(s("text", { x: x(round), y: strip + 20, "text-anchor": "middle" }, String(round)));
  }
  svg.append(
    s("text", { x: (area.left + area.right) / 2, y: strip + 42, "text-anchor": "middle" }, "round"),
    s("line", { class: "grid", x1: area.left, x2: area.right, y1: axis, y2: axis }),
  );
  if (timed.length) drawTimes(svg, view, timed, area, x);
  if (failed.length) svg.append(s("text", { x: area.left - 8, y: strip - 6, "text-anchor": "end" }, "failed"));
  for (const node of failed) svg.append(dot(node, x(node.round), strip - 10, words(node.status)));
  box.replaceChildren(svg);
  const kinds = Object.keys(KINDS).filter((kind) => view.nodes.some((node) => kindOf(node) === kind));
  $$("legend").replaceChildren(...kinds.map((kind) => h("li", {}, mark(kind), KINDS[kind])));
}

function roundTicks(last, width) {
  const step = Math.max(1, ticks(0, last, false, Math.min(10, width / 70))[1]);
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}

function drawTimes(svg, view, timed, area, x) {
  const confirmed = view.best === null ? [] : [view.baseline_ms / view.best.speedup];
  const values = [view.baseline_ms, ...confirmed, ...timed.map((node) => timeOf(view, node))];
  const scale = scaleOf(values, area.top, area.bottom);
  for (const value of scale.ticks) {
    const y = scale.y(value);
    svg.append(s("line", { class: "grid", x1: area.left, x2: area.right, y1: y, y2: y }),
      s("text", { x: area.left - 8, y: y + 4, "text-anchor": "end" }, value === 0 ? "0" : String(Number(value.toPrecision(3)))));
  }
  const middle = (area.top + area.bottom) / 2;
  svg.append(s("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${middle}) rotate(-90)` },
    `time (ms${scale.log ? ", log scale" : ""})`));
  const base = scale.y(view.baseline_ms);
  svg.append(s("line", { class: "baseline", x1: area.left, x2: area.right, y1: base, y2: base }),
    s("text", { x: area.right, y: base - 7, "text-anchor": "end" }, `baseline ${ms(view.baseline_ms)}`));
  const [line, label] = bestLine(view, area, scale, x);
  svg.append(...line);
  for (const node of timed) {
    const range = [node.speedup_low, node.speedup_high]
      .map((v) => Math.min(area.bottom, Math.max(area.top, scale.y(view.baseline_ms / v))));
    if (range.every(Number.isFinite)) {
      svg.append(s("line", { class: `range ${kindOf(node)}`, x1: x(node.round), x2: x(node.round), y1: range[0], y2: range[1] }));
    }
    svg.append(dot(node, x(node.round), scale.y(timeOf(view, node)), `${ms(timeOf(view, node))}, ${times(node.speedup)}`));
  }
  svg.append(...label);
}

// What lies under the dots, and what over them. The last step is at the second measurement where there is one; a
// program that first looked faster than the best did not hold, and makes no step.
function bestLine(view, area, scale, x) {
  const best = view.nodes.find((node) => node.id === (view.best?.node ?? 0));
  const order = view.nodes.filter((node) => believed(node) && node.speedup <= best.speedup);
  const steps = order.filter((node, i) => order.slice(0, i).every((other) => other.speedup < node.speedup));
  if (!steps.length) return [[], []];
  const height = (node) => scale.y(view.baseline_ms / (node.id === view.best?.node ? view.best.speedup : node.speedup));
  const points = steps.map((node, i) => `${i ? `H${x(node.round)}V` : `M${x(node.round)} `}${height(node)}`);
  const y = height(steps.at(-1));
  const line = s("path", { class: "best", d: `${points.join("")}H${area.right}` });
  if (view.best === null) return [[line], []];
  const ring = s("circle", { class: "ring", r: 8, cx: x(best.round), cy: y });
  const text = `best ${times(view.best.speedup)}${view.best.confirmed ? ", confirmed" : ""}`;
  const under = area.bottom - y > 24 ? 18 : -9;
  return [[line], [ring, s("text", { class: "best", x: area.right, y: y + under, "text-anchor": "end" }, text)]];
}

function dot(node, x, y, what) {
  const when = node.round === null ? "before the first round" : `round ${node.round}`;
  const title = s("title", {}, `${when}, node ${node.id}, ${labelOf(node)}: ${what}`);
  // The tree is the way for the keyboard: hundreds of stops here would be in its way.
  return s("a", { href: `#node-${node.id}`, tabindex: -1 }, title,
    mark(kindOf(node), { x: x - 6, y: y - 6, width: 12, height: 12, viewBox: "-6 -6 12 12" }),
    s("circle", { cx: x, cy: y, r: 9, fill: "transparent" }));
}

function curveText(view) {
  const best = view.best ? `best ${ms(view.best.candidate_ms)}, ${times(view.best.speedup)}` : "nothing passed";
  return `Time of every round against the baseline of ${ms(view.baseline_ms)}; ${best}. The tree below has every figure.`;
}
