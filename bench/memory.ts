import { sleep } from '#lib/wait.ts';
import { freePort } from '#sandbox/demo/processes.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, rounded } from './figure.ts';
import { cpuMsOf, memoryOf } from './machine.ts';
import { openPage } from './open-page.ts';
import { openSite } from './site.ts';

const cameras = 16;
const settleMs = 30_000;
const watchMs = 30_000;
/** MB of 1000 kB. */
const goals = { rss: 115, anonymous: 65 };

const panel = `panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: entry_exit_1, key: front_door, partition: p1 } }
`;

/** Resident memory and idle work of the daemon. */
export const memory: Measurement = {
  name: 'memory',
  title: `The idle daemon with ${cameras} cameras, a panel and the page`,
  about: `The daemon with the embedded broker, one panel, a cloud, ${cameras} simulated cameras (all in one other process) and the page open in one browser
(a client that has logged in, has loaded it and reads its stream of events), read from \`/proc/<pid>/status\` ${settleMs / 1000} s after that; then the processor time
it uses in the next ${watchMs / 1000} s. The bundle runs as the unit runs it, with its flags, its environment and what \`bin/warm-up\` keeps; the sources by themselves. \`RssAnon\`
is what the process itself fills; the rest of RSS is files it maps, Node's own program above all.`,
  remark: `Where it lies, from \`/proc/<pid>/smaps\` of such a daemon (MiB):

| | MiB |
|---|---|
| anonymous: the heaps of V8 of both threads, the text of the program, stacks | 45 |
| malloc: TLS, SQLite, Node's own | 12 |
| machine code | 2 |
| files: the code of Node's program 33.5 and its constants 24, libraries | 64 |

The unit lets V8 forget what it compiled for functions that nobody called between two collections, where it would wait for six (\`--bytecode-old-age=1 --flush-baseline-code\`), and puts off the first collection of old objects until a start is through
(\`--initial-heap-size=48\`): without that it forgets during the start, too, which then takes a quarter more processor time. Pieces of malloc above 32 KiB lie by themselves (\`MALLOC_MMAP_THRESHOLD_\`), since Node's buffers for reading left 4 MB of holes. Together these
make RssAnon about 10 MB less. In the ten minutes after this measurement it grows by 12 MB, garbage of what the page and the cameras ask for, until V8 sees a reason to collect it.

RSS: a Node that does nothing maps 33 MiB of its own program, and an HTTPS server of twenty lines with a thread that writes SQLite 59. A goal of 115 MB leaves less for the rest than the goal for RssAnon. These pages are
those of a file; the kernel takes them back when it needs room.`,
  run: (tell) =>
    withBundle(async (bundle) => [
      ...(await idle('from the bundle', bundle, tell)),
      ...(await idle('from the sources', undefined, tell)),
    ]),
};

async function idle(name: string, program: string | undefined, tell: (progress: string) => void): Promise<Figure[]> {
  const port = await freePort();
  const site = await openSite({
    ...{ cameras, yaml: panel, http: `, listen: "127.0.0.1:${port}"`, asUnit: program !== undefined },
    ...(program !== undefined && { program }),
  });
  const never = new AbortController().signal;
  let page: { close(): Promise<void> } | undefined;
  try {
    tell(`${name}: once, for what a first start keeps`);
    await (await site.daemon()).running.stop();
    const { running } = await site.daemon();
    page = await openPage(site, `https://127.0.0.1:${port}`);
    tell(`${name}: ${settleMs / 1000} s to settle`);
    await sleep(settleMs, never);
    const { rss, anonymous } = memoryOf(running.pid);
    const before = cpuMsOf(running.pid);
    tell(`${name}: ${watchMs / 1000} s of idling`);
    await sleep(watchMs, never);
    const share = (cpuMsOf(running.pid) - before) / watchMs;
    const figure = (what: string, mib: number, most: number): Figure => {
      const value = rounded((mib * 1024 * 1024) / 1e6);
      const goal = program === undefined ? {} : { goal: `at most ${most} MB`, met: value <= most };
      return { name: `${what}, ${name}`, value, unit: 'MB', ...goal };
    };
    return [
      figure('RSS', rss, goals.rss),
      figure('RssAnon', anonymous, goals.anonymous),
      { name: `processor, ${name}`, value: rounded(share * 100), unit: '% of a core' },
    ];
  } finally {
    await page?.close();
    await site.close();
  }
}
