// The tree: a treegrid of one row per node, with one node's details open beneath its row.

// The style sheet hides the columns of class `wide` below this width.
const narrow = matchMedia("(max-width: 46rem)");
const ui = { open: null, folded: null, focus: 0 };
function childrenOf(view) {
  const children = new Map(view.nodes.map((node) => [node.id, []]));
  for (const node of view.nodes) children.get(node.parent)?.push(node);
  return children;
}

function foldAllBut(view, kept) {
  ui.folded = new Set(view.nodes.map((node) => node.id).filter((id) => !kept.includes(id)));
}

function drawTree(view) {
  const children = childrenOf(view);
  const path = view.best?.path ?? [0];
  if (ui.folded === null) view.nodes.length > 60 ? foldAllBut(view, path) : (ui.folded = new Set());
  const rows = [];
  const waiting = view.nodes.filter((node) => node.parent === null).reverse();
  while (waiting.length) {
    const node = waiting.pop();
    const below = children.get(node.id);
    rows.push(treeRow(view, node, below.length, path));
    if (ui.open === node.id) rows.push(detailsRow(view, node));
    if (!ui.folded.has(node.id)) waiting.push(...below.toReversed());
  }
  document.querySelector("#tree tbody").replaceChildren(...rows);
}

function treeRow(view, node, below, path) {
  const onPath = view.best !== null && path.includes(node.id);
  const kind = kindOf(node);
  const name = h("div", { class: "name" },
    below ? foldButton(node, below) : h("span", { class: "fold" }),
    h("span", { class: "id" }, `#${node.id}`),
    h("span", { class: "label" }, labelOf(node)),
    node.id === view.best?.node ? h("span", { class: "tag" }, bestTag(view.best)) : null,
    h("span", { class: "why" }, node.rationale));
  name.style.setProperty("--depth", node.depth);
  return h("tr", {
    id: `node-${node.id}`, role: "row", "aria-level": node.depth + 1, "aria-selected": String(ui.open === node.id),
    "aria-expanded": below ? String(!ui.folded.has(node.id)) : null, tabindex: ui.focus === node.id ? 0 : -1,
    class: `node${onPath ? " best-path" : ""}${ui.open === node.id ? " open" : ""}`,
    onclick: () => toggle(node.id), onkeydown: (event) => onKey(event, node, below),
  },
    h("td", {}, name),
    h("td", {}, h("span", { class: `verdict ${kind}` }, mark(kind),
      h("span", { class: "name-of-mark" }, kind === "failed" ? words(node.status) : kind))),
    h("td", { class: "number" }, times(node.speedup)),
    [share(node.value), node.parent === null ? "–" : share(node.mean_value), share(node.shaped_prior), String(node.visit_count)]
      .map((text) => h("td", { class: "number wide" }, text)));
}

const bestTag = (best) => (best.confirmed ? `best, confirmed ${times(best.speedup)}` : "best");

function foldButton(node, below) {
  const onclick = (event) => {
    event.stopPropagation();
    fold(node.id, !ui.folded.has(node.id));
  };
  return h("button", { class: "fold", type: "button", tabindex: -1, onclick,
    "aria-label": `${plural(below, "child")}`.replace("childs", "children") },
    s("svg", { viewBox: "0 0 10 10" }, s("path", { d: "M2 0 8 5 2 10Z" })));
}

function fold(id, folded) {
  if (folded) ui.folded.add(id);
  else ui.folded.delete(id);
  redrawTree(id);
}

function redrawTree(focus) {
  ui.focus = focus;
  drawTree(shown);
  $$(`node-${focus}`)?.focus({ preventScroll: true });
}

function toggle(id) {
  ui.open = ui.open === id ? null : id;
  history.replaceState(null, "", ui.open === null ? "#tree-title" : `#node-${id}`);
  redrawTree(id);
}

function onKey(event, node, below) {
  if (event.target !== event.currentTarget) return;
  const rows = [...document.querySelectorAll("#tree tr.node")];
  const at = rows.indexOf(event.currentTarget);
  const isFolded = ui.folded.has(node.id);
  const move = (row) => row && visit(row);
  const actions = {
    Enter: () => toggle(node.id),
    " ": () => toggle(node.id),
    ArrowDown: () => move(rows[at + 1]),
    ArrowUp: () => move(rows[at - 1]),
    Home: () => move(rows[0]),
    End: () => move(rows.at(-1)),
    ArrowRight: () => (below && isFolded ? fold(node.id, false) : below && move(rows[at + 1])),
    ArrowLeft: () => (below && !isFolded ? fold(node.id, true) : move($$(`node-${node.parent}`))),
  };
  if (!(event.key in actions) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  actions[event.key]();
}

function visit(row) {
  $$(`node-${ui.focus}`)?.setAttribute("tabindex", -1);
  ui.focus = Number(row.id.slice("node-".length));
  row.setAttribute("tabindex", 0);
  row.focus();
}

function detailsRow(view, node) {
  return h("tr", { class: "details" }, h("td", { colspan: narrow.matches ? 3 : 7 }, details(view, node)));
}

function details(view, node) {
  const kind = kindOf(node);
  return [
    h("h3", {}, `Node ${node.id}: ${labelOf(node)}`),
    h("dl", { class: "facts" },
      fact("Verdict", h("span", { class: `verdict ${kind}` }, mark(kind), kind === "failed" ? words(node.status) : KINDS[kind])),
      fact("Speedup", interval(node)),
      node.id === view.best?.node && view.best.confirmed ? fact("Measured again", interval(view.best)) : null,
      fact("Time", ms(node.candidate_ms)),
      fact("Direction", node.direction ?? "–"),
      fact("Agent", node.agent || "–"),
      fact("Round", node.round === null ? "before the first" : String(node.round)),
      fact("V, Q, P̃", [node.value, node.mean_value, node.shaped_prior].map(share).join(", ")),
      fact("Visits", String(node.visit_count)),
      fact("Parent", node.parent === null ? "–" : nodeLink(node.parent, `node ${node.parent}`)),
      fact("Candidate", h("code", {}, node.candidate_id))),
    node.rationale ? [h("h4", {}, "Why"), h("p", { class: "said" }, node.rationale)] : [],
    node.message ? [h("h4", {}, "The judge"), h("p", { class: "said" }, node.message)] : [],
    node.diff ? [h("h4", {}, `Change against node ${node.parent}`), diff(node.diff)] : [],
  ].flat();
}

function interval(measured) {
  if (measured.speedup_low === null) return times(measured.speedup);
  return `${times(measured.speedup)} (99 % interval ${times(measured.speedup_low)} to ${times(measured.speedup_high)})`;
}

function diff(text) {
  const style = (line) =>
    /^(@@|\+\+\+ |--- )/.test(line) ? "hunk" : { "+": "add", "-": "del" }[line[0]] ?? null;
  const lines = text.replace(/\n$/, "").split("\n").map((line) => h("span", { class: style(line) }, line));
  return h("pre", { class: "diff", tabindex: 0 }, h("code", {}, lines));
}

function showLinked() {
  const id = Number(/^#node-(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  const byId = new Map(shown.nodes.map((node) => [node.id, node]));
  if (!byId.has(id)) return;
  for (let node = byId.get(byId.get(id).parent); node; node = byId.get(node.parent)) ui.folded.delete(node.id);
  ui.open = id;
  redrawTree(id);
  $$(`node-${id}`).scrollIntoView({ block: "center" });
}
