import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { metricsOf } from '../harness/control.ts';
import { pictureNumbers, type RtspServer, startRtspServer } from '../harness/rtsp-server.ts';
import { camera, code, type Site, startSite } from '../harness/site.ts';

let stream: RtspServer | undefined;
let site: Site | undefined;

afterEach(async () => {
  await site?.close();
  await stream?.stop();
});

/** Command lines of the ffmpeg that the daemon runs. */
function ffmpegOf(daemon: number): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return Number(parent) === daemon && line.startsWith('ffmpeg') ? [line] : [];
    } catch {
      return [];
    }
  });
}

async function metric(socket: string, name: string): Promise<number | undefined> {
  const found = (await metricsOf(socket)).split('\n').find((line) => line.startsWith(`${name} `));
  return found === undefined ? undefined : Number(found.split(' ').at(-1));
}

it('an alarm of an armed camera brings a clip of before and after to the cloud, and no password to ffmpeg', async () => {
  const server = await startRtspServer({ user: { username: 'siteward', password: 'harness-camera-password' } });
  stream = server;
  const running = await startSite({
    broker: 'embedded',
    cameras: ['yard'],
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
media: { short_clip: 2s, keep: 1h }
cameras:
${camera('yard', cameras.yard, `zone: "21", zone_type: video_person_perimeter, clips: [short], pre_roll: 3s, stream_url: "${server.url}"`)}
`,
  });
  site = running;
  const { lan, cloud, daemon, folder, socket } = running;
  await lan.shows('camera/yard/availability', 'online', 60_000);
  // Nothing is recorded of people who may be there.
  expect(ffmpegOf(daemon.pid)).toEqual([]);
  expect(await lan.ask('arm', { partition: 'p1', mode: 'away', code })).toMatchObject({ outcome: 'done' });
  await eventually(
    'a whole ring',
    async () => (Number(await metric(socket, 'siteward_ring_seconds{camera="yard"}')) >= 3 ? true : undefined),
    { timeoutMs: 60_000 },
  );
  const lines = ffmpegOf(daemon.pid);
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain('harness-camera-password');

  const before = server.numberNow();
  running.cameras.yard?.send('person on');
  const clip = await eventually(
    'the clip in the cloud',
    async () => (await cloud.uploads()).find(({ kind }) => kind === 'short_mp4'),
    { timeoutMs: 60_000 },
  );
  // It is kept once the cloud's word is on record.
  const spool = join(folder, 'state', 'spool', 'kept');
  const kept = (end: string) =>
    eventually(`the kept ${end}`, async () => {
      const name = readdirSync(spool).find((one) => one.endsWith(end));
      return name === undefined ? undefined : join(spool, name);
    });
  const file = await kept('.mp4');
  expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(clip.sha256);
  const numbers = await pictureNumbers(file);
  expect(numbers[0]).toBeLessThan(before);
  expect(numbers.at(-1)).toBeGreaterThan(before);

  // The last picture is of the second before, from the ring.
  const [past = 0] = await pictureNumbers(await kept('-1.jpg'));
  expect(past).toBeGreaterThanOrEqual(numbers[0] ?? 0);
  expect(past).toBeLessThanOrEqual(numbers.at(-1) ?? 0);

  expect(await lan.ask('disarm', { partition: 'p1', code })).toMatchObject({ outcome: 'done' });
  await eventually('the end of the ring', async () => (ffmpegOf(daemon.pid).length === 0 ? true : undefined));
}, 180_000);
