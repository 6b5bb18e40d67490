(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const plain = ["name", "device"], numbers = ["steps", "batch", "lr", "dropout", "train_len", "examples", "width", "layers", "heads"];
  const lists = { lengths: (s) => s, seeds: (s) => Number(s) };
  let choices, chosen = [], shown = null, stream = null;
  const make = (tag, text, more = {}) => Object.assign(document.createElement(tag), text === undefined ? {} : { textContent: text }, more);
  async function ask(path, body) {
    const r = await fetch(path, body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const j = await r.json();
    if (!r.ok) throw new Error(j.error || r.statusText);
    return j;
  }
  const say = (id, text) => { $(id).textContent = text; };

  // --- the form
  // As reports have it: the place of the last encoding that an expression names; where two share one, the later
  // takes the next that is free.
  function styles(expressions) {
    const taken = new Set(), all = choices.palette;
    return new Map(expressions.map((e) => {
      const name = e.split("=>").pop().trim().split(/[( =+]/)[0];
      let place = (choices.encodings.find((known) => known.name === name) || { place: all.length - 1 }).place;
      while (taken.has(place) && taken.size < all.length) place = (place + 1) % all.length;
      taken.add(place);
      return [e, all[place]];
    }));
  }
  const task = () => choices.tasks.find((t) => t.name === $("task").value);
  function showEncodings() {
    const style = styles(chosen);
    $("encodings").replaceChildren(...chosen.map((e) => {
      const b = make("button", e, { type: "button", title: "leave " + e + " out" });
      const dot = make("i");
      dot.style.background = style.get(e).colour;
      b.prepend(dot);
      b.addEventListener("click", () => { chosen = chosen.filter((x) => x !== e); showEncodings(); compareForms(); });
      return b;
    }));
  }
  function addEncoding() {
    const e = $("expression").value.trim();
    if (e && !chosen.includes(e)) chosen.push(e);
    $("expression").value = "";
    showEncodings();
    compareForms();
  }
  function showTask(values = {}) {
    const t = task(), page = t.page || {};
    say("headline", `${t.summary[0].toUpperCase()}${t.summary.slice(1)}. ${page.why || ""}`);
    say("expect", [page.expect, page.read].filter(Boolean).join(" ") || "Nothing is written down about this task.");
    say("chance", page.chance || "");
    $("options").replaceChildren(...(t.options || []).map((o) => {
      const label = make("label", o.name + " ", { title: o.help });
      let input;
      if (o.type === "choice" || o.type === "boolean") {
        input = make("select");
        for (const c of o.type === "boolean" ? ["true", "false"] : o.choices) input.add(new Option(c, c));
      } else {
        input = make("input", undefined, { type: ["integer", "number"].includes(o.type) ? "number" : "text" });
        if (o.low !== undefined) input.min = o.low;
        if (o.high !== undefined) input.max = o.high;
        input.step = o.type === "integer" ? 1 : "any";
      }
      input.id = "option_" + o.name;
      input.dataset.type = o.type;
      input.value = values[o.name] !== undefined ? String(values[o.name]) : o.default;
      label.append(input);
      return label;
    }));
  }
  function form() {
    const f = { task: $("task").value, encodings: [...chosen], maps: $("maps").checked, options: {} };
    for (const n of plain) f[n] = $(n).value;
    for (const n of numbers) f[n] = $(n).valueAsNumber;
    for (const [n, read] of Object.entries(lists)) f[n] = $(n).value.split(",").map((s) => read(s.trim())).filter((x) => x !== "" && !Number.isNaN(x));
    for (const o of task().options || []) {
      const input = $("option_" + o.name);
      if (input.value === o.default) continue;
      f.options[o.name] = o.type === "boolean" ? input.value === "true" : ["integer", "number"].includes(o.type) ? Number(input.value) : input.value;
    }
    return f;
  }
  function fill(f) {
    const d = { encodings: ["sinusoidal", "learned(rows=1024, init=1)", "rope", "alibi"], ...choices.defaults, ...f };
    $("task").value = d.task;
    for (const n of plain) $(n).value = d[n] || "";
    for (const n of numbers) $(n).value = d[n];
    for (const n of Object.keys(lists)) $(n).value = d[n].join(", ");
    $("maps").checked = d.maps;
    chosen = [...d.encodings];
    showEncodings();
    showTask(d.options || {});
  }
  function compareForms() {
    $("changed").hidden = !shown || JSON.stringify(form()) === JSON.stringify(shown.form);
  }

  // --- a run while it goes on
  const cells = new Map(), curves = new Map();
  const encodingOf = (label) => label.split("·")[0].trim();
  const stylesOfRun = () => styles([...new Set([...((shown && shown.form && shown.form.encodings) || []), ...[...cells.values()].map((c) => encodingOf(c.label))])]);
  function showCells() {
    const style = stylesOfRun();
    $("cells").replaceChildren(...[...cells.values()].flatMap((c) => {
      const name = make("span", " " + c.label), dot = make("i");
      dot.style.background = style.get(encodingOf(c.label)).colour;
      name.prepend(dot);
      const bar = make("progress", undefined, { max: 1, value: c.share });
      bar.setAttribute("aria-label", c.label);
      return [name, bar, make("span", c.said)];
    }));
  }
  function showCurves() {
    const svg = $("curves"), all = [...curves.entries()].filter(([, points]) => points.length > 1);
    svg.toggleAttribute("hidden", !all.length);
    if (!all.length) return;
    const style = stylesOfRun();
    const flat = all.flatMap(([, p]) => p), [w, h, left, low] = [630, 225, 44, 5];
    const x1 = Math.max(...flat.map((p) => p[0])), [y0, y1] = [Math.min(...flat.map((p) => p[1])), Math.max(...flat.map((p) => p[1]))];
    const x = (s) => left + (s / x1) * (w - left), y = (v) => h - ((v - y0) / (y1 - y0 || 1)) * (h - low - 8);
    const part = (tag, more, text) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [k, v] of Object.entries(more)) e.setAttribute(k, v);
      if (text !== undefined) e.textContent = text;
      return e;
    };
    svg.replaceChildren(
      part("path", { d: `M${left},${low} V${h} H${w}`, fill: "none", stroke: "currentColor" }),
      ...[y0, y1].map((v) => part("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, v.toPrecision(3))),
      part("text", { x: w, y: h + 16, "text-anchor": "end" }, `${x1} steps`), part("text", { x: left, y: h + 16 }, "loss (nats) while training"),
      ...all.map(([cell, p]) => {
        const line = part("polyline", { points: p.map(([s, v]) => `${x(s).toFixed(1)},${y(v).toFixed(1)}`).join(" "), fill: "none", "stroke-width": 2 });
        const { colour, dash } = style.get(encodingOf(cells.get(cell).label));
        line.style.stroke = colour;
        if (dash !== "1") line.style.strokeDasharray = dash.replace(/[()]/g, "");
        line.append(part("title", {}, cells.get(cell).label));
        return line;
      }));
  }
  function hear(e) {
    const c = cells.get(e.cell) || { label: e.label, share: 0, said: "" };
    cells.set(e.cell, c);
    if (e.event === "progress") {
      c.share = e.steps ? e.step / e.steps : 0;
      c.said = `${e.phase}, step ${e.step} of ${e.steps}` + (e.loss ? `, loss ${e.loss.toFixed(3)}` : "");
      if (e.phase === "train" && Number.isFinite(e.loss)) {
        if (!curves.has(e.cell)) curves.set(e.cell, []);
        curves.get(e.cell).push([e.step, e.loss]);
      }
      if (e.eta_s !== null && e.eta_s !== undefined) say("state", `running, about ${Math.ceil(e.eta_s)} s left`);
    } else if (e.event === "finished") {
      c.share = 1;
      c.said = `${e.outcome}${e.detail ? ": " + e.detail : ""} in ${e.seconds.toFixed(1)} s`;
    }
  }
  function showJob(j) {
    shown = j;
    $("now").hidden = false;
    say("title", j.name);
    say("state", j.state === "failed" ? j.why || "failed" : j.state);
    $("cancel").hidden = !["queued", "running"].includes(j.state);
    const done = j.report && !["queued", "running"].includes(j.state);
    $("report").hidden = $("open").hidden = !done;
    if (done) {
      const url = `/runs/${encodeURIComponent(j.run)}/report.html`;
      $("open").href = url;
      if ($("report").getAttribute("src") !== url) $("report").src = url;
    }
    compareForms();
  }
  function follow(id) {
    if (stream) stream.close();
    cells.clear();
    curves.clear();
    $("report").removeAttribute("src");
    showCells();
    showCurves();
    stream = new EventSource(`/api/jobs/${id}/events`);
    let begun = false;
    stream.onmessage = (m) => {
      hear(JSON.parse(m.data));
      showCells();
      showCurves();
    };
    stream.addEventListener("job", (m) => {
      const j = JSON.parse(m.data);
      if (!begun) fill(j.form || {});
      begun = true;
      showJob(j);
      if (!["queued", "running"].includes(j.state)) {
        stream.close();
        past();
      }
    });
    history.replaceState(null, "", "#job=" + id);
  }

  // --- what ran before
  async function past() {
    const [runs, jobs] = await Promise.all([ask("/api/runs"), ask("/api/jobs")]);
    const of = new Map(jobs.filter((j) => j.run).map((j) => [j.run, j]));
    const waiting = jobs.filter((j) => j.state === "queued" || j.state === "running").reverse();
    const row = (name, job, report) => {
      const tr = make("tr");
      for (const side of ["a", "b"]) {
        const td = make("td");
        if (report) td.append(make("input", undefined, { type: "radio", name: side, value: name, ariaLabel: `${name} as ${side.toUpperCase()}` }));
        tr.append(td);
      }
      const where = make("td");
      if (job) {
        const b = make("button", name, { type: "button" });
        b.addEventListener("click", () => follow(job.id));
        where.append(b);
      } else if (report) {
        where.append(make("a", name, { href: `/runs/${encodeURIComponent(name)}/report.html`, target: "_blank", rel: "noopener" }));
      } else where.append(name);
      tr.append(where, make("td", job ? job.state : report ? "" : "no report"));
      return tr;
    };
    $("past").tBodies[0].replaceChildren(...waiting.filter((j) => !j.run).map((j) => row(`${j.name} (job ${j.id})`, j, false)), ...runs.map((r) => row(r.name, of.get(r.name), r.report)));
  }
  const side = (name) => (document.querySelector(`input[name="${name}"]:checked`) || {}).value;
  const attempt = (id, body) => async () => {
    say(id, "");
    try {
      await body();
    } catch (error) {
      say(id, error.message);
    }
  };

  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt("problems", async () => {
      $("run").disabled = true;
      try {
        follow((await ask("/api/jobs", form())).id);
        await past();
      } finally {
        $("run").disabled = false;
      }
    })();
  });
  $("copy").addEventListener("click", attempt("problems", async () => {
    const { suite, problems } = await ask("/api/suite", form());
    await navigator.clipboard.writeText(suite);
    say("problems", problems || "");
    say("copy", "copied");
    setTimeout(() => say("copy", "copy as suite"), 1200);
  }));
  $("cancel").addEventListener("click", attempt("problems", () => ask(`/api/jobs/${shown.id}/cancel`, {})));
  $("restore").addEventListener("click", () => { fill(shown.form || {}); compareForms(); });
  $("add").addEventListener("click", addEncoding);
  $("expression").addEventListener("keydown", (e) => { if (e.key === "Enter") { e.preventDefault(); addEncoding(); } });
  $("expression").addEventListener("input", () => {
    const known = choices.encodings.find((e) => e.name === $("expression").value.split("(")[0].trim());
    say("about", known ? known.summary + (known.options ? "; options: " + known.options.map((o) => o.name).join(", ") : "") : "");
  });
  $("task").addEventListener("change", () => showTask());
  $("form").addEventListener("input", compareForms);
  $("compare").addEventListener("click", attempt("said", async () => {
    if (!side("a") || !side("b")) throw new Error("choose two runs, A and B");
    say("said", "comparing ...");
    const r = await ask("/api/compare", { a: side("a"), b: side("b") });
    say("said", r.said.split("\n").find(Boolean) || "");
    $("said").append(" ", make("a", "the whole comparison", { href: r.page, target: "_blank", rel: "noopener" }));
  }));
  $("pin").addEventListener("click", attempt("said", async () => {
    if (!side("a")) throw new Error("choose a run as A");
    say("said", (await ask("/api/baseline", { run: side("a"), name: $("pin_name").value })).said);
  }));

  (async () => {
    choices = await ask("/api/choices");
    for (const t of choices.tasks) $("task").add(new Option(t.name, t.name));
    for (const e of choices.encodings) $("known").append(make("option", undefined, { value: e.name }));
    fill({});
    await past();
    const job = location.hash.match(/^#job=(\d+)$/);
    if (job) follow(job[1]);
  })().catch((error) => say("problems", error.message));
})();
