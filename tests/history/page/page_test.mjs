// The pages of `history publish` and `compare --report` in a real browser: what they show, tables, two sizes, light
// and dark, by keyboard, nothing from elsewhere.
// node page_test.mjs PROGRAM RESULTS FOLDER: RESULTS is the folder of a run, FOLDER is made anew and keeps the pictures.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isForEveryone } from "../../axe.mjs";
import { Browser, check, passed } from "../../browser.mjs";

const [program, results, folder] = process.argv.slice(2);
const kept = join(folder, "..", "axe");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

// Twelve commits, from the eighth on of which one encoding is worse.
const repository = join(folder, "repository"), run = join(folder, "run"), site = join(folder, "site");
mkdirSync(repository);
const git = (...words) => execFileSync("git", ["-C", repository, "-c", "user.name=a", "-c", "user.email=a@example.org", ...words], { encoding: "utf8" }).trim();
git("init", "--quiet");
cpSync(results, run, { recursive: true, filter: (f) => !/figures|tables|\.html$/.test(f) });
const lines = readFileSync(join(run, "records.jsonl"), "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l))
  .filter((r) => ["facts", "lags"].includes(r.task) && ["nll", "accuracy"].includes(r.metric));
let state = 12345; // of a small generator: the same numbers each time
const noise = () => { state = (state * 1103515245 + 12345) % 2147483648; return (state / 2147483648 - 0.5) * 0.004; };
function recorded(factor) {
  writeFileSync(join(run, "records.jsonl"), lines.map((r) => {
    if (typeof r.value !== "number") return JSON.stringify(r);
    const scaled = r.value * (1 + noise()) * (r.encoding.id === "rope" && r.metric === "nll" ? factor : 1);
    return JSON.stringify({ ...r, value: scaled });
  }).join("\n") + "\n");
}
for (let k = 0; k < 12; ++k) {
  writeFileSync(join(repository, "file"), String(k));
  git("add", "file");
  git("commit", "--quiet", "-m", k === 7 ? "<script>document.title='pwned'</script> & slower" : `change ${k}`);
  recorded(k >= 7 ? 1.08 : 1);
  execFileSync(program, ["history", "add", run, "--db", join(folder, "h.sqlite"), "--repository", repository, "--commit", git("rev-parse", "HEAD"),
    "--date", `2026-10-${String(k + 1).padStart(2, "0")}T12:00:00Z`], { stdio: "pipe" });
}
execFileSync(program, ["history", "publish", site, "--db", join(folder, "h.sqlite")], { stdio: "pipe" });

const browser = new Browser();
async function opened(file, width = 1280, height = 900, scheme = "light") {
  const page = await browser.page(width, height, [{ name: "prefers-color-scheme", value: scheme }]);
  await page.open(pathToFileURL(file).href);
  return page;
}
function alone(page, file) {
  assert.deepEqual(page.errors, []);
  assert.deepEqual([...new Set(page.requests.map((r) => r.split("#")[0]))], [pathToFileURL(file).href]);
}
const index = join(site, "index.html"), worse = join(site, "regressions.html");
let series;

await check("the grid", async () => {
  const page = await opened(index);
  assert.match(await page.run(`document.querySelector("main > p").textContent`), /series over up to 12 commits, 2026-10-01 to 2026-10-12\. \d+ are worse/);
  assert.ok(await page.run(`document.querySelectorAll("td.cell svg").length`) > 20);
  const red = await page.run(`[...document.querySelectorAll("td.worse")].map((c) => c.closest("tr").cells[0].textContent)`);
  assert.ok(red.length > 3 && red.every((name) => name === "rope"), String(red));
  assert.ok(await page.run(`document.querySelectorAll("nav a").length`) >= 3);
  series = join(site, await page.run(`document.querySelector("td.worse a").getAttribute("href")`));
  await page.run(`document.querySelector("thead th.n button").click()`);
  const numbers = await page.run(`[...document.querySelector("tbody").rows].map((r) => Number(r.cells[1].textContent))`);
  assert.deepEqual(numbers, [...numbers].sort((a, b) => b - a), "sorted by its numbers");
  alone(page, index);
});
await check("the regressions", async () => {
  const page = await opened(worse);
  assert.match(await page.run(`document.querySelector("main tbody").textContent`), /2026-10-08.*rope.*step.*lasts/s);
  alone(page, worse);
});
await check("a series", async () => {
  const page = await opened(series);
  assert.equal(await page.run(`document.querySelectorAll("main figure svg").length`), 1);
  assert.match(await page.run(`document.querySelector("#changes tbody").textContent`), /<script>.*& slower/);
  assert.equal(await page.run(`document.querySelectorAll("#commits tbody tr").length`), 12);
  assert.doesNotMatch(await page.run("document.title"), /^pwned/);
  alone(page, series);
});
await check("a comparison", async () => {
  const other = join(folder, "before");
  cpSync(run, other, { recursive: true });
  recorded(1);
  const to = join(folder, "comparison");
  execFileSync(program, ["compare", other, run, "--report", to], { stdio: "pipe" });
  const file = join(to, readdirSync(to).find((f) => f.endsWith(".html")));
  const page = await opened(file);
  assert.ok(await page.run(`document.querySelectorAll("main table").length`) > 0);
  assert.match(await page.run(`document.querySelector("main").textContent`), /rope/);
  await isForEveryone(page, kept);
  alone(page, file);
});
await check("sizes, light and dark, for everyone", async () => {
  for (const [name, width, height] of [["phone", 390, 844], ["desk", 1600, 1000]])
    for (const scheme of ["light", "dark"])
      for (const [what, file] of [["index", index], ["regressions", worse], ["series", series]]) {
        const page = await opened(file, width, height, scheme);
        assert.ok(await page.run("document.documentElement.scrollWidth <= innerWidth"), `${what} on a ${name} is wider than the screen`);
        writeFileSync(join(folder, `${what}_${name}_${scheme}.png`), await page.picture());
        if (name === "desk") await isForEveryone(page, kept, `${what} ${scheme}`);
        assert.deepEqual(page.errors, []);
      }
});

browser.close();
console.log(`${passed()} checks passed`);
process.exit();
