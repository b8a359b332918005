import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { forGood, zoneTable } from '#site/core/index.ts';
import { exemptKinds } from '#site/core/zones.ts';
import { eventKinds, panelAlarms, silentKinds } from '#site/model/index.ts';
import { anyCall, anyStep, play, story } from './stories.ts';
import { house, panelHouse, partition } from './world.ts';

const core = join(import.meta.dirname, '../../../src/site/core');

/** Written beside a class, or raised by name, in the sources of the core. */
function written(): string[] {
  return readdirSync(core)
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const text = readFileSync(join(core, name), 'utf8');
      const beside = text.matchAll(/class: '\w+',\s*kind: '(\w+)'/g);
      const raised = text.matchAll(/(?:raise|restore|troubleEvent)\(work, \{ kind: '(\w+)'/g);
      return [...beside, ...raised].map(([, kind = '']) => kind);
    });
}

it('the list of event kinds names all that the sources do, and no silent one (safety 4)', () => {
  const silent: readonly string[] = silentKinds;
  const named = new Set([...written(), ...panelAlarms, ...Object.values(zoneTable).map(({ alarm }) => alarm)]);
  expect(named.size).toBeGreaterThan(25);
  expect([...named].filter((kind) => !eventKinds.includes(kind) && !silent.includes(kind))).toEqual([]);
  expect(eventKinds.filter((kind) => silent.includes(kind))).toEqual([]);
});

it('safety 1 and 8: no cap holds back the alarm of a zone that lasts whatever the arming, but for water', () => {
  const lasting = Object.values(zoneTable).filter(({ group, alarm }) => forGood(group) && alarm !== 'water');
  expect(exemptKinds).toEqual(new Set([...lasting.map(({ alarm }) => alarm), 'duress']));
});

it.each([
  ['engine', house({ partitions: [partition('p1', { abortDelayMs: 30_000, confirmationMs: 60_000 })] })],
  ['panel', panelHouse()],
] as const)('the list names every public event of any story that is not late, authority %s', (_, plan) => {
  const seen = new Set<string>();
  const more = fc.array(fc.oneof({ weight: 3, arbitrary: anyStep(plan) }, { weight: 1, arbitrary: anyCall }));
  fc.assert(
    fc.property(story(plan), more, (first, then) => {
      for (const { effects } of play(plan, [...first, ...then]).seen)
        for (const effect of effects)
          if (effect.kind === 'event' && effect.event.silent !== true && effect.event.late !== true)
            seen.add(effect.event.kind);
      expect([...seen].filter((kind) => !eventKinds.includes(kind))).toEqual([]);
    }),
    { numRuns: 300 },
  );
  expect(seen.size).toBeGreaterThan(10);
});
