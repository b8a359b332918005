import { spawn, spawnSync } from 'node:child_process';
import { Client } from 'undici';
import { sleep } from '#lib/wait.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type RtspServer, startRtspServer } from '../test/harness/rtsp-server.ts';
import { type Figure, rounded } from './figure.ts';
import { childrenOf, cpuMsOf, memoryOf, shareOf } from './machine.ts';
import { cameras } from './media-pictures.ts';
import { type BenchSite, openSite } from './site.ts';

export const kbps = 1200;
export const preRollS = 10;
export const watchMs = 30_000;
const settleMs = 15_000;
const never = new AbortController().signal;

/** `cpu`: percent of a core; memory in MiB. */
interface Cost {
  readonly cpu: number;
  readonly ffmpegCpu: number;
  readonly rss: number;
  readonly ffmpegMemory: number;
  readonly kept: number;
}

/** What it costs to keep the last seconds of every camera. */
export async function ringFigures(program: string, tell: (progress: string) => void): Promise<Figure[]> {
  const why = missing();
  if (why !== undefined) return [{ name: `rings skipped, ${why}`, value: 0, unit: '' }];
  const source = await startRtspServer({ fps: 25, keyFrameEvery: 25, kbps });
  try {
    tell(`${cameras} cameras without rings`);
    const none = await costOf(program, '', 0);
    tell(`${cameras} rings`);
    const members = `pictures: always, pre_roll: ${preRollS}s, stream_url: "${source.url}"`;
    const rings = await costOf(program, members, cameras);
    tell(`${cameras} bare ffmpeg`);
    const bare = await bareCost(source);
    const percent = (name: string, value: number): Figure => ({ name, value: rounded(value), unit: '% of a core' });
    const mib = (name: string, value: number): Figure => ({ name, value: rounded(value), unit: 'MiB' });
    const more = rings.cpu - none.cpu;
    return [
      percent(`${cameras} bare ffmpeg, processor`, bare.cpu),
      mib(`${cameras} bare ffmpeg, memory`, bare.memory),
      {
        ...percent(`${cameras} rings, processor of their ffmpeg and siteward's for them`, rings.ffmpegCpu + more),
        ratio: rounded((rings.ffmpegCpu + more) / bare.cpu),
      },
      percent('of it ffmpeg', rings.ffmpegCpu),
      percent('of it siteward', more),
      {
        ...mib(`${cameras} rings, memory of their ffmpeg`, rings.ffmpegMemory),
        ratio: rounded(rings.ffmpegMemory / bare.memory),
      },
      mib(`${cameras} rings, what they keep`, rings.kept),
      mib('RSS of siteward with them', rings.rss),
      mib('RSS of siteward without', none.rss),
    ];
  } finally {
    await source.stop();
  }
}

/** What the rings or their source need and this machine has not. */
function missing(): string | undefined {
  const runs = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;
  const load = "import gi; gi.require_version('GstRtspServer', '1.0')";
  if (!runs('/usr/bin/python3', '-c', load)) return "GStreamer's RTSP server is not installed";
  return runs('ffmpeg', '-version') ? undefined : 'ffmpeg is not installed';
}

async function costOf(program: string, camera: string, rings: number): Promise<Cost> {
  const site = await openSite({ program, cameras, ...(camera !== '' && { camera }) });
  try {
    const { running } = await site.daemon();
    await eventually(
      `${rings} whole rings`,
      async () =>
        (await metric(site, 'ring_seconds')).filter((s) => s >= preRollS).length === rings ? true : undefined,
      { timeoutMs: 90_000, everyMs: 1000 },
    );
    await sleep(settleMs, never);
    const ffmpeg = childrenOf(running.pid);
    if (ffmpeg.length !== rings) throw new Error(`${ffmpeg.length} ffmpeg run for ${rings} rings`);
    const cpu = () => [cpuMsOf(running.pid), sum(ffmpeg.map(cpuMsOf))] as const;
    const before = cpu();
    await sleep(watchMs, never);
    const after = cpu();
    return {
      cpu: share(after[0] - before[0]),
      ffmpegCpu: share(after[1] - before[1]),
      rss: memoryOf(running.pid).rss,
      ffmpegMemory: sum(ffmpeg.map(shareOf)),
      kept: sum(await metric(site, 'ring_bytes')) / 1024 ** 2,
    };
  } finally {
    await site.close();
  }
}

/** As many ffmpeg that take the same stream as rings do, and keep nothing of it. */
async function bareCost({ url }: RtspServer): Promise<{ cpu: number; memory: number }> {
  const args = ['-nostdin', '-loglevel', 'error', '-rtsp_transport', 'tcp', '-i', url];
  const copy = ['-map', '0:v:0', '-c', 'copy', '-f', 'mpegts', '-y', '/dev/null'];
  const all = Array.from({ length: cameras }, () => spawn('ffmpeg', [...args, ...copy], { stdio: 'ignore' }));
  const ends = all.map((one) => new Promise((resolve) => one.once('close', resolve).once('error', resolve)));
  try {
    const pids = all.map(({ pid }) => pid ?? 0);
    await sleep(settleMs, never);
    const before = sum(pids.map(cpuMsOf));
    await sleep(watchMs, never);
    return { cpu: share(sum(pids.map(cpuMsOf)) - before), memory: sum(pids.map(shareOf)) };
  } finally {
    for (const one of all) one.kill('SIGKILL');
    await Promise.all(ends);
  }
}

/** The values of a metric, of each camera that has one. */
async function metric({ socket }: BenchSite, name: string): Promise<number[]> {
  const client = new Client('http://localhost', { socketPath: socket });
  try {
    const text = await (await client.request({ method: 'GET', path: '/metrics' })).body.text();
    return [...text.matchAll(new RegExp(`^siteward_${name}\\{[^}]*\\} (\\S+)$`, 'gm'))].map(([, value]) =>
      Number(value),
    );
  } finally {
    await client.destroy();
  }
}

const share = (cpuMs: number): number => (cpuMs / watchMs) * 100;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
