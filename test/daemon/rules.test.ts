import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '#lib/clock.ts';
import type { Command, CommandResult, PlaybackShown, Signal } from '#site/model/index.ts';
import { measureWav } from '../harness/sound.ts';
import { until } from '../lan/mqtt/harness.ts';
import { type AudioSite, audioSite, heardFiles } from './audio-rig.ts';

const zones = `panels:
  - id: main
    profile: pai
    zones:
      "1": { type: perimeter, partition: p1, name: Window, chime: true }
      "2": { type: perimeter, partition: p2, name: Gate }
      "7": { type: fire, partition: p1, name: Smoke }
      "8": { type: panic_audible, partition: p1, name: Help }
      "9": { type: panic_silent, partition: p1, name: Button }
speakers:
  - { id: gate, driver: capture }
  - { id: barn, driver: capture, partitions: [p2] }
`;
const siren = 'play: { message: alarm.siren, repeat: 5 }';
const intrusion = `rules: [ { id: intrusion, on: { kind: burglary_perimeter, armed: [away] }, ${siren} } ]\n`;

async function started(yaml: string, clock?: Clock): Promise<AudioSite & { readonly dir: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-rules-'));
  const site = audioSite(dir, clock === undefined ? {} : { clock });
  onTestFinished(async () => {
    await site.slots.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  await site.start(`${zones}${yaml}`);
  await signals(site, { kind: 'link', source, layer: 'bridge', up: true });
  for (const zone of ['1', '2', '7', '8', '9']) await open(site, zone, false);
  return { ...site, dir };
}

const source = { kind: 'panel', id: 'main' } as const;
const signals = async ({ house }: AudioSite, ...all: Signal[]) => house.controller?.signals(all);
const open = (site: AudioSite, zone: string, is = true) =>
  signals(site, { kind: 'zone', source, zone, open: is, replay: false });

function command(
  { house }: AudioSite,
  verb: Command['verb'],
  code: Command['code'] = 'ok',
  partition = 'p1',
): Promise<CommandResult> {
  return new Promise((resolve) =>
    house.controller?.submit(
      {
        ...{ id: randomUUID(), verb, partition, issuedAt: Date.now(), source: 'lan', client: 'keypad' },
        ...{ actor: 'user anna', code, bodyHash: randomUUID() },
        ...(verb === 'arm' && { mode: 'away' as const, skipExitDelay: true }),
      },
      (result) => {
        if (result.final) resolve(result);
      },
    ),
  );
}

const byRule = ({ port }: AudioSite, rule: string) =>
  port.playbacks().filter(({ requested_by }) => requested_by === `rule:${rule}`);
const sounding = (site: AudioSite, rule: string): Promise<PlaybackShown> =>
  until(() => byRule(site, rule).find(({ status }) => status === 'playing'), `the sound of ${rule}`);
const ended = (site: AudioSite, rule: string): Promise<PlaybackShown> =>
  until(
    () => byRule(site, rule).find(({ status }) => status !== 'queued' && status !== 'playing'),
    `the end of ${rule}`,
  );
const figures = async ({ slots }: AudioSite) =>
  (await slots.metrics()).split('\n').filter((line) => line.startsWith('siteward_audio_'));

describe('a rule on a burglary', () => {
  it('sounds where it was, until the disarm; and not where nothing is armed', async () => {
    const site = await started(intrusion);
    await open(site, '1');
    expect(site.port.playbacks()).toEqual([]);
    await open(site, '1', false);
    await command(site, 'arm');
    await open(site, '1');
    const playing = await sounding(site, 'intrusion');
    expect(playing).toMatchObject({ category: 'alarm', devices: [{ device_id: 'gate' }], repeat: 5 });
    await command(site, 'disarm');
    const end = await ended(site, 'intrusion');
    expect(end).toMatchObject({ status: 'cancelled', devices: [{ reason: 'disarmed' }] });
    const [file = ''] = heardFiles(site.dir, 'gate');
    // Of the samples of five times three seconds, however long they took.
    const heardMs = measureWav(file)[0]?.lengthMs ?? 0;
    expect(heardMs).toBeGreaterThan(0);
    expect(heardMs).toBeLessThan(15_000);
    expect(heardFiles(site.dir, 'barn')).toEqual([]);
  });

  it('cools down for its incident, is ready again after silence, and for the next incident', async () => {
    const site = await started(`${intrusion}arming: { swinger_trips: 0 }\n`);
    await command(site, 'arm');
    await open(site, '1');
    await sounding(site, 'intrusion');
    await open(site, '1', false);
    await open(site, '1');
    expect(byRule(site, 'intrusion')).toHaveLength(1);
    expect(await site.slots.metrics()).toMatch(/siteward_audio_rules_total\{outcome="cooling"\} [1-9]/);
    await command(site, 'silence');
    await open(site, '1', false);
    await open(site, '1');
    expect(byRule(site, 'intrusion')).toHaveLength(2);
    await command(site, 'disarm');
    await open(site, '1', false);
    await command(site, 'arm');
    await open(site, '1');
    expect(byRule(site, 'intrusion')).toHaveLength(3);
  });

  it('is heard in another partition at the same time', async () => {
    const site = await started(intrusion);
    for (const partition of ['p1', 'p2']) await command(site, 'arm', 'ok', partition);
    await open(site, '1');
    await open(site, '2');
    await until(() => byRule(site, 'intrusion').length === 2, 'both sounds');
    const speakers = byRule(site, 'intrusion').map(({ devices }) => devices.map(({ device_id }) => device_id));
    expect(speakers).toEqual([['gate', 'barn'], ['gate']]);
  });
});

it.each(['disarm', 'silence'] as const)('%s ends a siren that a rule plays where nothing is armed', async (verb) => {
  const site = await started(`rules: [ { id: door, on: { kind: chime }, ${siren} } ]\n`);
  await open(site, '1');
  await sounding(site, 'door');
  expect(await command(site, verb)).toMatchObject({ outcome: 'already' });
  expect(await ended(site, 'door')).toMatchObject({ status: 'cancelled', devices: [{ reason: 'disarmed' }] });
});

describe('a start', () => {
  it('plays nothing of what was, nor of what a panel tells anew; the next intrusion is heard', async () => {
    const site = await started(intrusion);
    await command(site, 'arm');
    await open(site, '1');
    await sounding(site, 'intrusion');
    await site.slots.stop();
    const before = heardFiles(site.dir, 'gate').length;

    const next = audioSite(site.dir);
    onTestFinished(() => next.slots.stop());
    await next.start(`${zones}${intrusion}`);
    await signals(next, { kind: 'link', source, layer: 'bridge', up: true });
    await signals(next, { kind: 'zone', source, zone: '1', open: true, replay: true });
    await signals(next, { kind: 'zone', source, zone: '1', open: false, replay: true });
    expect(byRule(next, 'intrusion').map(({ status }) => status)).toEqual(['failed']);
    expect(heardFiles(site.dir, 'gate')).toHaveLength(before);
    await open(next, '1');
    await sounding(next, 'intrusion');
  });
});

describe('rules on life safety (safety 1)', () => {
  const fire = `rules: [ { id: fire, on: { kind: fire }, cool_down: 24h, ${siren} }, { id: call, on: { kind: panic }, ${siren} } ]\n`;

  it('sound on every speaker however it is armed, cut all else, and no disarm ends them', async () => {
    const site = await started(fire);
    await open(site, '8');
    await sounding(site, 'call');
    await open(site, '7');
    const playing = await sounding(site, 'fire');
    expect(playing.devices.map(({ device_id }) => device_id)).toEqual(['gate', 'barn']);
    // One speaker may stop a moment after the other.
    await until(() => byRule(site, 'call')[0]?.status === 'queued', 'the end of all else');
    await command(site, 'arm');
    await command(site, 'disarm');
    expect(byRule(site, 'fire')[0]?.status).toBe('playing');
  });

  it('sound for another fire whatever the time to cool down is', async () => {
    const site = await started(fire);
    await open(site, '7');
    await sounding(site, 'fire');
    await open(site, '7', false);
    await open(site, '7');
    expect(byRule(site, 'fire')).toHaveLength(2);
  });
});

describe('silent hold-up and duress (safety 4)', () => {
  /** One rule for each class: whatever can be heard is. */
  const every = `rules: [ ${['alarm', 'trouble', 'arming', 'system', 'camera', 'command', 'bypass', 'test']
    .map((of) => `{ id: ${of}, on: { class: ${of} }, cool_down: 0s, play: { message: test.tone1k } }`)
    .join(', ')} ]\n`;

  it('make no sound, no playback and no figure', async () => {
    const site = await started(every);
    const before = { playbacks: site.port.playbacks(), figures: await figures(site) };
    await open(site, '9');
    await new Promise<CommandResult>((resolve) =>
      site.house.controller?.panic({ id: 'call-1', kind: 'silent', source: 'lan', client: 'keypad' }, resolve),
    );
    await open(site, '9', false);
    expect({ playbacks: site.port.playbacks(), figures: await figures(site) }).toEqual(before);
    expect(heardFiles(site.dir, 'gate')).toEqual([]);
    // The rules were ready for it.
    await open(site, '7');
    await sounding(site, 'alarm');
  });

  it.each(['ok', 'duress'] as const)('a disarm with %s is heard as any other', async (code) => {
    const site = await started(every);
    await command(site, 'arm');
    await command(site, 'disarm', code);
    expect(byRule(site, 'arming')).toHaveLength(2);
    expect(byRule(site, 'alarm')).toEqual([]);
  });
});

describe('other rules', () => {
  it('greet, remind and announce, by what happens and how it is armed', async () => {
    const site = await started(`schedules: []
rules:
  - { id: door, on: { kind: chime, armed: [disarmed] }, play: { message: announcement.chime, speakers: [barn] } }
  - { id: words, on: { kind: announcement }, play: { message: announcement.chime } }
  - { id: never, on: { kind: chime, armed: [away] }, play: { message: announcement.chime } }
`);
    await open(site, '1');
    const end = await ended(site, 'door');
    expect(end).toMatchObject({ status: 'completed', category: 'announcement', devices: [{ device_id: 'barn' }] });
    expect(byRule(site, 'never')).toEqual([]);
  });

  it('tell in health which message is missing, and play it once it is there', async () => {
    const on = 'on: { kind: burglary_perimeter }';
    const site = await started(
      `rules: [ { id: window, ${on}, play: { message: ours } } ]\narming: { swinger_trips: 0 }\n`,
    );
    const health = () => site.slots.health().find(({ name }) => name === 'audio');
    expect(health()).toMatchObject({
      state: 'degraded',
      reason: 'rule window: there is no message "ours"; import it, or correct the rule',
    });
    await command(site, 'arm');
    await open(site, '1');
    expect(site.port.playbacks()).toEqual([]);
    expect(await site.slots.metrics()).toContain('siteward_audio_rules_total{outcome="unknown_message"} 1');
    await site.reload(
      `${zones}rules: [ { id: window, ${on}, play: { message: alarm.siren } } ]\narming: { swinger_trips: 0 }\n`,
    );
    expect(health()).toMatchObject({ state: 'ok' });
    await open(site, '1', false);
    await open(site, '1');
    await sounding(site, 'window');
  });

  it('of life safety sound the siren on all speakers where message and speakers are gone, and health says so', async () => {
    const off = zones.replace('driver: capture }', 'driver: capture, enabled: false }');
    const site = await started('');
    await site.reload(`${off}rules: [ { id: fire, on: { kind: fire }, play: { message: ours, speakers: [gate] } } ]\n`);
    expect(site.slots.health().find(({ name }) => name === 'audio')).toMatchObject({
      state: 'degraded',
      reason: expect.stringMatching(/rule fire: there is no message "ours".*rule fire: none of its speakers is used/),
    });
    await open(site, '7');
    expect(await sounding(site, 'fire')).toMatchObject({
      audio_message_id: 'alarm.siren',
      devices: [{ device_id: 'barn' }],
    });
  });
});

describe('the test of the speakers', () => {
  const { signal } = new AbortController();

  it('plays a quiet tone on each, and says what came of it', async () => {
    const site = await started('');
    expect(await site.port.selfTest('local', signal)).toEqual([
      { device_id: 'gate', ok: true },
      { device_id: 'barn', ok: true },
    ]);
    const [heard] = measureWav(heardFiles(site.dir, 'gate')[0] ?? '');
    // 1 kHz at -12 dB of full scale, at 20 %: 42 dB less, and 3 dB from peak to mean.
    expect(heard?.rmsDb).toBeCloseTo(-57, 0);
    expect(await site.slots.metrics()).toContain('siteward_audio_self_test_ok{speaker="gate"} 1');
    const entries = (await site.house.store?.audit({ limit: 5 })) ?? [];
    expect(entries.find(({ action }) => action === 'audio_self_test')).toMatchObject({
      ...{ source: 'cli', target: 'speakers', after: '2 tested, failed: none' },
    });
  });

  it('makes a speaker that fails a trouble, until it plays', async () => {
    const site = await started('audio: { self_test: off }\n');
    await site.reload(
      `${zones}  - { id: yard, driver: command, command: ["false"], probe: ["true"] }\nsupervision: { cameras: { report_after: 0s } }\n`,
    );
    await until(() => site.port.speakers().every(({ up }) => up === true), 'the first word of each');
    const results = await site.port.selfTest('local', signal);
    expect(results).toMatchObject([
      { ok: true },
      { ok: true },
      { device_id: 'yard', ok: false, reason: 'device_error' },
    ]);
    await until(() => site.house.controller?.view().troubles.length === 1, 'the trouble');
    expect(site.house.controller?.view().troubles).toMatchObject([
      { kind: 'device_offline', source: { kind: 'speaker', id: 'yard' } },
    ]);
    expect(site.slots.health().find(({ name }) => name === 'audio')?.reason).toContain(
      'speaker yard did not play its test tone: device_error',
    );
    expect(await site.slots.metrics()).toContain('siteward_audio_self_test_ok{speaker="yard"} 0');
  });

  it('counts until the speaker plays something to its end, whatever that is', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-rules-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const well = join(dir, 'well');
    // A sound card has some of the sound still to play when it has it all.
    const site = await started('');
    await site.reload(
      `${zones}  - { id: yard, driver: command, command: [sh, -c, "test -e ${well} && cat >${dir}/heard && sleep 0.3"], probe: ["true"] }\n`,
    );
    const about = () => site.slots.health().find(({ name }) => name === 'audio')?.reason ?? '';
    expect(await site.port.selfTest('local', signal)).toMatchObject([{ ok: true }, { ok: true }, { ok: false }]);
    expect(about()).toContain('speaker yard did not play its test tone');
    writeFileSync(well, '');
    await site.port.play({ audio_message_id: 'alarm.siren', target_devices: ['yard'] }, 'local', signal);
    await until(() => !about().includes('test tone'), 'the word of the siren');
    expect(await site.slots.metrics()).toContain('siteward_audio_self_test_ok{speaker="yard"} 1');
  });

  it('leaves out a speaker in its quiet hours, which is no failure', async () => {
    const site = await started('');
    const quiet = 'quiet_hours: [ { from: "00:00", to: "12:00" }, { from: "12:00", to: "00:00" } ]';
    await site.reload(`${zones}  - { id: night, driver: capture, ${quiet} }\n`);
    expect(await site.port.selfTest('local', signal)).toEqual([
      { device_id: 'gate', ok: true },
      { device_id: 'barn', ok: true },
      { device_id: 'night', ok: null, reason: 'quiet_hours' },
    ]);
    expect(site.slots.health().find(({ name }) => name === 'audio')).toMatchObject({ state: 'ok' });
    expect(await site.slots.metrics()).not.toContain('siteward_audio_self_test_ok{speaker="night"}');
  });

  it('is refused while an alarm goes on', async () => {
    const site = await started('');
    await open(site, '7');
    await expect(site.port.selfTest('local', signal)).rejects.toMatchObject({ code: 'audio_refused' });
    expect(site.port.playbacks()).toEqual([]);
  });
});

describe('by the clock', () => {
  /** Tuesday, 1 December 2026, 11:00 in Berlin. */
  const eleven = Date.UTC(2026, 11, 1, 10);
  const inMs = (ms: number): Clock => {
    const offset = eleven - ms - Date.now();
    return { ...systemClock(), wall: () => Date.now() + offset };
  };
  const times = `schedules:
  - { id: closing, days: [daily], at: "11:00", announce: { message: "We close" } }
  - { id: night, days: [daily], at: "11:04", arm: { partitions: [p1] } }
rules:
  - { id: now, at: "11:00", days: [tue], play: { message: announcement.chime, speakers: [gate] } }
  - { id: other, at: "11:00", days: [wed], play: { message: announcement.chime } }
  - { id: words, on: { kind: announcement }, play: { message: announcement.chime, speakers: [barn] } }
  - { id: soon, on: { kind: auto_arm_warning }, play: { message: announcement.chime, speakers: [barn] } }
`;

  it('plays at its time, tests the speakers on the first working day, and says what schedules announce', async () => {
    const clock = inMs(8_000);
    const site = await started(times, clock);
    expect(site.port.playbacks()).toEqual([]);
    // As at each start: what lies before it is over.
    await site.house.controller?.tick();
    const done = await ended(site, 'now');
    expect(done).toMatchObject({ status: 'completed', devices: [{ device_id: 'gate' }] });
    expect(Date.parse(done.created_at)).toBeGreaterThanOrEqual(eleven);
    expect(byRule(site, 'other')).toEqual([]);
    await site.house.controller?.tick();
    expect(await ended(site, 'words')).toMatchObject({ status: 'completed' });
    expect(await ended(site, 'soon')).toMatchObject({ status: 'completed' });
    await until(
      async () => (await site.slots.metrics()).includes('siteward_audio_self_test_ok{speaker="gate"} 1'),
      'the test of the month',
    );
    const tests = site.port.playbacks().filter(({ requested_by }) => requested_by === 'schedule:self_test');
    expect(tests).toMatchObject([
      { category: 'test', volume: 20, devices: [{ device_id: 'gate' }, { device_id: 'barn' }] },
    ]);
    const entries = (await site.house.store?.audit({ limit: 20 })) ?? [];
    expect(entries.find(({ action }) => action === 'audio_self_test')).toMatchObject({
      ...{ source: 'schedule', actor_ref: 'self_test', after: '2 tested, failed: none' },
    });
  });

  it('makes up nothing that was missed, nor tests while an alarm goes on', async () => {
    const late = await started(times, inMs(-500));
    const early = await started(times, inMs(8_000));
    await open(early, '7');
    await ended(early, 'now');
    for (const { port } of [late, early])
      expect(port.playbacks().filter(({ requested_by }) => requested_by === 'schedule:self_test')).toEqual([]);
    expect(late.port.playbacks()).toEqual([]);
  });
});
