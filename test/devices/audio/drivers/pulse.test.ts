import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createPlayers } from '#devices/audio/drivers/child.ts';
import { createPulseDriver } from '#devices/audio/drivers/pulse.ts';
import { never } from '#lib/wait.ts';
import { playersRunning } from './alsa-device.ts';
import { driverContract } from './contract.ts';
import { joined } from './heard.ts';
import { type PulseServer, startPulseServer } from './pulse-server.ts';
import { tone, toneDb } from './tone.ts';

driverContract('pulse', {
  ...{ paced: true, delivered: 'heard', failures: { die: 'connection_lost' } },
  async make() {
    const pulse = await startPulseServer({ sinks: ['gate'] });
    const recording = await pulse.record('gate');
    const { server } = pulse;
    const players = createPlayers();
    return {
      driver: createPulseDriver({ sink: 'gate', server, players }),
      missing: createPulseDriver({ sink: 'nowhere', server, players }),
      sounds: async () => recording.sounds(),
      heard: async () => joined([await recording.heard()]),
      leftovers: async () => playersRunning(),
      die: async () => pulse.signal('SIGKILL'),
      freeze: async () => pulse.signal('SIGSTOP'),
      close: () => pulse.stop(),
    };
  },
});

describe('driver pulse', () => {
  let pulse: PulseServer | undefined;
  afterEach(async () => {
    await pulse?.stop();
    pulse = undefined;
    expect(playersRunning()).toEqual([]);
  });
  async function start(options: Parameters<typeof startPulseServer>[0] = { sinks: ['gate'] }) {
    pulse = await startPulseServer(options);
    return { pulse, driver: createPulseDriver({ sink: 'gate', server: pulse.server, players: createPlayers() }) };
  }
  function play(driver: ReturnType<typeof createPulseDriver>, ms: number) {
    const begun = Promise.withResolvers<void>();
    const onFirstSample = vi.fn(() => begun.resolve());
    const stop = new AbortController();
    const played = driver.play(tone({ ms }), { signal: stop.signal, onFirstSample });
    played.catch(() => undefined);
    return { played, begun: begun.promise, onFirstSample, stop: () => stop.abort() };
  }

  it('never lets another speaker have the sound of one that went away', async () => {
    const { pulse, driver } = await start({ sinks: ['gate', 'office'], rescue: true });
    const office = await pulse.record('office');
    const { played, begun } = play(driver, 10_000);
    await begun;
    await pause(500);
    const [module = ''] = (await pulse.pactl('list', 'short', 'modules'))
      .split('\n')
      .filter((line) => line.includes('sink_name=gate'));
    await pulse.pactl('unload-module', module.split('\t')[0] ?? '');
    await expect(played).rejects.toMatchObject({ failure: 'not_found', message: expect.stringContaining('gate') });
    // What the server held of it at most.
    expect(joined([await office.heard()]).soundingMs).toBeLessThan(1000);
    await expect(driver.probe(never())).rejects.toMatchObject({ failure: 'not_found' });
  });

  it('fails where the stream was moved by hand', async () => {
    const { pulse, driver } = await start({ sinks: ['gate', 'office'] });
    const { played, begun } = play(driver, 10_000);
    await begun;
    const inputs = await pulse.pactl('list', 'short', 'sink-inputs');
    await pulse.pactl('move-sink-input', inputs.split('\t')[0] ?? '', 'office');
    await expect(played).rejects.toMatchObject({ failure: 'not_found' });
  });

  it('fails where the sink goes away and the server ends the stream', async () => {
    const { pulse, driver } = await start();
    const { played, begun } = play(driver, 10_000);
    await begun;
    await pulse.pactl('unload-module', 'module-null-sink');
    await expect(played).rejects.toMatchObject({ failure: 'not_found' });
  });

  it('does not begin on a sink that is suspended', async () => {
    const { pulse, driver } = await start();
    await pulse.pactl('suspend-sink', 'gate', '1');
    const { played, onFirstSample } = play(driver, 300);
    await expect(played).rejects.toMatchObject({ failure: 'busy' });
    expect(onFirstSample).not.toHaveBeenCalled();
  });

  it('gives up a sink that is suspended while it plays, and goes on with one that comes back', async () => {
    const { pulse, driver } = await start();
    const recording = await pulse.record('gate');
    const first = play(driver, 1500);
    await first.begun;
    await pulse.pactl('suspend-sink', 'gate', '1');
    await pulse.pactl('suspend-sink', 'gate', '0');
    expect((await first.played).samples).toBe(72_000);
    expect(Math.abs(joined([await recording.heard()]).soundingMs - 1500)).toBeLessThan(150);
    const second = play(driver, 10_000);
    await second.begun;
    await pulse.pactl('suspend-sink', 'gate', '1');
    await expect(second.played).rejects.toMatchObject({ failure: 'busy' });
  });

  it('fails on a sink that is muted, or whose volume is zero', async () => {
    const { pulse, driver } = await start();
    await pulse.pactl('set-sink-mute', 'gate', '1');
    for (const ask of [() => driver.probe(never()), () => play(driver, 300).played])
      await expect(ask()).rejects.toMatchObject({ failure: 'device_error', message: 'sink gate: it is muted' });
    await pulse.pactl('set-sink-mute', 'gate', '0');
    await pulse.pactl('set-sink-volume', 'gate', '0');
    await expect(play(driver, 300).played).rejects.toMatchObject({ message: 'sink gate: the volume of it is zero' });
    await pulse.pactl('set-sink-volume', 'gate', '70%');
    expect((await driver.probe(never())).detail).toContain('volume 70%');
    await pulse.pactl('set-sink-volume', 'gate', '4%');
    await expect(driver.probe(never())).rejects.toMatchObject({
      message: 'sink gate: the volume of it is 4 %, as good as muted',
    });
  });

  it.each([
    ['the sink is muted', 'set-sink-mute', '1', 'it is muted'],
    ['the sink is turned down', 'set-sink-volume', '1%', 'the volume of it is 1 %, as good as muted'],
    ['the stream is muted', 'set-sink-input-mute', '1', 'the stream of siteward is muted'],
    ['the stream is turned down', 'set-sink-input-volume', '0', 'the volume of the stream of siteward is zero'],
  ])('was not heard where it was begun well, and %s', async (_, order, value, what) => {
    const { pulse, driver } = await start();
    const seldom = /sink-input/.test(order);
    const { played, begun } = play(driver, seldom ? 20_000 : 2_000);
    await begun;
    await pause(300);
    const [stream = ''] = (await pulse.pactl('list', 'short', 'sink-inputs')).split('\t');
    await pulse.pactl(order, seldom ? stream : 'gate', value);
    await expect(played).rejects.toMatchObject({ failure: 'device_error', message: `sink gate: ${what}` });
  });

  it('is heard at full volume whatever a mixer remembers, and fails where it is muted there', async () => {
    const { pulse, driver } = await start();
    await pulse.pactl('load-module', 'module-stream-restore');
    const first = play(driver, 10_000);
    await first.begun;
    const [id = ''] = (await pulse.pactl('list', 'short', 'sink-inputs')).split('\t');
    await pulse.pactl('set-sink-input-volume', id, '30%');
    first.stop();
    await expect(first.played).rejects.toThrow();
    const recording = await pulse.record('gate');
    await play(driver, 600).played;
    expect(Math.abs(joined([await recording.heard()]).rmsDb - toneDb(0.5))).toBeLessThan(0.3);

    const second = play(driver, 10_000);
    await second.begun;
    const [other = ''] = (await pulse.pactl('list', 'short', 'sink-inputs')).split('\t');
    await pulse.pactl('set-sink-input-mute', other, '1');
    second.stop();
    await expect(second.played).rejects.toThrow();
    const message = 'sink gate: the stream of siteward is muted';
    await expect(play(driver, 600).played).rejects.toMatchObject({ failure: 'device_error', message });
  });

  it('plays where pactl tells nothing', async () => {
    const { pulse } = await start();
    const folder = join(pulse.folder, 'bin');
    mkdirSync(folder);
    writeFileSync(join(folder, 'pactl'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(folder, 'pactl'), 0o755);
    const players = createPlayers({ env: { PATH: `${folder}:${process.env.PATH}` } });
    const driver = createPulseDriver({ sink: 'gate', server: pulse.server, players });
    expect((await play(driver, 300).played).delivered).toBe('heard');
    await expect(driver.probe(never())).rejects.toMatchObject({ failure: 'device_error' });
  });

  it('tells that no server answers, and starts none', async () => {
    const server = 'unix:/nowhere/native';
    const driver = createPulseDriver({ sink: 'gate', server, players: createPlayers() });
    await expect(driver.probe(never())).rejects.toMatchObject({ failure: 'connection_lost' });
    await expect(play(driver, 300).played).rejects.toMatchObject({ failure: 'connection_lost' });
  });

  it('gives up a server that is frozen, and plays when it is back', async () => {
    const { pulse, driver } = await start();
    pulse.signal('SIGSTOP');
    await expect(driver.probe(never())).rejects.toMatchObject({ failure: 'timeout' });
    await expect(play(driver, 300).played).rejects.toMatchObject({ failure: 'timeout' });
    pulse.signal('SIGCONT');
    expect((await play(driver, 300).played).delivered).toBe('heard');
  });

  it.each([
    ['ends well without a word', 'exit 0', 'device_error'],
    ['connects elsewhere', 'echo "Connected to device tv (index: 7, suspended: no)." >&2; cat >/dev/null', 'not_found'],
    ['may not connect', 'echo "Connection failure: Access denied" >&2; exit 1', 'auth'],
  ])('does not believe a player that %s', async (_, line, failure) => {
    const { pulse } = await start();
    const folder = join(pulse.folder, 'bin');
    mkdirSync(folder);
    writeFileSync(join(folder, 'paplay'), `#!/bin/sh\n${line}\n`);
    chmodSync(join(folder, 'paplay'), 0o755);
    const players = createPlayers({ env: { PATH: `${folder}:${process.env.PATH}` } });
    const driver = createPulseDriver({ sink: 'gate', server: pulse.server, players });
    const { played, onFirstSample } = play(driver, 300);
    await expect(played).rejects.toMatchObject({ failure });
    expect(onFirstSample).not.toHaveBeenCalled();
  });
});
