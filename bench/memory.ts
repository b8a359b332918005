import { sleep } from '#lib/wait.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, rounded } from './figure.ts';
import { cpuMsOf, memoryOf } from './machine.ts';
import { openSite } from './site.ts';

const cameras = 16;
const settleMs = 30_000;
const watchMs = 30_000;

const panel = `panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: entry_exit_1, key: front_door, partition: p1 } }
`;

/** Resident memory and idle work of the daemon. */
export const memory: Measurement = {
  name: 'memory',
  title: `The idle daemon with ${cameras} cameras`,
  about: `The daemon with the embedded broker, one panel, a cloud and ${cameras} simulated cameras (all in one other process), read from
\`/proc/<pid>/status\` ${settleMs / 1000} s after it was ready; then the processor time it uses in the next ${watchMs / 1000} s. \`RssAnon\` is
what the process itself fills; the rest of RSS is files it maps, Node's own program above all.`,
  remark: `After a full collection the main thread's heap holds 34 MiB of the 102 MiB V8 has set aside: the rest was filled while the
program and 16 sessions started, and an idle process has no reason to give it back. The same daemon from the bundle
takes 156 MiB with \`NODE_OPTIONS=--max-semi-space-size=1\`, and 150 MiB without cameras.`,
  async run(tell) {
    return withBundle(async (bundle) => [
      ...(await idle('from the bundle', bundle, tell)),
      ...(await idle('from the sources', undefined, tell)),
    ]);
  },
};

async function idle(name: string, program: string | undefined, tell: (progress: string) => void): Promise<Figure[]> {
  const site = await openSite({ cameras, yaml: panel, ...(program !== undefined && { program }) });
  const never = new AbortController().signal;
  try {
    const { running } = await site.daemon();
    tell(`${name}: ${settleMs / 1000} s to settle`);
    await sleep(settleMs, never);
    const { rss, anonymous } = memoryOf(running.pid);
    const before = cpuMsOf(running.pid);
    tell(`${name}: ${watchMs / 1000} s of idling`);
    await sleep(watchMs, never);
    const share = (cpuMsOf(running.pid) - before) / watchMs;
    return [
      { name: `RSS, ${name}`, value: rounded(rss), unit: 'MiB' },
      { name: `RssAnon, ${name}`, value: rounded(anonymous), unit: 'MiB' },
      { name: `processor, ${name}`, value: rounded(share * 100), unit: '% of a core' },
    ];
  } finally {
    await site.close();
  }
}
