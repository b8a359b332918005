import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPlayers, type PlayerWatch } from '#devices/audio/drivers/child.ts';
import { runs } from './alsa-device.ts';

describe('players', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'siteward-players-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const players = createPlayers({ most: 2 });
  const shell = (script: string, watch?: PlayerWatch) => players.start('/bin/sh', ['-c', script], watch);
  const pidIn = (name: string) =>
    vi.waitUntil(() => Number(textOf(join(folder, name))) || undefined, { timeout: 10_000, interval: 10 });

  it('are killed with all they started, whatever they make of signals', async () => {
    const player = shell(
      `trap '' TERM INT HUP; sleep 60 & echo $! >${folder}/below; echo $$ >${folder}/own; wait; wait`,
    );
    const [own, below] = [await pidIn('own'), await pidIn('below')];
    player.kill();
    expect(await player.gone).toMatchObject({ code: null, killedBy: 'SIGKILL' });
    await vi.waitFor(() => expect([own, below].filter(runs)).toEqual([]), { timeout: 5_000 });
  });

  it('leave nothing behind that they started and did not wait for', async () => {
    const player = shell(`sleep 60 & echo $! >${folder}/below; exit 0`);
    expect(await player.gone).toMatchObject({ code: 0 });
    const below = await pidIn('below');
    await vi.waitFor(() => expect(runs(below)).toBe(false), { timeout: 5_000 });
  });

  it('are gone also where something that left their group holds their pipes', async () => {
    const player = shell(`setsid sleep 60 & echo $! >${folder}/below; exit 3`, { outputBytes: 10 });
    expect(await player.gone).toMatchObject({ code: 3 });
    process.kill(await pidIn('below'), 'SIGKILL');
  });

  it('are so many at most', async () => {
    const two = [shell('sleep 60'), shell('sleep 60')];
    expect(() => shell('exit 0')).toThrow(expect.objectContaining({ failure: 'busy' }));
    for (const player of two) player.kill();
    await Promise.all(two.map(({ gone }) => gone));
    expect(players.running).toBe(0);
    expect(await shell('exit 0').gone).toMatchObject({ code: 0 });
    expect(await players.start('/nowhere/player', []).gone).toMatchObject({ unstarted: { code: 'ENOENT' } });
    expect(players.running).toBe(0);
  });

  it('may say little: a flood is cut, and ends one whose output it is', async () => {
    const lines: string[] = [];
    const flood = 'head -c 3000000 /dev/zero | tr "\\0" x >&2; echo >&2; seq 1000 >&2; exit 1';
    const { words } = await shell(flood, { onLine: (line) => void lines.push(line) }).gone;
    expect(Math.max(...lines.map((line) => line.length))).toBe(300);
    expect(words).toBe('993; 994; 995; 996; 997; 998; 999; 1000');
    const { code, output } = await shell('yes; exit 0', { outputBytes: 100_000 }).gone;
    expect(code).toBeNull();
    expect(output.length).toBeLessThanOrEqual(100_000);
  });

  it('tell their last words without addresses and control characters', async () => {
    const { words } = await shell(
      'printf "\\033[31mTime: 1\\rTime: 2\\rcannot open rtsp://guard:s3cret@gate/1 \\007now\\n" >&2; exit 1',
      { noise: /^Time: / },
    ).gone;
    expect(words).toBe('cannot open an address now');
  });

  it('are told nothing of the environment but where their devices are', async () => {
    const env = { PATH: process.env.PATH, HOME: '/h', ALSA_CARD: '1', PULSE_SERVER: 'p', SITEWARD_API_KEY: 's3cret' };
    const player = createPlayers({ env }).start('env', [], { outputBytes: 10_000 });
    const lines = (await player.gone).output.toString().trim().split('\n').sort();
    expect(lines).toEqual(['ALSA_CARD=1', 'HOME=/h', 'LC_ALL=C', `PATH=${process.env.PATH}`, 'PULSE_SERVER=p']);
  });

  it('take arguments as they are', async () => {
    const player = players.start('printf', ['%s|', '$HOME; `id`', '"a b"', '*'], { outputBytes: 100 });
    expect((await player.gone).output.toString()).toBe('$HOME; `id`|"a b"|*|');
  });
});

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
