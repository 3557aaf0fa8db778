// Elements, numbers and marks that every part of the page draws with.

const SVG = "http://www.w3.org/2000/svg";
// Invisible or direction-changing characters could make a program read otherwise than it compiles: show their codes.
const UNSEEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const KINDS = {
  faster: "faster than the baseline",
  inconclusive: "inconclusive",
  slower: "slower",
  suspect: "suspect: not believed",
  untimed: "passed, not timed",
  failed: "failed",
};
const SHAPES = {
  faster: ["circle", { r: 4, class: "solid" }],
  inconclusive: ["path", { d: "M0-5 5 0 0 5-5 0Z" }],
  slower: ["path", { d: "M-4.5-4H4.5L0 4.5Z", class: "solid" }],
  suspect: ["path", { d: "M-4.5 4H4.5L0-5ZM0-1.5V1.2" }],
  untimed: ["circle", { r: 4 }],
  failed: ["path", { d: "M-4-4 4 4M-4 4 4-4" }],
};

const $$ = (id) => document.getElementById(id);
const seen = (text) =>
  String(text).replace(UNSEEN, (c) => `‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

// Elements from data, always through text nodes and attributes.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null).map((c) => (c instanceof Node ? c : seen(c))));
  return element;
}
const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Numbers.
function digits(value) {
  const size = Math.abs(value);
  if (size === 0 || size >= 100) return value.toFixed(0);
  return size < 1e-4 ? value.toExponential(2) : value.toPrecision(3);
}
const ms = (value) => (value === null ? "–" : `${digits(value)} ms`);
const times = (value) => (value === null ? "–" : `${value >= 100 ? value.toFixed(0) : value.toFixed(2)}×`);
const share = (value) => (value === null ? "–" : value.toFixed(3));
const words = (name) => name.replaceAll("_", " ");
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function kindOf(node) {
  if (node.status !== "passed") return "failed";
  return node.verdict === "none" ? "untimed" : node.verdict;
}
const believed = (node) => node.status === "passed" && node.verdict !== "suspect" && node.speedup !== null;
const labelOf = (node) => (node.parent === null ? "seed" : (node.strategy ?? "free change"));
// Against the one baseline of the page, so that a machine that drifts between rounds does not bend the curve.
const timeOf = (view, node) =>
  node.speedup === null || view.baseline_ms === null ? null : view.baseline_ms / node.speedup;

function mark(kind, attributes = { viewBox: "-6 -6 12 12", "aria-hidden": "true" }) {
  const [tag, shape] = SHAPES[kind];
  return s("svg", { class: `mark ${kind}`, ...attributes }, s(tag, shape));
}
// Drawn, because fonts differ in what they have.
const sign = (d) => s("svg", { class: "sign", viewBox: "0 0 10 10", "aria-hidden": "true" }, s("path", { d }));
const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
const nodeLink = (id, text) => h("a", { href: `#node-${id}` }, text);
