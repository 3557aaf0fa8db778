// Draws a SearchView. `render` may be called again with a later view of the same search: what is open stays open.

let shown;

function drawHeader(view) {
  const started = new Date(view.created_at_s * 1000);
  const date = started.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  $$("header").replaceChildren(
    h("p", { class: "eyebrow" }, "kernelguild search ", h("span", { class: "mono" }, view.search_id.slice(0, 12))),
    h("div", { class: "title-bar" }, h("h1", {}, view.task_name), h("span", { class: "badge" }, view.status)),
    h("dl", { class: "facts" },
      fact("Rounds", `${view.rounds_done} of ${view.rounds}`),
      fact("Agents", view.agents.join(", ")),
      fact("Baseline", ms(view.baseline_ms)),
      fact("Duplicates saved", String(view.duplicates)),
      fact("Device", view.device),
      fact("Started", h("time", { datetime: started.toISOString() }, date)),
      fact("Elapsed", duration(view.updated_at_s - view.created_at_s))),
  );
}

// The judge's band: time ratios within 2 % of equal are never called.
function verdictText(best) {
  if (1 / best.speedup_low < 0.98) return "faster than the baseline";
  if (1 / best.speedup_high > 1.02) return "of the baseline’s speed: no program was faster";
  return "of the baseline’s speed: too close to call";
}

function drawResult(view) {
  const best = view.best;
  if (best === null) {
    const why = view.rounds_done ? `None of ${plural(view.rounds_done, "program")} passed.` : "No program has been judged.";
    $$("result").replaceChildren(h("div", { class: "card" }, h("div", {}, h("h2", {}, "No result"), h("p", {}, why))));
    return;
  }
  const confirmed = best.confirmed
    ? [sign("M1 5.5 4 8.5 9 1.5"), "confirmed by a second measurement"]
    : "measured once, not confirmed";
  $$("result").replaceChildren(h("div", { class: "card" },
    h("div", {},
      h("p", { class: "headline" }, times(best.speedup)),
      h("p", {}, verdictText(best)),
      h("p", { class: "note" }, `99 % interval ${times(best.speedup_low)} to ${times(best.speedup_high)}`),
      h("span", { class: best.confirmed ? "badge good" : "badge", title: "on fresh inputs, in fresh processes" },
        confirmed)),
    bars(best),
    h("p", { class: "path" }, "Best path:", best.path.map((id, step) =>
      h("span", {}, step ? sign("M3 1 7 5 3 9") : null, nodeLink(id, labelOf(view.nodes.find((node) => node.id === id)))))),
  ));
}

function bars(best) {
  const longest = Math.max(best.baseline_ms, best.candidate_ms);
  const row = (name, value, style) => {
    const bar = h("div", { class: `bar ${style}` });
    bar.style.width = `${(100 * value) / longest}%`;
    return [h("dt", {}, name), h("div", {}, bar), h("dd", {}, ms(value))];
  };
  return h("dl", { class: "bars" }, row("Baseline", best.baseline_ms, ""), row("Best", best.candidate_ms, "best"));
}

function drawPending(view) {
  if (!view.pending.length) return $$("pending").replaceChildren();
  const running = view.pending.filter((edge) => edge.in_flight).length;
  const heads = ["Proposal", "Changes", "Prior P", "State"];
  const cells = (edge) => [
    `${edge.edge}: ${edge.strategy ?? "free change"}`, nodeLink(edge.parent, `node ${edge.parent}`), share(edge.prior),
    edge.in_flight ? "being judged" : "waiting",
  ];
  const table = h("table", {}, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, view.pending.map((edge) => h("tr", {}, cells(edge).map((cell) => h("td", {}, cell))))));
  $$("pending").replaceChildren(
    h("h2", { id: "pending-title" }, "Proposals without a verdict"),
    h("details", { open: view.pending.length <= 12 ? "" : null },
      h("summary", {}, `${plural(view.pending.length, "proposal")}, ${running} being judged`), table));
}

function drawSource(view) {
  if (view.best === null) return $$("source").replaceChildren();
  const code = h("pre", { tabindex: 0 }, h("code", {}, view.best.source));
  const button = h("button", { type: "button", onclick: () => copy(view.best.source, code, button) }, "Copy");
  $$("source").replaceChildren(
    h("div", { class: "title-bar" }, h("h2", { id: "source-title" }, "The best program"), button),
    code,
    h("p", { class: "note" }, "Candidate ", h("code", {}, view.best.candidate_id)));
}

async function copy(text, element, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(element);
    button.textContent = "Selected: copy with your keyboard";
  }
}

function render(view) {
  shown = view;
  drawHeader(view);
  drawResult(view);
  drawCurve(view);
  drawTree(view);
  drawPending(view);
  drawSource(view);
}

render(JSON.parse($$("view").textContent));
showLinked();
addEventListener("hashchange", showLinked);
addEventListener("resize", () => drawCurve(shown));
narrow.addEventListener("change", () => drawTree(shown));
$$("unfold").addEventListener("click", () => (ui.folded.clear(), drawTree(shown)));
$$("fold").addEventListener("click", () => (foldAllBut(shown, shown.best?.path ?? [0]), drawTree(shown)));
