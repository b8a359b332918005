import { describe, expect, it } from 'vitest';
import type { Command, PanicKind } from '#site/model/index.ts';
import { armed, camera, house, partition, type World, world, zone } from './world.ts';

const silence = (site: World, more: Partial<Command> = {}) => site.command({ verb: 'silence', ...more });
const silenced = (site: World) => site.last.flatMap((effect) => (effect.kind === 'silence' ? [effect.partition] : []));
const burgled = () => {
  const site = armed();
  site.open('2');
  return site;
};

describe('silence', () => {
  it('ends the sound of a burglary, and nothing else of it; it is in the history and the audit log', () => {
    const site = burgled();
    const before = site.state.partitions;
    expect(silence(site)).toMatchObject({ outcome: 'done', state: 'triggered' });
    expect(silenced(site)).toEqual(['p1']);
    expect(site.state.partitions).toBe(before);
    expect(site.events()).toMatchObject([
      { class: 'command', kind: 'silenced', partition: 'p1', actor: 'anna', toCloud: false },
    ]);
    const audits = site.last.flatMap((effect) => (effect.kind === 'audit' ? [effect.entry] : []));
    expect(audits).toMatchObject([{ action: 'silence', outcome: 'done', actor_ref: 'anna' }]);
  });

  it('where nothing is to be silenced still ends what a rule plays there; a disarm of what is disarmed does, too', () => {
    const site = burgled();
    silence(site);
    expect(silence(site)).toMatchObject({ outcome: 'already' });
    expect(silenced(site)).toEqual(['p1']);
    const delayed = armed();
    delayed.open('1');
    expect(delayed.word()).toBe('pending');
    expect(silence(delayed)).toMatchObject({ outcome: 'already' });
    expect(silenced(delayed)).toEqual(['p1']);
    delayed.disarm();
    expect(silence(delayed)).toMatchObject({ outcome: 'already' });
    expect(silenced(delayed)).toEqual(['p1']);
    delayed.disarm();
    expect(silenced(delayed)).toEqual(['p1']);
    expect(delayed.command({ verb: 'disarm', code: 'bad' })).toMatchObject({ error: { code: 'BAD_CODE' } });
    expect(silenced(delayed)).toEqual([]);
  });

  it('is over with the next alarm', () => {
    const site = burgled();
    silence(site);
    site.open('13');
    expect(silence(site)).toMatchObject({ outcome: 'done' });
    site.disarm();
    site.arm({ skipExitDelay: true, bypass: ['2'] });
    site.open('13', false);
    site.open('13');
    expect(silence(site)).toMatchObject({ outcome: 'done' });
  });

  it('is over in each partition the next alarm is about, and in no other', () => {
    const both = { partitions: ['p1', 'p2'] };
    const plan = house({
      partitions: [partition('p1'), partition('p2'), partition('p3')],
      zones: [
        zone('2', 'perimeter', both),
        zone('3', 'perimeter'),
        zone('5', 'perimeter', { partitions: ['p3'] }),
        zone('14', '24h_burglary', both),
        zone('15', 'tamper_24h', both),
        zone('10', 'fire', both),
      ],
      cameras: [camera('yard', both)],
    });
    const call = { id: 'c1', kind: 'audible', source: 'lan', client: 'kp1' } as const;
    const alarms: [(site: World) => unknown, number][] = [
      [(site) => site.open('3'), 1],
      [(site) => site.open('14'), 2],
      [(site) => site.open('10'), 2],
      [(site) => site.open('15'), 2],
      [(site) => site.open('15', false, { tamper: true }), 2],
      [(site) => site.open('2', true, { tamper: true }), 2],
      [(site) => site.sees('yard', 'tamper'), 2],
      [(site) => site.send({ kind: 'panic', call }), 3],
      [(site) => site.send({ kind: 'panic', call: { ...call, kind: 'silent' } }), 0],
    ];
    for (const [alarm, count] of alarms) {
      const site = armed(plan);
      site.arm({ partition: 'all', skipExitDelay: true });
      site.open('2');
      site.open('5');
      silence(site, { partition: 'all' });
      const isSilenced = (id: string) => site.state.periods[id]?.silenced === true;
      expect(['p1', 'p2', 'p3'].filter(isSilenced)).toHaveLength(3);
      alarm(site);
      expect(['p1', 'p2', 'p3'].filter((id) => !isSilenced(id))).toEqual(['p1', 'p2', 'p3'].slice(0, count));
    }
  });

  it('takes what a disarm takes', () => {
    const site = burgled();
    expect(silence(site, { code: 'none' })).toMatchObject({ error: { code: 'CODE_REQUIRED' } });
    expect(silence(site, { code: 'bad' })).toMatchObject({ error: { code: 'BAD_CODE' } });
    expect(silence(site, { role: 'installer' })).toMatchObject({ error: { code: 'NOT_ALLOWED', field: 'code' } });
    expect(silence(site, { partition: 'p9' })).toMatchObject({ error: { code: 'UNKNOWN_TARGET' } });
    expect(silence(site, { expected: { state: ['disarmed'] } })).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(silence(site, { issuedAt: 0 })).toMatchObject({ outcome: 'expired' });
    expect(silenced(site)).toEqual([]);
  });

  it('leaves a fire and a call for help alone (safety 1)', () => {
    const site = armed();
    site.open('10');
    expect(silence(site)).toMatchObject({ outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'alarm' } });
    const help = armed();
    help.open('11');
    expect(silence(help)).toMatchObject({ error: { code: 'NOT_ALLOWED', field: 'alarm' } });
    expect(silence(armed())).toMatchObject({ outcome: 'already' });
  });

  it('nor beside a burglary, whichever came first', () => {
    const call = (site: World, kind: PanicKind) =>
      site.send({ kind: 'panic', call: { id: kind, kind, source: 'lan', client: 'kp1', partition: 'p1' } });
    const others: ((site: World) => unknown)[] = [
      (site) => site.open('10'),
      (site) => [site.open('11'), site.open('11', false)],
      ...(['audible', 'fire', 'medical'] as const).map((kind) => (site: World) => call(site, kind)),
    ];
    for (const other of others) {
      const after = burgled();
      other(after);
      const before = armed();
      other(before);
      before.open('2');
      for (const site of [after, before]) {
        expect(silence(site)).toMatchObject({ outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'alarm' } });
        expect(silenced(site)).toEqual([]);
      }
    }
    // Nothing shows that somebody called silently (safety 4).
    const silently = burgled();
    call(silently, 'silent');
    silently.open('12');
    expect(silence(silently)).toMatchObject({ outcome: 'done' });
  });

  it('says the truth of a panel, and of each partition where it is for all', () => {
    const plan = house({
      partitions: [
        partition('p1'),
        partition('p2', { authority: 'panel', panel: 'main' }),
        partition('p3', { authority: 'external' }),
      ],
      zones: [...house().zones, zone('30', 'perimeter', { partitions: ['p2'] })],
    });
    const site = world(plan);
    expect(silence(site, { partition: 'p2' })).toMatchObject({ error: { code: 'NOT_ALLOWED', field: 'profile' } });
    expect(silence(site, { partition: 'p3' })).toMatchObject({ error: { code: 'NOT_CONTROLLED' } });
    site.arm({ skipExitDelay: true });
    site.open('2');
    expect(silence(site, { partition: 'all' })).toMatchObject({
      outcome: 'failed',
      undone: [{ partition: 'p2', code: 'NOT_ALLOWED', field: 'profile' }],
    });
    expect(silenced(site)).toEqual(['p1']);
  });
});
