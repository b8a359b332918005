import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import type { Cameras } from '#devices/onvif/index.ts';
import { createPanels } from '#devices/panels/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { never } from '#lib/wait.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import type { Controller } from '#site/controller.ts';
import type { House } from '../../src/daemon/house.ts';
import { lanPort } from '../../src/daemon/lan-port.ts';
import { outboxCount } from '../../src/daemon/outbox-count.ts';
import type { SiteLog } from '../../src/daemon/site-log.ts';
import { quiet } from '../cloud/support.ts';

function portOf(house: House) {
  return lanPort({
    house,
    count: outboxCount(house),
    slots: { health: () => [], metrics: async () => '' },
    clock: manualClock(),
    log: quiet,
    uptimeMs: () => 0,
    config: () => ({ path: 'siteward.yaml', lastGood: false, text: '', warnings: [], error: undefined }),
    logs: {} as SiteLog,
    reload: async () => ({}),
    redactor: { redact: (text) => text },
    settings: () => ({ site: { id: '101' }, panels: [] as Settings['panels'] }) as Settings,
    quality: {} as ClockQualityWatch,
    metrics: new Registry(),
    process: { variables: {}, end: () => undefined, signal: () => never() },
  });
}

it('says that the store is not running rather than that there were no events', async () => {
  await expect(portOf({}).events({ limit: 10 })).rejects.toMatchObject({ code: 'store_unavailable' });
});

it('gives the reason why a camera is away now, not the one it went away for', async () => {
  const source = (id: string) => ({ kind: 'camera', id });
  const plan = { securityType: 3, partitions: [], cameras: [{ id: 'yard' }, { id: 'gate' }], zones: [] };
  const links = [
    { source: source('yard'), up: false, reason: 'ECONNREFUSED' },
    { source: source('gate'), up: false, reason: 'EHOSTUNREACH' },
  ];
  const controller = {
    view: () => ({ plan, partitions: [], zones: [], troubles: [], links, clock: 'ok', at: 0, ready: {} }),
  } as unknown as Controller;
  const status = { ...source('yard'), reason: 'Correct username and password', warnings: [], unknownTopics: [] };
  const cameras = { status: () => [status] } as unknown as Cameras;
  expect((await portOf({ cameras, controller }).status()).cameras).toEqual([
    { kind: 'camera', id: 'yard', up: false, reason: 'Correct username and password' },
    { kind: 'camera', id: 'gate', up: false, reason: 'EHOSTUNREACH' },
  ]);
});

it('gives the reason why a panel is not read beside the panel, not only among the hints', async () => {
  const panels = createPanels({
    panels: [{ id: 'main', profile: 'acmee', partitions: {}, zones: {} }],
    profiles: [],
    // Nothing is read, so nobody connects.
    connect: undefined as never,
    ...{ siteSlug: 'hq', clock: manualClock(), log: quiet, metrics: new Registry(), emit: async () => {} },
  });
  const zone = { number: '1', name: 'Door', type: 'perimeter', partitions: ['p1'], cameras: [], detections: [] };
  const plan = {
    securityType: 3,
    partitions: [],
    cameras: [],
    zones: [{ ...zone, source: { kind: 'panel', id: 'main' } }],
  };
  const controller = {
    view: () => ({ plan, partitions: [], zones: [], troubles: [], links: [], clock: 'ok', at: 0, ready: {} }),
  } as unknown as Controller;
  const status = await portOf({ panels, controller }).status();
  expect(status.panels).toEqual([
    { kind: 'panel', id: 'main', up: false, reason: expect.stringContaining('there is no such profile') },
  ]);
});
