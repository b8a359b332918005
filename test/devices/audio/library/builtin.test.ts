import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { decibels, peakOf } from '#devices/audio/gain.ts';
import { type Builtin, builtinList, readBuiltins } from '#devices/audio/library/builtin.ts';
import { openLibrary } from '#devices/audio/library/library.ts';
import { loudness } from '#devices/audio/library/loudness.ts';
import { siren } from '#devices/audio/library/tones.ts';
import { audioCategories } from '#site/model/index.ts';
import { evened } from '../../../../tools/audio-level.ts';
import { buildAudioLibrary, checkDigests, digestList, targetLufs } from '../../../../tools/audio-library.ts';
import { rmsOf } from '../rms-of.ts';

let folder: string;
let lines: string[];
let builtins: Builtin[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-builtin-'));
  lines = await buildAudioLibrary(folder);
  builtins = (await readBuiltins(folder)).filter(({ message }) => message.language !== 'zxx');
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the built-in messages are made anew to the byte', () => {
  expect(lines).toEqual(readFileSync(digestList, 'utf8').trimEnd().split('\n'));
  checkDigests(lines);
  expect(() => checkDigests(lines.slice(1))).toThrow('some are missing');
  expect(() => checkDigests([`${'0'.repeat(64)}  alarm.intruder.en.wav`, ...lines.slice(1)])).toThrow(
    'alarm.intruder.en.wav',
  );
});

it('there is one of each category in each language; what nobody has checked says so', () => {
  for (const tag of ['en-US', 'de-DE']) {
    const of = builtins.filter(({ message }) => message.language === tag).map(({ message }) => message.category);
    expect([...new Set(of), 'custom'].sort()).toEqual([...audioCategories].sort());
  }
  for (const { message } of builtins) {
    expect(message.key).toMatch(new RegExp(`^${message.category}\\.[a-z]+\\.${message.language.slice(0, 2)}$`));
    expect(message.description.startsWith('Draft. ')).toBe(message.language === 'de-DE');
  }
});

it('none claims that somebody is coming, nor tells the arming state', () => {
  const claims =
    /polic|polizei|guard|wach|security|sicherheit|on (its|their|the) way|unterwegs|notif|verständigt|alarmed|arm(ed|ing)|scharf|recorded|aufgezeichnet/i;
  expect(builtins.map(({ message }) => message.description).filter((text) => claims.test(text))).toEqual([]);
});

it('each is one channel at 48 kHz, begins within a tenth of a second, is loud and lasts a few seconds', async () => {
  for (const { message, load } of builtins) {
    const { rate, samples } = await load();
    expect(rate).toBe(48_000);
    expect(decibels(peakOf(samples))).toBeLessThan(-0.99);
    expect(decibels(rmsOf(samples))).toBeGreaterThan(-20);
    expect(samples.findIndex((sample) => Math.abs(sample) > 300)).toBeLessThan(4_800);
    expect(message.duration_seconds).toBeCloseTo(samples.length / 48_000, 2);
    expect(message.duration_seconds).toBeGreaterThan(2);
    expect(message.duration_seconds).toBeLessThan(12);
  }
});

it('no message frightens or is missed beside another: words are as loud as each other, and those of an alarm louder', async () => {
  for (const { message, load } of builtins) {
    const { samples } = await load();
    const isAlarm = message.category === 'alarm';
    // After the siren, which is as loud as can be.
    const words = isAlarm ? samples.subarray(siren().length) : samples;
    const wanted = isAlarm ? targetLufs.alarm : targetLufs.other;
    expect(Math.abs((await loudness(words)) - wanted), message.key).toBeLessThan(0.6);
    expect(message.loudness_lufs, message.key).toBeGreaterThan(wanted - 0.6);
  }
});

it('what is too loud at its peaks is turned down around them, not cut off, to its end', async () => {
  const samples = siren();
  // Ends in the midst of a sound.
  const quiet = samples.slice(0, 100_000).map((sample, at) => (at % 24_000 < 480 ? sample : Math.round(sample / 20)));
  const made = await evened(quiet, -16);
  expect(await loudness(made)).toBeCloseTo(-16, 0);
  expect(decibels(peakOf(made))).toBeLessThan(-0.99);
  let run = 0;
  for (const [at, sample] of made.entries()) {
    run = sample !== 0 && sample === made[at - 1] && Math.abs(sample) > 20_000 ? run + 1 : 0;
    expect(run).toBeLessThan(4);
  }
  expect(made.length).toBe(quiet.length);
  expect(decibels(rmsOf(made.subarray(-100)))).toBeGreaterThan(-40);
});

it('they stand in the library beside the tones', async () => {
  const library = await openLibrary({ folder: join(folder, 'store'), builtins: await readBuiltins(folder) });
  expect(library.list()).toHaveLength(lines.length + 4);
  expect(library.find('alarm.intruder.en')).toMatchObject({ source: 'builtin', category: 'alarm' });
});

it('without a folder, or with an empty one, there are the tones', async () => {
  expect(await readBuiltins()).toHaveLength(4);
  expect(await readBuiltins(join(folder, 'nowhere'))).toHaveLength(4);
});

it('one that was changed on the disk is not played', async () => {
  const path = join(folder, 'test.message.en.wav');
  const good = readFileSync(path);
  const bad = Buffer.from(good);
  bad.writeUInt8(bad.readUInt8(500) ^ 1, 500);
  const { load } = builtins.find(({ message }) => message.key === 'test.message.en')!;
  writeFileSync(path, bad);
  await expect(load()).rejects.toMatchObject({ code: 'audio_gone', facts: { key: 'test.message.en' } });
  rmSync(path);
  await expect(load()).rejects.toMatchObject({ code: 'audio_gone' });
  writeFileSync(path, good);
  expect((await load()).rate).toBe(48_000);
});

it('a list that cannot be read is told of', async () => {
  const path = join(folder, builtinList);
  const good = readFileSync(path);
  writeFileSync(path, '[{"key":"../x"}]');
  await expect(readBuiltins(folder)).rejects.toMatchObject({ code: 'audio_gone' });
  writeFileSync(path, good);
});
