/** `npm run site`: a whole site with a day of life and faults, once for each seed; 0 only where nothing is wrong with the record. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Plant, plants } from '#sandbox/demo/line.ts';
import { orUsage } from '#sandbox/usage.ts';
import { runnableBundle } from '../../tools/bundle.ts';
import { faketime } from '../harness/wall-clock.ts';
import { flatness, gauges, highestRss } from './flat.ts';
import { figuresOf, summaryOf } from './report.ts';
import { type Run, runSite } from './run.ts';
import { memoryMib, noSlowBox, slowBox } from './slow-box.ts';

const usage = `The whole site with people, faults and a clock of its own; then its record is compared with what was done.

  --minutes NUMBER   how long people live there: 2
  --seed NUMBER      what happens: 1. An even one has mosquitto, an odd one the embedded broker
  --seeds NUMBER     so many runs, with this seed and those after it: 1
  --keep DIR         keep what the verdict rests on there; of a failed run it is kept anyway
  --soak             watch the process of siteward, its metrics and files meanwhile: do they stay the same? Needs 10 minutes or more
  --slow             siteward has a quarter of a core and 512 MB, and its disk takes 20 ms more for each flush
  --plant DEFECT     a defect of the line to the cloud, which the run must find: delivery, media or order
  --json             one line of JSON for each run in place of the summary`;

const { values } = orUsage(usage, () =>
  parseArgs({
    options: {
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '1' },
      keep: { type: 'string' },
      soak: { type: 'boolean', default: false },
      slow: { type: 'boolean', default: false },
      plant: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  }),
);

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function one(
  seed: number,
  of: { minutes: number; program: string; plant?: Plant; soak: boolean; under?: readonly string[] },
): Promise<boolean> {
  const folder =
    values.keep === undefined
      ? mkdtempSync(join(tmpdir(), `siteward-run-${seed}-`))
      : join(resolve(values.keep), String(seed));
  mkdirSync(folder, { recursive: true });
  const began = performance.now();
  const tell = (text: string) =>
    say(`${((performance.now() - began) / 1000).toFixed(0).padStart(5)} s  seed ${seed}: ${text}`);
  let run: Run | undefined;
  try {
    run = await runSite({ ...of, seed, folder, tell });
    process.stdout.write(values.json ? `${JSON.stringify(figuresOf(run))}\n` : `${summaryOf(run)}\n`);
  } catch (error) {
    say(`seed ${seed} broke off: ${error instanceof Error ? error.message : String(error)}`);
  }
  const isGood = run !== undefined && run.verdict.violations.length === 0 && isFlat(run);
  if (isGood && values.keep === undefined) rmSync(folder, { recursive: true, force: true });
  else say(`kept in ${folder}`);
  if (!isGood)
    say(
      `repeat with: npm run site -- --minutes ${of.minutes} --seed ${seed}${plantOf(of.plant)}${values.soak ? ' --soak' : ''}${values.slow ? ' --slow' : ''}`,
    );
  return isGood;
}

const plantOf = (plant: Plant | undefined): string => (plant === undefined ? '' : ` --plant ${plant}`);

function isFlat({ samples, bounds }: Run): boolean {
  if (samples.length === 0) return !values.soak;
  const { trouble, rows } = flatness(samples, gauges, bounds);
  return trouble === undefined && rows.every((row) => row.isFlat) && (!values.slow || highestRss(samples) <= memoryMib);
}

async function main(): Promise<number> {
  if (faketime === undefined) {
    say('the site cannot run here: it needs the Debian package faketime');
    return 2;
  }
  const why = values.slow ? noSlowBox() : undefined;
  if (why !== undefined) {
    say(`the site cannot run here on a slow box: it ${why}`);
    return 2;
  }
  const [minutes, first, count] = [values.minutes, values.seed, values.seeds].map(Number);
  if (
    minutes === undefined ||
    first === undefined ||
    count === undefined ||
    ![minutes, first, count].every(Number.isFinite)
  ) {
    say(usage);
    return 2;
  }
  const plant = plants.find((one) => one === values.plant);
  if (values.plant !== undefined && plant === undefined) {
    say(`--plant takes one of: ${plants.join(', ')}`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'siteward-run-'));
  const box = values.slow ? slowBox() : undefined;
  try {
    const program =
      process.env.SITEWARD_PROGRAM ?? (await runnableBundle(join(folder, 'bundle'), { crashPoints: true }));
    let failed = 0;
    for (let seed = first; seed < first + count; seed += 1)
      if (
        !(await one(seed, {
          ...{ minutes, program, soak: values.soak },
          ...(plant !== undefined && { plant }),
          ...(box !== undefined && { under: box.under }),
        }))
      )
        failed += 1;
    if (count > 1) say(`${count - failed} of ${count} runs have nothing wrong with them`);
    return failed === 0 ? 0 : 1;
  } finally {
    box?.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

// What was started is ended, and the disk unmounted, when the process exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exit(await main());
