// axe-core of npm in a page of a browser: what it finds that keeps people out, serious or worse. The package is
// fetched once, by its digest, into a folder that the build keeps; where npm does not give it, that is said and
// the answer is null.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const version = "4.10.3";
const digest = "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg==";

function script(folder) {
  const file = join(folder, `axe-${version}.js`);
  if (existsSync(file)) return readFileSync(file, "utf8");
  mkdirSync(folder, { recursive: true });
  const own = mkdtempSync(join(folder, "fetched-")); // other tests may fetch it at the same time
  try {
    execFileSync("npm", ["pack", `axe-core@${version}`, "--silent"], { cwd: own, stdio: "pipe", timeout: 60000 });
  } catch (error) {
    console.log(`axe-core ${version} is not here, so faults for people with aids were not looked for: ${String(error.message).split("\n")[0]}`);
    return null;
  }
  const archive = join(own, `axe-core-${version}.tgz`), got = createHash("sha512").update(readFileSync(archive)).digest("base64");
  if (got !== digest) throw new Error(`axe-core ${version} has another digest than it should: ${got}`);
  const text = execFileSync("tar", ["xzOf", archive, "package/axe.min.js"], { encoding: "utf8", maxBuffer: 1 << 24 });
  writeFileSync(join(own, "axe.js"), text);
  renameSync(join(own, "axe.js"), file);
  rmSync(own, { recursive: true });
  return text;
}

// "color-contrast (serious): main > p: why" of each; null where axe-core is not here.
export async function faults(page, folder) {
  const axe = script(folder);
  if (!axe) return null;
  await page.run(axe + "; 0");
  const found = await page.run(`axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }).then((r) => r.violations)`);
  return found.filter((v) => ["serious", "critical"].includes(v.impact)).flatMap((v) =>
    v.nodes.slice(0, 3).map((n) => `${v.id} (${v.impact}, ${v.nodes.length}): ${n.target.join(" ")}: ${n.failureSummary.split("\n")[1] ?? ""}`));
}

// Nothing serious was found, or nobody looked.
export async function isForEveryone(page, folder, what = "") {
  const found = await faults(page, folder);
  if (found !== null) assert.deepEqual(found, [], what);
}
