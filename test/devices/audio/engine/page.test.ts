import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type AudioCategory, audioCategories, playbackReasons, playbackStates } from '#site/model/index.ts';
import { engineLimits } from '../../../../src/devices/audio/engine/index.ts';
import { endsByItselfMs } from '../../../../src/devices/audio/speakers.ts';
import { burglary, fire, medical, planOf, Rig, request, speaker } from './rig.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/audio.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()));
const cellsOf = (name: string): readonly string[] => rows.find(([, first]) => first?.includes(name)) ?? [];

it('docs/audio.md says of each reason what it means and what to do', () => {
  for (const reason of playbackReasons) expect(cellsOf(`\`${reason}\``)[3], reason).toMatch(/./);
});

it('docs/audio.md explains each state', () => {
  for (const state of playbackStates) expect(cellsOf(`\`${state}\``)[3], state).toMatch(/./);
});

it('docs/audio.md has the categories in the order in which they are played', () => {
  const rig = new Rig(planOf([speaker('gate')], { queue: 100 }));
  const first = rig.plays(request('now', { alarm: { ...fire, id: 'now' } }));
  for (const category of [...audioCategories].reverse()) rig.play(request(category, { category }));
  rig.play(request('a burglary', { alarm: burglary }));
  rig.play(request('other life safety', { alarm: medical }));
  rig.play(request('fire', { alarm: fire }));
  const played: string[] = [];
  rig.wait(2_000);
  rig.ends(first);
  for (let [lane] = rig.state.lanes.values(); lane?.next !== undefined; [lane] = rig.state.lanes.values()) {
    const { playback } = lane.next;
    played.push(playback);
    const run = rig.sounds(playback, 100);
    rig.wait(100);
    rig.ends(run, 100);
  }
  const names = rows.flatMap(([, name = '', , , waits]) => (/^\d+ (min|s)$/.test(waits ?? '') ? [name] : []));
  expect(names.map((name) => played.find((one) => name.startsWith(one) || name.startsWith(`\`${one}\``)))).toEqual(
    played,
  );
});

it.each([
  ...(['alarm', 'announcement', 'custom', 'reminder', 'greeting', 'test'] as const satisfies readonly AudioCategory[]),
])('docs/audio.md says how long %s waits', (category) => {
  const rig = new Rig();
  rig.play(request('one', { category }));
  const { afterMs = 0 } = rig.effects.find((one) => one.kind === 'timer.set' && one.timer.kind === 'expire') as {
    afterMs?: number;
  };
  const said = afterMs < 60_000 ? `${afterMs / 1_000} s` : `${afterMs / 60_000} min`;
  expect(cellsOf(`\`${category}\``)[4]).toBe(said);
});

it.each([
  `At most ${engineLimits.queue} wait`,
  `wait ${engineLimits.togetherMs} ms for the others`,
  `sounds after ${engineLimits.journalMs} ms`,
  `within ${engineLimits.silenceMs} ms`,
  `for ${engineLimits.longestAlarmMs / 60_000} minutes at most, life safety for ${engineLimits.longestLifeSafetyMs / 60_000},`,
  `may end by itself within ${endsByItselfMs / 1_000} s`,
  `not ready after ${engineLimits.prepareMs / 1_000} s`,
  `asked again every ${engineLimits.busyMs} ms`,
])('docs/audio.md says: %s', (said) => {
  expect(page.replaceAll('\n', ' ')).toContain(said);
});
