import pino from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import type { Lane } from '#site/model/index.ts';
import { openStore, type Store } from '#site/store/index.ts';
import { noPowerCut, powerCutDisk } from '../test/harness/power-cut.ts';
import { type Figure, type Measurement, rounded } from './figure.ts';
import { makeRow } from './rows.ts';
import { writtenTo } from './written.ts';

const lone = 500;
/** Fills the write-ahead log, so that it is written from its start again. */
const warmAlarms = 300;
const groups = 200;
const perGroup = 32;
const loneGoal = 24;
const groupGoal = 6;

/** What an event costs the card. */
export const wear: Measurement = {
  name: 'wear',
  title: 'Bytes written per event',
  about: `Sectors that reach the block device of a private ext4, its own journal included, per event of 600 bytes: ${lone} alarms one
after the other, each with its second copy, and the records of their delivery, one after the other too; ${lone} alarms with the record
of each one's delivery in the transaction of the next, as the delivery asks for; then ${groups} groups of
${perGroup} activity events, and the records of their delivery in the same groups. Before, the write-ahead log was filled once, since it
grows only in a store's first minutes. A failed try and an idle store write nothing; a test holds that.`,
  remark: `A commit of one alarm is three pages in SQLite's log and three or four blocks in the journal of ext4, 4 kB each; that
it is that little is why what becomes of an event stands in tables of its own.`,
  async run(tell) {
    const why = noPowerCut();
    if (why !== undefined) {
      tell(`skipped: ${why}`);
      return [{ name: `skipped, ${why}`, value: 0, unit: '' }];
    }
    const disk = powerCutDisk({ mib: 256 });
    const metrics = new Registry();
    const store = openStore({ dir: disk.dir, clock: systemClock(), log: pino({ level: 'error' }), metrics });
    try {
      await store.start(new AbortController().signal);
      return await measure(store, disk.mount);
    } finally {
      await store.stop();
      disk.remove();
    }
  },
};

async function measure(store: Store, mount: string): Promise<Figure[]> {
  let seq = store.recovery().nextSeq;
  const put = async (count: number, lane: Lane) => {
    const rows = Array.from({ length: count }, (_, index) => makeRow(seq + index, lane));
    seq += count;
    await Promise.all(rows.map((row) => store.commit({ rows: [row], arming: [], inputs: [] })));
    return rows.map((row) => row.seq);
  };
  const settle = (seqs: readonly number[], lane: Lane, until?: AbortSignal) =>
    store.settle(
      seqs.map((one) => ({ seq: one, lane, verdict: 'delivered', at: Date.now(), tries: 1 })),
      until === undefined ? {} : { until },
    );
  for (let warm = 0; warm < warmAlarms; warm += 1) await settle(await put(1, 'alarm'), 'alarm');

  const alarms: number[][] = [];
  const alarm = await perEvent(mount, lone, async () => {
    for (let index = 0; index < lone; index += 1) alarms.push(await put(1, 'alarm'));
  });
  const alone = await perEvent(mount, lone, async () => {
    for (const seqs of alarms) await settle(seqs, 'alarm');
  });
  const riding = await perEvent(mount, lone, async () => {
    const end = new AbortController();
    const rides: Promise<void>[] = [];
    for (let index = 0; index < lone; index += 1) rides.push(settle(await put(1, 'alarm'), 'alarm', end.signal));
    end.abort();
    await Promise.all(rides);
  });
  const waiting: number[][] = [];
  const activity = await perEvent(mount, groups * perGroup, async () => {
    for (let index = 0; index < groups; index += 1) waiting.push(await put(perGroup, 'activity'));
  });
  const settled = await perEvent(mount, groups * perGroup, async () => {
    for (const seqs of waiting) await settle(seqs, 'activity');
  });
  return [
    { name: 'a lone alarm', value: rounded(alarm), unit: 'kB' },
    { name: 'the record of a lone delivery, written alone', value: rounded(alone), unit: 'kB' },
    budget('a lone alarm, its delivery written with the next', riding, loneGoal),
    budget(`an event in a group of ${perGroup}`, activity, groupGoal),
    { name: `the record of a delivery in a group of ${perGroup}`, value: rounded(settled), unit: 'kB' },
    budget(`both in groups of ${perGroup}`, activity + settled, groupGoal),
  ];
}

function budget(name: string, value: number, goal: number): Figure {
  return { name, value: rounded(value), unit: 'kB', goal: `at most ${goal} kB`, met: value <= goal };
}

async function perEvent(mount: string, events: number, work: () => Promise<void>): Promise<number> {
  const before = writtenTo(mount);
  await work();
  return (writtenTo(mount) - before) / events / 1000;
}
