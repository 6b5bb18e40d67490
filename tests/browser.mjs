// What tests of pages share. A Chromium driven over its DevTools protocol, through a pipe: messages end with a zero byte.
import { spawn } from "node:child_process";

export class Browser {
  constructor(program = "chromium") {
    this.process = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars", "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.next = 1;
    this.waiting = new Map();
    this.listeners = [];
    let rest = Buffer.alloc(0);
    this.process.stdio[4].on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) this.take(JSON.parse(rest.subarray(0, end).toString()));
    });
  }
  take(m) {
    if (m.id && this.waiting.has(m.id)) {
      const { resolve, reject } = this.waiting.get(m.id);
      this.waiting.delete(m.id);
      m.error ? reject(new Error(m.error.message)) : resolve(m.result);
    } else for (const l of this.listeners) l(m);
  }
  send(method, params = {}, sessionId) {
    const id = this.next++;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }
  async page(width = 1280, height = 900, features = []) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    this.listeners.push((m) => m.sessionId === sessionId && page.hear(m));
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(domain + ".enable");
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await page.send("Emulation.setEmulatedMedia", { features });
    return page;
  }
  close() { this.process.kill(); }
}

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
    this.errors = [];
    this.requests = [];
    this.loaded = null;
  }
  send(method, params) { return this.browser.send(method, params, this.session); }
  hear(m) {
    if (m.method === "Page.loadEventFired" && this.loaded) this.loaded();
    if (m.method === "Runtime.exceptionThrown") this.errors.push(m.params.exceptionDetails.exception?.description ?? m.params.exceptionDetails.text);
    if (m.method === "Runtime.consoleAPICalled" && m.params.type === "error") this.errors.push(m.params.args.map((a) => a.value).join(" "));
    if (m.method === "Log.entryAdded" && m.params.entry.level === "error") this.errors.push(m.params.entry.text + (m.params.entry.url ? " " + m.params.entry.url : ""));
    if (m.method === "Network.requestWillBeSent") this.requests.push(m.params.request.url);
  }
  async open(url) {
    const done = new Promise((resolve) => { this.loaded = resolve; });
    await this.send("Page.navigate", { url });
    await done;
  }
  async run(expression) {
    const r = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description ?? r.exceptionDetails.text);
    return r.result.value;
  }
  async picture(full = false) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: full });
    return Buffer.from(data, "base64");
  }
}

// Checks of a test: each that fails says what and why, and the others go on.
let good = 0;
export const passed = () => good;
export async function check(what, body) {
  try {
    await body();
    ++good;
  } catch (error) {
    console.error(`${what}: ${error.stack}`);
    process.exitCode = 1;
  }
}
