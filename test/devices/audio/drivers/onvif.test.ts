import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { createOnvifDriver, type OnvifOptions } from '#devices/audio/drivers/onvif.ts';
import { Secret } from '#lib/secret.ts';
import { never } from '#lib/wait.ts';
import { type BackchannelOptions, type BackchannelServer, startBackchannelServer } from './backchannel-server.ts';
import { driverContract } from './contract.ts';
import { openSockets } from './sockets.ts';
import { tone, toneDb } from './tone.ts';

const user = { username: 'siteward', password: 'correct horse' };
const credentials = () => ({ username: user.username, password: new Secret(user.password) });
const driverAt = (url: string, more: Partial<OnvifOptions> = {}) =>
  createOnvifDriver({ address: async () => url, login: { credentials: () => undefined }, ...more });

for (const encoding of ['ulaw', 'alaw'] as const)
  driverContract(`onvif, ${encoding}`, {
    ...{ paced: true, delivered: 'sent', failures: { die: 'connection_lost' } },
    format: { encoding, rate: 8000, channels: 1 },
    async make() {
      const server = await startBackchannelServer({ encoding, user });
      return {
        driver: driverAt(server.url(), { login: { credentials } }),
        missing: driverAt('rtsp://127.0.0.1:1/speaker0'),
        sounds: async () => server.sounds(),
        async heard() {
          // What is on its way to its file.
          await pause(100);
          return server.heard();
        },
        leftovers: openSockets,
        die: async () => server.kill(),
        freeze: async () => server.freeze(),
        close: () => server.stop(),
      };
    },
  });

let server: BackchannelServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});
const start = async (options: BackchannelOptions) => {
  server = await startBackchannelServer(options);
  return server;
};
const g711 = { encoding: 'ulaw', rate: 8000 } as const;

it('plays on 16 cameras at once', async () => {
  const speakers = 16;
  const { url, heard } = await start({ speakers, user });
  const all = Array.from({ length: speakers }, (_, speaker) => speaker);
  const played = all.map((speaker) => {
    const sound = tone({ ...g711, ms: 700, repeat: 3, gapMs: 400, tailMs: 1000, amplitude: 0.1 });
    return driverAt(url(speaker), { login: { credentials } }).play(sound, {
      signal: never(),
      onFirstSample: () => undefined,
    });
  });
  // All of them begin in one process at the other end; at the end of a session it throws away what it has not worked off.
  for (const result of await Promise.all(played)) expect(result).toEqual({ samples: 31_200, delivered: 'sent' });
  await pause(200);
  for (const speaker of all) {
    const { bursts, rmsDb } = heard(speaker);
    expect(bursts).toHaveLength(3);
    for (const { soundingMs } of bursts) expect(Math.abs(soundingMs - 700)).toBeLessThan(25);
    expect(Math.abs(rmsDb - toneDb(0.1))).toBeLessThan(0.3);
  }
});

it('plays packets of another length, with the same samples', async () => {
  const { url, heard } = await start({});
  const sound = tone({ ...g711, ms: 610 });
  await driverAt(url(), { packetMs: 60 }).play(sound, { signal: never(), onFirstSample: () => undefined });
  expect(Math.max(...sound.reads.map(({ from, to }) => to - from))).toBe(480);
  await pause(200);
  expect(Math.abs(heard().soundingMs - 610)).toBeLessThan(25);
});

it('tries a wrong password once, tells it, and names it nowhere', async () => {
  const { url } = await start({ user });
  const told = vi.fn();
  const wrong = () => ({ username: 'siteward', password: new Secret('wrong horse') });
  const driver = driverAt(url(), { login: { credentials: wrong, told } });
  const error = await driver.probe(never()).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ failure: 'auth' });
  expect(`${error}${JSON.stringify(error)}${(error as Error).stack}`).not.toContain('wrong horse');
  expect(told.mock.calls).toEqual([['refused']]);
  expect(await openSockets()).toEqual([]);
});
