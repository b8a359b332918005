import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { eventually, freePort } from '#sandbox/demo/processes.ts';
import { siteward } from '../cli/run-cli.ts';
import { type Addresses, camera, type Site, startSite } from '../harness/site.ts';

/** The account of the owner, who has claimed the bridge. */
export const owner = { id: 'ina', password: 'a long walk along the river' } as const;
/** A name as somebody might give one to see what the page makes of it. */
export const markup = '<img src=x onerror=alert(1)>';

/** A site as `siteYaml` has it, its daemon with the page on a port of its own that a restart keeps, and a browser. */
export interface Stage {
  readonly site: Site;
  readonly browser: Browser;
  /** `https://127.0.0.1:PORT`. */
  readonly address: string;
  /** What the browsers complained of, but for answers that are refusals: it must be empty at the end of a test file. */
  readonly complaints: readonly string[];
  /** A browser of somebody: empty where `login` is false, otherwise with a session of the owner's. Default 390 by 844 pixels. */
  visit(options?: BrowserContextOptions & { login?: boolean }): Promise<BrowserContext>;
  /** A tab in it that is watched for complaints; it shows nothing yet. */
  tab(context: BrowserContext): Promise<Page>;
  /** Both, opened on a screen: `#/devices`. */
  open(hash?: string, options?: BrowserContextOptions): Promise<Page>;
  /** Gives the context the cookie of a new session. */
  login(context: BrowserContext): Promise<void>;
  claimCode(): Promise<string>;
  close(): Promise<void>;
}

/** One partition of two contacts (`zigbee2mqtt/door`, `zigbee2mqtt/window`), two cameras, a speaker that plays into files. */
export const siteYaml = ({ cameras }: Addresses): string => `partitions: [ { id: p1, name: Shop } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Door, key: door, partition: p1, cameras: [shop] }
      "2": { type: perimeter, name: "${markup}", key: window, partition: p1 }
cameras:
${camera('shop', cameras.shop, 'name: Shop camera, partition: p1, pictures: always')}
${camera('yard', cameras.yard, 'name: Yard camera, partition: p1, pictures: always')}
speakers: [ { id: shop-speaker, driver: capture, name: Shop speaker, partitions: [p1] } ]
`;

export async function startStage(
  options: { claimed?: boolean; yaml?: (at: Addresses) => string; env?: Readonly<Record<string, string>> } = {},
): Promise<Stage> {
  const port = await freePort();
  const address = `https://127.0.0.1:${port}`;
  const site = await startSite({
    broker: 'embedded',
    cameras: ['shop', 'yard'],
    httpYaml: `, listen: "127.0.0.1:${port}"`,
    yaml: options.yaml ?? siteYaml,
    ...(options.env !== undefined && { env: options.env }),
  });
  const complaints: string[] = [];
  let browser: Browser | undefined;
  const close = async () => {
    await browser?.close();
    await site.close();
  };
  try {
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
    const stage = makeStage({ site, browser, address, complaints, close });
    if (options.claimed !== false) await claim(stage);
    return stage;
  } catch (error) {
    await close();
    throw error;
  }
}

function makeStage(of: Pick<Stage, 'site' | 'browser' | 'address' | 'close'> & { complaints: string[] }): Stage {
  const { site, browser, address, complaints } = of;
  async function tab(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.on('pageerror', ({ message }) => complaints.push(message));
    page.on('dialog', (dialog) => {
      complaints.push(`a script ran: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (message.type() === 'error' && !isOfTheLine(message.text())) complaints.push(message.text());
    });
    return page;
  }
  const login = (context: BrowserContext) => enter(context, `${address}/api/v1/access/login`, owner);
  async function visit({ login: isIn = true, ...more }: BrowserContextOptions & { login?: boolean } = {}) {
    const context = await browser.newContext({
      ...{ ignoreHTTPSErrors: true, viewport: { width: 390, height: 844 }, locale: 'en-GB', ...more },
    });
    if (isIn) await login(context);
    return context;
  }
  return {
    ...of,
    visit,
    tab,
    login,
    async open(hash = '#/now', more = {}) {
      const page = await tab(await visit(more));
      await page.goto(`${address}/${hash}`);
      // The door, behind which the page looks whether there is a session, has a heading of its own.
      await page.locator('main:not(.door)').getByRole('heading', { level: 1 }).waitFor();
      return page;
    },
    async claimCode() {
      const { out } = await siteward(['claim-code', '--json', '--socket', site.socket]);
      return (JSON.parse(out) as { claim_code: string }).claim_code;
    },
  };
}

/** A refusal, or a line that was cut: the browser writes these itself, whatever the page makes of them. */
const isOfTheLine = (text: string): boolean => /status of [45]|net::ERR_/.test(text);

async function claim(stage: Stage): Promise<void> {
  const context = await stage.visit({ login: false });
  const body = { ...owner, code: await stage.claimCode(), name: 'Ina', role: 'owner' };
  await enter(context, `${stage.address}/api/v1/access/claim`, body);
  await context.close();
}

async function enter(context: BrowserContext, url: string, data: object): Promise<void> {
  await eventually('the way in', async () => {
    const answer = await context.request.post(url, { data, headers: { origin: new URL(url).origin } });
    if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`);
    return true;
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds that keeps somebody from using the page. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
