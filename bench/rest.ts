import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import { request } from 'undici';
import { sleep } from '#lib/wait.ts';
import { eventually, type Running } from '#sandbox/demo/processes.ts';
import { noPowerCut, powerCutDisk } from '../test/harness/power-cut.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, rounded } from './figure.ts';
import { type BenchSite, openSite } from './site.ts';
import { writtenBy, writtenTo } from './written.ts';

const cameras = 16;
const detectors = 8;
const reportMs = 60_000;
/** A start writes for some minutes what it has found. */
const settleMs = 360_000;
const watchMs = 600_000;
const dayMs = 86_400_000;
const awayMs = 120_000;
const [events, perSecond] = [1000, 20];
const goalMb = 10;

const zones = Array.from(
  { length: detectors },
  (_, index) => `"${index + 1}": { type: fire, key: smoke_${index + 1}, partition: p1 }`,
);
const panel = `panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { ${zones.join(', ')} }
`;

/** What a site at rest costs the card, and how much goes to the journal. */
export const rest: Measurement = {
  name: 'rest',
  title: 'Bytes written per day at rest',
  about: `The daemon from the bundle with the flags of its unit, the embedded broker, a cloud with both interfaces, ${cameras} simulated cameras and a panel with
${detectors} detectors, each of which reports once a minute that all is as it was; nobody has the page open. Its state is alone on a private ext4. From ${settleMs / 60_000} minutes after it was ready
on, ${watchMs / 60_000} minutes long, the sectors that reach the block device, the journal of ext4 included, what the kernel counts for the process, and its log at level \`info\`; reckoned for a day.
Then ${events} alarms and restores, ${perSecond} a second, for what one puts into the log; at last cloud and cameras are ended, all at once.`,
  remark: `What is read of the site in the cloud is written once an hour, its contacts every six hours, the stations once a day: some 30 small files a day, which the minutes that were watched
may not hold. What a start writes in its first minutes is not in it.`,
  async run(tell) {
    const why = noPowerCut();
    if (why !== undefined) {
      tell(`skipped: ${why}`);
      return [{ name: `skipped, ${why}`, value: 0, unit: '' }];
    }
    const disk = powerCutDisk({ mib: 512 });
    try {
      return await withBundle((program) => atRest(program, disk.mount, tell));
    } finally {
      disk.remove();
    }
  },
};

async function atRest(program: string, mount: string, tell: (progress: string) => void): Promise<Figure[]> {
  const within = join(mount, 'site');
  mkdirSync(within);
  const site = await openSite({ within, cameras, program, partner: true, asUnit: true, yaml: panel });
  const ended = new AbortController();
  try {
    const { running } = await site.daemon();
    const log = logOf(running);
    const house = await connectAsync(site.mqttUrl);
    const reporting = report(house, ended.signal).catch(() => undefined);
    tell(`${settleMs / 1000} s to settle`);
    await sleep(settleMs, ended.signal);
    const now = () => ({ disk: writtenTo(mount), process: writtenBy(running.pid), ...log() });
    const before = now();
    tell(`${watchMs / 1000} s of rest`);
    await sleep(watchMs, ended.signal);
    const after = now();
    ended.abort();
    await reporting;
    tell(`${events} events`);
    const busy = log();
    await alarms(house, site);
    const done = log();
    tell(`${awayMs / 1000} s without cloud and cameras`);
    await site.silence();
    await sleep(awayMs, new AbortController().signal);
    const away = log();
    await house.endAsync();
    const perDay = (name: 'disk' | 'process' | 'lines' | 'bytes') => ((after[name] - before[name]) * dayMs) / watchMs;
    const mb = rounded(perDay('disk') / 1e6);
    return [
      { name: 'to the disk', value: mb, unit: 'MB a day', goal: `at most ${goalMb} MB`, met: mb <= goalMb },
      { name: 'of it by the process itself', value: rounded(perDay('process') / 1e6), unit: 'MB a day' },
      { name: 'log, lines', value: rounded(perDay('lines')), unit: 'a day' },
      { name: 'log', value: rounded(perDay('bytes') / 1e3), unit: 'kB a day' },
      { name: 'log of an event, lines', value: rounded((done.lines - busy.lines) / events), unit: '' },
      {
        name: `log of ${awayMs / 60_000} minutes in which cloud and cameras are lost, lines`,
        value: away.lines - done.lines,
        unit: '',
      },
      { name: 'the same', value: rounded((away.bytes - done.bytes) / 1e3), unit: 'kB' },
    ];
  } finally {
    ended.abort();
    await site.close();
  }
}

/** Counts what a process says from its start on. */
function logOf(running: Running): () => { lines: number; bytes: number } {
  let [lines, bytes] = [0, 0];
  const count = (line: string): undefined => {
    lines += 1;
    bytes += Buffer.byteLength(line) + 1;
  };
  void running.until(count, 'a line that never comes', dayMs).catch(() => undefined);
  return () => ({ lines, bytes });
}

async function report(house: MqttClient, signal: AbortSignal): Promise<void> {
  await house.publishAsync('zigbee2mqtt/bridge/state', '{"state":"online"}', { qos: 1, retain: true });
  for (let turn = 0; ; turn += 1) {
    // What changes with each report is how well it was heard.
    const quiet = JSON.stringify({ smoke: false, battery: 97, linkquality: 80 + (turn % 40) });
    for (let one = 1; one <= detectors; one += 1)
      await house.publishAsync(`zigbee2mqtt/smoke_${one}`, quiet, { qos: 1 });
    await sleep(reportMs, signal);
  }
}

/** Resolves when the cloud has them all. */
async function alarms(house: MqttClient, site: BenchSite): Promise<void> {
  const before = await accepted(site);
  for (let one = 0; one < events; one += 1) {
    const smoke = JSON.stringify({ smoke: Math.floor(one / detectors) % 2 === 0, battery: 97 });
    await house.publishAsync(`zigbee2mqtt/smoke_${(one % detectors) + 1}`, smoke, { qos: 1 });
    await sleep(1000 / perSecond, new AbortController().signal);
  }
  await eventually('all are accepted', async () => (await accepted(site)) >= before + events || undefined);
}

async function accepted({ cloudUrl }: BenchSite): Promise<number> {
  const { body } = await request(`${cloudUrl}/__sandbox/events`);
  return ((await body.json()) as { events: unknown[] }).events.length;
}
