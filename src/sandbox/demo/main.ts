import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { orUsage } from '../usage.ts';
import { plants } from './line.ts';
import { code, heardFolder, type Stage, setStage } from './stage.ts';
import { playStory } from './story.ts';

const usage = `The main job as a story, on embedded parts; the site stays up after it.

  --once                       end after the story, with 0 only where every step was verified
  --plant delivery|media|order break the line to the cloud on purpose: the story must then fail`;

const { values } = orUsage(usage, () =>
  parseArgs({ options: { once: { type: 'boolean', default: false }, plant: { type: 'string' } } }),
);

const startedAt = Date.now();

function tell(text: string, verified?: string): void {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1).padStart(5);
  console.log(`${seconds} s  ${text}${verified === undefined ? '' : `\n         verified: ${verified}`}`);
}

function whereToLook(stage: Stage): string {
  const port = new URL(stage.mqttUrl).port;
  const filters = ['status', 'partition/#', 'zone/#', 'event/#', 'outbox', 'audio/#'].map(
    (path) => `-t '${stage.root}/${path}'`,
  );
  return `
Where to look while it runs:
  the LAN      mosquitto_sub -h 127.0.0.1 -p ${port} -v ${filters.join(' ')}
  the cloud    curl ${stage.cloudUrl}/__sandbox/events      (also /uploads and /log)
  the cameras  shop, inside the shop, and yard, at the loading gate of the warehouse; both are simulated
               npm run siteward -- camera list --socket ${stage.folder}/control.sock
               npm run siteward -- camera events shop --socket ${stage.folder}/control.sock
  the speaker  ${join(stage.folder, heardFolder)}      (a wav file for each sound; listen to it)
               npm run siteward -- audio play alarm.siren --socket ${stage.folder}/control.sock
  siteward     npm run siteward -- status --socket ${stage.folder}/control.sock
               npm run siteward -- events --socket ${stage.folder}/control.sock
  the LAN API  curl --cacert ${stage.folder}/state/tls/ca.crt ${stage.apiUrl}/.well-known/siteward
  its page     ${stage.apiUrl}/      (the browser warns of the certificate)
               npm run siteward -- claim-code --socket ${stage.folder}/control.sock      (what it asks for first)
  as Anna      npm run siteward -- arm p1 --socket ${stage.folder}/control.sock
               npm run siteward -- disarm p1 --socket ${stage.folder}/control.sock      (her code is ${code})
`;
}

async function run(): Promise<number> {
  const plant = plants.find((one) => one === values.plant);
  if (values.plant !== undefined && plant === undefined) {
    console.error(`--plant takes one of: ${plants.join(', ')}`);
    return 2;
  }
  console.log(
    'siteward demo: a shop with a door sensor and a camera, and a warehouse with an alarm panel and a camera of its own.\n',
  );
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
