// The app in a real browser: an experiment from its choice to its report, and what must not work.
// node app_test.mjs PROGRAM FOLDER: FOLDER is made anew and keeps store and pictures.
import assert from "node:assert/strict";
import { spawn, spawnSync, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import http from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { isForEveryone } from "../axe.mjs";
import { Browser, check, passed } from "../browser.mjs";

const [program, folder] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const out = join(folder, "results"), baselines = join(folder, "baselines");

let app, base;
async function start(...more) {
  app = spawn(program, ["app", "--port", "0", "--out", out, "--baselines", baselines, ...more], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  base = await new Promise((resolve, reject) => {
    app.stderr.on("data", (d) => { said += d; const m = said.match(/http:\/\/\S+/); if (m) resolve(m[0]); });
    app.on("exit", () => reject(new Error("the app ended: " + said)));
  });
  return base;
}
const stop = (signal = "SIGINT") => new Promise((resolve) => { app.removeAllListeners("exit"); app.on("exit", resolve); app.kill(signal); });

const pause = (ms) => new Promise((r) => setTimeout(r, ms));
async function until(what, condition, seconds = 300) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await pause(100))
    if (await condition()) return;
  throw new Error(what + " did not come");
}
// A request as nobody's browser would send it.
function raw(method, path, headers = {}, body = "") {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const r = http.request({ hostname, port, method, path, headers }, (a) => {
      let text = "";
      a.on("data", (d) => { text += d; });
      a.on("end", () => resolve({ status: a.statusCode, headers: a.headers, text }));
    });
    r.on("error", reject);
    r.end(body);
  });
}
// Processes that train a cell of this store.
const workers = () => readdirSync("/proc").filter((pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`worker\0${out}/store`);
  } catch {
    return false;
  }
});
const json = { "Content-Type": "application/json" };

await start();
const browser = new Browser();
const page = await browser.page(1500, 1000);
await page.open(base);
const text = (id) => page.run(`document.getElementById("${id}").textContent`);
const set = (id, value) => page.run(`(() => { const e = document.getElementById("${id}"); e.value = ${JSON.stringify(value)}; for (const n of ["input", "change"]) e.dispatchEvent(new Event(n, { bubbles: true })); })()`);
const click = (id) => page.run(`document.getElementById("${id}").click()`);
const shownIs = (id) => page.run(`(() => { const e = document.getElementById("${id}"); return !e.hidden && e.getClientRects().length > 0; })()`);

await check("the form says what a task is and what to expect", async () => {
  await until("the form", () => page.run(`document.getElementById("task").options.length > 20`), 120);
  await set("task", "kback_copy");
  assert.match(await text("headline"), /symbol k positions back/);
  assert.match(await text("expect"), /positions that training never reached/);
  assert.match(await text("chance"), /Chance 1\/symbols/);
  assert.equal(await page.run(`document.getElementById("option_k").max`), "16", "its bounds are the task's");
});
await check("encodings are chosen, expressions too", async () => {
  await set("expression", "yarn(scale=2)");
  assert.match(await text("about"), /interpolated/);
  await click("add");
  const names = () => page.run(`[...document.querySelectorAll("#encodings button")].map((b) => b.textContent)`);
  assert.deepEqual(await names(), ["sinusoidal", "learned(rows=1024, init=1)", "rope", "alibi", "yarn(scale=2)"]);
  await page.run(`document.querySelectorAll("#encodings button")[4].click()`);
  assert.equal((await names()).length, 4);
});
await check("a bad form is a sentence", async () => {
  await set("option_k", "15");
  await set("expression", "rope(bse=3)");
  await click("add");
  await page.run(`document.getElementById("form").requestSubmit()`);
  await until("the problem", async () => /there is no option 'bse'|has no option 'bse'|bse/.test(await text("problems")), 120);
  await page.run(`document.querySelectorAll("#encodings button")[4].click()`);
  await set("option_k", "2");
});
for (const [id, value] of Object.entries({ steps: 40, batch: 8, width: 32, layers: 1, heads: 2, train_len: 16, examples: 64, seeds: "1, 2", lengths: "1x, 2x", lr: 0.003, name: "kback" })) await set(id, String(value));
await check("what is copied is the suite that the command line takes", async () => {
  const suite = await page.run(`(async () => { let got; Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (t) => { got = t; } } }); document.getElementById("copy").click(); for (let i = 0; i < 1200 && !got; ++i) await new Promise((r) => setTimeout(r, 50)); return got; })()`);
  const file = join(folder, "copied.toml");
  writeFileSync(file, suite);
  assert.match(execFileSync(program, ["plan", file], { encoding: "utf8" }), /8 cells|rope/);
  assert.match(suite, /options   = \{"k" = 2\}/);
});
await check("a run from its start to its report", async () => {
  await page.run(`document.getElementById("form").requestSubmit()`);
  await until("the run", () => shownIs("now"), 120);
  await until("its end", async () => (await text("state")) === "done");
  assert.equal(await page.run(`document.querySelectorAll("#cells progress").length`), 8);
  assert.match(await text("cells"), /done in/);
  assert.ok(await shownIs("report"));
  const src = await page.run(`document.getElementById("report").getAttribute("src")`);
  const report = (await raw("GET", src)).text;
  for (const what of [/in range|at the training length|16 \(1x\)/, /accuracy/i, /data-panels=/, /rope/]) assert.match(report, what);
  await until("the report in its frame", async () => {
    const { targetInfos } = await browser.send("Target.getTargets");
    return targetInfos.some((t) => t.type === "iframe" && t.url.includes("report.html"));
  }, 120);
  await pause(1000);
  writeFileSync(join(folder, "done.png"), await page.picture());
  const dots = await page.run(`[...document.querySelectorAll("#encodings i")].map((i) => i.style.background)`);
  assert.equal(new Set(dots).size, dots.length, "one colour an encoding");
});
await check("for everyone", async () => {
  for (const value of ["light", "dark"]) {
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
    await pause(200);
    await isForEveryone(page, join(folder, "..", "axe"), value);
  }
  await page.send("Emulation.setEmulatedMedia", { features: [] });
});
await check("other settings are told apart from those of the run", async () => {
  assert.ok(!(await shownIs("changed")));
  await set("steps", "80");
  assert.ok(await shownIs("changed"));
  await click("restore");
  assert.ok(!(await shownIs("changed")));
  assert.equal(await page.run(`document.getElementById("steps").value`), "40");
});
await check("two browsers see the same, and a run can be cancelled", async () => {
  await set("steps", "100000");
  await set("name", "long");
  await page.run(`document.getElementById("form").requestSubmit()`);
  await until("the run", async () => (await text("title")) === "long" && /running/.test(await text("state")), 120);
  const other = await browser.page(1000, 800);
  await other.open(base + (await page.run("location.hash")));
  await until("the same run", async () => /running/.test(await other.run(`document.getElementById("state").textContent`)), 120);
  await until("curves", () => page.run(`document.querySelectorAll("#curves polyline").length > 0`), 120);
  writeFileSync(join(folder, "running.png"), await page.picture());
  await other.run(`document.getElementById("cancel").click()`);
  for (const p of [page, other]) await until("the end", async () => (await p.run(`document.getElementById("state").textContent`)) === "cancelled", 120);
  assert.deepEqual(other.errors, []);
});
await check("a run goes on when the app starts again", async () => {
  const form = { name: "again", task: "kback_copy", encodings: ["rope"], steps: 3000, batch: 8, width: 32, layers: 1, heads: 2, train_len: 16, lengths: ["1x"], examples: 16, seeds: [1], maps: false };
  const { id } = JSON.parse((await raw("POST", "/api/jobs", json, JSON.stringify(form))).text);
  const state = async () => JSON.parse((await raw("GET", "/api/jobs")).text).find((j) => j.id === id);
  await until("its start", async () => (await state()).state === "running", 120);
  await pause(1500);
  await stop();
  await start();
  await until("its end", async () => (await state()).state === "done");
  assert.match((await state()).run, /-again-/);
});
await check("a run that fails says why, and is tried again where it is asked for again", async () => {
  const form = { name: "fails", task: "kback_copy", encodings: ["alibi"], steps: 3000, batch: 8, width: 32, layers: 1, heads: 2, train_len: 16, lengths: ["1x"], examples: 16, seeds: [1], maps: false };
  const job = async (id) => JSON.parse((await raw("GET", "/api/jobs")).text).find((j) => j.id === id);
  const added = async () => JSON.parse((await raw("POST", "/api/jobs", json, JSON.stringify(form))).text).id;
  const failing = await added();
  await until("its worker", () => workers().map((pid) => process.kill(pid, "SIGSEGV")).length > 0, 120);
  await until("its failure", async () => (await job(failing)).state === "failed", 120);
  const { why } = await job(failing);
  assert.match(why, /failed: alibi·kback_copy·app·s1: crash: crashed with SIGSEGV/);
  const again = await added();
  await until("its end", async () => (await job(again)).state === "done", 120);
});
await check("runs are compared, and pinned as baselines", async () => {
  await page.open(base);
  await until("the runs", () => page.run(`document.querySelectorAll("#past tbody tr").length >= 2`), 120);
  const pick = (side, name) => page.run(`[...document.querySelectorAll('#past input[name="${side}"]')].find((i) => i.value.includes("-${name}-")).click()`);
  await pick("a", "kback");
  await pick("b", "again");
  await click("compare");
  await until("the comparison", () => page.run(`!!document.querySelector("#said a")`), 120);
  const r = await raw("GET", await page.run(`document.querySelector("#said a").getAttribute("href")`));
  assert.equal(r.status, 200);
  assert.match(r.text, /<section/);
  await set("pin_name", "pinned");
  await click("pin");
  await until("the baseline", async () => existsSync(join(baselines, "pinned.json")), 120);
});
await check("nobody else is answered", async () => {
  const { host } = new URL(base);
  assert.equal((await raw("GET", "/api/runs")).status, 200);
  assert.equal((await raw("GET", "/api/runs", { Host: "evil.example" })).status, 421, "another name that leads here");
  assert.equal((await raw("GET", "/", { Host: "evil.example:" + new URL(base).port })).status, 421);
  assert.equal((await raw("POST", "/api/jobs", { ...json, Origin: "http://evil.example" }, "{}")).status, 403, "another site's page");
  assert.equal((await raw("POST", "/api/jobs", { ...json, Origin: "null" }, "{}")).status, 403, "a report in its frame");
  assert.equal((await raw("POST", "/api/suite", { "Content-Type": "text/plain", Origin: "http://" + host }, "{}")).status, 415, "a form of another site needs no leave");
  assert.equal((await raw("POST", "/api/suite", json, "x".repeat(100000))).status, 413);
  for (const form of ["", "[]", "{\"steps\": \"many\"}", "{\"encodings\": []}", "{\"options\": {\"k\": [1]}}", "{\"task\": \"\\ud800\"}"]) {
    const r = await raw("POST", "/api/jobs", json, form);
    assert.ok(r.status === 400 || r.status === 422, `${form}: ${r.status}`);
    assert.ok(JSON.parse(r.text).error.length > 10, form);
  }
  const csp = (await raw("GET", "/")).headers["content-security-policy"];
  assert.match(csp, /default-src 'none'/);
  assert.ok(!/unsafe/.test(csp));
});
await check("no path leaves the store", async () => {
  const run = readdirSync(join(out, "runs"))[0];
  writeFileSync(join(folder, "secret.md"), "secret");
  mkdirSync(join(out, "runs", "linked"));
  symlinkSync(join(folder, "secret.md"), join(out, "runs", "linked", "report.md"));
  for (const path of ["/runs/../../secret.md", "/runs/%2e%2e/%2e%2e/secret.md", `/runs/${run}/../../../secret.md`, `/runs/${run}/..%2f..%2fsecret.md`, "/runs/linked/report.md", `/runs/${run}/figures/../../../secret.md`, "/runs//etc/passwd", `/runs/${run}/plan.json`, "/../etc/passwd", "/app.css/../../etc/passwd"]) {
    const r = await raw("GET", path);
    assert.ok(r.status >= 400 && !/secret|root:/.test(r.text), `${path}: ${r.status}`);
  }
  assert.equal((await raw("GET", `/runs/${run}/report.md`)).status, 200);
});
await check("hostile names harm nothing", async () => {
  const name = "<script>alert(1)</script>\"; system(\"touch pwned\") ../../x";
  const r = await raw("POST", "/api/suite", json, JSON.stringify({ name, task: "x\"\n[[encoding]]\nexpr = \"none", encodings: ["\"]\n[hooks]\nrun = \"touch pwned"] }));
  const { suite, problems } = JSON.parse(r.text);
  assert.ok(problems.length > 0, "refused by validate");
  assert.equal(suite.split("\n").filter((l) => l === "[[encoding]]").length, 1, "a text stays a text");
  assert.ok(!existsSync("pwned") && !existsSync(join(out, "pwned")));
});
await check("from elsewhere only with the token", async () => {
  await stop();
  await start("--listen", "0.0.0.0");
  assert.match(base, /\?token=[0-9a-f]{32}$/);
  const token = base.split("token=")[1];
  base = base.replace("0.0.0.0", "127.0.0.1");
  assert.equal((await raw("GET", "/api/runs")).status, 401);
  assert.equal((await raw("GET", "/api/runs?token=" + "0".repeat(32))).status, 401);
  const r = await raw("GET", "/?token=" + token);
  assert.equal(r.status, 200);
  assert.match(r.headers["set-cookie"][0], /HttpOnly; SameSite=Strict/);
  assert.equal((await raw("GET", "/api/runs", { Cookie: r.headers["set-cookie"][0].split(";")[0] })).status, 200);
});
await check("addresses that are none, not this machine's, or of IPv6", async () => {
  const refused = (address, why) => {
    const r = spawnSync(program, ["app", "--port", "0", "--out", out, "--listen", address], { encoding: "utf8", timeout: 20000 });
    assert.equal(r.status, 2, `${address}: ${r.stderr}`);
    assert.match(r.stderr, why, address);
  };
  for (const address of ["", "127.0.0.1:80", "999.0.0.1", "[::1]"]) refused(address, /there is no such address; 127\.0\.0\.1 is/);
  refused("192.0.2.1", /this machine does not have it; 127\.0\.0\.1 is/);
  if (!Object.values(networkInterfaces()).flat().some((i) => i.address === "::1")) return;
  await stop();
  await start("--listen", "::1");
  assert.match(base, /^http:\/\/\[::1\]:\d+\/$/);
  assert.equal((await fetch(base + "api/runs")).status, 200);
});
await check("no error in the console, no request elsewhere", () => {
  assert.deepEqual(page.errors.filter((e) => !/status of 4\d\d|net::ERR|ERR_/.test(e)), []);
  assert.deepEqual([...new Set(page.requests.filter((r) => r.startsWith("http")).map((r) => new URL(r).hostname))], ["127.0.0.1"]);
});

browser.close();
await stop();
console.log(`${passed()} checks passed`);
process.exit();
