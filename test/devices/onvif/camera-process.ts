import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createCameras } from '#devices/onvif/index.ts';
import { systemClock } from '#lib/clock.ts';

/** A process that watches one camera until it is killed. Arguments: address, file that stands for the memory port. */
const [url = '', file = ''] = process.argv.slice(2);
const kept = new Map<string, string>(read());
function read(): [string, string][] {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
}
async function write() {
  writeFileSync(`${file}.new`, JSON.stringify([...kept]));
  renameSync(`${file}.new`, file);
}
const cameras = createCameras({
  cameras: [{ id: 'yard', url }],
  clock: systemClock(),
  log: pino({ level: 'silent' }),
  metrics: new Registry(),
  memory: {
    get: async (key) => kept.get(key),
    set: async (key, value) => {
      kept.set(key, value);
      await write();
    },
    delete: async (key) => {
      kept.delete(key);
      await write();
    },
    keys: async () => [...kept.keys()],
  },
  emit: async (signals) => {
    for (const signal of signals) if (signal.kind === 'link') process.stdout.write(`link ${signal.up}\n`);
  },
});
await cameras.start(new AbortController().signal);
