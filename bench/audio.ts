import type { SpeakerDriver } from '#devices/audio/driver.ts';
import { createPlayers } from '#devices/audio/drivers/child.ts';
import { createOnvifDriver } from '#devices/audio/drivers/onvif.ts';
import { createPulseDriver } from '#devices/audio/drivers/pulse.ts';
import { createSound } from '#devices/audio/sound.ts';
import { sleep } from '#lib/wait.ts';
import { startBackchannelServer } from '../test/devices/audio/drivers/backchannel-server.ts';
import { type AudioSite, never, openAudioSite, openPulse } from './audio-site.ts';
import { type Figure, type Measurement, median, percentile, rounded } from './figure.ts';

const starts = 100;
const warmStarts = 5;
const many = 16;
const rounds = 20;
const watchMs = 8_000;
const localGoalMs = 50;
const onvifGoalMs = 100;
const spreadGoalMs = 50;
const cpuGoal = 15;

/** From a request to sound, and what many speakers cost. */
export const audio: Measurement = {
  name: 'audio',
  title: `Messages on speakers: the first sample, and ${many} speakers at once`,
  about: `The player with the store in one process, as in the daemon: queue, journal on disk before the sound, message from memory. ${starts} alarms one after the
other on each speaker; the clock runs from the request to the first sample the driver has handed over. Beside it, in turns, the bare driver alone: what the program or the
device takes to begin; the ratio is to its median. \`pulse\` is a PulseAudio of its own with a null sink, reached by paplay; \`onvif\` is the audio backchannel of GStreamer's
ONVIF server on loopback. ${many} speakers: ${rounds} alarms on ${many} that write files, and on ${many} cameras of that server, which answers for all of them in one thread; from the
first of the first samples to the last, to the millisecond. The processor is that of this process over ${watchMs / 1000} s in which all cameras sound, beside one.`,
  async run(tell) {
    return [...(await pulseFigures(tell)), ...(await onvifFigures(tell)), ...(await manyFigures(tell))];
  },
};

async function pulseFigures(tell: (progress: string) => void): Promise<Figure[]> {
  const pulse = await openPulse();
  if (pulse === undefined) {
    tell('skipped: needs pulseaudio');
    return [{ name: 'a sink, skipped: needs pulseaudio', value: 0, unit: '' }];
  }
  const { server, close } = pulse;
  const sink = 'hall';
  const site = await openAudioSite([{ id: 'hall', driver: 'pulse', sink, server }]);
  const players = createPlayers();
  try {
    tell(`${starts} alarms on a sink`);
    const driver = createPulseDriver({ sink, server, players });
    const found = await inTurns(site, driver, 'pulse');
    return figuresOf('a sink of PulseAudio', found, { median: localGoalMs, p99: localGoalMs });
  } finally {
    await site.close();
    await close();
  }
}

async function onvifFigures(tell: (progress: string) => void): Promise<Figure[]> {
  const server = await startBackchannelServer({});
  const urls = new Map([['yard', server.url()]]);
  const site = await openAudioSite([{ id: 'yard', driver: 'onvif', url: server.url() }], urls);
  try {
    tell(`${starts} alarms on the speaker of a camera`);
    const driver = createOnvifDriver({ address: async () => server.url(), login: { credentials: () => undefined } });
    const found = await inTurns(site, driver, 'onvif');
    return figuresOf('the speaker of a camera', found, { median: onvifGoalMs });
  } finally {
    await site.close();
    await server.stop();
  }
}

interface Found {
  /** Milliseconds each. */
  readonly bare: readonly number[];
  readonly through: readonly number[];
}

async function inTurns(site: AudioSite, driver: SpeakerDriver, name: string): Promise<Found> {
  const bare: number[] = [];
  const through: number[] = [];
  for (let turn = 0; turn < warmStarts + starts; turn += 1) {
    const { id, tookMs } = await site.begin();
    await site.end(id);
    const alone = await bareStart(driver);
    if (turn < warmStarts) continue;
    through.push(tookMs.get(name) ?? Number.NaN);
    bare.push(alone);
  }
  return { bare, through };
}

async function bareStart(driver: SpeakerDriver): Promise<number> {
  const { format } = await driver.probe(never);
  const sound = createSound({
    ...{ samples: new Int16Array(format.rate * 3), format, key: 'silence', volume: 70, repeat: 1, gapMs: 0 },
  });
  const over = new AbortController();
  const began = performance.now();
  const { promise: first, resolve } = Promise.withResolvers<number>();
  const played = driver
    .play(sound, { signal: over.signal, onFirstSample: () => resolve(performance.now() - began) })
    .then(() => undefined);
  const tookMs = await Promise.race([first, played]);
  over.abort(new Error('it has begun'));
  await played.catch(() => undefined);
  if (tookMs === undefined) throw new Error('the sound was over before it began');
  return tookMs;
}

function figuresOf(what: string, { bare, through }: Found, goal: { median: number; p99?: number }): Figure[] {
  const alone = median(bare);
  const one = (name: string, value: number, goalMs: number | undefined): Figure => ({
    ...{ name: `request to the first sample on ${what}, ${name}`, value: rounded(value), unit: 'ms' },
    ratio: rounded(value / alone),
    ...(goalMs !== undefined && { goal: `under ${goalMs} ms`, met: value < goalMs }),
  });
  return [
    { name: `bare driver on ${what}, median`, value: rounded(alone), unit: 'ms' },
    one('median', median(through), goal.median),
    one('p99', percentile(through, 0.99), goal.p99),
  ];
}

async function manyFigures(tell: (progress: string) => void): Promise<Figure[]> {
  const server = await startBackchannelServer({ speakers: many });
  const each = <T>(make: (at: number) => T) => Array.from({ length: many }, (_, at) => make(at));
  const files = each((at) => ({ id: `file${at}`, driver: 'capture' }));
  const cameras = each((at) => ({ id: `yard${at}`, driver: 'onvif', camera: `yard${at}` }));
  const urls = new Map(cameras.map(({ id }, at) => [id, server.url(at)]));
  try {
    tell(`${rounds} alarms on ${many} speakers, twice`);
    const local = await withSite(files, spreads);
    const [far, busy] = await withSite(
      cameras,
      async (site) => [await spreads(site), await processor(site)] as const,
      urls,
    );
    const one = await withSite(cameras.slice(0, 1), processor, urls);
    return [
      ...spreadFigures('files', local),
      ...spreadFigures('cameras', far),
      { name: 'one camera, processor', value: rounded(one), unit: '% of a core' },
      {
        ...{
          name: `${many} cameras, processor`,
          value: rounded(busy),
          unit: '% of a core',
          ratio: rounded(busy / one),
        },
        ...{ goal: `under ${cpuGoal} %`, met: busy < cpuGoal },
      },
    ];
  } finally {
    await server.stop();
  }
}

async function withSite<T>(
  speakers: readonly object[],
  work: (site: AudioSite) => Promise<T>,
  urls?: ReadonlyMap<string, string>,
): Promise<T> {
  const site = await openAudioSite(speakers, urls);
  try {
    return await work(site);
  } finally {
    await site.close();
  }
}

/** From the first speaker to begin to the last, of each alarm. */
async function spreads(site: AudioSite): Promise<number[]> {
  const found: number[] = [];
  for (let round = 0; round < rounds + 1; round += 1) {
    const { id } = await site.begin();
    const begins = (site.shown(id)?.devices ?? []).map(({ started_at = '' }) => Date.parse(started_at));
    // The first makes what is made once.
    if (round > 0) found.push(Math.max(...begins) - Math.min(...begins));
    await site.end(id);
  }
  return found;
}

function spreadFigures(what: string, found: readonly number[]): Figure[] {
  const slowest = Math.max(...found);
  const name = `${many} ${what}, from the first to begin to the last`;
  return [
    { name: `${name}, median`, value: median(found), unit: 'ms' },
    {
      ...{ name: `${name}, slowest of ${rounds}`, value: slowest, unit: 'ms' },
      ...{ goal: `under ${spreadGoalMs} ms`, met: slowest < spreadGoalMs },
    },
  ];
}

/** Of this process while all speakers sound, in percent of a core. */
async function processor(site: AudioSite): Promise<number> {
  const { id } = await site.begin();
  await sleep(1000, never);
  const [began, before] = [performance.now(), process.cpuUsage()];
  await sleep(watchMs, never);
  const { user, system } = process.cpuUsage(before);
  const percent = (user + system) / 10 / (performance.now() - began);
  if ((await site.end(id)).summary.failed > 0) throw new Error('a speaker has failed');
  return percent;
}
