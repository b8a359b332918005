import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { audio } from './audio.ts';
import { codes } from './codes.ts';
import { core } from './core.ts';
import { drain } from './drain.ts';
import type { Measurement } from './figure.ts';
import { http } from './http.ts';
import { latency } from './latency.ts';
import { describeMachine, load } from './machine.ts';
import { media } from './media.ts';
import { memory } from './memory.ts';
import { million } from './million.ts';
import { mqtt } from './mqtt.ts';
import { neighbours } from './neighbours.ts';
import { onvif } from './onvif.ts';
import { packaged } from './package.ts';
import { page } from './page.ts';
import { panels } from './panels.ts';
import { peers } from './peers.ts';
import { protect } from './protect.ts';
import { page as pageOf, type Result, textTable } from './report.ts';
import { rest } from './rest.ts';
import { slowDisk } from './slow-disk.ts';
import { start } from './start.ts';
import { store } from './store.ts';
import { wear } from './wear.ts';

/** Runs the measurements one after the other. A full run writes docs/performance.md, `--write` the sections chosen. */
const measurements: readonly Measurement[] = [
  latency,
  store,
  slowDisk,
  wear,
  rest,
  peers,
  drain,
  protect,
  memory,
  start,
  packaged,
  neighbours,
  million,
  core,
  codes,
  panels,
  mqtt,
  http,
  page,
  onvif,
  media,
  audio,
];

const names = measurements.map(({ name }) => name);
const usage = `usage: npm run bench -- [--only NAME ...] [--write] [--json]

  --only NAME  this measurement alone; may stand several times: ${names.join(', ')}
  --write      write what was chosen into docs/performance.md, as a run of all does
  --json       print one JSON document`;

const options = read();
if (options.help) {
  console.log(usage);
  process.exit(0);
}
const unknown = options.only.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`there is no measurement ${unknown.join(', ')}; there are ${names.join(', ')}`);
  process.exit(2);
}

const chosen = measurements.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
const machine = describeMachine();
const writes = options.only.length === 0 || options.write;
const path = join(import.meta.dirname, '..', 'docs', 'performance.md');
const results: Result[] = [];
for (const measurement of chosen) {
  // Progress goes to stderr, so that stdout is the result alone.
  const tell = (progress: string) => console.error(`${measurement.name}: ${progress}`);
  const before = load();
  try {
    const figures = await measurement.run(tell);
    const result = { measurement, figures, load: [before, load()] as const };
    results.push(result);
    if (!options.json) console.log(textTable(result));
  } catch (error) {
    // The others are measured all the same.
    tell(`failed: ${error instanceof Error ? error.stack : error}`);
    process.exitCode = 1;
  }
  // After each: what breaks off leaves what it had measured.
  if (writes) writeFileSync(path, pageOf({ machine, results, all: measurements, before: readFileSync(path, 'utf8') }));
}
if (options.json) {
  const plain = results.map(({ measurement: { name, title }, figures, load }) => ({ name, title, load, figures }));
  console.log(JSON.stringify({ machine, results: plain }, null, 2));
}

/** Ends the process where they cannot be understood. */
function read() {
  try {
    return parseArgs({
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        json: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        write: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exit(2);
  }
}
