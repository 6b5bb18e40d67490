// The report is complete without this. It adds: encodings switched off or looked at everywhere,
// tables sorted and copied, seeds hidden, all of it in the address.
(() => {
  "use strict";
  const root = document.documentElement, bar = document.querySelector(".bar");
  const chips = [...bar.querySelectorAll("[data-chip]")];
  const state = { off: new Set(), seeds: true, sort: new Map(), other: false, view: "" };
  const button = (text, act, label) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    if (label) b.setAttribute("aria-label", label);
    b.addEventListener("click", act);
    return b;
  };

  // --- the address: #SECTION?off=rope,alibi&seeds=no&sort=2.3.d
  const names = chips.map((c) => c.title);
  function read() {
    const [, query = ""] = location.hash.slice(1).split("?");
    const given = new URLSearchParams(query);
    state.off = new Set((given.get("off") || "").split(",").map((n) => names.indexOf(decodeURIComponent(n))).filter((i) => i >= 0));
    state.seeds = given.get("seeds") !== "no";
    state.other = given.get("scale") === "other";
    state.view = given.get("view") || "";
    state.sort = new Map((given.get("sort") || "").split(",").filter(Boolean).map((s) => s.split(".")).map(([t, c, d]) => [+t, [+c, d]]));
  }
  function write() {
    const parts = [];
    if (state.off.size) parts.push("off=" + encodeURIComponent([...state.off].map((i) => encodeURIComponent(names[i])).join(",")));
    if (!state.seeds) parts.push("seeds=no");
    if (state.other) parts.push("scale=other");
    if (state.view) parts.push("view=" + encodeURIComponent(state.view));
    if (state.sort.size) parts.push("sort=" + [...state.sort].map(([t, [c, d]]) => `${t}.${c}.${d}`).join(","));
    const section = location.hash.slice(1).split("?")[0];
    history.replaceState(null, "", "#" + section + (parts.length ? "?" + parts.join("&") : ""));
  }

  // --- encodings and seeds
  function show() {
    chips.forEach((c, i) => {
      root.classList.toggle("off" + i, state.off.has(i));
      c.setAttribute("aria-pressed", String(!state.off.has(i)));
    });
    root.classList.toggle("no-seeds", !state.seeds);
    const seeds = bar.querySelector("[data-seeds]");
    if (seeds) seeds.setAttribute("aria-pressed", String(state.seeds));
  }
  chips.forEach((c, i) => {
    c.addEventListener("click", () => {
      if (!state.off.delete(i)) state.off.add(i);
      show();
      write();
    });
    const look = (on) => () => root.classList.toggle("look" + i, on && !state.off.has(i));
    for (const [name, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]])
      c.addEventListener(name, look(on));
  });
  const all = bar.querySelector(".all");
  if (chips.length > 1) {
    all.append(button("all", () => { state.off.clear(); show(); write(); }, "show all encodings"),
      button("none", () => { state.off = new Set(chips.keys()); show(); write(); }, "hide all encodings"));
  }
  if (document.querySelector("[data-seed]")) {
    const seeds = button("seeds", () => { state.seeds = !state.seeds; show(); write(); }, "show single seeds");
    seeds.dataset.seeds = "";
    all.append(seeds);
  }
  bar.hidden = !chips.length;

  // --- figures: on another scale, and another metric or protocol in the place of a section's first
  const byId = (id) => document.getElementById(id);
  const scales = [...document.querySelectorAll("figure[data-beside]")].filter((f) => byId(f.dataset.beside));
  for (const f of scales)
    for (const shown of [byId(f.dataset.beside), f])
      shown.append(button("scale", () => { state.other = !state.other; figures(); write(); }, "show on the other scale"));
  const slots = [...document.querySelectorAll("main section")].map((section) => {
    const all = [...section.querySelectorAll("figure[data-view]")];
    if (all.length < 2) return null;
    const select = document.createElement("select");
    select.setAttribute("aria-label", "metric and protocol");
    for (const f of all) select.add(new Option(f.dataset.view, f.dataset.view));
    select.addEventListener("change", () => { state.view = select.value === all[0].dataset.view ? "" : select.value; figures(); write(); });
    all[0].before(select);
    const place = document.createElement("div");
    select.after(place);
    const homes = new Map(all.map((f) => {
      const home = document.createComment("");
      f.before(home);
      return [f, home];
    }));
    return { all, select, place, homes };
  }).filter(Boolean);
  function figures() {
    for (const s of slots) {
      const wanted = s.all.find((f) => f.dataset.view === state.view) || s.all[0];
      s.select.value = wanted.dataset.view;
      for (const f of s.all) if (f !== wanted) s.homes.get(f).after(f);
      s.place.append(wanted);
      s.all[0].hidden = wanted !== s.all[0]; // its home is the place itself
    }
    for (const f of scales) {
      const plain = byId(f.dataset.beside), other = f.dataset.scale;
      plain.after(f);
      f.hidden = !state.other || plain.hidden;
      plain.classList.toggle("away", !f.hidden);
      for (const [figure, name] of [[plain, other], [f, other === "linear" ? "logarithmic" : "linear"]])
        figure.querySelector("button").textContent = name + " scale";
    }
  }

  // --- attention: one head, chosen by sliders, with the weight under the pointer
  // The palette of plots/attention.gp, from 0.001 to 1 on a logarithmic scale.
  const stops = ["440154", "472c7a", "3b518b", "2c718e", "21908d", "27ad51", "5cc863", "aadc32", "fde725"]
    .map((h) => [0, 2, 4].map((i) => parseInt(h.slice(i, i + 2), 16)));
  const shades = Array.from({ length: 401 }, (_, i) => {
    const x = (i / 400) * (stops.length - 1), k = Math.min(Math.floor(x), stops.length - 2);
    return stops[k].map((c, j) => c + (stops[k + 1][j] - c) * (x - k));
  });
  const weight = (rgb) => {
    let best = 0, least = Infinity;
    shades.forEach((s, i) => {
      const d = s.reduce((sum, c, j) => sum + (c - rgb[j]) ** 2, 0);
      if (d < least) least = d, best = i;
    });
    return best === 0 ? "0.001 or less" : "about " + (10 ** ((3 * best) / 400 - 3)).toPrecision(2);
  };
  document.querySelectorAll("figure[data-panels]").forEach((figure) => {
    const images = [...figure.querySelectorAll("svg image")], panels = figure.dataset.panels.split("|").map((p) => p.match(/\d+/g).map(Number));
    if (!images.length || images.length !== panels.length) return;
    const lens = document.createElement("div"), canvas = document.createElement("canvas"), said = document.createElement("p");
    lens.className = "lens";
    said.className = "note";
    said.setAttribute("aria-live", "polite");
    const ink = canvas.getContext("2d", { willReadFrequently: true }), last = +figure.dataset.last;
    const sliders = ["layer", "head"].map((name, which) => {
      const values = [...new Set(panels.map((p) => p[which]))], label = document.createElement("label"), input = document.createElement("input");
      Object.assign(input, { type: "range", min: 0, max: values.length - 1, value: 0, disabled: values.length < 2 });
      input.addEventListener("input", draw);
      label.append(name + " ", input);
      return { label, input, name, chosen: () => values[+input.value] };
    });
    function draw() {
      const at = panels.findIndex((p) => sliders.every((s, i) => p[i] === s.chosen()));
      const head = sliders.map((s) => s.name + " " + s.chosen()).join(", ");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", "attention of " + head);
      for (const s of sliders) s.input.setAttribute("aria-valuetext", s.name + " " + s.chosen());
      said.textContent = at < 0 ? head + " is not drawn" : head;
      ink.clearRect(0, 0, canvas.width, canvas.height);
      if (at < 0) return;
      const image = new Image();
      image.onload = () => {
        canvas.width = image.width;
        canvas.height = image.height;
        ink.drawImage(image, 0, 0);
      };
      image.src = images[at].getAttribute("xlink:href") || images[at].getAttribute("href");
      canvas.onpointermove = (event) => {
        const box = canvas.getBoundingClientRect();
        const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
        const point = ink.getImageData(Math.min(canvas.width - 1, Math.floor(x * canvas.width)), Math.min(canvas.height - 1, Math.floor(y * canvas.height)), 1, 1).data;
        const where = `${head}: query ${Math.round(y * (last + 1) - 0.5)}, key ${Math.round(x * (last + 1) - 0.5)}`;
        said.textContent = point[3] ? `${where}: ${weight([...point.slice(0, 3)])}` : where + ": later, not seen";
      };
    }
    lens.append(...sliders.map((s) => s.label), canvas, said);
    figure.querySelector("figcaption").before(lens);
    draw();
  });

  // --- tables
  const tables = [...document.querySelectorAll("main table")];
  const rows = new Map(tables.map((t) => [t, [...t.tBodies[0].rows]]));
  const text = (cell) => cell.textContent.trim();
  const number = (s) => {
    const found = s.replace(/\u2212/g, "-").match(/[-+]?(\d[\d.]*(e[-+]?\d+)?|inf|\u221e)/);
    return found ? Number(found[0].replace(/inf|\u221e/, "Infinity")) : NaN;
  };
  function sort(t, k) {
    const order = state.sort.get(k), body = t.tBodies[0], heads = [...t.tHead.rows[0].cells];
    heads.forEach((h, i) => h.setAttribute("aria-sort", !order || order[0] !== i ? "none" : order[1] === "a" ? "ascending" : "descending"));
    if (!order || !heads[order[0]]) return body.append(...rows.get(t));
    const column = order[0], sign = order[1] === "a" ? 1 : -1, numeric = heads[column].classList.contains("n");
    body.append(...[...rows.get(t)].sort((a, b) => {
      const x = text(a.cells[column]), y = text(b.cells[column]);
      if (!numeric) return sign * x.localeCompare(y);
      const p = number(x), q = number(y);
      if (isNaN(p) || isNaN(q)) return isNaN(p) - isNaN(q);
      return p === q ? 0 : sign * (p < q ? -1 : 1);
    }));
  }
  const shown = (t) => [t.tHead.rows[0], ...t.tBodies[0].rows].filter((r) => getComputedStyle(r).display !== "none").map((r) => [...r.cells].map(text));
  const formats = {
    Markdown: (all, t) => all.map((r, i) => "| " + r.map((c) => c.replace(/\|/g, "\\|")).join(" | ") + " |" +
      (i ? "" : "\n|" + [...t.tHead.rows[0].cells].map((h) => (h.classList.contains("n") ? "---:|" : "---|")).join(""))).join("\n"),
    LaTeX: (all, t) => "\\begin{tabular}{" + [...t.tHead.rows[0].cells].map((h) => (h.classList.contains("n") ? "r" : "l")).join("") + "}\n\\toprule\n" +
      all.map((r, i) => r.map((c) => c.replace(/\\/g, "\\textbackslash ").replace(/[&%$#_{}]/g, "\\$&").replace(/\^/g, "\\^{}").replace(/~/g, "\\~{}").replace(/\u2020/g, "\\dag ")).join(" & ") + " \\\\" + (i ? "" : "\n\\midrule")).join("\n") +
      "\n\\bottomrule\n\\end{tabular}",
    CSV: (all) => all.map((r) => r.map((c) => (/[",\n]/.test(c) ? '"' + c.replace(/"/g, '""') + '"' : c)).join(",")).join("\n"),
  };
  async function copy(what, b) {
    try {
      await navigator.clipboard.writeText(what);
    } catch {
      const area = document.createElement("textarea");
      area.value = what;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const name = b.textContent;
    b.textContent = "copied";
    setTimeout(() => { b.textContent = name; }, 1200);
  }
  tables.forEach((t, k) => {
    [...t.tHead.rows[0].cells].forEach((h, i) => {
      const b = document.createElement("button");
      b.type = "button";
      b.append(...h.childNodes);
      h.append(b);
      b.addEventListener("click", () => {
        const now = state.sort.get(k), first = h.classList.contains("n") ? "d" : "a", second = first === "a" ? "d" : "a";
        if (!now || now[0] !== i) state.sort.set(k, [i, first]);
        else if (now[1] === first) state.sort.set(k, [i, second]);
        else state.sort.delete(k); // back to the suite's order
        sort(t, k);
        write();
      });
    });
    const tools = document.createElement("div");
    tools.className = "tools";
    for (const name of Object.keys(formats)) {
      const b = button(name, () => copy(formats[name](shown(t), t), b), "copy the table as " + name);
      tools.append(b);
    }
    let after = t.parentElement;
    if (after.nextElementSibling && after.nextElementSibling.matches("p.note")) after = after.nextElementSibling;
    after.after(tools);
  });

  // --- where the reader is
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.getAttribute("href").slice(1), a]));
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => {
      for (const e of entries) if (e.isIntersecting) {
        links.forEach((a) => a.removeAttribute("aria-current"));
        const a = links.get(e.target.id);
        if (a) a.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-10% 0px -80% 0px" });
    document.querySelectorAll("main section").forEach((s) => seen.observe(s));
  }
  function go() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1).split("?")[0]));
    if (!target) return;
    for (let d = target; d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
    target.scrollIntoView();
  }
  document.addEventListener("click", (event) => {
    const a = event.target.closest && event.target.closest("a[href^='#']");
    if (!a || a.className === "skip") return;
    event.preventDefault();
    const query = location.hash.split("?")[1];
    history.pushState(null, "", a.getAttribute("href") + (query ? "?" + query : ""));
    go();
  });
  function take() {
    read();
    show();
    figures();
    tables.forEach(sort);
    go();
  }
  addEventListener("hashchange", take);
  addEventListener("popstate", take);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.dataset.was = d.open; d.open = true; }));
  addEventListener("afterprint", () => document.querySelectorAll("details").forEach((d) => { d.open = d.dataset.was === "true"; }));
  take();
})();
