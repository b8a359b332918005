import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { Client, request } from 'undici';
import { eventually } from '#sandbox/demo/processes.ts';
import { code, type Stage, setStage } from '#sandbox/demo/stage.ts';

/**
 * `npm run screens`: a picture of each screen of the technician page, on a phone and on a desk, in docs/screens. The site is the demo's
 * with an office, in a bad hour: a break-in, a camera that does not answer, a battery, an event that the cloud refused, and a walk test.
 */
const folder = join(import.meta.dirname, '..', 'docs', 'screens');
const owner = { id: 'ina', name: 'Ina', role: 'owner', password: 'a long walk along the river' };
const sizes = { phone: { width: 390, height: 844 }, desk: { width: 1280, height: 800 } } as const;
/** A longer page is cut there. */
const mostPixels = 1700;

interface Shot {
  readonly name: string;
  readonly about: string;
  readonly hash: string;
  /** What is opened before the picture is taken. */
  readonly open?: (page: Page) => Promise<unknown>;
  readonly dark?: boolean;
}

const shots: readonly Shot[] = [
  { name: 'now', about: 'Now: what is wrong, the worst first, and what to do', hash: 'now', dark: true },
  { name: 'partitions', about: 'Partitions: one in alarm, one in a walk test, one disarmed', hash: 'partitions' },
  {
    name: 'devices',
    about: 'Devices: what answers, a picture, the log',
    hash: 'devices',
    dark: true,
    open: takePicture,
  },
  {
    name: 'events',
    about: 'Events: the newest first, the alarm opened with its way to the cloud',
    hash: 'events',
    open: openAlarm,
  },
  { name: 'walk-test', about: 'Walk test: one zone seen, one not yet', hash: 'walk' },
  { name: 'speakers', about: 'Speakers: what plays and what did', hash: 'speakers' },
  { name: 'outbox', about: 'Outbox: what waits, the last day, what the cloud refused', hash: 'outbox' },
  { name: 'users', about: 'Users and their codes', hash: 'users' },
  { name: 'setup', about: 'Setup: site, cloud, cameras', hash: 'setup' },
  { name: 'report', about: 'Report: what is in it before it is made', hash: 'report' },
  { name: 'danger', about: 'Danger: what takes the name of the site, typed', hash: 'danger' },
];

async function takePicture(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Take a picture now' }).first().click();
  await page.getByRole('img').first().waitFor();
}

async function openAlarm(page: Page): Promise<void> {
  await page
    .locator('.events summary', { has: page.locator('.badge.bad') })
    .first()
    .click();
  await page.locator('details[open]').first().waitFor();
}

async function run(): Promise<void> {
  const stage = await setStage({ onStep: (name) => console.log(`starting ${name}`), edit: withOffice });
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  const client = await connectAsync(stage.mqttUrl, { clientId: 'screens', protocolVersion: 4 });
  const visit = (more: BrowserContextOptions) =>
    browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB', timezoneId: 'Europe/Berlin', ...more });
  try {
    mkdirSync(folder, { recursive: true });
    for (const file of readdirSync(folder)) if (file.endsWith('.png')) rmSync(join(folder, file));
    const context = await visit({});
    await claimed(stage, context, visit);
    await badHour(stage, client);
    await walkTest(stage, context, client);
    const { cookies } = await context.storageState();
    for (const [size, viewport] of Object.entries(sizes)) {
      for (const theme of ['light', 'dark'] as const) {
        const seen = await visit({ viewport, colorScheme: theme, reducedMotion: 'reduce' });
        await seen.addCookies(cookies);
        const page = await seen.newPage();
        for (const shot of shots.filter(({ dark }) => theme === 'light' || dark)) {
          await page.goto(`${stage.apiUrl}/#/${shot.hash}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.waitForTimeout(1500);
          await shot.open?.(page);
          await take(page, `${shot.name}-${size}${theme === 'dark' ? '-dark' : ''}`);
        }
        await seen.close();
      }
    }
    writeFileSync(join(folder, 'README.md'), listing());
  } finally {
    await client.endAsync(true);
    await browser.close();
    await stage.close();
  }
}

async function take(page: Page, name: string): Promise<void> {
  await page.evaluate('document.activeElement?.blur()');
  const { width } = page.viewportSize() ?? sizes.phone;
  const height = Math.min(mostPixels, Number(await page.evaluate('document.documentElement.scrollHeight')));
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true, clip: { x: 0, y: 0, width, height } });
  console.log(`taken ${name}`);
}

function listing(): string {
  const row = ({ name, about, dark }: Shot) =>
    `| ${about} | ${Object.keys(sizes)
      .flatMap((size) => [
        `[${size}](${name}-${size}.png)`,
        ...(dark ? [`[${size}, dark](${name}-${size}-dark.png)`] : []),
      ])
      .join(', ')} |`;
  const first = ['claim', 'login'].map((name) => row({ name, about: doors[name] ?? '', hash: '' }));
  return `# The technician page

Taken by \`npm run screens\` from a simulated site in a bad hour, on a phone (390 px) and on a desk (1280 px). Long pages are cut.

| screen | |
|---|---|
${[...first, ...shots.map(row)].join('\n')}
`;
}

const doors: Readonly<Record<string, string>> = {
  claim: 'The first visit: the bridge is claimed with the code that it shows on the box',
  login: 'The login',
};

/** The first account; before and after it the ways in are taken. */
async function claimed(
  stage: Stage,
  context: BrowserContext,
  visit: (more: BrowserContextOptions) => Promise<BrowserContext>,
): Promise<void> {
  const doorsNow = async (name: string) => {
    for (const [size, viewport] of Object.entries(sizes)) {
      const seen = await visit({ viewport, colorScheme: 'light' });
      const page = await seen.newPage();
      await page.goto(stage.apiUrl);
      await page.getByLabel('Password').waitFor();
      await take(page, `${name}-${size}`);
      await seen.close();
    }
  };
  await doorsNow('claim');
  const body = { ...owner, code: await claimCode(stage) };
  await post(stage, context, '/api/v1/access/claim', body);
  await doorsNow('login');
}

async function claimCode({ folder: home }: Stage): Promise<string> {
  const client = new Client('http://localhost', { socketPath: join(home, 'control.sock') });
  try {
    const { body } = await client.request({ method: 'GET', path: '/api/v1/access/claim-code' });
    return ((await body.json()) as { claim_code: string }).claim_code;
  } finally {
    await client.destroy();
  }
}

async function post(stage: Stage, context: BrowserContext, path: string, data: object): Promise<unknown> {
  const answer = await context.request.post(`${stage.apiUrl}${path}`, { data, headers: { origin: stage.apiUrl } });
  if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`);
  return answer.json();
}

/** The demo's site with an office, more users, and a camera at an address where nobody answers. */
const withOffice = (yaml: string): string =>
  yaml
    .replace('  - { id: p2, name: Warehouse }\n', '$&  - { id: p3, name: Office }\n')
    .replace(
      /zones: (\{ "1": .*) \}\n/,
      'zones: $1, "2": { type: perimeter, name: Back window, key: back_window, partition: p1 }, "31": { type: perimeter, name: Office door, key: office_door, partition: p3 }, "32": { type: perimeter, name: Office window, key: office_window, partition: p3 } }\n',
    )
    .replace(
      'users: [',
      '  - { id: gate, url: "http://127.0.0.1:9/onvif/device_service", username: siteward, password: { env: CAMERA_PASSWORD }, name: Gate camera, partition: p2 }\nusers: [ { id: ben, name: Ben, code: { env: DEMO_CODE_BEN } },',
    )
    .replaceAll(/name: (Shop|Yard) camera/g, '$&, pictures: always');

async function badHour(stage: Stage, client: MqttClient): Promise<void> {
  const { keypad, sensors, camera, cloudUrl } = stage;
  const contact = (key: string, state: object) => client.publishAsync(`zigbee2mqtt/${key}`, JSON.stringify(state));
  for (const key of ['back_window', 'office_door']) await contact(key, { contact: true });
  await contact('office_window', { contact: true, battery_low: true });
  sensors.send('close front_door');
  await keypad.zoneShows('1', 'OFF');
  await keypad.zoneShows('21', 'OFF');
  const faults = `${cloudUrl}/__sandbox/faults`;
  await request(faults, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ path: '/partner/v1/events', method: 'POST', mode: 'status', status: 422, count: -1 },
      body: { error: 'unknown event type' },
    }),
  });
  await keypad.arm('p1');
  await keypad.shows('p1', 'armed_away');
  await eventually(
    'the refused event',
    async () => {
      const outbox = (await status(stage)) as { outbox: { parked: number } };
      return outbox.outbox.parked > 0 ? true : undefined;
    },
    { timeoutMs: 150_000 },
  );
  await request(faults, { method: 'DELETE' });
  sensors.send('open front_door');
  await keypad.shows('p1', 'pending');
  camera.send('person on');
  await keypad.shows('p1', 'triggered');
}

async function walkTest(stage: Stage, context: BrowserContext, client: MqttClient): Promise<void> {
  const command = { id: randomUUID(), issued_at: new Date().toISOString(), code };
  await post(stage, context, '/api/v1/commands', { ...command, verb: 'test', partition: 'p3', minutes: 30 });
  await client.publishAsync('zigbee2mqtt/office_door', JSON.stringify({ contact: false }));
}

async function status({ folder: home }: Stage): Promise<unknown> {
  const client = new Client('http://localhost', { socketPath: join(home, 'control.sock') });
  try {
    const { body } = await client.request({ method: 'GET', path: '/api/v1/status' });
    return await body.json();
  } finally {
    await client.destroy();
  }
}

process.env.DEMO_CODE_BEN = '7391';
await run();
