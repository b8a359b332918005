import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createControlSocket, zonesShown } from '#lan/http/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { fakeSite } from '#lan/mqtt/site-port.fake.ts';
import type { Part } from '#lib/health.ts';
import type { SiteView } from '#site/model/index.ts';
import { siteward } from './run-cli.ts';

let dir: string;
let socket: string;
let daemon: Part | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-zones-'));
  socket = join(dir, 'control.sock');
});
afterEach(async () => {
  await daemon?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** The control socket of a site that looks so. */
async function serve(view: SiteView, reporting?: ReadonlySet<string>): Promise<void> {
  const port = fakeLanPort(0, { zones: () => zonesShown(view, reporting) });
  daemon = createControlSocket({ path: socket, port, log: pino({ level: 'silent' }), metrics: new Registry() });
  await daemon.start(new AbortController().signal);
}

test('each zone is listed with its state and what stands out, one of a silent hold-up never', async () => {
  const site = fakeSite();
  site.setZone('1', { open: true, alarm: true });
  site.setZone('2', { open: false, online: false, lowBattery: true });
  site.setZone('3', { open: null });
  const view = site.view();
  const [first] = view.plan.zones;
  if (first === undefined) throw new Error('the site has no zones');
  const hidden = { ...first, number: '9', type: 'panic_silent' } as const;
  const plan = { ...view.plan, zones: [...view.plan.zones, hidden] };
  await serve({ ...view, plan, leftOut: { p1: ['2'] }, shut: { p1: ['1'] } });
  const { code, out } = await siteward(['zones', '--socket', socket]);
  expect(code).toBe(0);
  const lines = out.trim().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^1 .* open +IN ALARM, shut$/);
  expect(lines[1]).toMatch(/^2 .* closed +left out, low battery, not heard any more$/);
  expect(lines[2]).toMatch(/^3 .* not heard yet$/);
  const asJson = (await siteward(['zones', '--json', '--socket', socket])).out.trim().split('\n');
  expect(asJson.map((line) => JSON.parse(line))).toMatchObject([
    { number: '1', open: true, alarm: true, shut: true, bypassed: false },
    { number: '2', open: false, online: false, low_battery: true, bypassed: true },
    { number: '3', open: null },
  ]);
});

test('a zone whose panel only reports is not said to be unheard', async () => {
  const site = fakeSite();
  site.setZone('3', { open: null, alarm: true });
  const view = site.view();
  const ids = view.plan.zones.map(({ source }) => source.id);
  await serve(view, new Set(ids));
  const { out } = await siteward(['zones', '--socket', socket]);
  expect(out.trim().split('\n')[2]).toMatch(/^3 .* by reports only +IN ALARM$/);
});
