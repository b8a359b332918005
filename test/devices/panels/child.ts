/** Listens with a store that never finishes, until it is killed. Prints one line per zone signal. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createPanels } from '#devices/panels/index.ts';
import { systemClock } from '#lib/clock.ts';
import { panel, presets } from './helpers.ts';

const [url = ''] = process.argv.slice(2);
const panels = createPanels({
  panels: [
    panel({ id: 'main', profile: 'dsc-keybus', zones: { '7': { type: 'entry_exit_1' }, '8': { type: 'perimeter' } } }),
  ],
  profiles: [presets],
  connect: { url },
  siteSlug: 'kill',
  clock: systemClock(),
  log: pino({ level: 'silent' }),
  metrics: new Registry(),
  emit: (signals) => {
    process.stdout.write(`${JSON.stringify(signals)}\n`);
    return new Promise(() => {});
  },
});
await panels.start(new AbortController().signal);
setInterval(() => {
  if (panels.health().state === 'ok') process.stdout.write('"listening"\n');
}, 50);
