import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Effect } from '#site/core/index.ts';
import { numberEvents } from '#site/events.ts';
import { isoTime, siteEvent } from '#site/model/index.ts';
import { armed, stamp } from './world.ts';

/** The public events of a decision. */
const publicOf = (effects: readonly Effect[], ms: number) =>
  numberEvents({
    effects,
    at: stamp(ms),
    epoch: 1,
    idSpace: '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11',
    firstSeq: 1,
    hidden: 0,
    encode: () => '{}',
    log: pino({ level: 'silent' }),
  }).map(({ event }) => siteEvent.parse(event));

describe('an alarm whose message waited in the broker', () => {
  const since = stamp(0).wall;
  const times = (waited: { since?: number }) => {
    const site = armed();
    site.pass(3_600_000);
    const events = publicOf(site.open('2', true, { waited }), site.ms);
    expect(events.map(({ kind }) => kind)).toContain('burglary_perimeter');
    return { events, now: isoTime(stamp(site.ms).wall) };
  };

  it('says between which moments it happened', () => {
    const { events, now } = times({ since });
    for (const event of events) {
      expect(event).toMatchObject({ at: now, late: true });
      expect(event.data.time).toEqual({ quality: 'estimated', recorded: now, earliest: isoTime(since), latest: now });
    }
  });

  it.each([{}, { since: Date.UTC(2100, 0) }])('has no beginning where none is known: %j', (waited) => {
    const { events, now } = times(waited);
    for (const event of events) expect(event.data.time).toEqual({ quality: 'estimated', recorded: now, latest: now });
  });

  it('and one that did not wait says nothing of it', () => {
    const site = armed();
    const events = publicOf(site.open('2'), site.ms);
    expect(events.length).toBeGreaterThan(0);
    for (const event of events) expect([event.late, event.data.time]).toEqual([undefined, undefined]);
  });
});
