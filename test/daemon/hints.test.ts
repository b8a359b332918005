import { describe, expect, it } from 'vitest';
import type { OutboxDocument } from '#lan/http/index.ts';
import { doubtHints, outboxHints, panelHints, storageHints } from '../../src/daemon/hints.ts';

const good: Omit<OutboxDocument, 'hints'> = {
  at: '2026-11-27T22:03:00.000Z',
  lanes: [{ lane: 'alarm', waiting: 900, oldest: '2026-11-27T21:59:00.000Z', parked: 0, lost: 0 }],
  media: { waiting: 3, failed: 0 },
  store: { state: 'ok' },
  disk: { dir: '/var/lib/siteward', files: [], free_bytes: 1, total_bytes: 2, level: 'ok' },
  link: { state: 'up' },
  sending: { in_flight: 1, aside: 1, memory_only: 0, per_min: 3 },
};
const hints = (change: Partial<OutboxDocument>) => outboxHints({ ...good, ...change });

describe('what to do about the outbox', () => {
  it('is nothing while events only wait', () => {
    expect(hints({})).toEqual([]);
  });

  it('names what is worst first', () => {
    const lanes = [{ lane: 'alarm' as const, waiting: 0, oldest: null, parked: 2, lost: 40 }];
    const all = hints({
      ...{ lanes, media: { waiting: 0, failed: 1 }, disk: { ...good.disk, level: 'failing' as const } },
      ...{ link: { state: 'down' as const, trouble: 'clock' as const }, store: { state: 'down' as const } },
      sending: { ...good.sending, memory_only: 5 },
    });
    const said = ['df -h /var/lib/siteward', '5 events are only in memory', 'Replace the disk', 'timedatectl'].concat([
      '2 refused',
      '40 were given up',
      '1 pictures failed',
    ]);
    expect(all).toEqual(said.map((text) => expect.stringContaining(text)));
  });

  it('is to look at the disk when nothing can be counted', () => {
    expect(hints({ lanes: [] })).toEqual([expect.stringContaining('The store does not work')]);
  });

  it('says the same of a disk as the status of the site', () => {
    const storage = { level: 'hard', freeBytes: 10, totalBytes: 100, reserveBytes: 0 } as const;
    const [hint] = storageHints(storage, 0);
    expect(hint).toMatchObject({ about: 'storage hard', values: ['10 of 100 bytes free'] });
    expect(hints({ disk: { ...good.disk, level: 'hard' } })[0]).toContain(hint?.text);
    expect(storageHints({ ...storage, level: 'ok' }, 0)).toEqual([]);
  });
});

describe('a partition or zone whose last word may be old', () => {
  const view = (stale: boolean, up: boolean) =>
    ({
      plan: {
        partitions: [{ id: 'p1', authority: 'panel', panel: 'main' }],
        zones: ['2', '3'].map((number) => ({
          ...{ number, type: 'perimeter', partitions: ['p1'], source: { kind: 'panel', id: 'main' } },
        })),
      },
      zones: ['2', '3'].map((number) => ({ number, open: true, alarm: false, tamper: false })),
      doubted: stale ? ['2'] : [],
      partitions: [{ id: 'p1', state: 'armed_away', stale }],
      links: [{ source: { kind: 'panel', id: 'main' }, up }],
      at: 0,
    }) as unknown as Parameters<typeof doubtHints>[0];

  it('is a hint while its panel can be heard', () => {
    expect(doubtHints(view(true, true))).toMatchObject([
      {
        device: 'panel main',
        about: 'partition p1',
        values: ['armed_away'],
        text: expect.stringContaining('at the panel'),
      },
      { device: 'panel main', about: 'zone 2', values: ['open'], text: expect.stringContaining('Open and close it') },
    ]);
    expect([view(false, true), view(true, false), undefined].flatMap(doubtHints)).toEqual([]);
  });

  it.each([
    ['open', 'perimeter', 'panel', ['Open and close it']],
    ['alarm', 'perimeter', 'panel', ['arm or disarm at the panel']],
    ['alarm', 'perimeter', 'engine', ['Open and close it']],
    ['alarm', 'fire', 'panel', ['reset it at the panel']],
    ['tamper', 'perimeter', 'panel', ['its lid']],
  ] as const)('says what ends it: %s of %s, judged by the %s', (level, type, authority, texts) => {
    const known = view(true, true);
    if (known === undefined) throw new Error('no view');
    const all = ['Open and close it', 'arm or disarm at the panel', 'reset it at the panel', 'its lid'];
    const [hint] = doubtHints({
      ...known,
      plan: {
        ...known.plan,
        partitions: known.plan.partitions.map((one) => ({ ...one, authority })),
        zones: known.plan.zones.map((one) => ({ ...one, type })),
      },
      partitions: [],
      zones: known.zones.map((one) => ({ ...one, open: false, [level]: true })),
    });
    expect(all.filter((text) => hint?.text.includes(text))).toEqual(texts);
  });
});

it('a zone that said nothing in this run is a hint, but not a detector of danger that is known to be quiet', () => {
  const hint = (about: string, kind: 'not_heard' | 'vanished' = 'not_heard') =>
    ({ panel: 'main', kind, about, text: kind, values: [], count: 0, lastAt: 0 }) as const;
  const hints = [hint('1'), hint('2'), hint('3'), hint('3', 'vanished')];
  const types = { '1': 'perimeter', '2': 'fire', '3': 'fire' } as const;
  const view = {
    plan: { zones: Object.entries(types).map(([number, type]) => ({ number, type })) },
    zones: [
      { number: '1', open: false },
      { number: '2', open: null, alarm: false },
      { number: '3', open: null, alarm: false, heard: true },
    ],
  } as unknown as Parameters<typeof panelHints>[1];
  const shown = (seen: typeof view) => panelHints(hints, seen).map(({ about, text }) => `${text} ${about}`);
  expect(shown(view)).toEqual(['not_heard 1', 'not_heard 2', 'vanished 3']);
  expect(shown(undefined)).toHaveLength(4);
});
