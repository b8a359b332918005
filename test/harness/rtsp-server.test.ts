import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { pictureNumbers, startRtspServer } from './rtsp-server.ts';

test.each(['h264', 'h265'] as const)(
  'pictures of the test stream (%s) carry the number of their moment',
  async (codec) => {
    const server = await startRtspServer({ codec, audio: true });
    try {
      const before = server.numberNow();
      const numbers = await pictureNumbers(server.url, 5);
      const after = server.numberNow();
      expect(numbers).toHaveLength(5);
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      expect(new Set(numbers).size).toBeGreaterThan(2);
      expect(numbers[0]).toBeGreaterThanOrEqual(before);
      expect(numbers.at(-1)).toBeLessThanOrEqual(after);
    } finally {
      await server.stop();
    }
  },
);

test('the test stream without key frames has none', async () => {
  const server = await startRtspServer({ keyFrames: false });
  try {
    const probe = ['-v', 'error', '-show_entries', 'packet=flags', '-of', 'json', '-read_intervals', '%+#15'];
    const { stdout } = await promisify(execFile)('ffprobe', [...probe, server.url], { timeout: 30_000 });
    // Packets with side data have more members than the one asked for.
    const { packets } = JSON.parse(stdout) as { packets: { flags: string }[] };
    const flags = packets.map((packet) => packet.flags);
    // ffprobe may show one more than it was asked for.
    expect(flags.length).toBeGreaterThanOrEqual(15);
    expect(new Set(flags)).toEqual(new Set(['__']));
  } finally {
    await server.stop();
  }
});

test('the test stream with a user is shown to that user alone', async () => {
  const server = await startRtspServer({ user: { username: 'siteward', password: 's3cret-cam' } });
  try {
    await expect(pictureNumbers(server.url, 1)).rejects.toThrow('401');
    expect(await pictureNumbers(server.url.replace('//', '//siteward:s3cret-cam@'), 1)).toHaveLength(1);
  } finally {
    await server.stop();
  }
});
