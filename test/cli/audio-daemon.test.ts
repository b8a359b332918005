import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeWav } from '#devices/audio/wav.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import type { AudioMessageShown, PlaybackShown, SpeakerPlayback } from '#site/model/index.ts';
import { encoded, flacClaiming, wavOf } from '../devices/audio/library/fixtures.ts';
import { type Site, startSite } from '../harness/site.ts';
import { measureWav } from '../harness/sound.ts';
import { main, siteward } from './run-cli.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ { id: p1, name: Shop } ]
speakers:
  - { id: gate, name: Gate, driver: capture }
  - { id: hall, driver: capture }
  - { id: yard, driver: command, command: [sh, -c, "cat > /dev/null; exit 3"], probe: ["true"] }
  - { id: loft, driver: command, command: [there-is-no-such-program] }
  - { id: attic, driver: "null", enabled: false }
`,
  });
}, 120_000);
afterAll(() => site?.close());

const run = (...args: string[]) => siteward(['audio', ...args, '--socket', site.socket]);
const json = async <T>(...args: string[]) =>
  (await run(...args, '--json')).out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
const keys = async () => (await json<AudioMessageShown>('list')).map(({ key }) => key);
const status = async () => (await json<{ playbacks: PlaybackShown[]; speakers: object[] }>('status'))[0];
const library = () => readdirSync(join(site.folder, 'state', 'audio'));
const heard = (speaker: string) => {
  const folder = join(site.folder, 'state', 'speakers', speaker);
  const last = readdirSync(folder).sort().at(-1) ?? '';
  return measureWav(join(folder, last))[0];
};
const audited = async () =>
  (await siteward(['audit', 'show', '--json', '--socket', site.socket])).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { action?: string })
    .filter(({ action }) => action?.startsWith('audio_') === true);

/** A file below the site's folder. */
function file(name: string, bytes: Uint8Array | string): string {
  const path = join(site.folder, name);
  writeFileSync(path, bytes);
  return path;
}

describe('a sound file', () => {
  test('is imported, listed, played as it was asked, and removed; who did it is on record', async () => {
    const sound = file('Front gate.mp3', encoded('mp3', wavOf({ seconds: 1 })));
    const imported = await run('import', sound, '--language', 'en-US', '--category', 'announcement');
    expect(imported.err).toMatch(/^reading .*Front gate\.mp3 \([\d.]+ KiB\)\n$/);
    expect(imported).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^front-gate: Front gate, announcement, 1\.\d s\n$/),
    });
    expect(await json('import', sound, '--language', 'en-US', '--category', 'announcement')).toMatchObject([
      { key: 'front-gate', name: 'Front gate', language: 'en-US', category: 'announcement', source: 'imported' },
    ]);
    const { out } = await run('list');
    expect(out).toMatch(/^key +category +language +seconds +source +name/);
    expect(out).toMatch(/^front-gate +announcement +en-US +1\.\d +imported +Front gate$/m);
    expect(out).toMatch(/^test\.tone1k +test +zxx +1\.0 +builtin +Test tone$/m);

    const played = await run('play', 'front-gate', '--speakers', 'gate,hall', '--repeat', '2');
    expect(played).toMatchObject({ code: 0, err: '' });
    for (const speaker of ['gate', 'hall']) {
      expect(played.out).toMatch(new RegExp(`^${speaker} +playing$`, 'm'));
      expect(played.out).toMatch(new RegExp(`^${speaker} +completed +\\d\\.\\d s; heard`, 'm'));
      expect(heard(speaker)?.bursts).toHaveLength(2);
    }
    expect(played.out).toContain('Front gate was played on 2 speakers\n');

    expect(await run('remove', 'front-gate')).toMatchObject({ code: 0, out: 'message front-gate is removed\n' });
    expect(await keys()).not.toContain('front-gate');
    expect(library()).toEqual(['index.json']);
    const by = { client_id: 'control socket', target: 'message front-gate' };
    expect((await audited()).toReversed()).toMatchObject(
      ['import', 'import', 'play', 'remove'].map((action) => ({ action: `audio_${action}`, ...by })),
    );
  }, 60_000);

  test('takes the place of another one only where that is said', async () => {
    const sound = file('one.wav', wavOf());
    expect(await run('import', sound, '--key', 'mine')).toMatchObject({ code: 0 });
    const other = file('two.wav', wavOf({ hertz: 800 }));
    const again = await run('import', other, '--key', 'mine');
    expect(again).toMatchObject({ code: 65, out: '' });
    expect(again.err).toContain('there is a message mine already. Choose another key, or --replace (audio_refused)');
    expect(await run('import', other, '--key', 'mine', '--replace')).toMatchObject({ code: 0 });
    expect(await run('remove', 'mien')).toMatchObject({ code: 66, err: expect.stringContaining('did you mean mine?') });
    expect(await run('play', 'two', '--speakers', 'gate')).toMatchObject({ code: 0 });
    expect(await run('remove', 'two')).toMatchObject({ code: 0, out: 'message mine is removed\n' });
  }, 60_000);

  const cut = (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * 0.6));
  const square = Int16Array.from({ length: 48_000 }, (_, at) => (at % 100 < 50 ? 32_767 : -32_768));
  const playlist = '#EXTM3U\n#EXTINF:5,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n'.padEnd(4_000, '\n');

  test.each<[string, string, () => Uint8Array | string, RegExp]>([
    ['is cut off', 'a.flac', () => cut(encoded('flac')), /damaged|says it lasts/],
    ['is cut off, as mp3', 'a.mp3', () => cut(encoded('mp3')), /it says it lasts .* Get it again/],
    [
      'is another kind than it is called',
      'a.wav',
      () => encoded('mp3'),
      /called wav but is mp3\. Name it as what it is/,
    ],
    [
      'lasts ten hours',
      'a.flac',
      () => flacClaiming(encoded('flac'), 36_000 * 44_100),
      /lasts 36000 s; 120 s is the most/,
    ],
    ['is silent', 'a.wav', () => wavOf({ peak: 0 }), /taken: there is nothing to hear \(/],
    ['is cut off at full scale', 'a.wav', () => writeWav({ rate: 48_000, channels: 1, samples: square }), /distorted/],
    ['is too large', 'a.wav', () => Buffer.alloc(12_000_000, 1), /10 MB is the most. Cut it/],
    ['is a list of others', 'a.mp3', () => `ID3\x04\0\0\0\0\0\0${playlist}`, /damaged or something else/],
    ['is empty', 'a.wav', () => '', /it is empty/],
  ])(
    'is refused, and nothing is left of it, where it %s',
    async (_what, name, make, said) => {
      const before = { library: library(), keys: await keys() };
      const { code, out, err } = await run('import', file(name, make()));
      expect([code, out]).toEqual([65, '']);
      expect(err).toMatch(said);
      expect(err).toMatch(/\nsiteward: the sound file is not taken: .* \(audio_invalid\)\n$/);
      expect({ library: library(), keys: await keys() }).toEqual(before);
    },
    60_000,
  );

  test('is refused with the word that is wrong, or the file that cannot be read', async () => {
    const sound = file('words.wav', wavOf());
    const refused = async (...args: string[]) => {
      const { code, err } = await run('import', sound, ...args);
      return [code, err.split('\n').at(-2)];
    };
    expect(await refused('--language', 'english')).toEqual([
      65,
      'siteward: language: must be a language tag such as de-DE, or zxx where nobody speaks (audio_invalid)',
    ]);
    expect(await refused('--key', 'Über')).toEqual([
      65,
      'siteward: key: must be lower-case letters, digits, . _ -, such as front-gate; 1 to 64, the first a letter or digit (audio_invalid)',
    ]);
    expect(await refused('--key', 'alarm.siren')).toEqual([
      65,
      expect.stringContaining('alarm.siren is built in; --replace'),
    ]);
    expect(await refused('--name', 'x'.repeat(65))).toEqual([
      65,
      expect.stringContaining('name: must have at most 64'),
    ]);
    expect(await refused('--name', 'a\u001b[2Jb')).toEqual([65, expect.stringContaining('name: must be one line')]);
    expect(await refused('--category', 'music')).toEqual([2, expect.any(String)]);
    mkdirSync(join(site.folder, 'folder'), { recursive: true });
    expect(await run('import', join(site.folder, 'folder'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('it is a folder; name a file (file_unusable)'),
    });
    expect(await run('import', join(site.folder, 'nowhere.wav'), '--key', 'Über')).toMatchObject({
      code: 65,
      err: expect.stringMatching(/^siteward: key: must be/),
    });
    expect(await run('import', join(site.folder, 'nowhere.wav'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no such file or folder (file_unusable)'),
    });
  }, 60_000);

  test('of somebody who is gone in the middle leaves nothing behind, and holds up nobody', async () => {
    const before = { library: library(), keys: await keys() };
    const sound = wavOf({ seconds: 60 });
    for (let count = 0; count < 6; count += 1) {
      const target = { socketPath: site.socket, path: '/api/v1/audio/messages?name=half', method: 'POST' };
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(sound.length) };
      const call = request({ ...target, headers, agent: false });
      const closed = new Promise((resolve) => call.once('close', resolve).on('error', () => {}));
      await new Promise((resolve) => call.write(sound.subarray(0, sound.length / 2), resolve));
      call.destroy();
      await closed;
    }
    expect(await run('import', file('whole.wav', wavOf()), '--key', 'whole')).toMatchObject({ code: 0 });
    expect(await run('remove', 'whole')).toMatchObject({ code: 0 });
    expect({ library: library(), keys: await keys() }).toEqual(before);
    expect(site.daemon.lines().filter((line) => line.includes('a request of the LAN API failed'))).toEqual([]);
  }, 60_000);
});

describe('a message', () => {
  test.each<[string, readonly string[], number, string]>([
    ['volume', ['alarm.siren', '--volume', '70.5'], 2, '--volume'],
    ['no volume', ['alarm.siren', '--volume', ''], 2, '--volume'],
    ['repeat', ['alarm.siren', '--repeat', '0'], 2, '--repeat'],
    ['no speakers', ['alarm.siren', '--speakers', ''], 2, '--speakers'],
    [
      'a message',
      ['nothing'],
      66,
      'there is no message "nothing". "siteward audio list" shows the keys (audio_unknown)',
    ],
    ['a slip', ['alarm.sirne'], 66, '"alarm.sirne"; did you mean alarm.siren? "siteward audio list" shows the keys'],
    [
      'a speaker that is near',
      ['alarm.siren', '--speakers', 'gaet'],
      66,
      'no speaker gaet; did you mean gate? "siteward audio status" shows the speakers',
    ],
    [
      'a speaker',
      ['alarm.siren', '--speakers', 'gate,cellar'],
      66,
      'there is no speaker cellar. "siteward audio status" shows the speakers (audio_unknown)',
    ],
    ['a speaker that is off', ['alarm.siren', '--speakers', 'attic'], 66, 'speaker attic is not used'],
  ])('is not played where the request is wrong: %s', async (_what, args, code, said) => {
    const before = await status();
    expect(await run('play', ...args)).toMatchObject({ code, out: '', err: expect.stringContaining(said) });
    expect((await status())?.playbacks).toEqual(before?.playbacks);
  });

  test.each<[string, object]>([
    ['volume', { volume: 70.5 }],
    ['repeat', { repeat: 0 }],
    ['target_devices', { target_devices: [] }],
    ['volumne', { volumne: 3 }],
  ])('asked for on the socket is refused with the field: %s', async (field, more) => {
    const answer = await post('/api/v1/audio/playbacks', { audio_message_id: 'test.tone1k', ...more });
    expect(answer).toMatchObject({ status: 400, code: 'request_invalid' });
    expect(JSON.stringify(answer.errors)).toContain(field);
  });

  test('what is no file, or has no name, is not imported over the socket', async () => {
    const noFile = await post('/api/v1/audio/messages?name=x', {});
    expect(noFile).toMatchObject({ status: 400, errors: [{ field: 'content-type' }] });
    expect(await post('/api/v1/audio/messages', {})).toMatchObject({ status: 400, errors: [{ field: 'name' }] });
  });

  test('that fails on a speaker says why and what to do, and ends with 1', async () => {
    const played = await run('play', 'test.tone1k', '--speakers', 'gate,yard');
    expect(played).toMatchObject({ code: 1, err: '' });
    expect(played.out).toMatch(/^gate +completed/m);
    expect(played.out).toMatch(
      /^yard +failed +(\d\.\d s; )?device_error: it failed, .*\n {2}→ read its own log; play the test tone$/m,
    );
    expect(played.out).toContain('Test tone was played on 1 of 2 speakers: 1 failed\n');
    const { out } = await run('status');
    expect(out).toMatch(/^ {2}gate +Gate +capture +up/m);
    expect(out).toMatch(/^ {2}loft +command +DOWN +there is no program/m);
    expect(out).toMatch(/^ {2}attic +null +not used/m);
    expect(out).toMatch(/^ {2}\S+Z +\S+ +failed +test\.tone1k +test +local +gate completed, yard device_error$/m);
  }, 60_000);

  test('is ended by Ctrl-C, and nothing else is', async () => {
    const [other] = await json<PlaybackShown>('play', 'test.sweep', '--speakers', 'hall', '--repeat', '5', '--no-wait');
    const child = spawn(process.execPath, [
      ...[main, 'audio', 'play', 'alarm.siren', '--speakers', 'gate', '--repeat', '5'],
      ...['--socket', site.socket],
    ]);
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    child.stdout.on('data', (bytes) => {
      out += bytes;
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await eventually('it plays', async () => out.includes('playing') || undefined);
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    expect(out).toMatch(
      /^gate +cancelled +\d\.\d s; user: somebody cancelled it\nSiren was played on 0 of 1 speaker: 1 cancelled\n$/m,
    );
    const playbacks = (await status())?.playbacks;
    expect(playbacks?.[0]).toMatchObject({ audio_message_id: 'alarm.siren', status: 'cancelled' });
    expect(playbacks?.find(({ playback_id }) => playback_id === other?.playback_id)).toMatchObject({
      status: 'playing',
    });
    expect(await run('stop', other?.playback_id ?? '')).toMatchObject({
      code: 0,
      out: expect.stringContaining(': cancelled'),
    });
  }, 60_000);

  test('that plays is not removed, nor is one that is built in', async () => {
    expect(await run('import', file('long.wav', wavOf({ seconds: 20 })))).toMatchObject({ code: 0 });
    expect(await run('play', 'long', '--speakers', 'gate', '--no-wait')).toMatchObject({ code: 0 });
    expect(await run('remove', 'long')).toMatchObject({
      code: 65,
      err: 'siteward: message long is being played or waits for it. Stop it first (audio_refused)\n',
    });
    const [stopped] = await json<PlaybackShown>('stop', '--category', 'custom');
    expect(stopped).toMatchObject({ status: 'cancelled', audio_message_id: 'long' });
    expect(await run('remove', 'long')).toMatchObject({ code: 0 });
    expect(await run('remove', 'alarm.siren')).toMatchObject({
      code: 65,
      err: 'siteward: message alarm.siren is built in and is not removed (audio_refused)\n',
    });
    expect(await run('remove', 'long')).toMatchObject({ code: 66, err: expect.stringContaining('(audio_unknown)') });
  }, 60_000);
});

describe('what plays', () => {
  test('is stopped by speaker and for all; alarms only where that is said', async () => {
    const [siren] = await json<PlaybackShown>(
      'play',
      'alarm.siren',
      '--speakers',
      'gate,hall',
      '--repeat',
      '5',
      '--no-wait',
    );
    const spared = await run('stop', '--speaker', 'gate');
    expect(spared).toMatchObject({ code: 0, out: '' });
    expect(spared.err).toBe(`siteward: Siren (${siren?.playback_id}) goes on: say --alarms to end it, too\n`);
    expect(await run('stop', '--category', 'alarm')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--alarms'),
    });
    const stopped = await run('stop', '--speaker', 'gate', '--alarms');
    expect(stopped).toMatchObject({ code: 0, out: `Siren (${siren?.playback_id}) on gate: cancelled\n` });
    const devices = (await status())?.playbacks[0]?.devices;
    expect(devices?.map((device) => device.status)).toEqual(['cancelled', 'playing']);
    expect(await run('stop', '--all')).toEqual({ ...spared, out: '' });
    const all = await run('stop', '--all', '--alarms');
    expect(all).toMatchObject({ code: 0, err: '', out: expect.stringContaining('cancelled') });
    expect(await run('stop', '--all')).toMatchObject({ code: 0, err: '', out: 'nothing was playing\n' });
  }, 60_000);

  test.each<[readonly string[], number, string]>([
    [[], 2, 'say one of'],
    [['--all', '--speaker', 'gate'], 2, 'say one of'],
    [['--speaker', 'cellar'], 66, 'there is no speaker cellar (audio_unknown)'],
    [['nothing-of-this-id'], 66, 'there is no playback nothing-of-this-id (audio_unknown)'],
  ])('is not stopped by %j', async (args, code, said) => {
    expect(await run('stop', ...args)).toMatchObject({ code, out: '', err: expect.stringContaining(said) });
  });
});

describe('the test tone', () => {
  test('is heard on one speaker after the other, quietly, and what to do is said where it is not', async () => {
    const tested = await json<SpeakerPlayback & { advice?: string }>('test', 'gate', 'hall', 'yard');
    expect(tested).toMatchObject([
      { device_id: 'gate', status: 'completed', delivered: 'heard' },
      { device_id: 'hall', status: 'completed', delivered: 'heard' },
      { device_id: 'yard', status: 'failed', reason: 'device_error', advice: 'read its own log; play the test tone' },
    ]);
    const [gate, hall] = tested;
    expect(Date.parse(hall?.started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(gate?.ended_at ?? 'x'));
    // 12 dB below full scale as it is, 24 dB for volume 40, 3 dB of a sine.
    expect(heard('hall')?.rmsDb).toBeCloseTo(-39, 0);
    const all = await run('test');
    expect(all.code).toBe(1);
    expect(all.out).toMatch(
      /^gate .*\nhall .*\nyard +failed .*\n(?: {2}it has failed .*\n)? {2}→ .*\nloft +failed .*\n {2}there is no program there-is-no-such-program\n {2}→ /,
    );
    expect(all.out).not.toContain('attic');
    const one = await run('test', 'gate', '--volume', '60');
    expect(one).toMatchObject({ code: 0, out: expect.stringMatching(/^gate +completed +1\.\d s; heard/) });
    expect(heard('gate')?.rmsDb).toBeCloseTo(-28.3, 0);
  }, 60_000);

  test('is played nowhere where one that is named is not there', async () => {
    const before = await status();
    expect(await run('test', 'gate', 'cellar')).toMatchObject({
      code: 66,
      out: '',
      err: expect.stringContaining('cellar'),
    });
    expect(await run('test', 'attic')).toMatchObject({ code: 66, err: expect.stringContaining('is not used') });
    expect((await status())?.playbacks).toEqual(before?.playbacks);
  });
});

test('without a daemon each verb says so', async () => {
  const nowhere = ['--socket', join(site.folder, 'nobody.sock')];
  for (const args of [['list'], ['status'], ['play', 'x'], ['test'], ['stop', '--all'], ['remove', 'x']])
    expect(await siteward(['audio', ...args, ...nowhere])).toMatchObject({
      code: 69,
      err: expect.stringContaining('Is siteward running?'),
    });
}, 60_000);

interface Posted {
  readonly status: number;
  readonly code?: string;
  readonly errors?: unknown;
}

function post(path: string, body: object): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const call = request({ socketPath: site.socket, path, method: 'POST', headers, agent: false }, (answer) => {
      let text = '';
      answer.on('data', (bytes) => {
        text += bytes;
      });
      answer.on('end', () => resolve({ ...(JSON.parse(text) as object), status: answer.statusCode ?? 0 }));
    });
    call.on('error', reject).end(JSON.stringify(body));
  });
}
