import { gzipSync } from 'node:zlib';
import { connectAsync } from 'mqtt';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { Client } from 'undici';
import { sendAtOnce } from '#lib/mqtt.ts';
import { never, sleep } from '#lib/wait.ts';
import { eventually, freePort } from '#sandbox/demo/processes.ts';
import { makePage } from '../tools/page.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, median, rounded } from './figure.ts';
import { type BenchSite, openSite } from './site.ts';

const rounds = 7;
/** How much slower than this machine the processor of the phone is. Which of them a phone is depends on both. */
const rates = [1, 2, 4] as const;
/** The one that the goals are for. */
const phone = 2;
const detectors = 50;
const eventsPerSecond = 200;
const listS = 10;
const firstLoadKb = 100;
const usableMs = 1000;
const frameMs = 500;
const account = { id: 'bench', password: 'bench-walnut-ferry-quartz' };

/** What somebody with a phone before the bridge waits for. */
export const page: Measurement = {
  name: 'page',
  title: 'The technician page: first load, until it can be used, and its list under a storm',
  about: `The daemon from the bundle serves its page over HTTPS to Chromium on the same machine, whose processor for the page is as fast as it is, and made
${rates.slice(1).join(' and ')} times slower as a phone's; the goals are for ${phone} times. Each load is of a browser that runs and has nothing of the page yet, from the request until the login, or the screen Now
with its values, was drawn, by the page's own clock; the median of ${rounds}. In turns with them the bare document with its style, without its script, is loaded from the same
daemon. Then the list of events is open for ${listS} s without events and for ${listS} s with ${eventsPerSecond} a second, each of which is durable and told on
the stream; the longest time between two frames is compared. Daemon, broker, browser and what sends share the cores of this machine.`,
  run: (tell) => withBundle((program) => measure(program, tell)),
};

async function measure(program: string, tell: (progress: string) => void): Promise<Figure[]> {
  const port = await freePort();
  const address = `https://127.0.0.1:${port}`;
  const zones = Array.from(
    { length: detectors },
    (_, n) => `      "${n + 1}": { type: fire, key: smoke_${n}, partition: p1 }`,
  );
  const site = await openSite({
    program,
    http: `, listen: "127.0.0.1:${port}"`,
    yaml: `panels:\n  - id: sensors\n    profile: zigbee2mqtt\n    zones:\n${zones.join('\n')}\n`,
  });
  let browser: Browser | undefined;
  try {
    await site.daemon();
    const running = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
    browser = running;
    const owner = await visit(running);
    await claim(site, owner, address);
    return [
      ...(await firstLoad()),
      ...(await each((rate) => usable({ browser: running, owner, address, tell, rate }))),
      ...(await each((rate) => storm({ owner, address, site, tell, rate }))),
    ];
  } finally {
    await browser?.close();
    await site.close();
  }
}

const visit = (browser: Browser) =>
  browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 390, height: 844 } });

async function claim({ socket }: BenchSite, context: BrowserContext, address: string): Promise<void> {
  const client = new Client('http://localhost', { socketPath: socket });
  const { body } = await client.request({ method: 'GET', path: '/api/v1/access/claim-code' });
  const { claim_code: code } = (await body.json()) as { claim_code: string };
  await client.close();
  await eventually('the claim', async () => {
    const answer = await context.request.post(`${address}/api/v1/access/claim`, {
      ...{ data: { ...account, code, name: 'Bench', role: 'owner' }, headers: { origin: address } },
    });
    return answer.ok() || undefined;
  });
}

async function firstLoad(): Promise<Figure[]> {
  const sizes = (await makePage()).map(({ path, bytes }) => ({ path, kb: gzipSync(bytes).length / 1000 }));
  const ofKind = (ending: string) =>
    sizes.filter(({ path }) => path.endsWith(ending)).reduce((sum, { kb }) => sum + kb, 0);
  const all = sizes.reduce((sum, { kb }) => sum + kb, 0);
  return [
    { name: 'script with the texts of all languages, gzip', value: rounded(ofKind('.js')), unit: 'kB' },
    { name: 'style, gzip', value: rounded(ofKind('.css')), unit: 'kB' },
    {
      ...{ name: 'first load in all, gzip', value: rounded(all), unit: 'kB' },
      ...{ goal: `under ${firstLoadKb} kB`, met: all < firstLoadKb },
    },
  ];
}

async function each(work: (rate: number) => Promise<Figure[]>): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const rate of rates) {
    const named = (await work(rate)).map((one) => ({
      ...one,
      name: rate === 1 ? one.name : `${one.name}, ${rate} times slower`,
    }));
    figures.push(...(rate === phone ? named : named.map(({ goal: _, met: __, ...one }) => one)));
  }
  return figures;
}

interface Ways {
  readonly rate: number;
  readonly owner: BrowserContext;
  readonly address: string;
  readonly tell: (progress: string) => void;
}

async function usable({ browser, owner, address, tell, rate }: Ways & { browser: Browser }): Promise<Figure[]> {
  const { cookies } = await owner.storageState();
  const variants = {
    bare: { login: false, there: 'false' },
    login: { login: false, there: `document.querySelector('input[type=password]') !== null` },
    now: {
      login: true,
      there: `[...document.querySelectorAll('h2')].some((one) => one.textContent === 'This bridge')`,
    },
  };
  const took: Record<keyof typeof variants, number[]> = { bare: [], login: [], now: [] };
  for (let round = 0; round <= rounds; round += 1) {
    tell(`${rate} times slower: ${round === 0 ? 'warming up' : `load ${round} of ${rounds}`}`);
    for (const [name, { login, there }] of Object.entries(variants)) {
      const context = await visit(browser);
      if (login) await context.addCookies(cookies);
      const page = await slowed(context, rate);
      const isBare = name === 'bare';
      if (isBare) await page.route('**/*.js', (route) => route.abort());
      // The browser runs already, and has nothing of the page.
      await page.goto(`${address}/.well-known/siteward`);
      await page.addInitScript(noteWhen(there));
      await page.goto(address);
      const noted = isBare ? 'performance.timing.loadEventEnd - performance.timing.navigationStart' : 'window.thereMs';
      const ms = await eventually(name, async () => Number(await page.evaluate(noted)) || undefined);
      if (round > 0) took[name as keyof typeof variants].push(ms);
      await context.close();
    }
  }
  const bare = median(took.bare);
  const figure = (name: string, ms: number): Figure => ({
    ...{ name, value: rounded(ms), unit: 'ms', ratio: rounded(ms / bare) },
    ...{ goal: `under ${usableMs} ms`, met: ms < usableMs },
  });
  return [
    { name: 'the bare document is there', value: rounded(bare), unit: 'ms' },
    figure('the login can be used', median(took.login)),
    figure('Now is there with its values', median(took.now)),
  ];
}

/** Notes when the page shows it to somebody: at the frame after. Looked for in the page, whose own clock it is. */
const noteWhen = (there: string) => `new MutationObserver((_, watch) => {
  if (!(${there})) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.thereMs = performance.now(); }));
}).observe(document, { childList: true, subtree: true });`;

async function slowed(context: BrowserContext, rate: number): Promise<Page> {
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate });
  return page;
}

async function storm({ owner, address, site, tell, rate }: Ways & { site: BenchSite }): Promise<Figure[]> {
  const client = await connectAsync(site.mqttUrl, { clientId: 'bench', protocolVersion: 4 });
  sendAtOnce(client);
  const page = await slowed(owner, rate);
  try {
    await page.goto(`${address}/#/events`);
    await page.locator('.events').waitFor({ state: 'attached' });
    await page.evaluate(`(() => {
      window.longest = 0;
      let last = performance.now();
      const frame = (now) => {
        window.longest = Math.max(window.longest, now - last);
        last = now;
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    })()`);
    const devtools = await owner.newCDPSession(page);
    await devtools.send('Performance.enable');
    const scriptS = async () => {
      const { metrics } = await devtools.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN;
    };
    const during = async (work: () => Promise<void>) => {
      await page.evaluate('window.longest = 0');
      const before = await scriptS();
      await work();
      return { longest: Number(await page.evaluate('window.longest')), share: ((await scriptS()) - before) / listS };
    };
    const send = async () => {
      const began = performance.now();
      for (let n = 0; n < eventsPerSecond * listS; n += 1) {
        const dueMs = began + (n * 1000) / eventsPerSecond - performance.now();
        if (dueMs > 0) await sleep(dueMs, never());
        const smoke = Math.floor(n / detectors) % 2 === 0;
        client.publish(`zigbee2mqtt/smoke_${n % detectors}`, JSON.stringify({ smoke }), { qos: 1 });
      }
    };
    tell(`${rate} times slower: ${listS} s without events`);
    const idle = await during(() => sleep(listS * 1000, never()));
    tell(`${rate} times slower: ${listS} s of events`);
    const busy = await during(send);
    return [
      { name: 'longest time between two frames, no events', value: rounded(idle.longest), unit: 'ms' },
      {
        ...{ name: `the same at ${eventsPerSecond} events/s`, value: rounded(busy.longest), unit: 'ms' },
        ...{ ratio: rounded(busy.longest / idle.longest), goal: `under ${frameMs} ms`, met: busy.longest < frameMs },
      },
      { name: 'the page computes meanwhile', value: rounded(100 * busy.share), unit: '% of the time' },
    ];
  } finally {
    await client.endAsync(true);
    await page.close();
  }
}
