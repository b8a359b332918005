import { parseArgs } from 'node:util';
import type { Plant } from './line.ts';
import { code, type Stage, setStage } from './stage.ts';
import { playStory } from './story.ts';

/**
 * `npm run demo`: the main job as a story, on embedded parts. `--once` ends after it, with exit code 0 only if every
 * step was verified. `--plant delivery|media|order` breaks the line on purpose; the story must then fail.
 */
const { values } = parseArgs({
  options: {
    once: { type: 'boolean', default: false },
    plant: { type: 'string' },
  },
});

const startedAt = Date.now();

function tell(text: string, verified?: string): void {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1).padStart(5);
  console.log(`${seconds} s  ${text}${verified === undefined ? '' : `\n         verified: ${verified}`}`);
}

function whereToLook(stage: Stage): string {
  const port = new URL(stage.mqttUrl).port;
  const filters = ['status', 'partition/#', 'zone/#', 'event/#', 'outbox'].map((path) => `-t '${stage.root}/${path}'`);
  return `
Where to look while it runs:
  the LAN      mosquitto_sub -h 127.0.0.1 -p ${port} -v ${filters.join(' ')}
  the cloud    curl ${stage.cloudUrl}/__sandbox/events      (also /uploads and /log)
  siteward     npm run siteward -- status --socket ${stage.folder}/control.sock
               npm run siteward -- events --socket ${stage.folder}/control.sock
  as Anna      npm run siteward -- arm p1 --socket ${stage.folder}/control.sock
               npm run siteward -- disarm p1 --socket ${stage.folder}/control.sock      (her code is ${code})
`;
}

const plants: readonly string[] = ['delivery', 'media', 'order'];

async function run(): Promise<number> {
  if (values.plant !== undefined && !plants.includes(values.plant)) {
    console.error(`--plant takes one of: ${plants.join(', ')}`);
    return 2;
  }
  console.log(
    'siteward demo: a shop with a door sensor and a camera, and a warehouse with an alarm panel of its own.\n',
  );
  const plant = values.plant as Plant | undefined;
  let stage: Stage | undefined;
  // Ctrl-C ends the parts too, which are of the same terminal: what breaks off then is no failure of the story.
  let isOver = false;
  const interrupted = new Promise<'interrupted'>((resolve) => {
    const end = () => {
      isOver = true;
      resolve('interrupted');
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  });
  try {
    stage = await setStage({ ...(plant !== undefined && { plant }), onStep: (name) => tell(`starting ${name}`) });
    console.log(whereToLook(stage));
    const story = playStory(stage, tell);
    story.catch(() => undefined);
    if ((await Promise.race([story, interrupted])) === 'interrupted') return broken();
    console.log('\nEvery step was verified.');
    if (values.once) return 0;
    console.log('The site stays up. Ctrl-C ends it.');
    await interrupted;
    return 0;
  } catch (error) {
    if (isOver) return broken();
    console.error(`\nThe story broke off: ${error instanceof Error ? error.message : String(error)}`);
    const log = stage?.siteward.lines().filter((line) => /"level":"(warn|error|fatal)"/.test(line)) ?? [];
    if (log.length > 0) console.error(`\nWhat siteward's log says:\n${log.slice(-10).join('\n')}`);
    return 1;
  } finally {
    await stage?.close();
  }
}

/** As a shell tells of a program that ended by Ctrl-C. */
function broken(): number {
  console.log('\nEnded before the story was over.');
  return 130;
}

// A story that was broken off may still wait for what does not come any more.
process.exit(await run());
