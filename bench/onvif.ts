import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Agent } from 'undici';
import { createCameras } from '#devices/onvif/index.ts';
import { createNormaliser } from '#devices/onvif/normalise.ts';
import { readNotifications } from '#devices/onvif/notification.ts';
import { systemClock } from '#lib/clock.ts';
import { sleep } from '#lib/wait.ts';
import { largeXmlNodes, parseXml, xmlLimits } from '#lib/xml.ts';
import { startProcess } from '#sandbox/demo/processes.ts';
import { withBundle } from './bundle.ts';
import { answerOf, message, profilesOf } from './camera-messages.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';
import { cpuMsOf, memoryOf } from './machine.ts';
import { openSite } from './site.ts';

const cameras = 64;
const perSecond = 1000;
const warmMs = 5_000;
const flowMs = 15_000;
const settleMs = 30_000;
const idleMs = 120_000;
const turns = 5_000;
const together = 16;
const channels = 128;
const readings = 15;
const never = new AbortController().signal;

/** Many cameras at one daemon. */
export const onvif: Measurement = {
  name: 'cameras',
  title: `${cameras} cameras`,
  about: `Events: ${cameras} scripted cameras in a process of their own on loopback tell ${perSecond} changes of motion a second in all. First a bare client
pulls them and only takes the bytes; then siteward's sessions pull them in another process, each with its XML reader, topic table and normaliser. The
clock runs from the writing of a camera's answer to the signal for the core, for ${flowMs / 1000} s after ${warmMs / 1000} s to warm up. A camera that has just
told something is asked again after 100 ms, which is part of the time from a camera's event to the signal.
Idle: the daemon from the bundle with ${cameras} simulated cameras, and beside it one with none; memory and requests are those of the ${idleMs / 1000} s that begin
${settleMs / 1000} s after it is ready.`,
  async run(tell) {
    tell(`${perSecond} messages a second`);
    const flow = await flowFigures();
    const idle = await withBundle(async (program) => {
      tell(`no camera and ${cameras}, ${(settleMs + idleMs) / 1000} s`);
      const [none, all] = await Promise.all([idleWith(program, 0), idleWith(program, cameras)]);
      return { none, all };
    });
    const each = (member: 'rss' | 'share') => (idle.all[member] - idle.none[member]) / cameras;
    const requests = idle.all.requests / cameras / (idleMs / 60_000);
    return [
      ...understanding(),
      largest(),
      ...flow,
      { name: 'RSS for each idle camera', value: rounded(each('rss')), unit: 'MiB' },
      { name: 'processor for each idle camera', value: rounded(each('share') * 100), unit: '% of a core' },
      {
        name: 'requests to an idle camera',
        value: rounded(requests),
        unit: 'a minute',
        goal: 'at most 6',
        met: requests <= 6,
      },
    ];
  },
};

interface Flow {
  /** From the writing of the answer, milliseconds each. */
  readonly sent: number[];
  /** From the camera's event. */
  readonly due: number[];
}

async function flowFigures(): Promise<Figure[]> {
  const bare = percentile((await flowed(pullBare)).sent, 0.99);
  const began = process.cpuUsage();
  const { sent, due } = await flowed(pullBySiteward);
  const used = process.cpuUsage(began);
  const share = (used.user + used.system) / 1000 / (warmMs + flowMs);
  const p99 = percentile(sent, 0.99);
  const ms = (name: string, value: number): Figure => ({ name, value: rounded(value), unit: 'ms' });
  return [
    { name: 'signals', value: Math.round(sent.length / (flowMs / 1000)), unit: 'a second' },
    ms('answer written to bytes at a bare client, p99', bare),
    ms('answer written to signal, median', percentile(sent, 0.5)),
    {
      ...ms('answer written to signal, p99', p99),
      ratio: rounded(p99 / bare),
      goal: 'under 10 ms',
      met: p99 < 10,
    },
    ms("camera's event to signal, median", percentile(due, 0.5)),
    ms("camera's event to signal, p99", percentile(due, 0.99)),
    {
      name: `processor for each camera at ${perSecond} messages a second`,
      value: rounded((share / cameras) * 100),
      unit: '% of a core',
    },
  ];
}

/** Reading, understanding and merging alone, in one thread: what load on the machine disturbs least. */
function understanding(): Figure[] {
  const camera = createNormaliser({ sourceOf: () => ({ kind: 'camera', id: 'yard' }), wall: () => 0 });
  const took: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const text = answerOf(
      Array.from({ length: together }, (_, at) => message(at % 2 === 0, '2026-11-27T20:00:00Z')).join(''),
    );
    const began = performance.now();
    camera.take(readNotifications(parseXml(text)), turn * 1000);
    if (turn >= turns / 5) took.push(performance.now() - began);
  }
  const each = took.reduce((sum, ms) => sum + ms, 0) / took.length / together;
  return [
    {
      name: `an answer of ${together} messages read and understood, p99`,
      value: rounded(percentile(took, 0.99)),
      unit: 'ms',
    },
    { name: 'one message of it', value: rounded(each * 1000), unit: 'µs' },
  ];
}

/** The one answer that could hold up everything else. Time of this thread alone: other load on the machine is none of it. */
function largest(): Figure {
  const text = profilesOf(channels);
  const took: number[] = [];
  for (let turn = 0; turn < readings; turn += 1) {
    const began = process.threadCpuUsage();
    parseXml(text, { ...xmlLimits, maxNodes: largeXmlNodes });
    const { user, system } = process.threadCpuUsage(began);
    took.push((user + system) / 1000);
  }
  return {
    name: `profiles of a recorder with ${channels} channels read, median time of one core`,
    value: rounded(percentile(took, 0.5)),
    unit: 'ms',
  };
}

const now = () => performance.timeOrigin + performance.now();

async function flowed(pull: (urls: readonly string[], note: (time: string) => void) => Promise<() => Promise<void>>) {
  const script = join(import.meta.dirname, 'camera-flow.ts');
  const process_ = startProcess({ name: 'cameras', args: [script, String(cameras), String(perSecond / cameras)] });
  const flow: Flow = { sent: [], due: [] };
  let isCounting = false;
  try {
    const urls = await process_.until(
      (line) => (line.startsWith('[') ? (JSON.parse(line) as string[]) : undefined),
      'start',
    );
    const stop = await pull(urls, (time) => {
      if (!isCounting) return;
      const [due, sent] = time.split(';').map(Number);
      const at = now();
      flow.sent.push(at - (sent ?? at));
      flow.due.push(at - (due ?? at));
    });
    await sleep(warmMs, never);
    isCounting = true;
    await sleep(flowMs, never);
    isCounting = false;
    await stop();
  } finally {
    await process_.stop();
  }
  if (flow.sent.length === 0) throw new Error('no camera told anything');
  return flow;
}

/** What the way itself takes: each camera pulled as often, its answer not looked into. */
async function pullBare(urls: readonly string[], note: (time: string) => void) {
  const abort = new AbortController();
  const agent = new Agent({ connections: 1 });
  const one = async (url: URL) => {
    while (!abort.signal.aborted) {
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname,
        method: 'POST',
        body: '<PullMessages/>',
      });
      const text = await answer.body.text();
      const times = [...text.matchAll(/UtcTime="([^"]*)"/g)].map(([, time]) => time ?? '');
      for (const time of times) note(time);
      await sleep(100, abort.signal);
    }
  };
  const running = Promise.allSettled(urls.map((url) => one(new URL(url))));
  return async () => {
    abort.abort();
    await agent.destroy();
    await running;
  };
}

async function pullBySiteward(urls: readonly string[], note: (time: string) => void) {
  const memory = new Map<string, string>();
  const made = createCameras({
    cameras: urls.map((url, index) => ({ id: `cam${index + 1}`, url })),
    clock: systemClock(),
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
    memory: {
      get: async (key) => memory.get(key),
      set: async (key, value) => void memory.set(key, value),
      delete: async (key) => void memory.delete(key),
      keys: async () => [...memory.keys()],
    },
    emit: async (signals) => {
      for (const signal of signals) {
        if (signal.kind === 'detection' && signal.deviceTime !== undefined) note(signal.deviceTime);
      }
    },
  });
  await made.start(never);
  return () => made.stop();
}

async function idleWith(program: string, count: number) {
  const site = await openSite({ cameras: count, program });
  try {
    const { running } = await site.daemon();
    await sleep(settleMs, never);
    const before = { cpuMs: cpuMsOf(running.pid), requests: await site.cameraRequests() };
    await sleep(idleMs, never);
    return {
      rss: memoryOf(running.pid).rss,
      share: (cpuMsOf(running.pid) - before.cpuMs) / idleMs,
      requests: (await site.cameraRequests()) - before.requests,
    };
  } finally {
    await site.close();
  }
}
