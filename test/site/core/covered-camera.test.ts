import { expect, it } from 'vitest';
import { house, world } from './world.ts';

it.each(['tamper', 'video_loss'] as const)('a camera that reports %s is not ready until it sees again', (detection) => {
  const site = world();
  site.sees('hall', detection);
  expect(site.arm().error).toEqual({ code: 'NOT_READY', zones: ['21'] });
  site.sees('hall', detection, { active: false });
  expect(site.arm().outcome).toBe('done');
});

it('safety 2: covering a camera while the arming is not known is an alarm that says so', () => {
  const site = world(house(), { storeLost: true });
  site.sees('hall', 'tamper');
  const [alarm] = site.events();
  expect(alarm).toMatchObject({ class: 'alarm', kind: 'tamper', zone: '21', signalToStation: true });
  expect(alarm?.evidence).toContainEqual({ type: 'arming_not_known', state: 'unknown', stale: false });
  expect(site.kinds(site.sees('hall', 'tamper'))).toEqual([]);
});

const away = (up: boolean) => ({ kind: 'link', source: { kind: 'camera', id: 'hall' }, layer: 'device', up }) as const;

function armed() {
  const site = world();
  site.arm({ code: 'ok', actor: 'ann' });
  site.pass(60_000);
  return site;
}

it('a camera that says from its first word on that it is covered is a trouble told once, and no alarm', () => {
  const site = armed();
  expect(site.kinds(site.sees('hall', 'tamper', { replay: true }))).toEqual(['trouble:camera_tamper:active']);
  for (let n = 0; n < 3; n += 1) {
    site.signal(away(false));
    site.signal(away(true));
    expect(site.kinds(site.sees('hall', 'tamper', { replay: true }))).toEqual([]);
  }
  expect(site.kinds(site.sees('hall', 'tamper', { active: false }))).toEqual(['trouble:camera_tamper:restored']);
});

it('a camera that was covered while it was away is an alarm: it had been clear', () => {
  const site = armed();
  site.sees('hall', 'tamper', { active: false, replay: true });
  site.signal(away(false));
  site.signal(away(true));
  const kinds = site.kinds(site.sees('hall', 'tamper', { replay: true }));
  expect(kinds).toEqual(['alarm:tamper:active', 'trouble:camera_tamper:active']);
});

it('sabotage that has no end is an alarm each time, a trouble that is over at once, and no obstacle to arming', () => {
  const site = armed();
  const pulse = () => site.kinds(site.sees('hall', 'tamper', { pulse: true }));
  const all = ['alarm:tamper:active', 'trouble:camera_tamper:active', 'trouble:camera_tamper:restored'];
  expect(pulse()).toEqual(all);
  site.pass(3_600_000);
  expect(pulse()).toEqual(all);
  expect(Object.keys(site.state.troubles)).toEqual([]);
});

it('a disk of a recorder with many jobs and outputs stays known, and so does what it sees', () => {
  const site = world();
  const sees = (detection: 'storage_fault' | 'motion' | 'recording' | 'relay', item?: string, active = true) =>
    site.kinds(site.sees('hall', detection, { active, ...(item !== undefined && { item }) }));
  expect(sees('storage_fault', '1')).toEqual(['trouble:storage:active']);
  sees('storage_fault', '2');
  sees('motion');
  for (let n = 0; n < 100; n += 1) sees(n % 2 === 0 ? 'recording' : 'relay', String(n));
  expect(sees('storage_fault', '2', false)).toEqual([]);
  expect(Object.keys(site.state.troubles)).toHaveLength(1);
  expect(site.state.seeing.hall).toContain('motion|');
  expect(site.state.seeing.hall?.length).toBeLessThan(64);
  expect(sees('storage_fault', '1', false)).toEqual(['trouble:storage:restored']);
});

it('many disks do not make the site forget that the camera is covered', () => {
  const site = world();
  site.sees('hall', 'tamper');
  for (let n = 0; n < 200; n += 1) site.sees('hall', 'storage_fault', { item: String(n) });
  expect(site.state.seeing.hall).toContain('tamper|');
  expect(site.state.seeing.hall).toHaveLength(64);
});

it('a disk that is well again does not hide another that is not', () => {
  const site = world();
  const disk = (item: string, active: boolean) => site.kinds(site.sees('hall', 'storage_fault', { item, active }));
  expect(disk('1', true)).toEqual(['trouble:storage:active']);
  expect(disk('2', true)).toEqual([]);
  site.signal(away(false));
  site.signal(away(true));
  expect(disk('2', false)).toEqual([]);
  expect(disk('1', false)).toEqual(['trouble:storage:restored']);
});

it('a night that is too dark for the camera is nobody and no trouble, armed or not', () => {
  const site = armed();
  expect(site.kinds(site.sees('hall', 'image_quality'))).toEqual(['camera:image_quality:active']);
  expect(site.word()).toBe('armed_away');
  expect(Object.keys(site.state.troubles)).toEqual([]);
});

it.each([
  ['hardware_fault', 'system'],
  ['network_fault', 'comm_fail'],
  ['storage_fault', 'storage'],
  ['video_loss', 'video_loss'],
] as const)('%s is a trouble %s with an end', (detection, trouble) => {
  const site = world();
  expect(site.kinds(site.sees('hall', detection))).toEqual([`trouble:${trouble}:active`]);
  expect(site.kinds(site.sees('hall', detection))).toEqual([]);
  expect(site.kinds(site.sees('hall', detection, { active: false }))).toEqual([`trouble:${trouble}:restored`]);
});

it('a reboot is something for the history of the site, and says what it is', () => {
  const site = world();
  const reboot = { pulse: true, item: 'reboot' } as const;
  const [event] = site.events(site.sees('hall', 'system', reboot));
  expect(event).toMatchObject({ class: 'camera', kind: 'system', detail: 'reboot', toCloud: false });
});

it("a camera's clock is a trouble with an end, but not by a clock of our own that is in doubt", () => {
  const site = world();
  const clock = (active: boolean) =>
    site.kinds(
      site.signal({ kind: 'trouble', source: { kind: 'camera', id: 'hall' }, trouble: 'clock', active, replay: false }),
    );
  site.clock = 'doubtful';
  expect(clock(true)).toEqual([]);
  site.clock = 'synced';
  expect(clock(true)).toEqual(['trouble:clock:active']);
  expect(clock(true)).toEqual([]);
  site.clock = 'doubtful';
  expect(clock(false)).toEqual(['trouble:clock:restored']);
});
